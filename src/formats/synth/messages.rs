//! What crosses the boundaries between person, agent and environment.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::document::{Message as SessionMessage, MessageContent, TimeRecord};
use super::facts::{self, put, put_filled};
use super::record::text;
use super::turns::Turns;
use crate::formats::{Loss, LossReason};
use crate::operation::message::arguments_object;
use crate::operation::{Kind, Message, Role};
use crate::run::{Entry, EntryKind, ResultEntry, Run, Scope, Step};
use crate::span::{SpanId, UnixNanos};

/// A message, its turn and its exact time.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) turn: usize,
    pub(super) at: UnixNanos,
    pub(super) message: SessionMessage,
}

/// The messages of a session while they are collected.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// In the order of the conversations.
    pub(super) said: Vec<Said>,
    /// For each model call's tool calls the id as recorded and the id under which it is told, in order.
    pub(super) call_ids: HashMap<usize, Vec<(Option<String>, String)>>,
    /// The id under which each tool step is told.
    pub(super) tool_ids: HashMap<usize, String>,
    /// What was put in another way.
    pub(super) losses: Vec<Loss>,
    taken: HashSet<String>,
    /// The tool step that ran each call, by model call and place in its output.
    ran: HashMap<(usize, usize), usize>,
}

/// A tool call that was told, and where.
struct Told {
    id: String,
    name: String,
    arguments: Value,
    at: UnixNanos,
    turn: usize,
    /// Place of the result message, if one came.
    result: Option<usize>,
}

impl Messages {
    /// Forgets what belongs to one run; call ids stay taken.
    pub(super) fn next_run(&mut self) {
        self.call_ids.clear();
        self.tool_ids.clear();
    }

    /// Collects the messages of a run.
    pub(super) fn collect(&mut self, run: &Run, turns: &Turns) {
        self.ran.clear();
        for (index, step) in run.steps.iter().enumerate() {
            if let (Some(by), Some(place)) = (step.dispatched_by, step.call_index) {
                let _ = self.ran.entry((by, place)).or_insert(index);
            }
        }
        if let Some(question) = run.question.as_ref().filter(|question| !question.in_conversation) {
            self.words("user_input", &question.content, 0, question.at, span(run, Some(question.step)));
        }
        for (index, scope) in run.scopes.iter().enumerate() {
            self.conversation(run, turns, index, scope);
        }
        self.lone(run, turns);
        if let Some(answer) = run.answer.as_ref().filter(|answer| !answer.in_conversation) {
            self.words(
                "agent_response",
                &answer.content,
                turns.last(),
                answer.at,
                span(run, Some(answer.step)),
            );
        }
    }

    fn conversation(&mut self, run: &Run, turns: &Turns, index: usize, scope: &Scope) {
        let outer = scope.called_by.is_none();
        let entries = &scope.conversation;
        let opening = entries
            .iter()
            .take_while(|entry| matches!(entry.kind, EntryKind::Message(_) | EntryKind::Result(_)))
            .count();
        let history = history(entries.get(..opening).unwrap_or_default());
        let start = scope.step.and_then(|step| run.steps.get(step)).map(|step| step.started_at);
        let mut told: HashMap<String, Told> = HashMap::new();
        let mut turn = turns.turn(entries.first().and_then(|entry| entry.step));
        for (place, entry) in entries.iter().enumerate() {
            turn = match &entry.kind {
                EntryKind::Result(result) => result.tool.map_or(turn, |tool| turns.turn(Some(tool))),
                _ => entry.step.map_or(turn, |step| turns.turn(Some(step))),
            };
            if place < opening && history.contains(&place) {
                continue;
            }
            let at = if place < opening {
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
                    self.actions(run, message, entry, None, turn, &mut told, index);
                }
                EntryKind::Turn(message) => {
                    if outer && message.tool_calls.is_empty() {
                        self.text("agent_response", message, turn, at, span(run, entry.step));
                    }
                    self.actions(run, message, entry, entry.step, turn, &mut told, index);
                }
                EntryKind::Call(call) => {
                    let Some(step) = run.steps.get(call.tool) else { continue };
                    let told_call = self.lone_action(run, step, &call.call_id, turn, index);
                    let _ = self.tool_ids.insert(call.tool, told_call.id.clone());
                    let _ = told.insert(call.call_id.clone(), told_call);
                }
                EntryKind::Result(result) => self.result(run, result, entry.at, turn, &mut told, index),
            }
        }
    }

    /// The tool calls of a message.
    #[expect(clippy::too_many_arguments, reason = "one message's facts, each used once")]
    fn actions(
        &mut self,
        run: &Run,
        message: &Message,
        entry: &Entry,
        asked: Option<usize>,
        turn: usize,
        told: &mut HashMap<String, Told>,
        scope: usize,
    ) {
        for (place, call) in message.tool_calls.iter().enumerate() {
            let tool = asked.and_then(|asked| self.ran.get(&(asked, place)).copied());
            let (arguments, _) = call.arguments_object();
            let arguments = Value::Object(arguments);
            let recorded = call.id.clone().filter(|id| !id.is_empty());
            let repeated = recorded.as_ref().and_then(|id| told.get(id));
            if let Some(earlier) = repeated
                && earlier.name == call.name
                && earlier.arguments == arguments
            {
                if let Some(asked) = asked {
                    self.call_ids.entry(asked).or_default().push((recorded.clone(), earlier.id.clone()));
                }
                self.losses.push(Loss::new(
                    span(run, entry.step),
                    format!("action {}: asked for again with the same id", call.name),
                    LossReason::Ambiguous,
                ));
                continue;
            }
            let owner = span_text(run, entry.step);
            let wanted = recorded.clone().unwrap_or_else(|| format!("{owner}:{place}"));
            let prefix = if repeated.is_some() { owner } else { prefix(run, scope) };
            let id = self.free_id(&wanted, &prefix);
            let mut metadata = Map::new();
            put(&mut metadata, "call_id", id.as_str());
            if recorded.is_none() {
                put(&mut metadata, "call_id_derived", true);
            } else if id != wanted {
                put(&mut metadata, "recorded_call_id", wanted.as_str());
            }
            put_filled(&mut metadata, "span_id", span(run, entry.step).map(|span| span.to_string()).into());
            // A tool may run inside its model call: what is asked for comes first.
            let started = tool.and_then(|tool| run.steps.get(tool)).map(|tool| tool.started_at);
            let at = started.map_or(entry.at, |started| started.min(entry.at));
            if let Some(asked) = asked {
                self.call_ids.entry(asked).or_default().push((recorded.clone(), id.clone()));
            }
            if let Some(tool) = tool {
                let _ = self.tool_ids.insert(tool, id.clone());
            }
            let payload = json!({"name": call.name, "arguments": arguments});
            self.payload("action", &payload, turn, at, metadata);
            let told_call = Told {
                id,
                name: call.name.clone(),
                arguments,
                at,
                turn,
                result: None,
            };
            let _ = told.insert(wanted, told_call);
        }
    }

    /// A call that no model's output shows.
    fn lone_action(&mut self, run: &Run, step: &Step, call_id: &str, turn: usize, scope: usize) -> Told {
        let tool = step.operation.tool.as_ref();
        let name = tool
            .and_then(|tool| tool.name.clone())
            .unwrap_or_else(|| step.operation.name.clone());
        let (arguments, coerced) = arguments_object(tool.and_then(|tool| tool.arguments.as_ref()));
        if coerced {
            let what = format!("action {name}: arguments are no object");
            self.losses.push(Loss::new(step.span_id, what, LossReason::Coerced));
        }
        let what = format!("action {name}: no model call asks for it");
        self.losses.push(Loss::new(step.span_id, what, LossReason::Synthesized));
        let id = self.free_id(call_id, &prefix(run, scope));
        let mut metadata = Map::new();
        put(&mut metadata, "call_id", id.as_str());
        if id != call_id {
            put(&mut metadata, "recorded_call_id", call_id);
        }
        put_filled(&mut metadata, "span_id", step.span_id.map(|span| span.to_string()).into());
        let arguments = Value::Object(arguments);
        let payload = json!({"name": name, "arguments": arguments});
        self.payload("action", &payload, turn, step.started_at, metadata);
        Told {
            id,
            name,
            arguments,
            at: step.started_at,
            turn,
            result: None,
        }
    }

    /// A tool's result. Of several the last is the message, the earlier ones are its metadata.
    fn result(&mut self, run: &Run, entry: &ResultEntry, at: UnixNanos, turn: usize, told: &mut HashMap<String, Told>, scope: usize) {
        let tool = entry.tool.and_then(|tool| run.steps.get(tool));
        let known = entry.tool.and_then(|tool| self.tool_ids.get(&tool).cloned());
        let blank = entry.failure.is_none() && (entry.result.is_null() || entry.result.as_str().is_some_and(|text| text.trim().is_empty()));
        if blank && tool.is_none() && !told.contains_key(&entry.call_id) {
            let what = "result without a call and without content";
            self.losses.push(Loss::new(None, what, LossReason::NoPlace));
            return;
        }
        let key = if told.contains_key(&entry.call_id) {
            entry.call_id.clone()
        } else {
            let by_tool = told
                .iter()
                .find(|(_, told)| Some(&told.id) == known.as_ref())
                .map(|(key, _)| key.clone());
            by_tool.unwrap_or_else(|| {
                let unknown = Step {
                    observed: crate::run::Observed::Messages,
                    ..unknown_tool(at)
                };
                let told_call = self.lone_action(run, tool.unwrap_or(&unknown), &entry.call_id, turn, scope);
                let _ = told.insert(entry.call_id.clone(), told_call);
                entry.call_id.clone()
            })
        };
        let Some(call) = told.get_mut(&key) else { return };
        if let Some(tool) = entry.tool {
            let _ = self.tool_ids.insert(tool, call.id.clone());
        }
        let mut metadata = Map::new();
        put(&mut metadata, "call_id", call.id.as_str());
        put_filled(
            &mut metadata,
            "span_id",
            tool.and_then(|tool| tool.span_id).map(|span| span.to_string()).into(),
        );
        if entry.attempt > 0 {
            put(&mut metadata, "attempt", entry.attempt);
        }
        let content = match &entry.failure {
            None => value_content(&entry.result),
            Some(failure) => {
                put(&mut metadata, "error", failure.text());
                put_filled(&mut metadata, "error_type", failure.error_type.clone().into());
                let mut payload = Map::new();
                put(&mut payload, "error", failure.text());
                if !entry.result.is_null() && entry.result.as_str() != Some(failure.text()) {
                    put(&mut payload, "result", entry.result.clone());
                }
                json_content(&Value::Object(payload))
            }
        };
        if let Some(place) = call.result
            && let Some(earlier) = self.said.get_mut(place)
        {
            // The same words again, and no execution behind them: told twice, not done twice.
            if tool.is_none() && earlier.message.content == content {
                let what = format!("result {}: told again", call.id);
                self.losses.push(Loss::new(None, what, LossReason::Ambiguous));
                return;
            }
            let before = earlier.message.clone();
            let mut attempts = match earlier.message.metadata.remove("attempts") {
                Some(Value::Array(list)) => list,
                _ => Vec::new(),
            };
            let mut told = facts::filled([
                ("event_time", facts::number(Some(before.time_record.event_time))),
                ("text", before.content.text.into()),
                ("json_payload", before.content.json_payload.into()),
            ]);
            if let Value::Object(map) = &mut told {
                for (name, value) in earlier.message.metadata.iter().filter(|(name, _)| *name != "call_id") {
                    put(map, name, value.clone());
                }
            }
            attempts.push(told);
            put(&mut metadata, "attempts", attempts);
            earlier.at = at.max(call.at);
            earlier.turn = turn;
            earlier.message = message("result", content, earlier.at, metadata);
            return;
        }
        call.result = Some(self.said.len());
        let turn = if tool.is_some() { turn } else { call.turn };
        let at = at.max(call.at);
        self.push(turn, at, message("result", content, at, metadata));
    }

    /// What only operations of their own tell of.
    fn lone(&mut self, run: &Run, turns: &Turns) {
        for (index, step) in run.steps.iter().enumerate() {
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
                Kind::UserInput => (
                    "user_input",
                    operation.input.as_ref().or(operation.output.as_ref()),
                    step.started_at,
                ),
                Kind::FinalOutput => (
                    "agent_response",
                    operation.output.as_ref().or(operation.input.as_ref()),
                    step.end_or_start(),
                ),
                _ => continue,
            };
            let entered = run
                .scopes
                .iter()
                .flat_map(|scope| &scope.conversation)
                .any(|entry| entry.step == Some(index));
            if let Some(content) = content.filter(|content| !entered && !self.is_told(word, content)) {
                self.words(word, content, turn, at, step.span_id);
            }
        }
    }

    /// What a search found, if the spans say so.
    fn observation(&mut self, step: &Step, turn: usize) {
        let search = step.operation.search.as_ref();
        let memory = step.operation.memory.as_ref();
        let found = search
            .and_then(|search| search.documents.as_deref())
            .map(facts::documents)
            .or_else(|| memory.and_then(|memory| memory.results.clone()))
            .unwrap_or_default();
        let query = search
            .and_then(|search| search.query.clone())
            .or_else(|| memory.and_then(|memory| memory.query.clone()))
            .unwrap_or_default();
        let payload = facts::filled([("query", query), ("documents", found.clone())]);
        if found.is_null() || found.as_array().is_some_and(Vec::is_empty) {
            return;
        }
        let mut metadata = Map::new();
        put_filled(&mut metadata, "span_id", step.span_id.map(|span| span.to_string()).into());
        self.payload("observation", &payload, turn, step.end_or_start(), metadata);
    }

    fn is_told(&self, word: &str, content: &Value) -> bool {
        let text = text(content);
        text.trim().is_empty()
            || self.said.iter().any(|said| {
                said.message.message_type == word && said.message.content.text.as_deref().is_some_and(|told| told.trim() == text.trim())
            })
    }

    /// A chat message's words.
    fn text(&mut self, word: &str, said: &Message, turn: usize, at: UnixNanos, span: Option<SpanId>) {
        let words = said.content();
        let content = if !words.trim().is_empty() {
            text_content(words)
        } else if said.has_media() {
            json_content(&said.chat_content())
        } else {
            return;
        };
        let mut metadata = Map::new();
        put_filled(&mut metadata, "span_id", span.map(|span| span.to_string()).into());
        put_filled(&mut metadata, "name", said.name.clone().into());
        if let Role::Other(role) = &said.role {
            put(&mut metadata, "role", role.as_str());
        }
        self.push(turn, at, message(word, content, at, metadata));
    }

    fn words(&mut self, word: &str, content: &Value, turn: usize, at: UnixNanos, span: Option<SpanId>) {
        let mut metadata = Map::new();
        put_filled(&mut metadata, "span_id", span.map(|span| span.to_string()).into());
        self.push(turn, at, message(word, value_content(content), at, metadata));
    }

    fn payload(&mut self, word: &str, payload: &Value, turn: usize, at: UnixNanos, metadata: Map<String, Value>) {
        self.push(turn, at, message(word, json_content(payload), at, metadata));
    }

    fn push(&mut self, turn: usize, at: UnixNanos, message: SessionMessage) {
        self.said.push(Said { turn, at, message });
    }

    /// An id that no call of the session has.
    fn free_id(&mut self, id: &str, prefix: &str) -> String {
        let mut free = id.to_owned();
        let mut number = 1;
        while !self.taken.insert(free.clone()) {
            free = if number == 1 {
                format!("{prefix}/{id}")
            } else {
                format!("{prefix}/{id}#{number}")
            };
            number += 1;
        }
        free
    }
}

/// The entries of an opening that were said before this session: all up to the last assistant message, but the last user
/// message if none comes after.
fn history(opening: &[Entry]) -> HashSet<usize> {
    let role = |entry: &Entry, role: Role| matches!(&entry.kind, EntryKind::Message(message) if message.role == role);
    let Some(last) = opening.iter().rposition(|entry| role(entry, Role::Assistant)) else {
        return HashSet::new();
    };
    let mut old: HashSet<usize> = (0..opening.len())
        .filter(|place| *place <= last || opening.get(*place).is_some_and(|entry| matches!(entry.kind, EntryKind::Result(_))))
        .collect();
    let newest = opening.iter().rposition(|entry| role(entry, Role::User));
    if let Some(newest) = newest.filter(|newest| old.contains(newest)) {
        let _ = old.remove(&newest);
    }
    old
}

fn message(word: &str, content: MessageContent, at: UnixNanos, mut metadata: Map<String, Value>) -> SessionMessage {
    let (from, to) = match word {
        "user_input" => ("human", "agent"),
        "agent_response" => ("agent", "human"),
        "action" => ("agent", "environment"),
        _ => ("environment", "agent"),
    };
    put(&mut metadata, "from_system_role", from);
    put(&mut metadata, "to_system_role", to);
    SessionMessage {
        content,
        message_type: word.to_owned(),
        time_record: TimeRecord {
            event_time: at.seconds(),
            message_time: None,
        },
        metadata,
    }
}

fn text_content(text: String) -> MessageContent {
    MessageContent {
        text: Some(text),
        json_payload: None,
    }
}

fn json_content(value: &Value) -> MessageContent {
    MessageContent {
        text: None,
        json_payload: Some(value.to_string()),
    }
}

fn value_content(value: &Value) -> MessageContent {
    match value {
        Value::String(text) => text_content(text.clone()),
        other => json_content(other),
    }
}

fn span(run: &Run, step: Option<usize>) -> Option<SpanId> {
    run.steps.get(step?)?.span_id
}

fn span_text(run: &Run, step: Option<usize>) -> String {
    step.and_then(|step| run.steps.get(step)).map_or_else(
        || "run".to_owned(),
        |step| step.span_id.map_or_else(|| step.id.clone(), |span| span.to_string()),
    )
}

fn prefix(run: &Run, scope: usize) -> String {
    run.scopes
        .get(scope)
        .and_then(|scope| scope.agent.clone())
        .unwrap_or_else(|| format!("conversation-{scope}"))
}

/// Stands for a tool that nothing but a result tells of.
fn unknown_tool(at: UnixNanos) -> Step {
    Step {
        id: String::new(),
        span_id: None,
        parent: None,
        scope: 0,
        observed: crate::run::Observed::Messages,
        operation: Box::new(crate::operation::Operation {
            kind: Kind::Tool,
            name: "unknown".to_owned(),
            ..Default::default()
        }),
        started_at: at,
        ended_at: Some(at),
        turn: None,
        dispatched_by: None,
        call_index: None,
        inside_tool: None,
        called_by: None,
        evidence: Vec::new(),
        same_call_as: None,
    }
}
