//! Runs to rows.

use super::document::{Mark, Origin, Row};
use super::parts;
use super::row::{Call, RowBuilder};
use crate::document::choice::Options;
use crate::document::json::{Json, Text};
use crate::document::loss::{Loss, LossReason};
use crate::document::text::compact;
use crate::formats::format::Assembled;
use crate::operation::{Kind, Message, Part, Role};
use crate::run::{Run, Step, Utterance};
use crate::span::SpanId;
use crate::transcript::calls::Results;
use crate::transcript::chat;
use crate::transcript::chat::OfferedTools;
use crate::transcript::losses::Losses;
use crate::transcript::turn_facts::TurnFacts;
use crate::transcript::{Exchange, ExchangeCall, ExchangeKind, Exchanges, StepId, Transcript};
use crate::transcript::{content, facts};

/// Facts that a row has a place for, or that are reported elsewhere.
const PLACED: [&str; 3] = ["tool_definitions", "tool_call_id", "error"];

/// The rows of all runs.
pub(super) fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Row<'a>>> {
    let mut rows = Vec::new();
    for run in runs.iter().filter(|run| run.has_agent_work()) {
        let (first, mut homeless) = (rows.len(), Vec::new());
        for (row, losses) in of_run(run, options) {
            match row {
                Some(document) => rows.push(Assembled { document, losses }),
                None => homeless.extend(losses),
            }
        }
        // Losses outside all rows are reported with the run's first row.
        if let Some(first) = rows.get_mut(first) {
            first.losses.extend(homeless);
        }
    }
    if options.is("messages.rows", "turn") {
        rows = rows.into_iter().flat_map(|row| parts::turns(row, options)).collect();
    }
    if options.is("messages.split", "completion") {
        rows.iter_mut().for_each(parts::split);
    }
    rows
}

/// A run's rows, each with its losses; no row if neither a model nor the agent has words.
fn of_run<'a>(run: &'a Run, options: &Options) -> Vec<(Option<Row<'a>>, Vec<Loss>)> {
    let (results, transcript) = (Results::of(run), Transcript::of(run));
    let turns = TurnFacts::of(run);
    let new = || ConversationRow::new(&turns, &results, options);
    let is_one = options.is("messages.rows", "run");
    let mut conversations: Vec<ConversationRow<'a, '_>> = Vec::new();
    let answer = run.answer.as_ref().filter(|answer| !answer.in_conversation);
    let about = facts::of_run_and_agent(run);
    let mut left: Vec<Loss> = about
        .iter()
        .map(|(key, _)| Loss::new(None, format!("run.{key}"), LossReason::NoPlace))
        .collect();
    for (id, tool) in transcript.scopes_with_tool() {
        let Some(scope) = run.scopes.get(id) else { continue };
        if is_one && (tool.is_some() || scope.is_auxiliary) {
            if !scope.conversation.is_empty() {
                let span = scope.step.and_then(|step| run.steps.get(step)?.span_id);
                let name = scope.agent.as_deref().unwrap_or("an agent");
                left.push(Loss::new(span, format!("the conversation of {name}"), LossReason::NoPlace));
            }
            continue;
        }
        let asked = match scope.called_by {
            Some(_) => content::asked_of(run, scope),
            None => run
                .question
                .as_ref()
                .filter(|utterance| id.index() == 0 && !utterance.in_conversation)
                .map(|utterance| content::text(&utterance.content)),
        };
        let mut conversation = conversations.pop_if(|_| is_one).unwrap_or_else(new);
        let span = scope.step.and_then(|step| run.steps.get(step)?.span_id);
        conversation.origin.get_or_insert(span);
        let asked = conversation.conversation(transcript.exchanges(id), asked);
        if asked.is_some() && scope.called_by.is_none() {
            let what = "the run's question, which no message contains";
            conversation.losses.utterance(run, run.question.as_ref(), what);
        }
        let is_of_scope = |answer: &&Utterance| run.steps.get(answer.step).is_some_and(|step| step.scope == id);
        if let Some(answer) = answer.filter(is_of_scope) {
            conversation.answer(answer);
        }
        conversations.push(conversation);
    }
    let mut rows: Vec<_> = conversations.into_iter().map(ConversationRow::finish).collect();
    if let Some(answer) = answer {
        let words = content::text(&answer.content);
        let mut messages = rows.iter().flat_map(|(row, _)| row).flat_map(|row| &row.messages);
        if !messages.any(|message| message.content.trim() == words.trim()) {
            let span = run.steps.get(answer.step).and_then(|step| step.span_id);
            left.push(Loss::new(span, "the run's answer, which no model wrote", LossReason::NoPlace));
        }
    }
    rows.push((None, left));
    rows
}

/// A conversation that becomes a row.
struct ConversationRow<'a, 'o> {
    run: &'a Run,
    turns: &'o TurnFacts<'a>,
    results: &'o Results<'a>,
    options: &'o Options,
    row: RowBuilder<'a>,
    tools: OfferedTools<'a>,
    /// What a row has no place for, beside what its builder lost.
    losses: Losses,
    /// The model call without recorded words whose calls the last message has.
    caller: Option<StepId>,
    /// The model call whose words are the last message.
    spoke: Option<StepId>,
    /// The first agent's span, where there is one.
    origin: Option<Option<SpanId>>,
}

impl<'a, 'o> ConversationRow<'a, 'o> {
    fn new(turns: &'o TurnFacts<'a>, results: &'o Results<'a>, options: &'o Options) -> Self {
        let text_arguments = options.is("messages.flavour", "openai");
        Self {
            run: turns.run,
            turns,
            results,
            options,
            row: RowBuilder::new(text_arguments, Mark::of(options), options.is("messages.ids", "mistral")),
            tools: OfferedTools::default(),
            losses: Losses::new(&PLACED),
            caller: None,
            spoke: None,
            origin: None,
        }
    }

    fn finish(mut self) -> (Option<Row<'a>>, Vec<Loss>) {
        let tools = match self.tools.list() {
            list @ Json::List(_) if self.options.is("messages.tools", "text") => compact(&list).into(),
            list => list,
        };
        let has_tools = !tools.is_null();
        let (mut row, mut losses) = self.row.finish(tools);
        if let Some(row) = row.as_mut().filter(|_| Origin::is_written(self.options)) {
            row.origin = Origin {
                trace_id: Some(self.run.trace_id.to_string()),
                span_id: self.origin.flatten().map(|span| span.to_string()),
            };
        }
        if row.is_none() && has_tools {
            self.losses.fact(None, "tool_definitions");
        }
        losses.extend(self.losses.finish());
        (row, losses)
    }

    /// A scope's conversation. `asked`: what the agent was asked, if no message may contain it; returned if none needed it.
    fn conversation(&mut self, exchanges: Exchanges<'a>, asked: Option<Text<'a>>) -> Option<Text<'a>> {
        let mut asked = asked.filter(|words| !words.trim().is_empty());
        let mut has_question = false;
        for exchange in &exchanges.list {
            has_question |= matches!(exchange.kind, ExchangeKind::Message(message) if message.role == Role::User);
            if matches!(exchange.kind, ExchangeKind::Turn(_))
                && !has_question
                && let Some(words) = asked.take()
            {
                self.row.say("user", words, None);
            }
            self.exchange(exchange);
        }
        for step in exchanges.rest.iter().filter_map(|id| id.of(self.run)) {
            let turns = self.turns;
            self.losses
                .without_turn(turns, step, |key, _| key == "error" || turns.contains(key, step));
            self.times_and_error(step);
        }
        asked
    }

    /// `asked`: the calls that it ran, or asked for; `is_own`: the row takes the tools that it was offered.
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
            self.row.lose(
                step.span_id,
                format!("error of {}", step.operation.kind.name()),
                LossReason::NoPlace,
            );
        }
    }

    fn offered(&mut self, step: &'a Step, span: Option<SpanId>) {
        for name in self.tools.add(&step.operation.tool_definitions) {
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
            (ExchangeKind::Message(message), _) if message.role != Role::Assistant => return self.message(message, span),
            (ExchangeKind::Message(message), _) => return self.assistant(exchange, message, span),
            (_, Some(step)) => {
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

    /// The model call that ran this tool, where its calls are not recorded.
    fn silent_caller(&self, tool: &Step) -> Option<StepId> {
        let caller = tool.dispatched_by?;
        let messages = self.run.steps.get(caller)?.operation.output_messages.as_deref().unwrap_or_default();
        // Where it spoke, only what ran inside of it.
        let is_inside = || tool.parent == Some(caller) && messages.iter().all(|message| message.tool_calls.is_empty());
        (messages.is_empty() || self.spoke == Some(caller) && is_inside()).then_some(caller)
    }

    /// Calls of a model call that recorded none: the tools' spans show what it asked for.
    fn unrecorded_calls(&mut self, exchange: &Exchange<'a>, caller: StepId, span: Option<SpanId>) {
        if self.caller != Some(caller) {
            if self.spoke != Some(caller) {
                self.row.assistant(Text::default(), None, !self.has_failed(exchange), span);
            }
            self.caller = Some(caller);
            let of_caller = self.run.steps.get(caller).and_then(|step| step.span_id);
            self.row
                .lose(of_caller, "the message with the calls of a model call", LossReason::Synthesized);
        }
        self.calls(exchange, span);
    }

    /// The run's answer, where the row does not end with words of the assistant.
    fn answer(&mut self, answer: &'a Utterance) {
        let words = content::text(&answer.content);
        let step = self.run.steps.get(answer.step);
        // An explicit final output comes at the end; what an agent makes of a model's words is no turn of that conversation.
        let is_explicit = step.is_some_and(|step| step.operation.kind == Kind::FinalOutput);
        let takes = self.row.awaits_assistant() || is_explicit && self.row.has_words() && !self.row.ends_with(&words);
        if !words.trim().is_empty() && takes {
            let span = step.and_then(|step| step.span_id);
            self.row.assistant(words, None, true, span);
            self.row.lose(
                span,
                "the last message: the agent's answer, which no model call contains",
                LossReason::Synthesized,
            );
        }
    }

    fn content(&mut self, message: &'a Message, span: Option<SpanId>) -> Text<'a> {
        let (content, has_media) = chat::content(message);
        if has_media {
            self.row.lose(span, "content: a part that is no text", LossReason::Coerced);
        }
        content
    }

    fn message(&mut self, message: &'a Message, span: Option<SpanId>) {
        let content = self.content(message, span);
        match &message.role {
            _ if content.trim().is_empty() => {}
            Role::System | Role::Developer => self.row.system(content, span),
            Role::Tool => self.row.lose(span, "a result of no call", LossReason::NoPlace),
            role => {
                if let Role::Other(word) = role {
                    self.row.lose(span, format!("role {word}"), LossReason::Coerced);
                }
                self.row.say("user", content, span);
            }
        }
    }

    /// Whether a call of the message failed, where such messages are no targets.
    fn has_failed(&self, exchange: &Exchange<'a>) -> bool {
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
        // The provider ran the tools while the model spoke: their results come before the words.
        let is_served = !exchange.calls.is_empty() && exchange.calls.iter().all(ran) && !content.trim().is_empty();
        let (content, answer) = if is_served {
            (Text::default(), Some(content))
        } else {
            (content, None)
        };
        self.row.assistant(content, thoughts.filter(|_| !is_openai), is_target, span);
        self.calls(exchange, span);
        if let Some(answer) = answer {
            self.row
                .lose(span, "calls that the provider ran come before the words", LossReason::Coerced);
            self.row.assistant(answer, None, is_target, span);
        }
    }

    /// The calls of the message that was written last.
    fn calls(&mut self, exchange: &Exchange<'a>, span: Option<SpanId>) {
        for asked in &exchange.calls {
            let (arguments, wrapped) = chat::arguments(self.run, asked);
            if wrapped {
                self.row
                    .lose(span, format!("tool_calls[{}].function.arguments", asked.id), LossReason::Coerced);
            }
            if asked.id_is_derived {
                self.row.lose(span, format!("tool_calls[{}].id", asked.id), LossReason::Synthesized);
            }
            if asked.results.iter().any(|given| given.branch) {
                self.row.lose(
                    span,
                    format!("the history was edited before the result of {}", asked.id),
                    LossReason::Ambiguous,
                );
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
                result: asked.results.last().map(|given| chat::result(self.run, self.results, *given).0),
            };
            self.row.call(call, span);
        }
    }
}
