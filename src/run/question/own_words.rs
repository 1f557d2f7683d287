//! What an agent's own span gives as its question or answer.
//!
//! Programs call models on the way to an answer: a classifier, a draft, a title. The agent's own question and answer are what its
//! span has, unless that only wraps a model's words, or is a state: then the words without the wrapping are better.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::dialect::messages::{self, Direction};
use crate::operation::{Kind, Message, Role, has_nothing};
use crate::run::id::{IdVec, StepId};
use crate::run::model::{Step, Utterance};
use crate::span::UnixNanos;

/// Words of an agent.
pub(super) struct OwnWords {
    pub(super) words: String,
    pub(super) step: StepId,
}

impl OwnWords {
    /// The question of the run, from the outermost of the root and the workflows around it.
    pub(super) fn asked(steps: &IdVec<StepId, Step>, root: StepId) -> Option<Self> {
        let mut around = Vec::new();
        let mut up = Some(root);
        while let Some((at, step)) = up.and_then(|at| Some((at, steps.get(at)?))) {
            around.push(at);
            up = step.parent;
        }
        around
            .into_iter()
            .rev()
            .find_map(|at| Self::of(steps, at, Direction::Input).or_else(|| Self::of_workflow(steps, at)))
    }

    /// What a workflow was asked: in messages, as a text, or as the only member of its input.
    fn of_workflow(steps: &IdVec<StepId, Step>, step: StepId) -> Option<Self> {
        let operation = &steps.get(step).filter(|step| step.operation.kind == Kind::Chain)?.operation;
        let words = match operation.input.get() {
            Some(Value::String(text)) => Some(text.trim().to_owned()),
            Some(Value::Object(map)) => only_words(map).or_else(|| enveloped(map, Direction::Input)),
            Some(value) => messages::read(value, Direction::Input).and_then(|list| in_messages(&list, Direction::Input)),
            None => in_messages(operation.input_messages.as_deref()?, Direction::Input),
        };
        let words = words.filter(|text| !text.is_empty() && !is_printed(text))?;
        Some(Self { words, step })
    }

    /// The answer of the outermost workflow around the root, if it has its own messages.
    pub(super) fn answered_around(steps: &IdVec<StepId, Step>, root: StepId) -> Option<Self> {
        let top = std::iter::successors(Some(root), |at| steps.get(*at)?.parent).last()?;
        let operation = &steps.get(top).filter(|step| step.operation.kind == Kind::Chain)?.operation;
        let words = match operation.output.get() {
            Some(value @ Value::Array(_)) => {
                messages::read(value, Direction::Output).and_then(|list| in_messages(&list, Direction::Output))
            }
            Some(Value::Object(map)) => answer_in(map),
            Some(_) => None,
            None => in_messages(operation.output_messages.as_deref()?, Direction::Output),
        };
        words.map(|words| Self { words, step: top })
    }

    /// Those of a step, if it is an agent and they are words.
    pub(super) fn of(steps: &IdVec<StepId, Step>, step: StepId, direction: Direction) -> Option<Self> {
        let operation = steps
            .get(step)
            .map(|step| &step.operation)
            .filter(|operation| operation.kind == Kind::Agent)?;
        let (value, list) = match direction {
            Direction::Input => (operation.input.get(), operation.input_messages.as_deref()),
            Direction::Output => (operation.output.get(), operation.output_messages.as_deref()),
        };
        if let (Direction::Output, Some(words)) = (direction, value.and_then(Value::as_object).and_then(raw_answer)) {
            // Said to be the answer, be it JSON.
            let words = words.to_owned();
            return Some(Self { words, step });
        }
        let words = match value {
            Some(Value::String(text)) => Some(text.trim().to_owned()),
            Some(Value::Array(_)) => value
                .and_then(|value| messages::read(value, direction))
                .and_then(|list| in_messages(&list, direction)),
            Some(Value::Object(map)) if direction == Direction::Input => argument(map).or_else(|| enveloped(map, direction)),
            Some(Value::Object(map)) => answer_in(map),
            Some(_) => None,
            None => in_messages(list?, direction),
        };
        // Marks represent pictures and files, which are no words.
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

    /// Whether a message is the same.
    pub(super) fn is(&self, said: &str) -> bool {
        squeezed(&self.words) == squeezed(said)
    }

    /// Whether this is one word that was put into a message, as into a template.
    pub(super) fn fills(&self, said: &str) -> bool {
        !self.words.contains(char::is_whitespace) && said.len() > self.words.len() && said.contains(&self.words)
    }

    /// Whether these words are the message with few others around it, or cut off.
    pub(super) fn wraps(&self, said: &str) -> bool {
        let (own, said) = (squeezed(&self.words), squeezed(said));
        let cut = own.strip_suffix("...").or_else(|| own.strip_suffix('\u{2026}'));
        let is_most = said.len().saturating_mul(2) >= own.len();
        !said.is_empty() && (is_most && own.contains(said.as_ref()) || cut.is_some_and(|cut| said.starts_with(cut.trim_end())))
    }
}

/// Whether an input says what the agent is made of, and not what it was asked: `{"agent", "tool_count", "tools": [..]}` (n8n).
pub(super) fn is_setup(map: &Map<String, Value>) -> bool {
    let of_setup = |key: &String| {
        matches!(
            key.as_str(),
            "agent" | "agent_name" | "name" | "model" | "description" | "tool_count" | "tools"
        )
    };
    map.get("tools").is_some_and(Value::is_array) && map.keys().all(of_setup)
}

/// The answer of a CrewAI crew or task: its text, beside what it was made of.
pub(super) fn raw_answer(map: &Map<String, Value>) -> Option<&str> {
    let is_crew = map.contains_key("tasks_output") || map.contains_key("expected_output") || map.contains_key("output_format");
    let text = map.get("raw").and_then(Value::as_str).filter(|_| is_crew)?.trim();
    (!text.is_empty()).then_some(text)
}

/// The answer in a whole that has it beside other things.
fn answer_in(map: &Map<String, Value>) -> Option<String> {
    raw_answer(map).map(str::to_owned).or_else(|| enveloped(map, Direction::Output))
}

/// The words inside what a framework puts around a run's input or output.
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

/// The text of the only argument that a workflow was given, if it is called a question or an input.
fn only_words(map: &Map<String, Value>) -> Option<String> {
    let mut members = map.iter().filter(|(_, value)| !has_nothing(value));
    let ((name, value), None) = (members.next()?, members.next()) else {
        return None;
    };
    let text = match (name.as_str(), value) {
        ("input" | "question" | "query" | "user_input" | "user_query" | "prompt", Value::String(text)) => text,
        // Of a decorated function.
        ("args", Value::Array(items)) => match items.as_slice() {
            [Value::String(text)] => text,
            _ => return None,
        },
        ("kwargs", Value::Object(inner)) => return only_words(inner),
        _ => return None,
    };
    Some(text.trim().to_owned())
}

/// The last words of the right role.
pub(super) fn in_messages(list: &[Message], direction: Direction) -> Option<String> {
    let role = match direction {
        Direction::Input => Role::User,
        Direction::Output => Role::Assistant,
    };
    let last = list.iter().rev().find(|message| message.role == role && message.has_words())?;
    Some(last.content())
}

/// Whether a text is what a program prints of its values: JSON, a class with its members.
fn is_printed(text: &str) -> bool {
    text.starts_with(['{', '[', '<']) || {
        let class: &str = text.split('(').next().unwrap_or_default();
        class.len() < text.len()
            && text.ends_with(')')
            && text.contains('=')
            && !class.is_empty()
            && class.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.'))
    }
}

fn squeezed(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if text.contains(['\n', '\t']) || text.contains("  ") {
        text.split_whitespace().collect::<Vec<_>>().join(" ").into()
    } else {
        text.into()
    }
}
