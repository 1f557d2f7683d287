//! Stage "conversations": takes the nodes and their scopes and returns each message once. The history that every model input repeats
//! is matched against the messages known so far.
//!
//! This runs after the scopes, since each scope's model calls are one conversation, or continue another scope's. It adds to the nodes
//! parts of their answers that only a later input contains. Tool results stay with their calls until the tools are joined.

mod align;
mod call_ref;
mod complete;
mod draft;
mod garbled;
mod history;
mod keys;
mod missing_roles;
mod model_call;
mod openings;
mod unanswered;
mod walk;

#[cfg(test)]
mod tests;

use super::id::{ConversationId, NodeId, ScopeId};
use super::node::{Node, Nodes};
use super::scopes::Scopes;
use crate::hash::HashMap;
use crate::operation::Kind;
use crate::trace::{Finding, FindingKind};
pub(super) use call_ref::CallRef;
pub(super) use draft::{Conversations, DraftCall, DraftConversation, SeenResult};
use keys::Keys;
use openings::Openings;

/// Maximum number of messages walked through again because calls of other conversations share them.
const MAX_REWALKED: usize = 1 << 20;

/// Reconstructs the conversations of all scopes.
pub(super) fn reconstruct(nodes: &mut Nodes, scopes: &Scopes) -> Conversations {
    let mut list = Conversations::default();
    let mut of_scope: HashMap<ScopeId, ConversationId> = HashMap::default();
    let mut openings = Openings::default();
    let calls = nodes.of_kind(Kind::Llm);
    let has_messages = |call: &&NodeId| nodes.get(**call).is_some_and(Node::has_messages);
    let mut keys = Keys::with_room_for(calls.iter().filter(has_messages).count());
    let mut walked_again = 0_usize;
    for call in calls {
        let scope = scopes.scope_of(call);
        let known = of_scope.get(&scope).and_then(|at| list.get(*at));
        let again = nodes.get(call).map_or(0, |node| {
            known.map_or_else(|| DraftConversation::default().walks_again(node), |known| known.walks_again(node))
        });
        walked_again = walked_again.saturating_add(again);
        if again > 0 && walked_again > MAX_REWALKED {
            nodes.leave_out_continued(call);
        }
        let at = match of_scope.get(&scope) {
            Some(at) => *at,
            None => {
                let draft = scopes.list.get(scope);
                let tool = draft.and_then(|draft| draft.tool);
                let agent = draft.and_then(|draft| draft.agent.as_deref());
                // A judge reads the conversation that it judges, but does not continue it.
                let goes_on = !draft.is_some_and(|draft| draft.is_auxiliary || draft.is_unrelated);
                let continued = goes_on.then(|| openings.continued(nodes, &list, (tool, call, agent), &mut keys));
                let at = continued.flatten().unwrap_or_else(|| list.push(DraftConversation::default()));
                of_scope.insert(scope, at);
                if let Some(conversation) = list.get_mut(at) {
                    conversation.scopes.push(scope);
                }
                at
            }
        };
        if let Some(conversation) = list.get_mut(at) {
            let is_open = conversation.opening.is_some();
            conversation.add_model_call(nodes, call, &mut keys);
            let owner = conversation.scopes.first().and_then(|owner| scopes.list.get(*owner));
            openings.note_calls(owner.and_then(|owner| owner.tool), at, conversation);
            if let Some(opening) = conversation.opening.filter(|_| !is_open) {
                openings.note(owner.and_then(|owner| owner.tool), opening, at);
            }
        }
    }
    list.iter_mut().for_each(DraftConversation::give_room_back);
    report(nodes, &list);
    list
}

/// Reports edited histories and calls that share an id.
fn report(nodes: &mut Nodes, conversations: &Conversations) {
    let mut findings = Vec::new();
    let span = |node: NodeId| nodes.get(node).map(|node| node.span_id);
    for conversation in conversations {
        for draft in conversation.messages.iter().filter(|draft| draft.branch) {
            findings.push(Finding::new(
                span(draft.node),
                FindingKind::HistoryBranch,
                "the history before this message was edited or cut",
            ));
        }
        for draft in &conversation.calls {
            if let (Some(shared), Some(id)) = (&draft.shared_id, &draft.call.id) {
                let node = conversation.messages.get(draft.message).map(|draft| draft.node);
                let detail = format!(
                    "one answer gives the id {shared:?} to several calls: this one becomes {:?}",
                    id.as_str()
                );
                findings.push(Finding::new(node.and_then(span), FindingKind::AmbiguousCall, detail));
            }
            if garbled::is_joined(&draft.call) {
                let node = conversation.messages.get(draft.message).map(|draft| draft.node);
                let detail = format!(
                    "the arguments of {:?} are those of several calls of one answer, whose names were lost: they stay text",
                    draft.call.name
                );
                findings.push(Finding::new(node.and_then(span), FindingKind::UnreadableValue, detail));
            }
        }
    }
    nodes.findings.append(&mut findings);
}

/// Reports results that no call asked for.
pub(super) fn report_stray_results(nodes: &mut Nodes, conversations: &Conversations) {
    for seen in conversations.iter().flat_map(|conversation| &conversation.stray_results) {
        let span = nodes.get(seen.node).map(|node| node.span_id);
        let detail = match &seen.message.tool_call_id {
            Some(id) => format!("a result for call {id:?}, which was never made"),
            None => "a result has no call id, and its place does not show its call".to_owned(),
        };
        nodes.findings.push(Finding::new(span, FindingKind::ResultWithoutCall, detail));
    }
}
