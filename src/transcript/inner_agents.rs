//! Conversations of agents that worked inside another one without being called by a tool: they stand where they were, so that the last
//! words are those of the outer one.

use super::coverage::Transcript;
use super::exchanges::{Exchange, ExchangeKind, Exchanges};
use crate::hash::HashMap;
use crate::run::ScopeId;
use crate::span::UnixNanos;

impl<'a> Transcript<'a> {
    /// The conversations of these scopes, in their order. That of an agent inside of another one of them, which had more to say, is a
    /// part of it.
    pub(crate) fn exchanges_of(&self, scopes: &[ScopeId]) -> Vec<Exchanges<'a>> {
        let mut all: Vec<Option<Exchanges<'a>>> = scopes.iter().map(|scope| Some(self.exchanges(*scope))).collect();
        let places: HashMap<ScopeId, usize> = scopes.iter().enumerate().map(|(place, scope)| (*scope, place)).collect();
        let mut inner: HashMap<usize, Vec<usize>> = HashMap::default();
        // A parent has the lower id: what is inside is whole when it is needed.
        let mut order: Vec<(ScopeId, usize)> = places.iter().map(|(scope, place)| (*scope, *place)).collect();
        order.sort_unstable_by(|one, other| other.cmp(one));
        for (scope, place) in order {
            let mut within = inner.remove(&place).unwrap_or_default();
            // In the order of their first words, as `scopes` is.
            within.sort_unstable();
            let within: Vec<Exchanges<'a>> = within.into_iter().filter_map(|place| all.get_mut(place)?.take()).collect();
            let Some(Some(own)) = all.get_mut(place) else { continue };
            put_inside(own, within);
            let begins = own.list.first().map(|exchange| exchange.at);
            let outer = self.agent_around(scope).and_then(|outer| places.get(&outer)).copied();
            let goes_on = |outer: usize| Some(last_turn(&all.get(outer)?.as_ref()?.list)?.1 > begins?);
            if let Some(outer) = outer.filter(|outer| goes_on(*outer).unwrap_or_default()) {
                inner.entry(outer).or_default().push(place);
            }
        }
        all.into_iter().flatten().collect()
    }

    /// The agent around an agent that no tool called.
    fn agent_around(&self, scope: ScopeId) -> Option<ScopeId> {
        let inner = self.run.scopes.get(scope)?;
        let outer = inner.parent.filter(|_| inner.step.is_some() && !inner.is_auxiliary)?;
        let is_agent = self.run.scopes.get(outer).is_some_and(|outer| outer.step.is_some());
        is_agent.then_some(outer)
    }
}

/// The place and the time of the last words of a model.
fn last_turn(list: &[Exchange<'_>]) -> Option<(usize, UnixNanos)> {
    let place = list.iter().rposition(|exchange| matches!(exchange.kind, ExchangeKind::Turn(_)))?;
    Some((place, list.get(place)?.at))
}

/// Puts each conversation before the first words that came when it was over, and in any case before the last turn.
fn put_inside<'a>(outer: &mut Exchanges<'a>, within: Vec<Exchanges<'a>>) {
    if within.is_empty() {
        return;
    }
    let last = last_turn(&outer.list).map_or(outer.list.len(), |(place, _)| place);
    let latest = outer.list.iter().scan(UnixNanos(0), |latest, exchange| {
        *latest = exchange.at.max(*latest);
        Some(*latest)
    });
    let latest: Vec<UnixNanos> = latest.collect();
    let mut at_place: HashMap<usize, Vec<Exchanges<'a>>> = HashMap::default();
    for conversation in within {
        let end = conversation.list.iter().map(|exchange| exchange.at).max().unwrap_or_default();
        let place = latest.partition_point(|at| *at < end).min(last);
        at_place.entry(place).or_default().push(conversation);
    }
    let own = std::mem::take(&mut outer.list);
    for (place, exchange) in own.into_iter().enumerate() {
        for conversation in at_place.remove(&place).into_iter().flatten() {
            outer.list.extend(conversation.list);
            outer.rest.extend(conversation.rest);
        }
        outer.list.push(exchange);
    }
}
