//! Writes sub-agents inside the result of the call that started them, or after its turn.

use std::collections::BTreeMap;

use super::facts;
use super::list::List;
use super::write::{BlockWriter, StreamState};
use crate::document::json::Json;
use crate::run::{ScopeId, StepId};
use crate::transcript::NESTING_LIMIT;

impl<'a> BlockWriter<'a, '_> {
    /// Writes a sub-agent inside the given block, or postpones it until after the turn.
    pub(super) fn sub_agent(&mut self, talk: &mut StreamState<'a, '_>, scope: ScopeId, place: usize) {
        if self.written.contains(&scope) || self.is_too_deep(scope) {
            return;
        }
        if self.inline {
            talk.pending.push(scope);
        } else {
            self.nest(talk.list, scope, place);
        }
    }

    /// Whether a sub-agent is too deeply nested to be written; records it if so.
    fn is_too_deep(&mut self, scope: ScopeId) -> bool {
        let too_deep = self.depth > NESTING_LIMIT;
        if too_deep {
            let _ = self.deep.insert(scope);
        }
        too_deep
    }

    pub(super) fn nest(&mut self, list: &mut List<'a>, scope: ScopeId, place: usize) {
        let mut inner = List::new(list.trace.clone());
        inner.has_times = list.has_times;
        self.stream(&mut inner, scope, 0);
        self.annotate_list(&mut inner, false);
        let agent = self.run.scopes.get(scope).and_then(|scope| scope.agent.as_ref());
        let mut sub_agent = facts::filled([
            ("agent", agent.into()),
            ("span_id", self.scope_span(scope).map(|span| span.to_string()).into()),
        ]);
        let blocks = serde_json::to_value(inner.finish()).unwrap_or_default();
        sub_agent.insert("blocks", blocks);
        let Some(block) = list.block(place) else { return };
        let before = block.metadata.as_mut().and_then(Json::as_object_mut);
        match before.and_then(|metadata| metadata.get_mut("subagent")) {
            None => block.annotate("subagent", sub_agent),
            Some(before) => before.push(sub_agent),
        }
    }

    /// Writes the sub-agents that were postponed until after the turn.
    pub(super) fn flush(&mut self, talk: &mut StreamState<'a, '_>) {
        for scope in std::mem::take(&mut talk.pending) {
            self.stream(talk.list, scope, 0);
        }
    }

    /// Writes the sub-agents of calls without a result.
    pub(super) fn unanswered(&mut self, talk: &mut StreamState<'a, '_>) {
        let plan = self.plan;
        if plan.inner.is_empty() {
            return;
        }
        talk.list.note_authors(|step| plan.inner.contains_key(&step));
        // More reliable places come later and replace earlier ones.
        let mut places: BTreeMap<StepId, usize> = talk.list.authors.clone();
        for (id, place) in &talk.calls {
            places.extend(plan.asked.by_id(talk.scope, id).map(|tool| (tool, *place)));
        }
        for (asked, place) in &talk.places {
            places.extend(plan.asked.by_place(*asked).map(|tool| (tool, *place)));
        }
        for (tool, place) in places {
            let mut left = false;
            for scope in plan.inner.get(&tool).into_iter().flatten() {
                if self.written.contains(scope) {
                    continue;
                }
                if self.is_too_deep(*scope) {
                    left = true;
                    continue;
                }
                self.annotate_call(talk.list, tool, place);
                if self.inline {
                    self.stream(talk.list, *scope, 0);
                } else {
                    self.nest(talk.list, *scope, place);
                }
            }
            if !left {
                let _ = talk.list.authors.remove(&tool);
            }
        }
    }
}
