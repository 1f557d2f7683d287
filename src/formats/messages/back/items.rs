//! Merges items of `OpenAI`'s Responses API, which occur between messages and have no role (reasoning, calls, results), into messages.
//! Consecutive output of the model becomes one message.

use serde_json::{Map, Value, json};

/// Whether a member of a list is such an item.
pub(super) fn is_item(item: &Value) -> bool {
    item.get("role").is_none()
        && matches!(
            kind(item),
            "reasoning" | "function_call" | "function_call_output" | "custom_tool_call" | "custom_tool_call_output"
        )
}

fn kind(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The same list with only messages.
pub(super) fn as_messages(list: Vec<Value>) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    // The model's output that is not in a message yet.
    let mut written = ModelOutput::default();
    for item in list {
        match kind(&item) {
            "reasoning" if is_item(&item) => {
                if !written.calls.is_empty() {
                    written.give(&mut out);
                }
                written.think(item);
            }
            "function_call" | "custom_tool_call" if is_item(&item) => written.call(&item),
            "function_call_output" | "custom_tool_call_output" if is_item(&item) => {
                written.give(&mut out);
                out.push(result(item));
            }
            _ if item.get("role").and_then(Value::as_str) == Some("assistant") && written.can_say() => written.say(item),
            _ => {
                written.give(&mut out);
                out.push(item);
            }
        }
    }
    written.give(&mut out);
    out
}

#[derive(Default)]
struct ModelOutput {
    message: Map<String, Value>,
    calls: Vec<Value>,
    thoughts: Vec<String>,
    /// Reasoning items with more than text: they are kept on the message.
    items: Vec<Value>,
}

impl ModelOutput {
    fn can_say(&self) -> bool {
        self.message.is_empty() && self.calls.is_empty()
    }

    fn say(&mut self, message: Value) {
        if let Value::Object(message) = message {
            self.message = message;
        }
    }

    fn think(&mut self, item: Value) {
        let parts = ["summary", "content"]
            .into_iter()
            .filter_map(|key| item.get(key)?.as_array())
            .flatten();
        let words: Vec<&str> = parts.filter_map(|part| part.get("text")?.as_str()).collect();
        let words = match words.as_slice() {
            [] => item.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
            words => words.join("\n"),
        };
        if !words.is_empty() {
            self.thoughts.push(words);
        }
        self.items.push(item);
    }

    fn call(&mut self, item: &Value) {
        let member = |keys: &[&str]| keys.iter().find_map(|key| item.get(*key)).cloned().unwrap_or_default();
        let arguments = member(&["arguments", "input"]);
        let function = json!({"name": member(&["name"]), "arguments": arguments});
        self.calls
            .push(json!({"id": member(&["call_id", "id"]), "type": "function", "function": function}));
    }

    fn give(&mut self, out: &mut Vec<Value>) {
        let Self {
            mut message,
            calls,
            thoughts,
            items,
        } = std::mem::take(self);
        if message.is_empty() && calls.is_empty() && items.is_empty() {
            return;
        }
        message.entry("role").or_insert_with(|| "assistant".into());
        message.entry("content").or_insert_with(|| "".into());
        if !thoughts.is_empty() && message.get("reasoning_content").is_none() {
            message.insert("reasoning_content".to_owned(), thoughts.join("\n\n").into());
        }
        if !items.is_empty() {
            message.insert("reasoning_items".to_owned(), items.into());
        }
        if !calls.is_empty() {
            let had = message.remove("tool_calls");
            let had = had.and_then(|had| had.as_array().cloned()).unwrap_or_default();
            let calls: Vec<Value> = had.into_iter().chain(calls).collect();
            message.insert("tool_calls".to_owned(), calls.into());
        }
        out.push(message.into());
    }
}

fn result(item: Value) -> Value {
    let Value::Object(mut item) = item else { return item };
    let output = item.remove("output").unwrap_or_default();
    let id = item.remove("call_id").unwrap_or_default();
    item.remove("type");
    // The item's own id is not a call id.
    if let Some(own) = item.remove("id") {
        item.insert("item_id".to_owned(), own);
    }
    item.insert("role".to_owned(), "tool".into());
    item.insert("tool_call_id".to_owned(), id);
    item.insert("content".to_owned(), output);
    item.into()
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn what_the_model_wrote_together_is_one_message() {
        let list = json!([
            {"role": "user", "content": "hi"},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look."}]},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c2", "output": "two"},
            {"type": "function_call_output", "call_id": "c1", "output": "one"},
            {"type": "reasoning", "id": "rs_2", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
            {"type": "function_call", "call_id": "c3", "name": "f", "arguments": "{}"},
        ]);
        let messages = as_messages(list.as_array().cloned().unwrap_or_default());
        let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "tool", "assistant"]);
        assert_eq!(messages[1]["reasoning_content"], "Look.");
        assert_eq!(messages[1]["tool_calls"][1]["id"], "c2");
        assert_eq!(messages[2]["tool_call_id"], "c2");
        assert_eq!(messages[4]["content"][0]["text"], "Done.");
        assert_eq!(messages[4]["tool_calls"][0]["id"], "c3");
    }
}
