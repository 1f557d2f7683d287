//! Builds one message from its contents.

use std::collections::VecDeque;

use serde_json::Value;

use super::{block, calls, parts, python_repr};
use crate::dialect::mend;
use crate::hash::{HashMap, Members as _};
use crate::operation::{Message, Part, Role, ToolCall};

/// Takes pieces in order. Tool results become separate messages.
pub(super) struct Builder {
    pub(super) message: Message,
    pub(super) results: Vec<Message>,
    pub(super) results_first: bool,
    /// Indices of its calls by id.
    by_id: HashMap<String, usize>,
    /// Indices of its calls without an id or a result.
    without_id: VecDeque<usize>,
}

/// Whether two calls with the same id have different arguments.
fn is_other_call(one: &ToolCall, other: &ToolCall) -> bool {
    let differ = |one: &Value, other: &Value| match (one, other) {
        (Value::Object(one), Value::Object(other)) => !one.is_empty() && !other.is_empty() && one != other,
        _ => false,
    };
    one.name == other.name && matches!((&one.arguments, &other.arguments), (Some(one), Some(other)) if differ(one, other))
}

impl Builder {
    pub(super) fn new(role: Role) -> Self {
        Self {
            message: Message {
                role,
                ..Message::default()
            },
            results: Vec::new(),
            results_first: false,
            by_id: HashMap::default(),
            without_id: VecDeque::new(),
        }
    }

    pub(super) fn content(&mut self, content: &Value) {
        match content {
            Value::String(text) => self.text(text),
            _ if self.message.role == Role::Tool => self.tool_content(content),
            // A part that is the bare name of its class has no content (Splunk's langchain).
            Value::Array(items) => items
                .iter()
                .filter(|item| !matches!(item.as_str(), Some("ToolCall" | "ToolCallResponse")))
                .for_each(|item| self.item(item)),
            Value::Object(map) => match map.member("parts").and_then(Value::as_array) {
                Some(items) => items.iter().for_each(|item| self.item(item)),
                None => self.item(content),
            },
            Value::Null => {}
            other => self.message.parts.push(Part::Text(other.to_string())),
        }
    }

    /// Adds content recorded as text.
    pub(super) fn text(&mut self, text: &str) {
        if self.message.role == Role::Tool {
            match calls::written_as_result(text).filter(|_| self.message.tool_call_id.is_none()) {
                // Koog 0.3 gives the calls of an answer the role of their results.
                Some(list) => {
                    self.message.role = Role::Assistant;
                    list.into_iter().for_each(|call| self.call(call));
                }
                None => match parts::printed_blocks(text)
                    .map(Value::Array)
                    .or_else(|| parts::written_output(text))
                {
                    Some(output) => parts::set_result(&mut self.message, &output),
                    None => self.message.parts.push(Part::Text(text.to_owned())),
                },
            }
        } else {
            self.string(text);
        }
    }

    pub(super) fn string(&mut self, text: &str) {
        if let Some(call) = python_repr::tool_call(text) {
            return self.call(call);
        }
        // A call or result that a client wrote as text.
        if let Some(piece) = parts::written(text) {
            return self.piece(piece);
        }
        // Content blocks as JSON text (OpenLLMetry, strands); other JSON is the message's text.
        if text.trim_start().starts_with('[')
            && let Some(Value::Array(items)) = mend::parse(text)
            && !items.is_empty()
            && items.iter().all(block::is_block)
        {
            items.iter().for_each(|item| self.item(item));
            return;
        }
        if let Some(blocks) = parts::printed_blocks(text) {
            blocks.iter().for_each(|block| self.item(block));
            return;
        }
        self.message.parts.push(Part::Text(text.to_owned()));
    }

    pub(super) fn item(&mut self, item: &Value) {
        if let Value::String(text) = item {
            return self.string(text);
        }
        self.piece(parts::read(item));
    }

    fn piece(&mut self, piece: parts::Piece) {
        match piece {
            parts::Piece::Part(Part::Text(text)) => self.string_part(text),
            parts::Piece::Part(part) => self.message.parts.push(part),
            parts::Piece::Call(call) => self.call(call),
            parts::Piece::Result(result) => {
                let Some(result) = self.answered(result) else { return };
                // Text in a user's message after results was written after them.
                if self.message.role == Role::User && !self.message.is_blank() {
                    let rest = Message {
                        role: Role::User,
                        name: self.message.name.clone(),
                        ..Message::default()
                    };
                    self.results.push(std::mem::replace(&mut self.message, rest));
                }
                if self.message.is_blank() {
                    self.results_first = true;
                }
                self.results.push(*result);
            }
            parts::Piece::Nothing => {}
        }
    }

    /// Adds a result to the preceding call in the same message, which the provider ran. Any other result is returned.
    pub(super) fn answered(&mut self, result: Box<Message>) -> Option<Box<Message>> {
        if self.message.role != Role::Assistant {
            return Some(result);
        }
        let place = match &result.tool_call_id {
            Some(id) => self.by_id.get(id).copied(),
            None => self.without_id.pop_front(),
        };
        let call = place.and_then(|place| self.message.tool_calls.get_mut(place));
        match call.filter(|call| call.answered.is_none()) {
            Some(call) => {
                call.answered = Some(result);
                None
            }
            None => Some(result),
        }
    }

    pub(super) fn string_part(&mut self, text: String) {
        match python_repr::tool_call(&text) {
            Some(call) => self.call(call),
            // A system prompt is not a list of content blocks, so a client wrote its framework's content as text.
            None if self.message.role == Role::System && text.starts_with("[{") => self.string(&text),
            None => self.message.parts.push(Part::Text(text)),
        }
    }

    pub(super) fn call(&mut self, call: ToolCall) {
        let place = self.message.tool_calls.len();
        match call.id.as_deref() {
            Some(id) => match self.by_id.get(id).and_then(|known| self.message.tool_calls.get(*known)) {
                // A client records the call both among the parts and among the calls.
                Some(known) if !is_other_call(known, &call) => return,
                // The model gave two calls the same id.
                Some(_) => {}
                None => {
                    let _ = self.by_id.insert(id.to_owned(), place);
                }
            },
            None if call.answered.is_none() => self.without_id.push_back(place),
            None => {}
        }
        self.message.tool_calls.push(call);
    }

    /// Adds a tool's result: result pieces in it name their own calls; anything else is the result.
    pub(super) fn tool_content(&mut self, content: &Value) {
        let items: &[Value] = match content {
            Value::Array(items) => items,
            Value::Object(map) => map.member("parts").and_then(Value::as_array).map_or(&[], Vec::as_slice),
            _ => &[],
        };
        let mut rest = Vec::new();
        for item in items {
            match parts::read(item) {
                parts::Piece::Result(mut result) => {
                    if result.tool_call_id.is_none() {
                        result.tool_call_id.clone_from(&self.message.tool_call_id);
                    }
                    if result.name.is_none() {
                        result.name.clone_from(&self.message.name);
                    }
                    self.results.push(*result);
                }
                parts::Piece::Part(part) => rest.push(part),
                parts::Piece::Call(_) | parts::Piece::Nothing => {}
            }
        }
        match content {
            Value::Array(_) => self.message.parts.extend(rest),
            Value::Object(map) if !map.has("parts") => self.message.result = Some(content.clone().into()),
            Value::Object(_) => self.message.parts.extend(rest),
            Value::Null => {}
            other => self.message.result = Some(other.clone().into()),
        }
    }

    pub(super) fn finish(self, out: &mut Vec<Message>) {
        let keep = !self.message.is_blank() || (self.results.is_empty());
        let (mut message, results) = (self.message, self.results);
        // A provider's item that is not a message; a person would have written text.
        let is_unsaid = |part: &Part| matches!(part, Part::Reasoning { .. } | Part::Other(_));
        if matches!(&message.role, Role::Other(word) if !word.is_empty())
            && !message.parts.is_empty()
            && message.parts.iter().all(is_unsaid)
        {
            message.role = Role::Assistant;
        }
        // Only a model requests tools.
        if message.role == Role::User && !message.tool_calls.is_empty() && !message.has_words() {
            message.role = Role::Assistant;
        }
        if self.results_first {
            out.extend(results);
            if keep {
                out.push(message);
            }
        } else {
            if keep {
                out.push(message);
            }
            out.extend(results);
        }
    }
}
