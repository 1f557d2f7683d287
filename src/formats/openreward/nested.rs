//! Sub-agents: inside the result of the call that started them, or after its turn.

use super::beside::Authors;
use super::facts;
use super::list::List;
use super::write::{Conversation, Writer};
use crate::formats::json::Json;

/// How deep sub-agents stand in one another: JSON readers stop at 128 levels, an agent takes five. Those below come at the
/// end.
const DEPTH: usize = 16;

impl<'a> Writer<'a, '_> {
    /// A sub-agent's work: inside the given block, or after the turn.
    pub(super) fn sub_agent(&mut self, list: &mut List<'a>, talk: &mut Conversation<'a>, scope: usize, place: usize) {
        if self.written.contains(&scope) || self.is_too_deep(scope) {
            return;
        }
        if self.inline {
            talk.pending.push(scope);
        } else {
            self.nest(list, scope, place);
        }
    }

    /// Notes a sub-agent that has no place here because too many stand around it.
    fn is_too_deep(&mut self, scope: usize) -> bool {
        let too_deep = self.depth > DEPTH;
        if too_deep {
            let _ = self.deep.insert(scope);
        }
        too_deep
    }

    pub(super) fn nest(&mut self, list: &mut List<'a>, scope: usize, place: usize) {
        let mut inner = List::new(list.trace.clone());
        self.stream(&mut inner, scope, 0);
        self.beside(&mut inner, false);
        let agent = self.run.scopes.get(scope).and_then(|scope| scope.agent.as_ref());
        let mut told = facts::filled([
            ("agent", agent.into()),
            ("span_id", self.scope_span(scope).map(|span| span.to_string()).into()),
        ]);
        let blocks = serde_json::to_value(inner.finish()).unwrap_or_default();
        told.insert("blocks", blocks);
        let Some(block) = list.block(place) else { return };
        let before = block.metadata.as_mut().and_then(Json::as_object_mut);
        match before.and_then(|metadata| metadata.get_mut("subagent")) {
            None => block.annotate("subagent", told),
            Some(before) => before.push(told),
        }
    }

    /// Sub-agents that stand after their call's turn.
    pub(super) fn flush(&mut self, list: &mut List<'a>, talk: &mut Conversation<'a>) {
        for scope in std::mem::take(&mut talk.pending) {
            self.stream(list, scope, 0);
        }
    }

    /// Sub-agents of calls without a result.
    pub(super) fn unanswered(&mut self, list: &mut List<'a>, talk: &Conversation<'a>) {
        let plan = self.plan;
        let mut tools: Vec<(usize, usize)> = Vec::new();
        let open: Vec<usize> = plan
            .inner
            .iter()
            .filter(|(_, scopes)| scopes.iter().any(|scope| !self.written.contains(scope)))
            .map(|(tool, _)| *tool)
            .collect();
        if open.is_empty() {
            return;
        }
        let authors = Authors::of(list);
        for tool in &open {
            let Some(step) = self.step(*tool) else { continue };
            let by_place = step.dispatched_by.zip(step.call_index).and_then(|place| talk.places.get(&place));
            let by_id = || {
                let id = step.operation.tool.as_ref()?.call_id.as_ref()?;
                let belongs = plan.hosts.get(step.scope) == Some(&talk.scope);
                talk.calls.get(id.as_str()).filter(|_| belongs)
            };
            let own = || authors.first(*tool);
            if let Some(place) = by_place.copied().or_else(|| by_id().copied()).or_else(own) {
                tools.push((*tool, place));
            }
        }
        tools.sort_unstable();
        for (tool, place) in tools {
            for scope in plan.inner.get(&tool).into_iter().flatten() {
                if self.written.contains(scope) || self.is_too_deep(*scope) {
                    continue;
                }
                let _ = self.told.insert(tool);
                if self.inline {
                    self.stream(list, *scope, 0);
                } else {
                    self.nest(list, *scope, place);
                }
            }
        }
    }
}
