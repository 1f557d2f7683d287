//! Whether what an agent or a chain says as a whole repeats the words of the run's conversations.

use serde_json::Value;

use super::json::{Text, trimmed};
use super::{calls, io};
use crate::dialect::messages::{self, Direction};
use crate::hash::HashSet;
use crate::operation::{Message, Operation, Recorded};
use crate::run::{EntryKind, Run, Step};

/// The words of a run's conversations, its question and its answer.
#[derive(Debug, Default)]
pub(in crate::formats) struct Told<'a> {
    words: HashSet<Text<'a>>,
    /// Whether any of them may be the text of a JSON object or list.
    has_json: bool,
}

impl<'a> Told<'a> {
    /// The words of a run.
    pub(in crate::formats) fn of(run: &'a Run) -> Self {
        let entries = run
            .scopes
            .iter()
            .flat_map(|scope| &scope.conversation)
            .flat_map(|entry| match &entry.kind {
                EntryKind::Message(message) | EntryKind::Turn(message) => texts(message),
                EntryKind::Result(result) => vec![text(&result.result)],
                EntryKind::Call(call) => run.steps.get(call.tool).map_or_else(Vec::new, asked),
            });
        let outer = [&run.question, &run.answer].into_iter().flatten().map(|said| text(&said.content));
        let words: HashSet<Text<'a>> = entries.chain(outer).map(trimmed).collect();
        let has_json = words.iter().any(|words| words.starts_with(['{', '[']));
        Self { words, has_json }
    }

    /// Which of an operation's input and output the conversations do not hold: `None` if they hold both.
    pub(in crate::formats) fn untold(&self, operation: &Operation) -> Option<&'static str> {
        let lacks = |value: &Recorded, direction| value.get().is_some_and(|value| !self.holds(value, direction));
        match (
            lacks(&operation.input, Direction::Input),
            lacks(&operation.output, Direction::Output),
        ) {
            (true, true) => Some("its input and output"),
            (true, false) => Some("its input"),
            (false, true) => Some("its output"),
            (false, false) => None,
        }
    }

    fn holds(&self, value: &Value, direction: Direction) -> bool {
        let has = |words: &str| words.trim().is_empty() || self.words.contains(words.trim());
        let may_be_words = self.has_json || !(value.is_object() || value.is_array());
        if value.is_null() || may_be_words && has(&text(value)) {
            return true;
        }
        if let Some(list) = messages::read(value, direction) {
            // A state may hold more beside its messages.
            let alone = value
                .as_object()
                .is_none_or(|map| map.len() == 1 || map.contains_key("role") || map.contains_key("choices"));
            return alone && !list.is_empty() && list.iter().all(|message| texts(message).iter().all(|words| has(words)));
        }
        match value {
            Value::Object(map) if map.len() == 1 => map.values().all(|value| value.is_string() && has(&text(value))),
            _ => false,
        }
    }
}

/// What a message says in words: its text, else its calls.
fn texts(message: &Message) -> Vec<Text<'_>> {
    let mut out: Vec<Text<'_>> = message
        .tool_calls
        .iter()
        .map(|call| format!("{} {}", call.name, calls::arguments_json(call)).into())
        .collect();
    // What a sub-agent is asked is an argument of the call around it.
    let arguments = message.tool_calls.iter().filter_map(|call| call.arguments.as_ref());
    out.extend(
        arguments
            .filter_map(Value::as_object)
            .flat_map(|map| map.values())
            .filter_map(Value::as_str)
            .map(Text::from),
    );
    out.push(io::content(message));
    out.extend(message.result.as_ref().map(text));
    out
}

/// What a tool is asked in words.
fn asked(tool: &Step) -> Vec<Text<'_>> {
    let arguments = tool.operation.tool.as_ref().and_then(|tool| tool.arguments.as_ref());
    match arguments {
        Some(Value::String(text)) => vec![text.into()],
        Some(Value::Object(map)) => map.values().filter_map(Value::as_str).map(Text::from).collect(),
        _ => Vec::new(),
    }
}

fn text(value: &Value) -> Text<'_> {
    match value {
        Value::Null => Text::default(),
        other => io::text(other),
    }
}
