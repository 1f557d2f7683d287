//! Messages that already have the chat API's format, or another known form.

use serde_json::{Value, json};

use super::Reader;
use super::facts::missed;
use crate::forms::table::Rule;

impl Reader<'_> {
    pub(super) fn as_it_is(&mut self, message: Value, rule: &Rule, around: &[&Value]) {
        self.close();
        self.said += 1;
        let list = match message {
            Value::Array(list) => list,
            one => vec![one],
        };
        for message in list {
            if message.get("role").and_then(Value::as_str).is_none() {
                self.miss("a message without a role".to_owned());
                continue;
            }
            self.messages.push(message);
        }
        self.facts_of(rule, around);
    }

    /// Reads one or several messages in any form. Messages of the chat API stay unchanged.
    pub(super) fn read_list(&mut self, list: &Value) {
        self.said += 1;
        if let Value::String(text) = list {
            return self.messages.push(json!({"role": "user", "content": text}));
        }
        let one;
        let list = match list {
            Value::Object(_) => {
                one = Value::Array(vec![list.clone()]);
                &one
            }
            list => list,
        };
        match (self.nested)(list) {
            Some(read) => self.messages.extend(read),
            None => {
                // Items of the Responses API between the messages are read with the row.
                let is_item = |item: &Value| item.get("call_id").is_some() || item.get("type").is_some_and(|kind| kind == "reasoning");
                let said = list.as_array().into_iter().flatten();
                let (said, others): (Vec<&Value>, Vec<&Value>) = said.partition(|said| said.get("role").is_some() || is_item(said));
                self.messages.extend(said.into_iter().cloned());
                for other in others {
                    self.miss(missed("message", &[], other));
                }
            }
        }
    }
}
