//! One round of a conversation, in the form of a case.

use super::check::TURN;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::LossReason;
use crate::hash::{Distinct, HashMap, HashSet};
use crate::operation::{Kind, Message};
use crate::run::{Run, Step, StepId};
use crate::span::{SpanId, UnixNanos};
use crate::transcript::calls;
use crate::transcript::calls::Results;
use crate::transcript::chat;
use crate::transcript::chat::OfferedTools;
use crate::transcript::content;
use crate::transcript::losses::Losses;
use crate::transcript::rounds;
use crate::transcript::rounds::Round;
use crate::transcript::turn_facts::TurnFacts;
use crate::transcript::{Exchange, ExchangeCall, ExchangeKind};

/// What the cases of a run are written from.
pub(super) struct CaseSource<'a> {
    pub(super) run: &'a Run,
    pub(super) turns: TurnFacts<'a>,
    results: Results<'a>,
    /// Searches that ran inside a tool, by the tool.
    searches: HashMap<StepId, Vec<&'a Step>>,
}

impl<'a> CaseSource<'a> {
    pub(super) fn of(run: &'a Run) -> Self {
        let mut searches: HashMap<StepId, Vec<&'a Step>> = HashMap::default();
        for step in run.steps.iter().filter(|step| is_search(step)) {
            if let Some(tool) = step.inside_tool {
                searches.entry(tool).or_default().push(step);
            }
        }
        Self {
            run,
            turns: TurnFacts::of(run),
            results: Results::of(run),
            searches,
        }
    }
}

pub(super) fn is_search(step: &Step) -> bool {
    matches!(step.operation.kind, Kind::Retrieval | Kind::Rerank)
}

/// A question, the calls it led to, and the answer.
#[derive(Default)]
pub(super) struct Interaction<'a> {
    /// The agent that the case names.
    agent: Option<&'a str>,
    pub(super) input: Option<Text<'a>>,
    pub(super) output: Option<Text<'a>>,
    /// Other words without a call.
    pub(super) earlier: Vec<Text<'a>>,
    pub(super) tools: Vec<Object<'a>>,
    pub(super) retrieved: Vec<Text<'a>>,
    known: HashSet<Text<'a>>,
    pub(super) models: Distinct<&'a str>,
    /// Thoughts without a call.
    pub(super) thoughts: Vec<Text<'a>>,
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) cost: Option<f64>,
    pub(super) from: Option<UnixNanos>,
    pub(super) to: Option<UnixNanos>,
    /// Whether the round is from before the run.
    pub(super) is_old: bool,
    pub(super) span: Option<SpanId>,
}

impl<'a> Interaction<'a> {
    pub(super) fn of(
        source: &CaseSource<'a>,
        agent: Option<&'a str>,
        round: &Round<'a, '_>,
        offered: &mut OfferedTools<'a>,
        losses: &mut Losses,
    ) -> Self {
        let mut interaction = Self {
            agent,
            is_old: round.is_old(),
            ..Self::default()
        };
        for (message, exchange) in &round.asked {
            let span = span(source.run, exchange);
            losses.branch(exchange, span);
            if let crate::operation::Role::Other(word) = &message.role {
                losses.add(span, format!("role {word}"), LossReason::Coerced);
            }
            let words = words(message, span, losses);
            join(&mut interaction.input, words);
        }
        let answer = round.answer();
        for (at, exchange) in round.done.iter().enumerate() {
            interaction.exchange(source, exchange, answer == Some(at), offered, losses);
        }
        interaction
    }

    fn exchange(
        &mut self,
        source: &CaseSource<'a>,
        exchange: &Exchange<'a>,
        is_answer: bool,
        offered: &mut OfferedTools<'a>,
        losses: &mut Losses,
    ) {
        let run = source.run;
        let own = exchange.step.and_then(|step| step.of(run));
        let span = own.and_then(|own| own.span_id);
        self.span = self.span.or(span);
        losses.branch(exchange, span);
        let is_message = matches!(exchange.kind, ExchangeKind::Message(_));
        if let Some(own) = own.filter(|_| !is_message) {
            // An operation that no model asked for is described by its call.
            if exchange.kind != ExchangeKind::Unasked || is_search(own) {
                self.step(source, own, None, losses);
            }
            for name in offered.add(&own.operation.tool_definitions) {
                losses.add(span, format!("another definition of {name}"), LossReason::Ambiguous);
            }
        }
        let mut reasoning = None;
        if let Some(message) = rounds::assistant_message(exchange) {
            let words = words(message, span, losses);
            losses.opaque(message, span);
            let thoughts = content::reasoning(message).unwrap_or_default();
            if exchange.calls.is_empty() {
                self.thoughts.extend(Some(thoughts).filter(|thoughts| !thoughts.is_empty()));
            } else {
                join(&mut reasoning, thoughts);
            }
            if is_answer {
                self.output = Some(words);
            } else if exchange.calls.is_empty() {
                self.earlier.extend(Some(words).filter(|words| !words.trim().is_empty()));
            } else if !words.trim().is_empty() {
                losses.add(span, "words next to calls became their reasoning", LossReason::Coerced);
                join(&mut reasoning, words);
            }
        }
        match exchange.kind {
            _ if exchange.is_repeated => {}
            ExchangeKind::SilentTurn => losses.add(span, "a model call without recorded words", LossReason::NoPlace),
            ExchangeKind::UserWords | ExchangeKind::AgentWords => {
                let kind = own.map_or("words", |own| own.operation.kind.name());
                losses.add(span, format!("{kind}: its words"), LossReason::NoPlace);
            }
            ExchangeKind::Unasked if own.is_some_and(is_search) => {
                own.into_iter().for_each(|own| self.search(source, own, losses));
                return;
            }
            _ => {}
        }
        for asked in &exchange.calls {
            self.call(source, asked, reasoning.take().filter(|words| !words.is_empty()), span, losses);
        }
    }

    /// Adds the counts and facts of an operation. `asked`: the call that it ran.
    fn step(&mut self, source: &CaseSource<'a>, own: &'a Step, asked: Option<&ExchangeCall<'a>>, losses: &mut Losses) {
        let operation = &own.operation;
        let of_run = source.run.failure.as_ref().map(|failed| &failed.failure);
        losses.step(source.run, own, |key, value| match key {
            "agent" => value.as_str() == self.agent,
            "model" => true,
            "tool_definitions" => asked.is_none() || source.turns.contains(key, own),
            "error" => asked.is_some_and(|asked| !asked.results.is_empty()) || is_search(own) || operation.failure.as_ref() == of_run,
            _ => false,
        });
        if let Some(model) = operation.model.name() {
            self.models.insert(&model);
        }
        if crate::transcript::is_model_call(own) {
            add(&mut self.input_tokens, operation.usage.input);
            add(&mut self.output_tokens, operation.usage.output);
            let cost = operation.cost.total.filter(|cost| cost.is_finite());
            self.cost = cost.map(|cost| self.cost.unwrap_or_default() + cost).or(self.cost);
        }
        self.from = Some(self.from.map_or(own.started_at, |from| from.min(own.started_at)));
        self.to = self.to.max(Some(own.end_or_start()));
    }

    fn call(
        &mut self,
        source: &CaseSource<'a>,
        asked: &ExchangeCall<'a>,
        reasoning: Option<Text<'a>>,
        span: Option<SpanId>,
        losses: &mut Losses,
    ) {
        let run = source.run;
        if asked.call.is_none() && asked.tool.is_none() {
            let what = format!("the result of {}, which nothing calls", asked.id);
            return losses.add(span, what, LossReason::NoPlace);
        }
        let (arguments, wrapped) = chat::arguments(run, asked);
        losses.call(&source.turns, asked, self.agent, wrapped, span);
        losses.fact(span, "tool_call_id");
        let mut call = Object::from([("name", chat::name(run, asked).into()), ("input_parameters", arguments.into())]);
        if let Some(given) = asked.results.last() {
            let (output, failure) = chat::result_value(run, &source.results, *given);
            call.add("output", output);
            if chat::shows_media(run, &source.results, *given) {
                losses.add(span, "output: a part that is no text", LossReason::Coerced);
            }
            if failure.is_some() {
                losses.add(span, format!("error of {}", asked.id), LossReason::Coerced);
            }
        }
        call.add_filled("reasoning", reasoning);
        self.tools.push(call);
        let Some(tool) = asked.tool else { return };
        tool.of(run)
            .into_iter()
            .for_each(|tool| self.step(source, tool, Some(asked), losses));
        for search in source.searches.get(&tool).into_iter().flatten() {
            self.search(source, search, losses);
        }
    }

    fn search(&mut self, source: &CaseSource<'a>, own: &'a Step, losses: &mut Losses) {
        if content::input(source.run, own).is_some() {
            losses.add(own.span_id, "retrieval: its query", LossReason::NoPlace);
        }
        let found = own.operation.search.as_ref().and_then(|search| search.documents.as_ref());
        let mut texts: Vec<Text<'a>> = Vec::new();
        match found {
            Some(list) => {
                texts.extend(list.iter().filter_map(|found| found.content.as_deref()).map(Text::from));
                if list
                    .iter()
                    .any(|found| found.score.is_some() || found.id.is_some() || !found.metadata.is_empty())
                {
                    losses.fact(own.span_id, "ids, scores and metadata of documents");
                }
            }
            None => texts.extend(content::output(&source.results, own).map(Json::into_text)),
        }
        if let Some(failure) = &own.operation.failure {
            let what = format!("error of retrieval: {}", calls::error_text(failure));
            losses.add(own.span_id, what, LossReason::NoPlace);
        }
        let new = texts.into_iter().filter(|text| self.known.insert(text.clone()));
        self.retrieved.extend(new);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.input.is_none() && self.output.is_none() && [self.tools.len(), self.earlier.len(), self.retrieved.len()] == [0; 3]
    }

    /// Reports the losses of a round without words and calls.
    pub(super) fn lost(&self, losses: &mut Losses) {
        let left = [("model", self.models.is_empty()), ("reasoning", self.thoughts.is_empty())];
        for (fact, _) in left.into_iter().filter(|(_, is_empty)| !is_empty) {
            losses.fact(None, fact);
        }
    }

    /// Merges another round of the same run into this one.
    pub(super) fn join(&mut self, other: Self) {
        self.input = self.input.take().or(other.input);
        let before = other.output.and_then(|output| self.output.replace(output));
        self.earlier.extend(before.into_iter().chain(other.earlier));
        self.tools.extend(other.tools);
        self.retrieved
            .extend(other.retrieved.into_iter().filter(|text| self.known.insert(text.clone())));
        self.thoughts.extend(other.thoughts);
        for model in other.models.into_list() {
            self.models.insert(&model);
        }
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.output_tokens, other.output_tokens);
        self.cost = other.cost.map(|cost| self.cost.unwrap_or_default() + cost).or(self.cost);
        self.from = self.from.into_iter().chain(other.from).min();
        self.to = self.to.max(other.to);
        self.span = self.span.or(other.span);
    }

    /// The round as turns of a conversation.
    pub(super) fn turns(self) -> impl Iterator<Item = Object<'a>> {
        let asked = self
            .input
            .map(|words| TURN.given([("role", "user".into()), ("content", words.into())]));
        let mut metadata = Object::new();
        metadata.add_filled("earlier_outputs", self.earlier.into_iter().collect::<Json<'_>>());
        metadata.add_filled("models", self.models.into_list().collect::<Json<'_>>());
        metadata.add_filled("reasoning", self.thoughts.into_iter().collect::<Json<'_>>());
        let is_written = self.output.is_some() || !self.tools.is_empty() || !self.retrieved.is_empty() || !metadata.is_empty();
        let answered = is_written.then(|| {
            TURN.given([
                ("role", "assistant".into()),
                ("content", self.output.unwrap_or_default().into()),
                ("tools_called", self.tools.into_iter().collect()),
                ("retrieval_context", self.retrieved.into_iter().collect()),
                ("additional_metadata", metadata.into()),
            ])
        });
        asked.into_iter().chain(answered)
    }
}

/// Adds a count, if known.
fn add(sum: &mut Option<u64>, count: Option<u64>) {
    *sum = count.map(|count| sum.unwrap_or_default().saturating_add(count)).or(*sum);
}

/// The words of a message.
pub(super) fn words<'a>(message: &'a Message, span: Option<SpanId>, losses: &mut Losses) -> Text<'a> {
    let (words, lost) = chat::content(message);
    if let Some(reason) = lost {
        losses.add(span, "content: a part that is no text", reason);
    }
    words
}

pub(super) fn span(run: &Run, exchange: &Exchange<'_>) -> Option<SpanId> {
    exchange.step.and_then(|step| step.of(run))?.span_id
}

/// Appends words to others.
pub(super) fn join<'a>(before: &mut Option<Text<'a>>, after: Text<'a>) {
    match before {
        Some(before) if !before.trim().is_empty() => {
            if !after.trim().is_empty() {
                let text = before.to_mut();
                text.push_str("\n\n");
                text.push_str(&after);
            }
        }
        _ if after.trim().is_empty() => {}
        _ => *before = Some(after),
    }
}

/// Whether two texts are equal, ignoring surrounding white space.
pub(super) fn same(one: &str, other: &str) -> bool {
    one.trim() == other.trim()
}
