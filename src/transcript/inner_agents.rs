//! Conversations of agents that worked inside another one without being called by a tool. They are inserted by time, so that the
//! last text is the outer agent's.

use super::coverage::Transcript;
use super::exchanges::{Exchange, ExchangeKind, Exchanges};
use crate::hash::HashMap;
use crate::run::ScopeId;
use crate::span::UnixNanos;

impl<'a> Transcript<'a> {
    /// The conversations of these scopes, in order. The conversation of an agent inside another one becomes part of the outer one if
    /// that has a turn after the inner one begins.
    pub(crate) fn exchanges_of(&self, scopes: &[ScopeId]) -> Vec<Exchanges<'a>> {
        let mut all: Vec<Option<Exchanges<'a>>> = scopes.iter().map(|scope| Some(self.exchanges(*scope))).collect();
        let places: HashMap<ScopeId, usize> = scopes.iter().enumerate().map(|(place, scope)| (*scope, place)).collect();
        let mut inner: HashMap<usize, Vec<usize>> = HashMap::default();
        // A parent has the lower id, so going backwards completes inner conversations first.
        let mut order: Vec<(ScopeId, usize)> = places.iter().map(|(scope, place)| (*scope, *place)).collect();
        order.sort_unstable_by(|one, other| other.cmp(one));
        for (scope, place) in order {
            let mut within = inner.remove(&place).unwrap_or_default();
            // In order of begin, like `scopes`.
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

/// The index and the time of the last turn of a model.
fn last_turn(list: &[Exchange<'_>]) -> Option<(usize, UnixNanos)> {
    let place = list.iter().rposition(|exchange| matches!(exchange.kind, ExchangeKind::Turn(_)))?;
    Some((place, list.get(place)?.at))
}

/// Inserts each conversation before the first exchange after its end, but always before the last turn.
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
