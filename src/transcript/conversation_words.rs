//! Decides whether the input and output of an agent or a chain repeat the texts of the run's conversations.

use serde_json::Value;

use crate::dialect::messages::{self, Direction};
use crate::document::json::{Json, Object, Text, trimmed};
use crate::document::json_read;
use crate::document::text::compact;
use crate::hash::HashSet;
use crate::operation::{Form, Message, Operation, Recorded, Role};
use crate::run::{EntryKind, Run, Step};
use crate::transcript::calls::Results;
use crate::transcript::{calls, content, facts, hands_on};

/// The texts of a run's conversations, its question and its answer.
#[derive(Debug, Default)]
pub(crate) struct ConversationWords<'a> {
    words: HashSet<Text<'a>>,
    /// Whether any of them may be a JSON object or list.
    has_json: bool,
}

impl<'a> ConversationWords<'a> {
    /// The texts of a run.
    pub(crate) fn of(run: &'a Run) -> Self {
        let conversations = || run.scopes.iter().map(|scope| &scope.conversation);
        let entries = conversations().map(Vec::len).sum::<usize>();
        // Texts are long, and a growing set would rehash them.
        let mut words: HashSet<Text<'a>> = HashSet::with_capacity_and_hasher(2 * entries, foldhash::fast::RandomState::default());
        let mut add = |text: Text<'a>| {
            let _ = words.insert(trimmed(text));
        };
        for entry in conversations().flatten() {
            match &entry.kind {
                EntryKind::Message(message) | EntryKind::Turn(message) => texts(message, &mut add),
                EntryKind::Result(result) => add(text(&result.result)),
                EntryKind::Call(call) => run.steps.get(call.tool).into_iter().for_each(|tool| asked(tool, &mut add)),
            }
        }
        for utterance in [&run.question, &run.answer].into_iter().flatten() {
            add(text(&utterance.content));
        }
        let has_json = words.iter().any(|words| words.starts_with(['{', '[']));
        Self { words, has_json }
    }

    /// Which of an operation's input and output the conversations lack: `None` if they contain both.
    pub(crate) fn unwritten(&self, operation: &Operation) -> Option<&'static str> {
        match (
            self.lacks(&operation.input, operation.input_messages.as_deref(), Direction::Input),
            self.lacks(&operation.output, operation.output_messages.as_deref(), Direction::Output),
        ) {
            (true, true) => Some("its input and output"),
            (true, false) => Some("its input"),
            (false, true) => Some("its output"),
            (false, false) => None,
        }
    }

    /// What a document lists for an operation that is not a message: its facts, and its texts if the conversations lack them.
    /// `None` if it only passes on what they contain.
    pub(crate) fn listed(&self, run: &'a Run, results: &Results<'a>, step: &'a Step) -> Option<Object<'a>> {
        let hands_on = hands_on(step.operation.kind);
        let mut out = Object::new();
        if !hands_on || self.unwritten(&step.operation).is_some() {
            out = facts::in_and_out(run, results, step);
        }
        out.extend(facts::all(run, step));
        (!hands_on || !out.is_empty()).then_some(out)
    }

    /// Whether the conversations lack one side. Messages repeat a recorded value, so they are only checked without one.
    fn lacks(&self, recorded: &Recorded, messages: Option<&[Message]>, direction: Direction) -> bool {
        if recorded.is_none() {
            return !messages.unwrap_or_default().iter().all(|message| self.has_all(message));
        }
        let read = match recorded.form() {
            Some(Form::Text(text)) if text.starts_with('{') => json_read::read(text).ok(),
            Some(_) | None => None,
        };
        let matches = match read {
            Some(Json::Object(map)) if !is_alone(map.len(), |key| map.contains_key(key)) => self.has_json && self.has(&compact(&map)),
            Some(json) => self.matches(&json.into(), direction),
            None => recorded.get().is_none_or(|value| self.matches(value, direction)),
        };
        !matches
    }

    fn has(&self, words: &str) -> bool {
        words.trim().is_empty() || self.words.contains(words.trim())
    }

    fn has_all(&self, message: &Message) -> bool {
        let mut all = true;
        texts(message, &mut |words| all &= self.has(&words));
        all
    }

    fn matches(&self, value: &Value, direction: Direction) -> bool {
        let may_be_words = self.has_json || !(value.is_object() || value.is_array());
        if value.is_null() || may_be_words && self.has(&text(value)) {
            return true;
        }
        if value
            .as_object()
            .is_some_and(|map| !is_alone(map.len(), |key| map.contains_key(key)))
        {
            return false;
        }
        if let Some(list) = messages::read(value, direction) {
            return list.iter().all(|message| self.has_all(message)) && (list.len() >= items(value) || are_messages(value, direction));
        }
        match value {
            Value::Object(map) if map.len() == 1 => map.values().all(|value| value.is_string() && self.has(&text(value))),
            _ => false,
        }
    }
}

/// The number of items of a list, including those of nested lists.
fn items(value: &Value) -> usize {
    value.as_array().map_or(1, |list| list.iter().map(items).sum())
}

/// Whether every item of a list is a message, since others may be mixed in.
fn are_messages(value: &Value, direction: Direction) -> bool {
    match value {
        Value::Array(list) => list.iter().all(|item| are_messages(item, direction)),
        item => item.is_null() || messages::is_read(item, direction),
    }
}

/// Whether an object with these keys contains only messages: a state may contain more.
fn is_alone(keys: usize, has: impl Fn(&str) -> bool) -> bool {
    keys == 1 || has("role") || has("choices")
}

/// The texts of a message: its own text, and those of its calls.
fn texts<'a>(message: &'a Message, add: &mut impl FnMut(Text<'a>)) {
    for call in &message.tool_calls {
        add(format!("{} {}", call.name, calls::arguments_json(call)).into());
    }
    // The request to a sub-agent is an argument of the call around it.
    let arguments = message.tool_calls.iter().filter_map(|call| call.arguments.as_ref());
    let members = arguments.filter_map(Value::as_object).flat_map(|map| map.values());
    members.filter_map(Value::as_str).for_each(|words| add(words.into()));
    add(content::content(message));
    // The name on a result is that of its call.
    if let Some(name) = message.name.as_ref().filter(|_| message.role != Role::Tool) {
        add(name.into());
    }
    if let Some(result) = &message.result {
        add(text(result));
    }
}

/// The texts in a tool's arguments.
fn asked<'a>(tool: &'a Step, add: &mut impl FnMut(Text<'a>)) {
    let arguments = tool.operation.tool.as_ref().and_then(|tool| tool.arguments.as_ref());
    match arguments {
        Some(Value::String(text)) => add(text.into()),
        Some(Value::Object(map)) => map.values().filter_map(Value::as_str).for_each(|words| add(words.into())),
        _ => {}
    }
}

fn text(value: &Value) -> Text<'_> {
    match value {
        Value::Null => Text::default(),
        other => content::text(other),
    }
}
