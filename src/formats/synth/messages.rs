//! What crosses the boundaries between person, agent and environment.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::document::{Message as SessionMessage, MessageContent, TimeRecord};
use super::facts;
use super::turns::Turns;
use crate::formats::calls::arguments_object;
use crate::formats::io;
use crate::formats::json::{Json, Object, Text, trimmed};
use crate::formats::{Loss, LossReason};
use crate::operation::{Kind, Message, Role};
use crate::run::{Entry, EntryKind, ResultEntry, Run, Scope, Step};
use crate::span::{SpanId, UnixNanos};

/// A message, its turn and its exact time.
#[derive(Debug)]
pub(super) struct Said<'a> {
    pub(super) turn: usize,
    pub(super) at: UnixNanos,
    pub(super) message: SessionMessage<'a>,
}

/// The kinds of messages that are words.
const WORDS: [&str; 2] = ["user_input", "agent_response"];

/// The messages of a session while they are collected.
#[derive(Debug, Default)]
pub(super) struct Messages<'a> {
    /// In the order of the conversations.
    pub(super) said: Vec<Said<'a>>,
    /// For each model call's tool calls the id as recorded and the id under which it is told, in order.
    pub(super) call_ids: HashMap<usize, Vec<(Option<&'a str>, Text<'a>)>>,
    /// The id under which each tool step is told.
    pub(super) tool_ids: HashMap<usize, Text<'a>>,
    /// What was put in another way.
    pub(super) losses: Vec<Loss>,
    taken: HashSet<Text<'a>>,
    /// The id that entries use for a call of the present conversation, by the id under which it is told.
    keys: HashMap<Text<'a>, Text<'a>>,
    /// The tool step that ran each call, by model call and place in its output.
    ran: HashMap<(usize, usize), usize>,
    /// What is said in words, for the first so many messages.
    words: (HashSet<(&'static str, Text<'a>)>, usize),
}

/// A tool call that was told, and where.
struct Told<'a> {
    id: Text<'a>,
    name: Text<'a>,
    arguments: Object<'a>,
    at: UnixNanos,
    turn: usize,
    /// Place of the result message, if one came.
    result: Option<usize>,
}

impl<'a> Messages<'a> {
    /// Forgets what belongs to one run; call ids stay taken.
    pub(super) fn next_run(&mut self) {
        self.call_ids.clear();
        self.tool_ids.clear();
        self.keys.clear();
        self.words = <_>::default();
    }

    /// Collects the messages of a run.
    pub(super) fn collect(&mut self, run: &'a Run, turns: &Turns) {
        self.ran.clear();
        for (index, step) in run.steps.iter().enumerate() {
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
        for (index, scope) in run.scopes.iter().enumerate() {
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

    fn conversation(&mut self, run: &'a Run, turns: &Turns, index: usize, scope: &'a Scope) {
        let outer = scope.called_by.is_none();
        let entries = &scope.conversation;
        let opening = entries
            .iter()
            .take_while(|entry| matches!(entry.kind, EntryKind::Message(_) | EntryKind::Result(_)))
            .count();
        let history = history(entries.get(..opening).unwrap_or_default());
        let start = scope.step.and_then(|step| run.steps.get(step)).map(|step| step.started_at);
        let mut told: HashMap<Text<'a>, Told<'a>> = HashMap::new();
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
                    let told_call = self.lone_action(run, Lone::of(step), &call.call_id, turn, index);
                    let _ = self.tool_ids.insert(call.tool, told_call.id.clone());
                    self.tell(&mut told, (&call.call_id).into(), told_call);
                }
                EntryKind::Result(result) => self.result(run, result, entry.at, turn, &mut told, index),
            }
        }
    }

    /// The tool calls of a message.
    #[expect(clippy::too_many_arguments, reason = "one message's facts, each used once")]
    fn actions(
        &mut self,
        run: &'a Run,
        message: &'a Message,
        entry: &'a Entry,
        asked: Option<usize>,
        turn: usize,
        told: &mut HashMap<Text<'a>, Told<'a>>,
        scope: usize,
    ) {
        for (place, call) in message.tool_calls.iter().enumerate() {
            let tool = asked.and_then(|asked| self.ran.get(&(asked, place)).copied());
            let (arguments, _) = arguments_object(call.arguments.as_ref());
            let recorded = call.id.as_deref().filter(|id| !id.is_empty());
            let repeated = recorded.and_then(|id| told.get(id));
            if let Some(earlier) = repeated
                && earlier.name == call.name
                && earlier.arguments == arguments
            {
                if let Some(asked) = asked {
                    self.call_ids.entry(asked).or_default().push((recorded, earlier.id.clone()));
                }
                self.losses.push(Loss::new(
                    span(run, entry.step),
                    format!("action {}: asked for again with the same id", call.name),
                    LossReason::Ambiguous,
                ));
                continue;
            }
            let owner = span_text(run, entry.step);
            let wanted: Text<'a> = recorded.map_or_else(|| format!("{owner}:{place}").into(), Text::from);
            let is_repeated = repeated.is_some();
            let id = self.free_id(&wanted, || if is_repeated { owner.clone() } else { prefix(run, scope) });
            let mut metadata = Object::new();
            metadata.insert("call_id", id.clone());
            if recorded.is_none() {
                metadata.insert("call_id_derived", true);
            } else if id != wanted {
                metadata.insert("recorded_call_id", wanted.clone());
            }
            metadata.insert_filled("span_id", span(run, entry.step).map(|span| span.to_string()));
            // A tool may run inside its model call: what is asked for comes first.
            let started = tool.and_then(|tool| run.steps.get(tool)).map(|tool| tool.started_at);
            let at = started.map_or(entry.at, |started| started.min(entry.at));
            if let Some(asked) = asked {
                self.call_ids.entry(asked).or_default().push((recorded, id.clone()));
            }
            if let Some(tool) = tool {
                let _ = self.tool_ids.insert(tool, id.clone());
            }
            self.action(&call.name, &arguments, turn, at, metadata);
            let told_call = Told {
                id,
                name: (&call.name).into(),
                arguments,
                at,
                turn,
                result: None,
            };
            self.tell(told, wanted, told_call);
        }
    }

    /// A call that no model's output shows.
    fn lone_action(&mut self, run: &'a Run, lone: Lone<'a>, call_id: &'a str, turn: usize, scope: usize) -> Told<'a> {
        let Lone { name, arguments, span, at } = lone;
        let (arguments, coerced) = arguments_object(arguments);
        if coerced {
            let what = format!("action {name}: arguments are no object");
            self.losses.push(Loss::new(span, what, LossReason::Coerced));
        }
        let what = format!("action {name}: no model call asks for it");
        self.losses.push(Loss::new(span, what, LossReason::Synthesized));
        let id = self.free_id(&call_id.into(), || prefix(run, scope));
        let mut metadata = Object::new();
        metadata.insert("call_id", id.clone());
        if id != call_id {
            metadata.insert("recorded_call_id", call_id);
        }
        metadata.insert_filled("span_id", span.map(|span| span.to_string()));
        self.action(name, &arguments, turn, at, metadata);
        Told {
            id,
            name: name.into(),
            arguments,
            at,
            turn,
            result: None,
        }
    }

    /// A tool's result. Of several the last is the message, the earlier ones are its metadata.
    fn result(
        &mut self,
        run: &'a Run,
        entry: &'a ResultEntry,
        at: UnixNanos,
        turn: usize,
        told: &mut HashMap<Text<'a>, Told<'a>>,
        scope: usize,
    ) {
        let tool = entry.tool.and_then(|tool| run.steps.get(tool));
        let known = entry.tool.and_then(|tool| self.tool_ids.get(&tool).cloned());
        let blank = entry.failure.is_none() && (entry.result.is_null() || entry.result.as_str().is_some_and(|text| text.trim().is_empty()));
        if blank && tool.is_none() && !told.contains_key(entry.call_id.as_str()) {
            let what = "result without a call and without content";
            self.losses.push(Loss::new(None, what, LossReason::NoPlace));
            return;
        }
        let call_id = Text::from(&entry.call_id);
        let key = if told.contains_key(&call_id) {
            call_id
        } else {
            let by_tool = known.and_then(|known| {
                self.keys
                    .get(&known)
                    .cloned()
                    .filter(|key| told.get(key).is_some_and(|call| call.id == known))
            });
            by_tool.unwrap_or_else(|| {
                let lone = tool.map_or_else(|| Lone::unknown(at), Lone::of);
                let told_call = self.lone_action(run, lone, &entry.call_id, turn, scope);
                self.tell(told, call_id.clone(), told_call);
                call_id
            })
        };
        let Some(call) = told.get_mut(&key) else { return };
        if let Some(tool) = entry.tool {
            let _ = self.tool_ids.insert(tool, call.id.clone());
        }
        let mut metadata = Object::new();
        metadata.insert("call_id", call.id.clone());
        metadata.insert_filled("span_id", tool.and_then(|tool| tool.span_id).map(|span| span.to_string()));
        if entry.attempt > 0 {
            metadata.insert("attempt", entry.attempt);
        }
        let content = match &entry.failure {
            None => value_content((&entry.result).into()),
            Some(failure) => {
                metadata.insert("error", failure.text());
                metadata.insert_filled("error_type", failure.error_type.as_ref());
                let mut payload = Object::new();
                payload.insert("error", failure.text());
                if !entry.result.is_null() && entry.result.as_str() != Some(failure.text()) {
                    payload.insert("result", &entry.result);
                }
                json_content(&payload.into())
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
            let mut before = std::mem::take(&mut earlier.message);
            let mut attempts = match before.metadata.swap_remove("attempts") {
                Some(Json::List(list)) => list,
                _ => Vec::new(),
            };
            let mut told = facts::filled([
                ("event_time", facts::number(Some(before.time_record.event_time))),
                ("text", before.content.text.into()),
                ("json_payload", before.content.json_payload.into()),
            ]);
            told.extend(before.metadata.into_iter().filter(|(name, _)| name != "call_id"));
            attempts.push(told.into());
            metadata.insert("attempts", attempts);
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
    fn lone(&mut self, run: &'a Run, turns: &Turns) {
        let entries = run.scopes.iter().flat_map(|scope| &scope.conversation);
        let entered: HashSet<usize> = entries.filter_map(|entry| entry.step).collect();
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
            if let Some(content) = content.filter(|content| !entered.contains(&index) && !self.is_told(word, content)) {
                self.words(word, content.into(), turn, at, step.span_id);
            }
        }
    }

    /// What a search found, if the spans say so.
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

    fn is_told(&mut self, word: &'static str, content: &'a Value) -> bool {
        let text = trimmed(io::text(content));
        if text.is_empty() {
            return true;
        }
        let (words, until) = &mut self.words;
        for said in self.said.iter().skip(*until) {
            let word = WORDS.into_iter().find(|word| *word == said.message.message_type);
            if let (Some(word), Some(told)) = (word, &said.message.content.text) {
                let _ = words.insert((word, trimmed(told.clone())));
            }
        }
        *until = self.said.len();
        words.contains(&(word, text))
    }

    /// A chat message's words.
    fn text(&mut self, word: &'static str, said: &'a Message, turn: usize, at: UnixNanos, span: Option<SpanId>) {
        let content = if said.has_words() {
            text_content(io::content(said))
        } else if said.has_media() {
            json_content(&io::chat_content(said))
        } else {
            return;
        };
        let mut metadata = Object::new();
        metadata.insert_filled("span_id", span.map(|span| span.to_string()));
        metadata.insert_filled("name", said.name.as_ref());
        if let Role::Other(role) = &said.role {
            metadata.insert("role", role);
        }
        self.push(turn, at, message(word, content, at, metadata));
    }

    fn words(&mut self, word: &'static str, content: Json<'a>, turn: usize, at: UnixNanos, span: Option<SpanId>) {
        let mut metadata = Object::new();
        metadata.insert_filled("span_id", span.map(|span| span.to_string()));
        self.push(turn, at, message(word, value_content(content), at, metadata));
    }

    fn action(&mut self, name: &str, arguments: &Object<'a>, turn: usize, at: UnixNanos, metadata: Object<'a>) {
        let payload = Object::from([("name", name.into()), ("arguments", arguments.clone().into())]);
        self.push(turn, at, message("action", json_content(&payload.into()), at, metadata));
    }

    /// Takes note of a call under the id that entries use.
    fn tell(&mut self, told: &mut HashMap<Text<'a>, Told<'a>>, key: Text<'a>, call: Told<'a>) {
        let _ = self.keys.insert(call.id.clone(), key.clone());
        let _ = told.insert(key, call);
    }

    fn push(&mut self, turn: usize, at: UnixNanos, message: SessionMessage<'a>) {
        self.said.push(Said { turn, at, message });
    }

    /// An id that no call of the session has.
    fn free_id(&mut self, id: &Text<'a>, prefix: impl Fn() -> Text<'a>) -> Text<'a> {
        let mut free = id.clone();
        let mut number = 1;
        while !self.taken.insert(free.clone()) {
            let prefix = prefix();
            free = if number == 1 {
                format!("{prefix}/{id}").into()
            } else {
                format!("{prefix}/{id}#{number}").into()
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

fn message<'a>(word: &'static str, content: MessageContent<'a>, at: UnixNanos, mut metadata: Object<'a>) -> SessionMessage<'a> {
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

fn json_content<'a>(value: &Json<'_>) -> MessageContent<'a> {
    MessageContent {
        text: None,
        json_payload: Some(value.to_string().into()),
    }
}

fn value_content(value: Json<'_>) -> MessageContent<'_> {
    match value {
        Json::Text(text) => text_content(text),
        other => json_content(&other),
    }
}

fn span(run: &Run, step: Option<usize>) -> Option<SpanId> {
    run.steps.get(step?)?.span_id
}

fn span_text(run: &Run, step: Option<usize>) -> Text<'_> {
    match step.and_then(|step| run.steps.get(step)) {
        Some(step) => step.span_id.map_or_else(|| (&step.id).into(), |span| span.to_string().into()),
        None => "run".into(),
    }
}

fn prefix(run: &Run, scope: usize) -> Text<'_> {
    let agent = run.scopes.get(scope).and_then(|scope| scope.agent.as_ref());
    agent.map_or_else(|| format!("conversation-{scope}").into(), Text::from)
}

/// A call that no model's output shows.
struct Lone<'a> {
    name: &'a str,
    arguments: Option<&'a Value>,
    span: Option<SpanId>,
    at: UnixNanos,
}

impl<'a> Lone<'a> {
    fn of(step: &'a Step) -> Self {
        let tool = step.operation.tool.as_ref();
        Self {
            name: tool.and_then(|tool| tool.name.as_deref()).unwrap_or(&step.operation.name),
            arguments: tool.and_then(|tool| tool.arguments.as_ref()),
            span: step.span_id,
            at: step.started_at,
        }
    }

    /// A tool that nothing but a result tells of.
    fn unknown(at: UnixNanos) -> Self {
        Self {
            name: "unknown",
            arguments: None,
            span: None,
            at,
        }
    }
}
