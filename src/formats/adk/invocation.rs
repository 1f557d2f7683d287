//! An invocation under construction: the messages and calls between a question and its answer, as events.

use std::collections::BTreeMap;

use super::assembly::Assembly;
use super::event::{self, Content, Event};
use super::table::{EVENTS, LISTS};
use crate::document::json::{Json, Object, Text};
use crate::document::loss::LossReason;
use crate::run::Step;
use crate::transcript::chat;
use crate::transcript::chat::OfferedTools;
use crate::transcript::ids::Ids;
use crate::transcript::rounds;
use crate::transcript::rounds::Rounds;
use crate::transcript::{Exchange, ExchangeCall, ExchangeKind, NESTING_LIMIT, ScopeId};

/// An invocation under construction.
#[derive(Default)]
pub(super) struct InvocationDraft<'a> {
    pub(super) events: Vec<Event<'a>>,
    pub(super) answer: Option<Content<'a>>,
    /// Instructions and tools by agent.
    pub(super) agents: BTreeMap<Text<'a>, (Vec<Text<'a>>, OfferedTools<'a>)>,
}

impl<'a> Assembly<'a, '_> {
    /// Adds an answer that only an agent or chain records; the previous final words become an event.
    pub(super) fn answer(&mut self, draft: &mut InvocationDraft<'a>, id: ScopeId, words: Text<'a>) {
        let new = vec![event::text(words)];
        if let Some(before) = draft.answer.take().filter(|before| before.parts != new) {
            let place = draft.events.iter_mut().rev().find(|event| event.content.is_none());
            match place {
                Some(event) => event.content = Some(before),
                None => draft.events.push(Event::new(self.author(id, None), before)),
            }
        }
        draft.answer = Some(Content::models(new));
    }

    /// Adds an exchange as events; `is_answer`: its words are the final response.
    pub(super) fn exchange(
        &mut self,
        draft: &mut InvocationDraft<'a>,
        id: ScopeId,
        exchange: &Exchange<'a>,
        is_answer: bool,
        ids: &mut Ids<'a>,
        depth: usize,
    ) {
        let (run, span) = (self.run, self.span(exchange));
        self.losses.branch(exchange, span);
        let is_message = matches!(exchange.kind, ExchangeKind::Message(_));
        let own = exchange.step.and_then(|step| step.of(run)).filter(|_| !is_message);
        if let Some(own) = own {
            // An operation that no model asked for is described by its call.
            if exchange.kind != ExchangeKind::Unasked {
                let author = self.author(id, Some(exchange));
                self.step(own, &author, None);
            }
            let tools = &own.operation.tool_definitions;
            if !tools.is_empty() {
                for name in draft.agents.entry(self.author(id, Some(exchange))).or_default().1.add(tools) {
                    self.losses
                        .add(span, format!("another definition of {name}"), LossReason::Ambiguous);
                }
            }
        }
        match exchange.kind {
            _ if exchange.is_repeated => return,
            ExchangeKind::UserWords | ExchangeKind::AgentWords => {
                let kind = own.map_or("words", |own| own.operation.kind.name());
                return self.losses.add(span, format!("{kind}: its words"), LossReason::NoPlace);
            }
            ExchangeKind::SilentTurn => self.losses.add(span, "a model call without recorded words", LossReason::NoPlace),
            ExchangeKind::Unasked if own.is_none() => {
                for asked in &exchange.calls {
                    let what = format!("the result of {}, which nothing calls", asked.id);
                    self.losses.add(None, what, LossReason::NoPlace);
                }
                return;
            }
            ExchangeKind::Unasked => {
                let kind = own.map_or("words", |own| own.operation.kind.name());
                let what = format!("function_call: no model asked for this {kind}");
                self.losses.add(span, what, LossReason::Synthesized);
            }
            _ => {}
        }
        let mut parts = rounds::assistant_message(exchange)
            .map(|message| event::parts(message, span, self.losses))
            .unwrap_or_default();
        if is_answer {
            draft.answer = Some(Content::models(std::mem::take(&mut parts)));
        }
        let of_model = own.filter(|own| crate::transcript::is_model_call(own));
        let mut answered = Vec::with_capacity(exchange.calls.len());
        for asked in &exchange.calls {
            let (call, response) = self.call(id, exchange, asked, ids);
            parts.push(call);
            let inside = asked.tool.filter(|_| !self.cases && depth < NESTING_LIMIT);
            let called = inside.and_then(|tool| self.scopes.remove(&Some(tool)));
            answered.push((called.unwrap_or_default(), response));
        }
        let event = Event::of_model(self.author(id, Some(exchange)), parts, of_model.map(|own| &*own.operation));
        if !event.is_empty() {
            draft.events.push(event);
        }
        // Responses to one event's calls share an event, unless an agent speaks between them.
        let mut responses = Vec::new();
        for (called, response) in answered {
            if !called.is_empty() {
                self.respond(draft, id, exchange, &mut responses);
            }
            for scope in called {
                self.called(draft, scope, ids, depth + 1);
            }
            responses.extend(response);
        }
        self.respond(draft, id, exchange, &mut responses);
    }

    fn respond(&self, draft: &mut InvocationDraft<'a>, id: ScopeId, exchange: &Exchange<'a>, responses: &mut Vec<Object<'a>>) {
        if !responses.is_empty() {
            let content = Content::users(std::mem::take(responses));
            draft.events.push(Event::new(self.author(id, Some(exchange)), content));
        }
    }

    /// Adds the conversation of an agent that a tool called, as separate events.
    fn called(&mut self, draft: &mut InvocationDraft<'a>, id: ScopeId, ids: &mut Ids<'a>, depth: usize) {
        let exchanges = self.transcript.exchanges(id);
        let of_rounds = Rounds::of(&exchanges.list);
        self.outside_rounds(id, &of_rounds, &exchanges.rest);
        for (author, prompts) in self.prompts(id, &of_rounds.prompts) {
            draft.agents.entry(author).or_default().0.extend(prompts);
        }
        for round in &of_rounds.list {
            let mut parts = Vec::new();
            for (message, exchange) in &round.asked {
                let span = self.span(exchange);
                parts.extend(event::parts(message, span, self.losses));
            }
            if !parts.is_empty() {
                draft.events.push(Event::new("user".into(), Content::users(parts)));
            }
            for exchange in &round.done {
                self.exchange(draft, id, exchange, false, ids, depth);
            }
        }
    }

    /// Records what the events of an operation leave out. `asked`: the call that it ran.
    fn step(&mut self, step: &'a Step, author: &str, asked: Option<&ExchangeCall<'a>>) {
        let is_model_call = asked.is_none() && crate::transcript::is_model_call(step);
        let turns = &self.turns;
        self.losses.step(self.run, step, |key, value| match key {
            "agent" => value.as_str() == Some(author),
            "model" | "usage" if is_model_call => true,
            "tool_definitions" if asked.is_none() => true,
            "tool_call_id" => asked.is_some_and(|asked| value.as_str() == Some(&asked.id)),
            "error" => asked.is_some_and(|asked| !asked.results.is_empty()),
            "state" => true,
            _ => turns.contains(key, step),
        });
        self.losses.fact(step.span_id, "times of events");
        if is_model_call {
            event::unwritten_counts(&step.operation).for_each(|count| self.losses.fact(step.span_id, count));
        }
        if self.lists && is_model_call {
            self.losses.fact(step.span_id, "usage");
            self.losses.fact(step.span_id, "model");
        }
    }

    /// A call and its last result as parts.
    fn call(
        &mut self,
        scope: ScopeId,
        exchange: &Exchange<'a>,
        asked: &ExchangeCall<'a>,
        ids: &mut Ids<'a>,
    ) -> (Object<'a>, Option<Object<'a>>) {
        let (run, span) = (self.run, self.span(exchange));
        let id = ids.numbered(asked.id.clone(), ':');
        let (arguments, wrapped) = chat::arguments(run, asked);
        let author = self.author(scope, Some(exchange));
        self.losses.call(&self.turns, asked, Some(&author), wrapped, span);
        if id != asked.id {
            self.losses.add(span, format!("id of {}", asked.id), LossReason::Coerced);
        }
        if asked.id_is_derived && asked.call.is_some() {
            self.losses.add(span, format!("id of {}", asked.id), LossReason::Synthesized);
        }
        let name = chat::name(run, asked);
        let response = asked.results.last().map(|given| {
            let (value, failure) = chat::result_value(run, &self.results, *given);
            let is_text = matches!(value, Json::Text(_));
            let (response, wrapped) = event::response(id.clone(), name, value, failure);
            if wrapped {
                self.losses.add(span, format!("response of {}", asked.id), LossReason::Coerced);
            }
            if chat::shows_media(run, &self.results, *given) {
                self.losses.add(span, "response: a part that is no text", LossReason::Coerced);
            }
            if failure.is_some() && !is_text {
                self.losses.add(span, format!("error of {}", asked.id), LossReason::NoPlace);
            }
            response
        });
        if let Some(tool) = asked.tool.and_then(|tool| tool.of(run)) {
            self.step(tool, &author, Some(asked));
        }
        (event::call(id, name, arguments), response)
    }
}

/// Events, unchanged.
pub(super) fn events(events: Vec<Event<'_>>) -> Object<'_> {
    EVENTS.given([("invocation_events", events.into_iter().map(Event::record).collect())])
}

/// Events as lists of calls, responses and words.
pub(super) fn lists(events: Vec<Event<'_>>) -> Object<'_> {
    let (mut tool_uses, mut tool_responses, mut intermediate_responses) = (Vec::new(), Vec::new(), Vec::new());
    for event in events {
        let Some(content) = event.content else { continue };
        let mut words = Vec::new();
        for mut part in content.parts {
            if let Some(call) = part.remove("function_call") {
                tool_uses.push(call);
            } else if let Some(response) = part.remove("function_response") {
                tool_responses.push(response);
            } else {
                words.push(part);
            }
        }
        if !words.is_empty() {
            let words = words.into_iter().collect();
            intermediate_responses.push(Json::List(vec![event.author.into(), words]));
        }
    }
    LISTS.given([
        ("tool_uses", tool_uses.into()),
        ("tool_responses", tool_responses.into()),
        ("intermediate_responses", intermediate_responses.into()),
    ])
}

/// Instructions and tools in ADK's form.
pub(super) fn details<'a>(agents: BTreeMap<Text<'a>, (Vec<Text<'a>>, OfferedTools<'a>)>) -> Object<'a> {
    let mut out = Object::new();
    for (name, (prompts, tools)) in agents {
        let mut agent = Object::from([("name", name.clone().into())]);
        if !prompts.is_empty() {
            agent.add("instructions", prompts.join("\n\n"));
        }
        agent.add_filled("tool_declarations", tools.list());
        out.add(name, agent);
    }
    if out.is_empty() {
        return out;
    }
    Object::from([("agent_details", out.into())])
}
