//! Finds the call that a tool's span ran by its result: the next model input has the results under the ids of their calls.
//!
//! Ids and arguments on a tool's span are opt-in, and parallel tools begin in any order: without both, only the result identifies
//! the call.

use std::borrow::Cow;

use crate::hash::HashMap;
use crate::run::arguments::{self, Fit};
use crate::run::conversation::DraftConversation;
use crate::run::id::{CallId, NodeId};
use crate::run::names;
use crate::run::node::Nodes;
use crate::run::results::{answer_text, as_json, result_text};

/// Maximum number of calls with one result examined; beyond that, order is as good evidence.
const MAX_CALLS_PER_RESULT: usize = 16;

/// Gives each of these tools to the first call with the same result. Tools without one stay in `tools`.
pub(super) fn give(nodes: &Nodes, conversation: &mut DraftConversation, tools: &mut Vec<NodeId>) {
    let has_result = |tool: &NodeId| {
        nodes
            .get(*tool)
            .and_then(|node| node.operation.tool.as_ref()?.result.as_ref())
            .is_some()
    };
    if !tools.iter().any(has_result) {
        return;
    }
    let mut by_result: HashMap<String, Vec<CallId>> = HashMap::default();
    for (id, draft) in conversation.calls.enumerate().filter(|(_, draft)| draft.tools.is_empty()) {
        if let Some(seen) = &draft.result {
            by_result.entry(key(&answer_text(&seen.message)).into_owned()).or_default().push(id);
        }
    }
    if by_result.len() < 2 {
        return;
    }
    tools.retain(|tool| {
        let found = find(nodes, conversation, &by_result, *tool);
        let Some(draft) = found.and_then(|call| conversation.calls.get_mut(call)) else {
            return true;
        };
        draft.tools.push(*tool);
        false
    });
}

fn find(nodes: &Nodes, conversation: &DraftConversation, by_result: &HashMap<String, Vec<CallId>>, tool: NodeId) -> Option<CallId> {
    let node = nodes.get(tool)?;
    let used = node.operation.tool.as_ref()?;
    let (name, given) = (names::tool(node)?, result_text(used.result.as_ref()?));
    let calls = by_result.get(&*key(&given))?;
    let start = |node: NodeId| nodes.get(node).map(|node| node.start);
    let is_it = |call: &&CallId| {
        let Some(draft) = conversation.calls.get(**call).filter(|draft| draft.tools.is_empty()) else {
            return false;
        };
        let was_asked = draft.by.and_then(start).is_none_or(|asked| asked <= node.start);
        let was_read = draft
            .result
            .as_ref()
            .and_then(|seen| start(seen.node))
            .is_none_or(|read| read >= node.start);
        let fits = arguments::fit(used.arguments.as_ref(), draft.call.arguments.as_ref()) >= Fit::Unknown;
        was_asked && was_read && fits && names::same_tool(name, &draft.call.name)
    };
    calls.iter().take(MAX_CALLS_PER_RESULT).find(is_it).copied()
}

/// Equal for equal results, even if one is JSON in another formatting.
fn key(text: &str) -> Cow<'_, str> {
    as_json(text.trim())
}
