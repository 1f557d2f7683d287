//! Writes messages across the boundaries between user, agent and environment.

use serde_json::Value;

use super::document::{Message as SessionMessage, MessageContent, TimeRecord};
use super::facts;
use super::turns::Turns;
use super::written_call::{Conversation, UnaskedCall};
use crate::document::json::{Json, Object, Text, trimmed};
use crate::document::loss::Loss;
use crate::document::text::compact;
use crate::hash::{HashMap, HashSet};
use crate::operation::{Kind, Message, Role};
use crate::run::{EntryKind, Run, Scope, ScopeId, Step, StepId};
use crate::span::{SpanId, UnixNanos};
use crate::transcript::content;
use crate::transcript::history;
use crate::transcript::ids::Ids;

/// A message, its turn and its exact time.
#[derive(Debug)]
pub(super) struct TimedMessage<'a> {
    pub(super) turn: usize,
    pub(super) at: UnixNanos,
    pub(super) message: SessionMessage<'a>,
}

/// Types of messages that hold words.
const WORD_TYPES: [&str; 2] = ["user_input", "agent_response"];

/// The messages of a session under construction.
#[derive(Debug, Default)]
pub(super) struct Messages<'a> {
    /// In conversation order.
    pub(super) list: Vec<TimedMessage<'a>>,
    /// For each model call, the recorded and the written id of its tool calls, in order.
    pub(super) call_ids: HashMap<StepId, Vec<(Option<&'a str>, Text<'a>)>>,
    /// The written id of each tool step.
    pub(super) tool_ids: HashMap<StepId, Text<'a>>,
    /// Changes made to fit the format.
    pub(super) losses: Vec<Loss>,
    pub(super) taken: Ids<'a>,
    /// Written call id to the id that entries of the current conversation use.
    pub(super) keys: HashMap<Text<'a>, Text<'a>>,
    /// The tool step that ran each call, by model call and index in its output.
    pub(super) ran: HashMap<(StepId, usize), StepId>,
    /// The texts of messages, and the number of messages covered.
    words: (HashSet<(&'static str, Text<'a>)>, usize),
}

impl<'a> Messages<'a> {
    /// Clears state of a single run; call ids remain in use.
    pub(super) fn next_run(&mut self) {
        self.call_ids.clear();
        self.tool_ids.clear();
        self.keys.clear();
        self.words = <_>::default();
    }

    /// Collects the messages of a run.
    pub(super) fn collect(&mut self, run: &'a Run, turns: &Turns) {
        self.ran.clear();
        for (index, step) in run.steps.enumerate() {
            if let (Some(by), Some(place)) = (step.dispatched_by, step.call_index) {
                let _ = self.ran.entry((by, place)).or_insert(index);
            }
        }
        if let Some(question) = run.question.as_ref().filter(|question| !question.in_conversation) {
            self.words(
                "user_input",
                Json::from(&question.content),
                0,
                question.at,
                span(run, Some(question.step)),
            );
        }
        for (index, scope) in run.scopes.enumerate() {
            self.conversation(run, turns, index, scope);
        }
        self.lone(run, turns);
        if let Some(answer) = run.answer.as_ref().filter(|answer| !answer.in_conversation) {
            self.words(
                "agent_response",
                Json::from(&answer.content),
                turns.last(),
                answer.at,
                span(run, Some(answer.step)),
            );
        }
    }

    fn conversation(&mut self, run: &'a Run, turns: &Turns, index: ScopeId, scope: &'a Scope) {
        let outer = scope.called_by.is_none() && !scope.is_auxiliary;
        let entries = &scope.conversation;
        let history = history(entries);
        let start = scope.step.and_then(|step| run.steps.get(step)).map(|step| step.started_at);
        let mut talk = Conversation {
            run,
            scope: index,
            turn: turns.turn(entries.first().and_then(|entry| entry.step)),
            written: HashMap::default(),
        };
        for (place, entry) in entries.iter().enumerate() {
            let of_entry = match &entry.kind {
                EntryKind::Result(result) => result.tool,
                _ => entry.step,
            };
            talk.turn = of_entry.map_or(talk.turn, |step| turns.turn(Some(step)));
            let turn = talk.turn;
            if history.get(place) == Some(&true) {
                continue;
            }
            let at = if place < history.len() {
                start.map_or(entry.at, |start| start.min(entry.at))
            } else {
                entry.at
            };
            match &entry.kind {
                EntryKind::Message(message) => {
                    let word = match &message.role {
                        Role::System | Role::Developer | Role::Tool => None,
                        Role::Assistant => message.tool_calls.is_empty().then_some("agent_response"),
                        Role::User | Role::Other(_) => Some("user_input"),
                    };
                    if outer && let Some(word) = word {
                        self.text(word, message, turn, at, span(run, entry.step));
                    }
                    self.actions(&mut talk, message, entry, None);
                }
                EntryKind::Turn(message) => {
                    if outer && message.tool_calls.is_empty() {
                        self.text("agent_response", message, turn, at, span(run, entry.step));
                    }
                    self.actions(&mut talk, message, entry, entry.step);
                }
                EntryKind::Call(call) => {
                    let Some(step) = run.steps.get(call.tool) else { continue };
                    let written_call = self.lone_action(&talk, UnaskedCall::of(step), &call.call_id);
                    let _ = self.tool_ids.insert(call.tool, written_call.id.clone());
                    self.insert_call(&mut talk, (&call.call_id).into(), written_call);
                }
                EntryKind::Result(result) => self.result(&mut talk, result, entry.at),
            }
        }
    }

    /// Adds messages recorded only by separate operations.
    fn lone(&mut self, run: &'a Run, turns: &Turns) {
        let entries = run.scopes.iter().flat_map(|scope| &scope.conversation);
        let entered: HashSet<StepId> = entries.filter_map(|entry| entry.step).collect();
        for (index, step) in run.steps.enumerate() {
            let operation = &step.operation;
            let turn = turns.turn(Some(index));
            let (word, content, at) = match operation.kind {
                Kind::Retrieval | Kind::MemoryRead if step.inside_tool.is_none() && !self.tool_ids.contains_key(&index) => {
                    self.observation(step, turn);
                    continue;
                }
                Kind::Interrupt => {
                    let response = operation.interrupt.as_ref().and_then(|interrupt| interrupt.response.as_ref());
                    ("user_input", response, step.end_or_start())
                }
                Kind::UserInput => ("user_input", operation.input.get().or(operation.output.get()), step.started_at),
                Kind::FinalOutput => (
                    "agent_response",
                    operation.output.get().or(operation.input.get()),
                    step.end_or_start(),
                ),
                _ => continue,
            };
            if let Some(content) = content.filter(|content| !entered.contains(&index) && !self.is_written(word, content)) {
                self.words(word, content.into(), turn, at, step.span_id);
            }
        }
    }

    /// Adds the results of a search, if recorded.
    fn observation(&mut self, step: &'a Step, turn: usize) {
        let search = step.operation.search.as_ref();
        let memory = step.operation.memory.as_ref();
        let found = search
            .and_then(|search| search.documents.as_deref())
            .map(facts::documents)
            .or_else(|| memory.and_then(|memory| memory.results.as_ref()).map(Json::from))
            .unwrap_or_default();
        let query = search
            .and_then(|search| search.query.as_ref())
            .or_else(|| memory.and_then(|memory| memory.query.as_ref()));
        let is_list = matches!(found, Json::List(_) | Json::Values(_));
        if found.is_null() || is_list && found.is_empty() {
            return;
        }
        let payload = facts::filled([("query", query.into()), ("documents", found)]);
        let mut metadata = Object::new();
        metadata.insert_filled("span_id", step.span_id.map(|span| span.to_string()));
        let at = step.end_or_start();
        self.push(turn, at, message("observation", json_content(&payload.into()), at, metadata));
    }

    fn is_written(&mut self, word: &'static str, content: &'a Value) -> bool {
        let text = trimmed(content::text(content));
        if text.is_empty() {
            return true;
        }
        let (words, until) = &mut self.words;
        for earlier in self.list.iter().skip(*until) {
            let word = WORD_TYPES.into_iter().find(|word| *word == earlier.message.message_type);
            if let (Some(word), Some(text)) = (word, &earlier.message.content.text) {
                let _ = words.insert((word, trimmed(text.clone())));
            }
        }
        *until = self.list.len();
        words.contains(&(word, text))
    }

    /// Adds a chat message's words.
    fn text(&mut self, word: &'static str, source: &'a Message, turn: usize, at: UnixNanos, span: Option<SpanId>) {
        let content = if source.has_words() {
            text_content(content::content(source))
        } else if source.has_media() {
            json_content(&content::chat_content(source))
        } else {
            return;
        };
        let mut metadata = Object::new();
        metadata.insert_filled("span_id", span.map(|span| span.to_string()));
        metadata.insert_filled("name", source.name.as_ref());
        if let Role::Other(role) = &source.role {
            metadata.insert("role", role);
        }
        self.push(turn, at, message(word, content, at, metadata));
    }

    fn words(&mut self, word: &'static str, content: Json<'a>, turn: usize, at: UnixNanos, span: Option<SpanId>) {
        let mut metadata = Object::new();
        metadata.insert_filled("span_id", span.map(|span| span.to_string()));
        self.push(turn, at, message(word, value_content(content), at, metadata));
    }

    pub(super) fn push(&mut self, turn: usize, at: UnixNanos, message: SessionMessage<'a>) {
        self.list.push(TimedMessage { turn, at, message });
    }
}

pub(super) fn message<'a>(word: &'static str, content: MessageContent<'a>, at: UnixNanos, mut metadata: Object<'a>) -> SessionMessage<'a> {
    let (from, to) = match word {
        "user_input" => ("human", "agent"),
        "agent_response" => ("agent", "human"),
        "action" => ("agent", "environment"),
        _ => ("environment", "agent"),
    };
    metadata.insert("from_system_role", from);
    metadata.insert("to_system_role", to);
    SessionMessage {
        content,
        message_type: word.into(),
        time_record: TimeRecord {
            event_time: at.seconds(),
            message_time: None,
        },
        metadata,
    }
}

fn text_content(text: Text<'_>) -> MessageContent<'_> {
    MessageContent {
        text: Some(text),
        json_payload: None,
    }
}

pub(super) fn json_content<'a>(value: &Json<'_>) -> MessageContent<'a> {
    MessageContent {
        text: None,
        json_payload: Some(compact(&value).into()),
    }
}

pub(super) fn value_content(value: Json<'_>) -> MessageContent<'_> {
    match value {
        Json::Text(text) => text_content(text),
        other => json_content(&other),
    }
}

pub(super) fn span(run: &Run, step: Option<StepId>) -> Option<SpanId> {
    run.steps.get(step?)?.span_id
}
