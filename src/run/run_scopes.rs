//! Stage "scopes of the run": takes the draft scopes and their conversations and returns scopes that refer to steps.
//!
//! This runs after the entries and consumes the drafts: from here on everything refers to steps, not nodes.

use super::id::{IdVec, ScopeId};
use super::model::{Entry, Scope};
use super::scopes::Scopes;
use super::steps::DraftSteps;

/// A run without steps has no scopes.
pub(super) fn make(scopes: Scopes, conversations: IdVec<ScopeId, Vec<Entry>>, steps: &DraftSteps) -> IdVec<ScopeId, Scope> {
    if steps.list.is_empty() {
        return IdVec::default();
    }
    let called_by = steps.called_by.iter().copied();
    let all = scopes.list.into_iter().zip(conversations).zip(called_by);
    all.map(|((draft, conversation), called_by)| {
        let agent = draft.node.and_then(|node| steps.step_of(node));
        Scope {
            agent: draft
                .agent
                .or_else(|| agent.and_then(|(_, step)| step.operation.agent.name.clone())),
            step: agent.map(|(id, _)| id),
            parent: draft.parent,
            called_by,
            is_auxiliary: draft.is_auxiliary,
            is_unrelated: draft.is_unrelated,
            conversation,
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Kind;
    use crate::run::conversation::Conversations;
    use crate::run::steps;
    use crate::run::testing::{nodes, reading};

    #[test]
    fn the_agents_step_names_the_scope() {
        let mut agent = reading(1, Kind::Agent, 0..90);
        agent.operation.agent.name = Some("planner".to_owned());
        let nodes = nodes([(agent, None)]);
        let scopes = Scopes::of(&nodes);
        let steps = steps::make(nodes, &scopes, &Conversations::default());
        let made = make(scopes, IdVec::filled(Vec::new(), 1), &steps);
        let made: Vec<_> = made.iter().map(|scope| (scope.agent.as_deref(), scope.step)).collect();
        assert_eq!(made, [(Some("planner"), steps.list.ids().next())]);
    }
}
