//! Writes conversations as blocks.

use serde_json::Value;

use super::digest::block_id;
use super::facts;
use super::list::{BlockDraft, List};
use super::plan::{Item, Plan};
use super::words::{Words, text_of};
use crate::blocks::document::{Block, SubType};
use crate::blocks::limits::Limits;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::hash::{HashMap, HashSet};
use crate::operation::{Failure, Kind, Message, Role};
use crate::run::{Entry, EntryKind, ResultEntry, Run, ScopeId, Step, StepId};
use crate::span::{SpanId, UnixNanos};
use crate::transcript::content;
use crate::transcript::conversation_words::ConversationWords;
use crate::transcript::is_model_call;

/// Writes one run.
pub(super) struct BlockWriter<'a, 'p> {
    pub(super) run: &'a Run,
    pub(super) plan: &'p Plan<'a>,
    pub(super) limits: Limits,
    /// Whether blocks of sub-agents go into the list itself.
    pub(super) inline: bool,
    pub(super) losses: Vec<Loss>,
    /// Steps that have blocks.
    pub(super) covered: HashSet<StepId>,
    ordinals: HashMap<(Option<StepId>, &'static str), u32>,
    /// The trace id in digits.
    trace: String,
    pub(super) written: HashSet<ScopeId>,
    /// How many streams enclose the one being written.
    pub(super) depth: usize,
    /// Sub-agents nested too deeply to be written in place.
    pub(super) deep: HashSet<ScopeId>,
    /// The words of the conversations.
    pub(super) words: ConversationWords<'a>,
    /// Tools offered to the latest model call of each stream.
    offered: HashMap<ScopeId, Json<'a>>,
}

/// A stream while it is written.
pub(super) struct StreamState<'a, 'l> {
    /// The list that it is written to.
    pub(super) list: &'l mut List<'a>,
    pub(super) scope: ScopeId,
    pub(super) last_message: Option<usize>,
    /// Index of a call's draft, by the id that entries use.
    pub(super) calls: HashMap<Text<'a>, usize>,
    /// Index of a call's draft, by the model call and the position in it.
    pub(super) places: HashMap<(StepId, usize), usize>,
    /// Sub-agents to be written after the turn.
    pub(super) pending: Vec<ScopeId>,
}

/// The step that recorded something, and its time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) step: Option<StepId>,
    pub(super) at: UnixNanos,
}

/// The parts of a block other than its payload.
pub(super) struct BlockParts<'a> {
    pub(super) sub_type: SubType,
    /// The name of its role in the block's id.
    pub(super) role: &'static str,
    pub(super) author: Option<StepId>,
    pub(super) moment: Moment,
    pub(super) parent: Option<usize>,
    pub(super) metadata: Object<'a>,
}

impl<'a> BlockParts<'a> {
    pub(super) fn message(role: &'static str, moment: Moment, metadata: Object<'a>) -> Self {
        Self {
            sub_type: SubType::Message,
            role,
            author: None,
            moment,
            parent: None,
            metadata,
        }
    }

    /// A block below a message or a call.
    pub(super) fn below(parent: usize, sub_type: SubType, moment: Moment, metadata: Object<'a>) -> Self {
        let role = match sub_type {
            SubType::Message => "message",
            SubType::Think => "think",
            SubType::ToolCall => "call",
            SubType::ToolResult => "result",
        };
        Self {
            sub_type,
            parent: Some(parent),
            ..Self::message(role, moment, metadata)
        }
    }

    /// Makes the step that recorded the block its author.
    pub(super) fn by_its_step(self) -> Self {
        Self {
            author: self.moment.step,
            ..self
        }
    }
}

/// A tool's result.
pub(super) struct ToolOutcome<'a> {
    pub(super) call_id: Text<'a>,
    pub(super) tool: Option<StepId>,
    pub(super) result: Json<'a>,
    pub(super) failure: Option<&'a Failure>,
    pub(super) attempt: u32,
    /// The tool's name, if recorded with the result.
    pub(super) name: Option<&'a str>,
}

impl<'a> From<&'a ResultEntry> for ToolOutcome<'a> {
    fn from(entry: &'a ResultEntry) -> Self {
        Self {
            call_id: (&entry.call_id).into(),
            tool: entry.tool,
            result: (&entry.result).into(),
            failure: entry.failure.as_ref(),
            attempt: entry.attempt,
            name: entry.tool_name.as_deref(),
        }
    }
}

/// Whether any time of a run was measured.
fn has_times(run: &Run) -> bool {
    let is_known = |step: &Step| step.known_start().or(step.known_end()).is_some();
    run.steps.is_empty() || run.steps.iter().any(is_known)
}

impl<'a, 'p> BlockWriter<'a, 'p> {
    pub(super) fn new(run: &'a Run, plan: &'p Plan<'a>, limits: Limits, inline: bool) -> Self {
        Self {
            run,
            plan,
            limits,
            inline,
            losses: Vec::new(),
            covered: HashSet::default(),
            ordinals: HashMap::default(),
            trace: run.trace_id.to_string(),
            written: HashSet::default(),
            depth: 0,
            deep: HashSet::default(),
            words: ConversationWords::of(run),
            offered: HashMap::default(),
        }
    }

    /// Writes the run's top-level conversations, the first one from the given item on.
    pub(super) fn write(&mut self, list: &mut List<'a>, skip: usize) {
        list.begin_run(has_times(self.run));
        let plan = self.plan;
        for (index, scope) in plan.top.iter().enumerate() {
            self.stream(list, *scope, if index == 0 { skip } else { 0 });
        }
        // A sub-agent whose call is in no block goes at the end.
        let mut lost: Vec<ScopeId> = plan.inner.values().flatten().copied().collect();
        lost.sort_unstable();
        for scope in lost {
            if !self.written.contains(&scope) && plan.streams.get(scope).is_some_and(|items| !items.is_empty()) {
                let span = self.scope_span(scope);
                let what = if self.deep.contains(&scope) {
                    "sub-agent: too deep inside others to be there"
                } else {
                    "sub-agent: no block shows the call that it belongs to"
                };
                self.lose(span, what, LossReason::Ambiguous);
                self.stream(list, scope, 0);
            }
        }
        self.annotate_list(list, true);
    }

    pub(super) fn stream(&mut self, list: &mut List<'a>, scope: ScopeId, skip: usize) {
        if !self.written.insert(scope) {
            return;
        }
        self.depth += 1;
        self.items(list, scope, skip);
        self.depth -= 1;
    }

    fn items(&mut self, list: &mut List<'a>, scope: ScopeId, skip: usize) {
        list.streams.insert(scope);
        if let Some(index) = self.run.scopes.get(scope).and_then(|scope| scope.step) {
            self.cover_whole(index);
        }
        let plan = self.plan;
        let talk = &mut StreamState {
            list,
            scope,
            last_message: None,
            calls: HashMap::default(),
            places: HashMap::default(),
            pending: Vec::new(),
        };
        for item in plan.streams.get(scope).into_iter().flatten().skip(skip) {
            match item {
                Item::Entry { entry, at } => self.entry(talk, entry, *at),
                Item::Pair(step) => self.pair(talk, *step),
                Item::Words { role, content, step, at } => {
                    let words = Words {
                        text: text_of(content),
                        raw: None,
                    };
                    let moment = Moment {
                        step: Some(*step),
                        at: *at,
                    };
                    if let Some(place) = self.say(talk, role, words, None, moment)
                        && let Some(block) = talk.list.block(place)
                    {
                        if !content.is_string() {
                            block.raw = Some((*content).into());
                        }
                        self.say_whose(block, *step, content);
                    }
                }
            }
        }
        self.flush(talk);
        self.unanswered(talk);
    }

    /// Marks an agent or a chain as covered by a conversation, a question or an answer, if it has no other facts.
    fn cover_whole(&mut self, index: StepId) {
        let Some(step) = self.step(index).filter(|step| !facts::has_own(self.run, step)) else {
            return;
        };
        // The root is handled with the run.
        if self.covered.insert(index) && facts::represents_run(step.operation.kind) && self.run.root != Some(index) {
            self.unwritten(step);
        }
    }

    /// Adds facts of the operation that recorded these words.
    fn say_whose(&mut self, block: &mut Block<'a>, index: StepId, content: &Value) {
        let Some(step) = self.step(index).filter(|step| !is_model_call(step)) else {
            return;
        };
        let operation = &step.operation;
        if facts::represents_run(operation.kind) {
            self.cover_whole(index);
            return;
        }
        if !self.covered.insert(index) {
            return;
        }
        let mut about = facts::about(operation);
        if operation.kind == Kind::Interrupt
            && let Some(Json::Object(interrupt)) = about.get_mut("interrupt")
        {
            interrupt.retain(|key, value| key != "response" || *value != *content);
        }
        about.retain(|_, value| !value.is_empty());
        block.annotate_all(facts::of_step(self.run, step, about));
        block.annotate_all(facts::error(operation));
        for (key, value) in [
            ("input", content::whole_input(operation)),
            ("output", content::whole_output(operation)),
        ] {
            if let Some(value) = value.filter(|value| *value != *content) {
                block.annotate(key, value);
            }
        }
    }

    pub(super) fn entry(&mut self, talk: &mut StreamState<'a, '_>, entry: &'a Entry, at: UnixNanos) {
        match &entry.kind {
            EntryKind::Message(message) if message.role == Role::Tool => {
                let result = message
                    .result
                    .as_deref()
                    .map_or_else(|| content::content(message).into(), Json::from);
                let outcome = ToolOutcome {
                    call_id: message.tool_call_id.as_deref().unwrap_or_default().into(),
                    tool: None,
                    result,
                    failure: None,
                    attempt: 0,
                    name: message.name.as_deref().filter(|name| !name.trim().is_empty()),
                };
                self.result(talk, outcome, at);
            }
            EntryKind::Message(message) | EntryKind::Turn(message) => {
                let moment = Moment { step: entry.step, at };
                self.flush(talk);
                let before = talk.list.drafts.len();
                if matches!(entry.kind, EntryKind::Turn(_)) {
                    self.turn(talk, message, moment);
                } else {
                    let place = self.message(talk, message, &message.role, moment);
                    self.thoughts_and_calls(talk, message, moment, place, false);
                }
                if let Some(block) = talk.list.block(before).filter(|_| entry.branch) {
                    block.annotate("branch", true);
                }
            }
            EntryKind::Call(call) => self.lone_call(talk, call, at),
            EntryKind::Result(result) => self.result(talk, result.into(), at),
        }
    }

    fn turn(&mut self, talk: &mut StreamState<'a, '_>, message: &'a Message, moment: Moment) {
        let first = talk.list.drafts.len();
        // Some clients record an answer without its role.
        let place = self.message(talk, message, &Role::Assistant, moment);
        self.thoughts_and_calls(talk, message, moment, place, true);
        let Some((index, step)) = moment.step.and_then(|index| Some((index, self.step(index)?))) else {
            return;
        };
        for draft in talk.list.drafts.iter_mut().skip(first) {
            draft.author = Some(index);
        }
        let operation = &step.operation;
        let Some(block) = talk.list.block(first) else { return };
        let offered = facts::tools(&operation.tool_definitions);
        let known = self.offered.get(&talk.scope) == Some(&offered);
        if !known {
            let _ = self.offered.insert(talk.scope, offered.clone());
        }
        let _ = self.covered.insert(index);
        let about = facts::about(operation);
        block.annotate_all(facts::details(self.run, step));
        block.annotate_all(about);
        let mut call = facts::model_call(operation);
        if let Some(reason) = &message.finish_reason {
            call.insert_new("finish_reason", reason);
        }
        if !known {
            call.add_filled("tools", offered);
        }
        if !call.is_empty() {
            block.annotate("model_call", call);
        }
        block.annotate_all(facts::error(operation));
        // An input not recorded as messages is in no conversation.
        if operation.input_messages.is_none()
            && let Some(input) = content::whole_input(operation)
        {
            block.annotate("input", input);
        }
        if let Some(response) = &operation.raw_response {
            block.raw = Some(response.into());
        }
        let choices = operation.output_messages.as_deref().unwrap_or_default();
        if let Some(others) = choices.get(1..).filter(|others| !others.is_empty()) {
            block.annotate("choices", content::chats(others));
        }
    }

    pub(super) fn push(&mut self, list: &mut List<'a>, stream: ScopeId, made: BlockParts<'a>, payload: Object<'a>) -> usize {
        let step = made.moment.step.filter(|step| self.step(*step).is_some());
        let ordinal = self.ordinals.entry((step, made.role)).or_default();
        let number = *ordinal;
        *ordinal += 1;
        let id = block_id(&self.trace, &self.span_text(step), made.role, number);
        let mut block = Block::new(made.sub_type, id.into(), list.trace.clone(), payload);
        block.parent_block_id = made.parent.and_then(|parent| list.id(parent)).map(Some);
        block.metadata = (!made.metadata.is_empty()).then_some(made.metadata.into());
        list.push(BlockDraft {
            block,
            sub_type: made.sub_type,
            at: made.moment.at,
            author: made.author,
            stream,
            call: made.parent.filter(|_| made.sub_type == SubType::ToolResult),
        })
    }

    pub(super) fn origin(&self, step: Option<StepId>) -> Object<'a> {
        step.and_then(|step| self.step(step))
            .map(|step| facts::origin(self.run, step))
            .unwrap_or_default()
    }

    pub(super) fn step(&self, step: StepId) -> Option<&'a Step> {
        self.run.steps.get(step)
    }

    pub(super) fn span(&self, step: StepId) -> Option<SpanId> {
        self.step(step)?.span_id
    }

    pub(super) fn span_of(&self, moment: Moment) -> Option<SpanId> {
        self.span(moment.step?)
    }

    pub(super) fn span_text(&self, step: Option<StepId>) -> Text<'a> {
        match step.and_then(|step| self.step(step)) {
            Some(step) => step.span_id.map_or_else(|| (&step.id).into(), |span| span.to_string().into()),
            None => "run".into(),
        }
    }

    pub(super) fn scope_span(&self, scope: ScopeId) -> Option<SpanId> {
        self.span(self.run.scopes.get(scope)?.step?)
    }

    pub(super) fn lose(&mut self, span: Option<SpanId>, what: impl Into<String>, reason: LossReason) {
        self.losses.push(Loss::new(span, what, reason));
    }
}
