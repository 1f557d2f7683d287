//! The rows of a conversation, of one agent or of several that hand it on to one another.

mod takeover;

use super::document::{Mark, Origin, Row};
use super::row::{Call, Caller, RowBuilder};
use crate::document::choice::Options;
use crate::document::json::{Json, Text};
use crate::document::loss::{Loss, LossReason};
use crate::document::text::compact;
use crate::operation::{Kind, Message, Part, Role};
use crate::run::{Run, Step, Utterance, handoff_target};
use crate::span::SpanId;
use crate::transcript::calls::Results;
use crate::transcript::chat;
use crate::transcript::chat::OfferedTools;
use crate::transcript::losses::Losses;
use crate::transcript::turn_facts::TurnFacts;
use crate::transcript::{CallResult, Exchange, ExchangeCall, ExchangeKind, Exchanges, StepId, content};

/// Facts that have a place in a row, or that are reported elsewhere.
const PLACED: [&str; 3] = ["tool_definitions", "tool_call_id", "error"];

/// Maximum number of leading system messages read as the agent's prompts.
const MAX_PROMPTS: usize = 16;

/// The loss of a prompt that does not begin a row.
const ANOTHER_PROMPT: &str = "another system message over the same history";

/// The tools of a row.
#[derive(Default)]
struct RowTools<'a> {
    /// Tools offered to its model calls.
    of_calls: OfferedTools<'a>,
    /// Tools of its agents, used if no call records what it was offered.
    of_agents: OfferedTools<'a>,
}

impl<'a> RowTools<'a> {
    fn offered(&self) -> &OfferedTools<'a> {
        if self.of_calls.is_empty() {
            &self.of_agents
        } else {
            &self.of_calls
        }
    }
}

/// A conversation that becomes one or more rows.
pub(super) struct ConversationRow<'a, 'o> {
    pub(super) run: &'a Run,
    pub(super) turns: &'o TurnFacts<'a>,
    results: &'o Results<'a>,
    options: &'o Options,
    pub(super) row: RowBuilder<'a>,
    tools: RowTools<'a>,
    /// Rows of agents that handed the conversation on, one per agent, with their tools.
    before: Vec<(Option<&'a str>, RowBuilder<'a>, RowTools<'a>)>,
    /// The agent of the last turn.
    agent: Option<&'a str>,
    /// Whether the last turn handed the run on by a call: the next turn may belong to an unnamed other agent.
    is_passed_on: bool,
    /// Prompts of the agent that takes over next: they begin its row.
    prompts: Vec<(Text<'a>, Option<SpanId>)>,
    /// How many times the conversation was handed on.
    takeovers: usize,
    /// Facts without a place in a row, besides losses of its builder.
    pub(super) losses: Losses,
    /// Who ran the last message's calls, if no recorded words ask for them.
    pub(super) caller: Option<Caller>,
    /// The model call that wrote the last message.
    pub(super) spoke: Option<StepId>,
}

impl<'a, 'o> ConversationRow<'a, 'o> {
    pub(super) fn new(turns: &'o TurnFacts<'a>, results: &'o Results<'a>, options: &'o Options) -> Self {
        let text_arguments = options.is("messages.flavour", "openai");
        Self {
            run: turns.run,
            turns,
            results,
            options,
            row: RowBuilder::new(text_arguments, Mark::of(options), options.is("messages.ids", "mistral")),
            tools: RowTools::default(),
            before: Vec::new(),
            agent: None,
            is_passed_on: false,
            prompts: Vec::new(),
            takeovers: 0,
            losses: Losses::new(&PLACED),
            caller: None,
            spoke: None,
        }
    }

    /// Sets the span of the agent that a row begins with, if it has one: that of the row's first conversation.
    pub(super) fn begins_at(&mut self, span: Option<SpanId>) {
        self.row.origin.get_or_insert(span);
    }

    pub(super) fn finish(mut self) -> Vec<(Option<Row<'a>>, Vec<Loss>)> {
        self.lose_prompts();
        let last = (self.agent, self.row, self.tools);
        let mut rows = Vec::with_capacity(self.before.len() + 1);
        let mut has_tools = false;
        for (_, row, tools) in self.before.into_iter().chain([last]) {
            has_tools |= !tools.offered().is_empty();
            let span = row.origin.flatten();
            let tools = match tools.offered().list() {
                list @ Json::List(_) if self.options.is("messages.tools", "text") => compact(&list).into(),
                list => list,
            };
            let (mut row, losses) = row.finish(tools);
            if let Some(row) = row.as_mut().filter(|_| Origin::is_written(self.options)) {
                row.origin = Origin {
                    trace_id: Some(self.run.trace_id.to_string()),
                    span_id: span.map(|span| span.to_string()),
                };
            }
            rows.push((row, losses));
        }
        let mut losses = self.losses;
        if rows.iter().all(|(row, _)| row.is_none()) && has_tools {
            losses.fact(None, "tool_definitions");
        }
        if let Some((_, last)) = rows.last_mut() {
            last.extend(losses.finish());
        }
        rows
    }

    /// Adds a scope's conversation. `asked`: the agent's question, if no message may contain it; returned if it was not needed.
    pub(super) fn conversation(&mut self, exchanges: Exchanges<'a>, asked: Option<Text<'a>>) -> Option<Text<'a>> {
        let mut asked = asked.filter(|words| !words.trim().is_empty());
        let mut has_question = false;
        for exchange in &exchanges.list {
            has_question |= matches!(exchange.kind, ExchangeKind::Message(message) if message.role == Role::User);
            let begins = matches!(exchange.kind, ExchangeKind::Turn(_)) || self.is_of_silent_agent(exchange);
            if begins
                && !has_question
                && let Some(words) = asked.take()
            {
                self.row.say("user", words, None);
            }
            self.exchange(exchange);
        }
        for step in exchanges.rest.iter().filter_map(|id| id.of(self.run)) {
            let turns = self.turns;
            let has_tools = self.tools.of_calls.is_empty() && self.is_agent_of_turns(step);
            self.losses.without_turn(turns, step, |key, _| {
                key == "error" || turns.contains(key, step) || key == "tool_definitions" && has_tools
            });
            self.times_and_error(step);
        }
        asked
    }

    /// Reports facts of a step. `asked`: the calls that it ran, or asked for; `is_own`: its offered tools belong to the row.
    fn facts(&mut self, step: &'a Step, asked: &[ExchangeCall<'a>], is_own: bool) {
        let turns = self.turns;
        self.losses.step(self.run, step, |key, value| match key {
            "error" => true,
            "tool_call_id" => asked.iter().any(|asked| value.as_str() == Some(&asked.id)),
            "tool_definitions" if is_own => true,
            _ => turns.contains(key, step),
        });
        self.times_and_error(step);
    }

    fn times_and_error(&mut self, step: &'a Step) {
        self.losses.fact(step.span_id, "times");
        if step.operation.failure.is_some() {
            let what = format!("error of {}", step.operation.kind.name());
            self.row.lose(step.span_id, what, LossReason::NoPlace);
        }
    }

    /// Whether the step is the agent whose tools the row has.
    fn is_agent_of_turns(&self, step: &Step) -> bool {
        let of_scope = self.run.scopes.get(step.scope).and_then(|scope| self.run.steps.get(scope.step?));
        of_scope.is_some_and(|agent| agent.id == step.id) && !self.tools.of_agents.is_empty()
    }

    fn offered(&mut self, step: &'a Step, span: Option<SpanId>) {
        let agent = self.run.scopes.get(step.scope).and_then(|scope| self.run.steps.get(scope.step?));
        if let Some(agent) = agent.filter(|_| step.operation.kind == Kind::Llm) {
            let _ = self.tools.of_agents.add(&agent.operation.tool_definitions);
        }
        for name in self.tools.of_calls.add(&step.operation.tool_definitions) {
            self.row.lose(span, format!("another definition of {name}"), LossReason::Ambiguous);
        }
    }

    fn exchange(&mut self, exchange: &Exchange<'a>) {
        let step = exchange.step.and_then(|step| step.of(self.run));
        let span = step.and_then(|step| step.span_id);
        if !matches!(exchange.kind, ExchangeKind::Unasked | ExchangeKind::SilentTurn) {
            self.caller = None;
            self.spoke = None;
        }
        if exchange.branch {
            self.row
                .lose(span, "the history was edited before this message", LossReason::Ambiguous);
        }
        match (exchange.kind, step) {
            (ExchangeKind::Message(message), _) if message.role != Role::Assistant => return self.message(message, step, span),
            (ExchangeKind::Message(message), _) => return self.assistant(exchange, message, span),
            (_, Some(step)) => {
                if matches!(exchange.kind, ExchangeKind::Turn(_)) {
                    self.take_over(step);
                }
                self.facts(step, &exchange.calls, true);
                self.offered(step, span);
            }
            _ => {}
        }
        let kind = step.map_or("words", |step| step.operation.kind.name());
        match exchange.kind {
            ExchangeKind::Turn(message) => {
                self.assistant(exchange, message, span);
                self.spoke = exchange.step.filter(|_| message.has_words());
            }
            ExchangeKind::SilentTurn => self.row.lose(span, "a model call without recorded words", LossReason::NoPlace),
            ExchangeKind::Unasked if step.is_none() => {
                for asked in &exchange.calls {
                    let what = format!("the result of {}, which nothing calls", asked.id);
                    self.row.lose(None, what, LossReason::NoPlace);
                }
            }
            ExchangeKind::Unasked => match step.and_then(|step| self.silent_caller(step)) {
                Some(caller) if self.row.has_words() => self.unrecorded_calls(exchange, caller, span),
                _ => self.row.lose(span, format!("{kind}: no model asked for it"), LossReason::NoPlace),
            },
            _ => self.row.lose(span, format!("{kind}: its words"), LossReason::NoPlace),
        }
    }

    /// Adds the run's answer, unless the row already ends with the assistant's words.
    pub(super) fn answer(&mut self, answer: &'a Utterance) {
        let words = content::text(&answer.content);
        let step = self.run.steps.get(answer.step);
        // An explicit final output goes at the end; an answer that an agent derives from a model's words is not a turn of the conversation.
        let is_explicit = step.is_some_and(|step| step.operation.kind == Kind::FinalOutput);
        let takes = self.row.awaits_assistant() || is_explicit && self.row.has_words() && !self.row.ends_with(&words);
        if !words.trim().is_empty() && takes {
            let span = step.and_then(|step| step.span_id);
            self.row.assistant(words, None, true, span);
            let what = "the last message: the agent's answer, which no model call contains";
            self.row.lose(span, what, LossReason::Synthesized);
        }
    }

    fn content(&mut self, message: &'a Message, span: Option<SpanId>) -> Text<'a> {
        let (content, lost) = chat::content(message);
        if let Some(reason) = lost {
            self.row.lose(span, "content: a part that is no text", reason);
        }
        content
    }

    fn message(&mut self, message: &'a Message, step: Option<&'a Step>, span: Option<SpanId>) {
        let content = self.content(message, span);
        let is_prompt_over = |step: &&Step| prompts_over(step, self.row.said()).any(|prompt| prompt == message);
        match &message.role {
            _ if content.trim().is_empty() => {}
            Role::System | Role::Developer => match step.filter(is_prompt_over) {
                Some(step) if self.takes_over(step) => self.prompts.push((content, span)),
                Some(_) => self.row.lose(span, ANOTHER_PROMPT, LossReason::NoPlace),
                None => self.row.system(content, span),
            },
            Role::Tool => self.row.lose(span, "a result of no call", LossReason::NoPlace),
            role => {
                if let Role::Other(word) = role {
                    self.row.lose(span, format!("role {word}"), LossReason::Coerced);
                }
                self.row.say("user", content, span);
            }
        }
    }

    /// Whether a call of the message failed, when such messages are excluded from training.
    pub(super) fn has_failed(&self, exchange: &Exchange<'a>) -> bool {
        let failed = |asked: &ExchangeCall<'a>| {
            let last = asked.results.last();
            last.is_some_and(|given| chat::result_value(self.run, self.results, *given).1.is_some())
        };
        self.options.is("messages.mask", "failed") && exchange.calls.iter().any(failed)
    }

    fn assistant(&mut self, exchange: &Exchange<'a>, message: &'a Message, span: Option<SpanId>) {
        let content = self.content(message, span);
        let is_openai = self.row.text_arguments;
        let thoughts = content::reasoning(message);
        if thoughts.is_some() && is_openai {
            self.row.lose(span, "reasoning_content", LossReason::NoPlace);
        }
        let opaque = |part: &Part| matches!(part, Part::Reasoning { opaque, .. } if !opaque.is_empty());
        if message.parts.iter().any(opaque) {
            self.row.lose(span, "opaque reasoning", LossReason::NoPlace);
        }
        let is_turn = matches!(exchange.kind, ExchangeKind::Turn(_));
        if content.trim().is_empty() && exchange.calls.is_empty() {
            self.row.lose(span, "an assistant message without words", LossReason::NoPlace);
            return;
        }
        let is_target = is_turn && !self.has_failed(exchange);
        let ran = |asked: &ExchangeCall<'_>| asked.call.is_some_and(|call| call.answered.is_some());
        // The provider ran the tools during the model call: their results precede the words.
        let is_served = !exchange.calls.is_empty() && exchange.calls.iter().all(ran) && !content.trim().is_empty();
        let (content, answer) = if is_served {
            (Text::default(), Some(content))
        } else {
            (content, None)
        };
        self.row.assistant(content, thoughts.filter(|_| !is_openai), is_target, span);
        self.row.spoken_by(self.agent.filter(|_| is_target));
        if is_turn && exchange.calls.is_empty() && exchange.step.is_some_and(|step| self.broke_off(step, message)) {
            self.row.breaks_off(span);
        }
        self.calls(exchange, span);
        if let Some(answer) = answer {
            self.row
                .lose(span, "calls that the provider ran come before the words", LossReason::Coerced);
            self.row.assistant(answer, None, is_target, span);
            self.row.spoken_by(self.agent.filter(|_| is_target));
        }
    }

    /// Whether the model received another text than the tool returned.
    fn is_given_otherwise(&self, result: CallResult<'a>) -> bool {
        let is_other = result.entry.is_some_and(|entry| entry.given.is_some());
        is_other && chat::recorded(self.run, self.results, result).is_some()
    }

    /// Adds the calls of the last message.
    pub(super) fn calls(&mut self, exchange: &Exchange<'a>, span: Option<SpanId>) {
        for asked in &exchange.calls {
            self.is_passed_on |= matches!(exchange.kind, ExchangeKind::Turn(_)) && handoff_target(chat::name(self.run, asked)).is_some();
            let (arguments, wrapped) = chat::arguments(self.run, asked);
            if wrapped {
                self.row
                    .lose(span, format!("tool_calls[{}].function.arguments", asked.id), LossReason::Coerced);
            }
            if asked.id_is_derived {
                self.row.lose(span, format!("tool_calls[{}].id", asked.id), LossReason::Synthesized);
            }
            if asked.results.iter().any(|given| given.branch) {
                let what = format!("the history was edited before the result of {}", asked.id);
                self.row.lose(span, what, LossReason::Ambiguous);
            }
            if let Some(last) = asked.results.last().filter(|last| self.is_given_otherwise(**last)) {
                let span = last.tool.and_then(|tool| tool.of(self.run)?.span_id);
                let what = format!("the tool's own result of {}, which no model read", asked.id);
                self.row.lose(span, what, LossReason::NoPlace);
            }
            if asked
                .results
                .last()
                .is_some_and(|last| chat::shows_media(self.run, self.results, *last))
            {
                self.row.lose(span, "result: a part that is no text", LossReason::Coerced);
            }
            for _ in asked.results.iter().skip(1) {
                self.row
                    .lose(span, format!("an earlier result of {}", asked.id), LossReason::NoPlace);
            }
            let tools = asked.results.iter().map(|given| given.tool).chain([asked.tool]).flatten();
            let mut before = exchange.step;
            for tool in tools {
                let is_new = before.replace(tool) != Some(tool);
                if let Some(step) = tool.of(self.run).filter(|_| is_new) {
                    self.facts(step, std::slice::from_ref(asked), false);
                }
            }
            let call = Call {
                id: asked.id.clone(),
                name: chat::name(self.run, asked).into(),
                arguments,
                result: asked.results.last().map(|given| chat::given(self.run, self.results, *given).0),
            };
            self.row.call(call, span);
        }
    }
}

/// The system messages at the start of a call's input, if it continues the conversation of `said` messages so far.
fn prompts_over(step: &Step, said: usize) -> impl Iterator<Item = &Message> {
    let input = step.operation.input_messages.as_deref().unwrap_or_default();
    let prompts = input
        .iter()
        .take(MAX_PROMPTS)
        .take_while(|message| matches!(message.role, Role::System | Role::Developer))
        .count();
    let has_history = said > 0 && input.len() - prompts >= said;
    input.iter().take(if has_history { prompts } else { 0 })
}
