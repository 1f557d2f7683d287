//! The question or answer on the span of a run itself, that is, of a workflow or an agent.
//!
//! Programs call models on the way to an answer (a router, a classifier, a draft, a title) and add to a model's text (a source, a
//! disclaimer). So the run's question and answer are those of its outermost span, unless these only repeat a message of a model call:
//! then that message, at its place in the conversation, is used.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::dialect::messages::{self, Direction};
use crate::operation::{Kind, Message, Operation, Role, has_nothing};
use crate::run::id::{IdVec, StepId};
use crate::run::model::{Step, Utterance};
use crate::span::UnixNanos;

/// The text of an agent's or a workflow's span.
pub(super) struct OwnWords {
    pub(super) words: String,
    pub(super) step: StepId,
}

impl OwnWords {
    /// The question of the run, from the outermost of the root and the workflows around it.
    pub(super) fn asked(steps: &IdVec<StepId, Step>, root: StepId) -> Option<Self> {
        let words = |at| Self::of(steps, at, Direction::Input).or_else(|| Self::of_workflow(steps, at, Direction::Input));
        around(steps, root).into_iter().rev().find_map(words)
    }

    /// The answer of the outermost of the root and the workflows around it.
    pub(super) fn answered_around(steps: &IdVec<StepId, Step>, root: StepId) -> Option<Self> {
        let words = |at| Self::of_workflow(steps, at, Direction::Output);
        around(steps, root).into_iter().rev().find_map(words)
    }

    /// A workflow's question or answer: in messages, as a text, or in the member of a state that is meant for it.
    fn of_workflow(steps: &IdVec<StepId, Step>, step: StepId, direction: Direction) -> Option<Self> {
        let is_workflow = |step: &&Step| matches!(step.operation.kind, Kind::Chain | Kind::Unknown);
        let operation = &steps.get(step).filter(is_workflow)?.operation;
        let (value, list) = sides(operation, direction);
        let words = match (value, direction) {
            (Some(Value::Object(map)), Direction::Input) => only_words(map).or_else(|| enveloped(map, direction)).or_else(|| asked_in(map)),
            (Some(value), Direction::Input) => plain_words(value, direction),
            (Some(value), Direction::Output) => answer_in(value),
            (None, _) => in_messages(list?, direction),
        };
        let words = words.filter(|text| !text.is_empty() && !is_printed(text))?;
        Some(Self { words, step })
    }

    /// The text of an agent's step, if it is natural language.
    pub(super) fn of(steps: &IdVec<StepId, Step>, step: StepId, direction: Direction) -> Option<Self> {
        let operation = steps
            .get(step)
            .map(|step| &step.operation)
            .filter(|operation| operation.kind == Kind::Agent)?;
        let (value, list) = sides(operation, direction);
        if let (Direction::Output, Some(words)) = (direction, value.and_then(Value::as_object).and_then(raw_answer)) {
            // Marked as the answer, so JSON is accepted.
            let words = words.to_owned();
            return Some(Self { words, step });
        }
        let words = match (value, direction) {
            (Some(Value::Object(map)), Direction::Input) => argument(map).or_else(|| enveloped(map, direction)).or_else(|| asked_in(map)),
            (Some(value), Direction::Input) => plain_words(value, direction),
            (Some(value), Direction::Output) => answer_in(value),
            (None, _) => in_messages(list?, direction),
        };
        // Remove marks that represent pictures and files.
        let is_mark = |line: &str| line.starts_with('[') && line.ends_with(']');
        let words = words.map(|text| match text.lines().any(is_mark) {
            true => text.lines().filter(|line| !is_mark(line)).collect::<Vec<_>>().join("\n"),
            false => text,
        });
        let words = words.filter(|text| !text.is_empty() && !is_printed(text))?;
        Some(Self { words, step })
    }

    pub(super) fn utterance(self, at: UnixNanos) -> Utterance {
        Utterance {
            content: Value::String(self.words),
            step: self.step,
            at,
            in_conversation: false,
        }
    }

    /// Whether a message has the same text.
    pub(super) fn is(&self, said: &str) -> bool {
        squeezed(&self.words) == squeezed(said)
    }

    /// Whether this is one word inserted into a message, as into a template.
    pub(super) fn fills(&self, said: &str) -> bool {
        !self.words.contains(char::is_whitespace) && said.len() > self.words.len() && said.contains(&self.words)
    }

    /// Whether this text is the message truncated, quoted, or preceded only by earlier messages of the run, as by a client that
    /// concatenates the conversation. `before`: the messages before it, in order.
    pub(super) fn repeats<'s>(&self, said: &str, before: impl Iterator<Item = &'s str>) -> bool {
        let (own, said) = (squeezed(&self.words), squeezed(said));
        let cut = own.strip_suffix("...").or_else(|| own.strip_suffix('\u{2026}'));
        if said.is_empty() || cut.is_some_and(|cut| said.starts_with(cut.trim_end())) {
            return !said.is_empty();
        }
        let Some((mut rest, after)) = own.rsplit_once(said.as_ref()) else {
            return false;
        };
        for words in before {
            let words = squeezed(words);
            let words = words.trim();
            if let Some(behind) = rest.trim_start().strip_prefix(words).filter(|_| !words.is_empty()) {
                rest = behind;
            }
        }
        !rest.contains(char::is_alphanumeric) && !after.contains(char::is_alphanumeric)
    }

    /// Whether the input has the message, an answer to it, and this text after that: a client may record the whole conversation of the run
    /// as its input, including questions of the framework in between (pydantic-ai's `all_messages`, where an output validator asks
    /// again).
    pub(super) fn comes_later_than(&self, steps: &IdVec<StepId, Step>, heard: &str) -> bool {
        let Some(operation) = steps.get(self.step).map(|step| &step.operation) else {
            return false;
        };
        let (value, list) = sides(operation, Direction::Input);
        let opened = value.and_then(|value| messages::read(value, Direction::Input));
        let list = opened.as_deref().or(list).unwrap_or_default();
        let asks = |message: &Message| message.role == Role::User && squeezed(&message.content()) == squeezed(heard);
        let Some(asked) = list.iter().position(asks) else {
            return false;
        };
        let mut later = list.iter().skip(asked + 1);
        later.any(|message| message.role == Role::Assistant) && later.any(|message| message.role == Role::User)
    }
}

/// The root and its ancestors, innermost first.
fn around(steps: &IdVec<StepId, Step>, root: StepId) -> Vec<StepId> {
    std::iter::successors(Some(root), |at| steps.get(*at)?.parent).collect()
}

fn sides(operation: &Operation, direction: Direction) -> (Option<&Value>, Option<&[Message]>) {
    match direction {
        Direction::Input => (operation.input.get(), operation.input_messages.as_deref()),
        Direction::Output => (operation.output.get(), operation.output_messages.as_deref()),
    }
}

/// The text of a string or of messages.
fn plain_words(value: &Value, direction: Direction) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Array(_) => messages::read(value, direction).and_then(|list| in_messages(&list, direction)),
        _ => None,
    }
}

/// The question in a state: that of its last user message.
fn asked_in(state: &Map<String, Value>) -> Option<String> {
    let list = messages::read(state.get("messages")?, Direction::Input)?;
    in_messages(&list, Direction::Input)
}

/// Names of state members that hold the answer, most reliable first.
const ANSWERS: [&str; 12] = [
    "final_answer",
    "final_output",
    "final_response",
    "final_result",
    "answer",
    "output",
    "response",
    "reply",
    "result",
    "output_text",
    "generation",
    "text",
];

/// The answer in a run's output: a text, the last message, or the member of a state that is meant for it.
fn answer_in(value: &Value) -> Option<String> {
    let Value::Object(map) = value else {
        return plain_words(value, Direction::Output);
    };
    if let Some(raw) = raw_answer(map) {
        return Some(raw.to_owned());
    }
    if let Some(inner) = messages::inside_envelope(map, Direction::Output) {
        return answer_in(inner);
    }
    let of_messages = || {
        let list = messages::read(map.get("messages").unwrap_or(value), Direction::Output)?;
        // The end of a history is the answer of an earlier run if this one has none.
        let asked = list.iter().rposition(|message| message.role == Role::User);
        let since = list.iter().skip(asked.map_or(0, |asked| asked + 1));
        let answer = since.rev().find(|message| message.role == Role::Assistant && message.has_words());
        answer.filter(|message| !message.asks_for_tools()).map(Message::content)
    };
    let named = || {
        let mut named = ANSWERS.iter().filter_map(|name| map.get(*name));
        named.find_map(|inner| match inner {
            Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            Value::Object(_) => answer_in(inner),
            _ => None,
        })
    };
    of_messages().or_else(named)
}

/// Whether an input describes the agent's setup, not its question: `{"agent", "tool_count", "tools": [..]}` (n8n).
pub(super) fn is_setup(map: &Map<String, Value>) -> bool {
    let of_setup = |key: &String| {
        matches!(
            key.as_str(),
            "agent" | "agent_name" | "name" | "model" | "description" | "tool_count" | "tools"
        )
    };
    map.get("tools").is_some_and(Value::is_array) && map.keys().all(of_setup)
}

/// Whether several members of an input are text, so that none alone is the question: a JSON prompt (`{"task", "context"}`).
pub(super) fn has_more_words(map: &Map<String, Value>) -> bool {
    let is_words = |value: &&Value| value.as_str().is_some_and(|text| text.trim().contains(char::is_whitespace));
    map.values().filter(is_words).count() > 1
}

/// The answer of a CrewAI crew or task: its text, recorded next to the inputs and parts of the work.
pub(super) fn raw_answer(map: &Map<String, Value>) -> Option<&str> {
    let is_crew = map.contains_key("tasks_output") || map.contains_key("expected_output") || map.contains_key("output_format");
    let text = map.get("raw").and_then(Value::as_str).filter(|_| is_crew)?.trim();
    (!text.is_empty()).then_some(text)
}

/// The text inside a framework's envelope around a run's input or output.
fn enveloped(map: &Map<String, Value>, direction: Direction) -> Option<String> {
    match messages::inside_envelope(map, direction)? {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Object(inner) if direction == Direction::Input && only_words(inner).is_some() => only_words(inner),
        inner => messages::read(inner, direction).and_then(|list| in_messages(&list, direction)),
    }
}

/// The text of the only argument of a decorated function: `{"args": ["Hello"], "kwargs": {}}`.
pub(super) fn argument(map: &Map<String, Value>) -> Option<String> {
    let of_function = map.keys().all(|key| matches!(key.as_str(), "args" | "kwargs" | "self"));
    only_words(map).filter(|words| of_function && !words.is_empty())
}

/// The text of a workflow's only argument, if its name means a question or an input.
fn only_words(map: &Map<String, Value>) -> Option<String> {
    let mut members = map.iter().filter(|(_, value)| !has_nothing(value));
    let ((name, value), None) = (members.next()?, members.next()) else {
        return None;
    };
    let text = match (name.as_str(), value) {
        ("input" | "question" | "query" | "user_input" | "user_query" | "prompt", Value::String(text)) => text,
        // The arguments of a decorated function.
        ("args", Value::Array(items)) => match items.as_slice() {
            [Value::String(text)] => text,
            _ => return None,
        },
        ("kwargs", Value::Object(inner)) => return only_words(inner),
        _ => return None,
    };
    Some(text.trim().to_owned())
}

/// The text of the last message with the right role.
pub(super) fn in_messages(list: &[Message], direction: Direction) -> Option<String> {
    let role = match direction {
        Direction::Input => Role::User,
        Direction::Output => Role::Assistant,
    };
    let last = list.iter().rev().find(|message| message.role == role && message.has_words())?;
    Some(last.content())
}

/// Whether a text is a program's printed value: JSON, a class with its members (even truncated), or the members alone.
fn is_printed(text: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.'));
    let is_class = || {
        let (class, members) = text.split_once('(')?;
        let is_whole = members.ends_with(')') && members.contains('=');
        let is_cut = || members.ends_with("...") && members.split_once('=').is_some_and(|(name, _)| is_name(name));
        Some(is_name(class) && (is_whole || is_cut()))
    };
    let are_members = || {
        let (name, rest) = text.split_once('=')?;
        Some(is_name(name) && rest.starts_with(['\'', '"', '[', '{']) && rest.contains('='))
    };
    text.starts_with(['{', '[', '<']) || is_class().unwrap_or_default() || are_members().unwrap_or_default()
}

fn squeezed(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if text.contains(['\n', '\t']) || text.contains("  ") {
        text.split_whitespace().collect::<Vec<_>>().join(" ").into()
    } else {
        text.into()
    }
}
