//! The conversations of a run, in full, and input and output of the operations that
//! no conversation shows.

use std::borrow::Cow;

use serde_json::Value;

use super::errors;
use super::step::offset;
use crate::document::json::Json;
use crate::operation::{Kind, Message, Part, Role};
use crate::run::{Entry, EntryKind, Run, Scope, ScopeId};
use crate::transcript::calls;
use crate::transcript::calls::Results;
use crate::transcript::content;
use crate::transcript::conversation_words::ConversationWords;
use crate::transcript::{StepId, Transcript};

/// The conversation of one agent.
#[derive(Debug)]
pub(crate) struct Conversation<'a> {
    /// The agent's name.
    pub(crate) agent: Option<&'a str>,
    /// Index of the tool step that called the agent.
    pub(crate) called_by: Option<StepId>,
    /// The entries, in order.
    pub(crate) entries: Vec<ConversationEntry<'a>>,
}

/// One entry of a conversation.
#[derive(Debug)]
pub(crate) struct ConversationEntry<'a> {
    /// `system`, `user`, `assistant`, `tool`, or another word of the client.
    pub(crate) role: &'a str,
    /// The model or tool that speaks, or the name in the message.
    pub(crate) name: Option<&'a str>,
    /// Nanoseconds from the start of the run.
    pub(crate) offset: u64,
    /// The history was edited or cut before this.
    pub(crate) branch: bool,
    /// The parts, in order.
    pub(crate) parts: Vec<Words<'a>>,
}

/// A part of an entry.
#[derive(Debug)]
pub(crate) enum Words<'a> {
    /// Text, or a tool's result.
    Text(Cow<'a, str>),
    /// The model's thoughts.
    Thought(Cow<'a, str>),
    /// A call to a tool.
    Call {
        /// The tool's name.
        name: &'a str,
        /// The arguments, as text.
        arguments: Cow<'a, str>,
    },
    /// A description of a picture, file or other part without its bytes.
    Mark(String),
    /// The tool failed.
    Failure(Cow<'a, str>),
}

/// Input and output of an operation that no conversation shows.
#[derive(Debug)]
pub(crate) struct UnshownValues {
    /// Index into [`Run::steps`].
    pub(crate) step: StepId,
    /// Input.
    pub(crate) input: Option<String>,
    /// Output.
    pub(crate) output: Option<String>,
}

/// Values up to this many bytes stay on one line.
const SHORT: usize = 72;

/// A value in readable form: text as it is, large JSON indented.
pub(crate) fn readable(value: Json<'_>) -> String {
    if let Some(text) = value.as_str() {
        return text.to_owned();
    }
    let compact = value.to_string();
    if compact.len() <= SHORT {
        return compact;
    }
    serde_json::to_string_pretty(&value).unwrap_or(compact)
}

fn readable_value(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => text.into(),
        other => readable(Json::from(other)).into(),
    }
}

/// The conversations that have entries, the run's own first.
pub(crate) fn conversations(run: &Run) -> Vec<Conversation<'_>> {
    let all = run
        .scopes
        .iter()
        .map(|scope| conversation(run, scope, &mut scope.conversation.iter()));
    all.filter(|conversation| !conversation.entries.is_empty()).collect()
}

/// The same without the work: see [`talks`].
pub(crate) fn without_work(run: &Run) -> Vec<Conversation<'_>> {
    let all = talks(run).into_iter();
    all.map(|(scope, entries)| conversation(run, scope, &mut entries.into_iter()))
        .collect()
}

/// What people said to the agents that nothing called, and the last answer to it: without thoughts, calls and results between.
pub(crate) fn talks(run: &Run) -> Vec<(&Scope, Vec<&Entry>)> {
    let main = run.scopes.iter().filter(|scope| scope.called_by.is_none() && !scope.is_auxiliary);
    main.map(|scope| (scope, talk(scope)))
        .filter(|(_, talk)| !talk.is_empty())
        .collect()
}

fn talk(scope: &Scope) -> Vec<&Entry> {
    let has_text = |message: &Message| {
        message
            .parts
            .iter()
            .any(|part| matches!(part, Part::Text(text) if !text.trim().is_empty()))
    };
    let (mut kept, mut answer) = (Vec::new(), None);
    for entry in &scope.conversation {
        match &entry.kind {
            EntryKind::Message(message) if message.role == Role::User => {
                kept.extend(answer.take());
                kept.push(entry);
            }
            EntryKind::Turn(message) if has_text(message) => answer = Some(entry),
            _ => {}
        }
    }
    kept.extend(answer);
    kept
}

fn conversation<'a>(run: &'a Run, scope: &'a Scope, entries: &mut dyn Iterator<Item = &'a Entry>) -> Conversation<'a> {
    let entries = entries.map(|entry| {
        let step = entry.step.and_then(|step| run.steps.get(step));
        let (role, name, parts) = match &entry.kind {
            EntryKind::Message(message) => (message.role.name(), message.name.as_deref(), words(message)),
            EntryKind::Turn(message) => {
                let model = step.and_then(|step| step.operation.model.name());
                ("assistant", model.or(message.name.as_deref()), words(message))
            }
            EntryKind::Call(call) => {
                let tool = run.steps.get(call.tool);
                let parts = tool.map(|tool| Words::Call {
                    name: calls::tool_name(run, tool),
                    arguments: calls::arguments(run, tool).map_or("".into(), readable_value),
                });
                ("call", None, parts.into_iter().collect())
            }
            EntryKind::Result(result) => {
                let tool = result.tool.and_then(|tool| run.steps.get(tool));
                let name = tool.map(|tool| calls::tool_name(run, tool));
                let failure = result.failure.as_ref().map(|failure| Words::Failure(errors::words(failure)));
                let value = (!result.result.is_null()).then(|| Words::Text(readable_value(&result.result)));
                ("tool", name, failure.into_iter().chain(value).collect())
            }
        };
        ConversationEntry {
            role,
            name,
            offset: offset(run, entry.at),
            branch: entry.branch,
            parts,
        }
    });
    Conversation {
        agent: scope.agent.as_deref(),
        called_by: scope.called_by,
        entries: entries.collect(),
    }
}

fn words(message: &Message) -> Vec<Words<'_>> {
    let parts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(Words::Text(text.into())).filter(|_| !text.trim().is_empty()),
        Part::Reasoning { text: Some(text), .. } => Some(Words::Thought(text.into())).filter(|_| !text.trim().is_empty()),
        Part::Reasoning { text: None, opaque } => (!opaque.is_empty()).then(|| Words::Mark("[reasoning without words]".to_owned())),
        Part::Media(media) => Some(Words::Mark(content::media_mark(media))),
        Part::Other(value) => Some(Words::Mark(content::part_mark(value))),
    });
    let result = message.result.iter().map(|result| Words::Text(readable_value(result)));
    let calls = message.tool_calls.iter().map(|call| Words::Call {
        name: &call.name,
        arguments: calls::arguments_json(call),
    });
    parts.chain(result).chain(calls).collect()
}

/// Input and output of the operations that no conversation shows. Agents and chains often record the whole state at each
/// step: theirs is included only if their scope has no conversation.
pub(crate) fn beside(run: &Run) -> Vec<UnshownValues> {
    let (transcript, reported, results) = (Transcript::of(run), ConversationWords::of(run), Results::of(run));
    let is_silent = |scope: ScopeId| run.scopes.get(scope).is_none_or(|scope| scope.conversation.is_empty());
    let steps = run.steps.enumerate().filter(|(index, step)| {
        let operation = &step.operation;
        match operation.kind {
            Kind::Plain | Kind::Detail => false,
            Kind::Agent | Kind::Chain | Kind::Unknown | Kind::AgentCreate => {
                is_silent(step.scope) && reported.unwritten(operation).is_some()
            }
            _ => !transcript.is_in_conversation(*index),
        }
    });
    let beside = steps.map(|(index, step)| UnshownValues {
        step: index,
        input: content::input(run, step).map(readable),
        output: content::output(&results, step).map(readable),
    });
    beside.filter(|beside| beside.input.is_some() || beside.output.is_some()).collect()
}
