//! Results that only the agent's own span has: no model reads the result of the call that gave the answer (pydantic-ai's output
//! tools: `pydantic_ai.all_messages` has "Final result processed.").

use std::sync::OnceLock;

use crate::dialect::messages::{self, Direction};
use crate::hash::{HashMap, HashSet};
use crate::operation::{Kind, Message, Operation, Recorded, Role};
use crate::run::conversation::{Conversations, DraftCall, SeenResult};
use crate::run::id::NodeId;
use crate::run::node::Nodes;

/// Gives calls without tool and result the results with their ids in the history of the nearest agent above.
pub(super) fn give_results(nodes: &Nodes, conversations: &mut Conversations) {
    let waits = |draft: &DraftCall| draft.tools.is_empty() && draft.result.is_none() && draft.call.recorded_id().is_some();
    let callers = conversations.iter().flat_map(|conversation| conversation.calls.iter());
    let callers: Vec<NodeId> = callers.filter(|draft| waits(draft)).filter_map(|draft| draft.by).collect();
    if callers.is_empty() {
        return;
    }
    let agents = nodes.nearest_above(|kind| kind == Kind::Agent);
    let asked: HashSet<NodeId> = callers.iter().filter_map(|call| agents.known(*call)).collect();
    let known: HashMap<NodeId, HashMap<String, Option<Message>>> = asked
        .into_iter()
        .filter_map(|agent| Some((agent, results(&nodes.get(agent)?.operation))))
        .collect();
    for conversation in conversations.iter_mut() {
        for draft in conversation.calls.iter_mut().filter(|draft| waits(draft)) {
            let Some((caller, id)) = draft.by.zip(draft.call.recorded_id()) else {
                continue;
            };
            let of_agent = agents.known(caller).and_then(|agent| known.get(&agent));
            if let Some(Some(message)) = of_agent.and_then(|results| results.get(id)) {
                draft.result = Some(SeenResult {
                    message: message.clone(),
                    node: caller,
                    answer_hash: OnceLock::new(),
                });
            }
        }
    }
}

/// The results in an agent's history by call id; `None` for an id with several.
fn results(agent: &Operation) -> HashMap<String, Option<Message>> {
    let read = |recorded: &Recorded, direction| {
        recorded
            .get()
            .and_then(|value| messages::read(value, direction))
            .unwrap_or_default()
    };
    let whole = read(&agent.input, Direction::Input)
        .into_iter()
        .chain(read(&agent.output, Direction::Output));
    let lists = agent
        .input_messages
        .iter()
        .flat_map(|list| list.iter())
        .chain(agent.output_messages.iter().flatten());
    let mut out: HashMap<String, Option<Message>> = HashMap::default();
    let is_result = |message: &Message| message.role == Role::Tool;
    let lists = lists.filter(|message| is_result(message)).cloned();
    for message in lists.chain(whole.filter(is_result)) {
        let Some(id) = message.tool_call_id.clone() else { continue };
        let _ = out
            .entry(id)
            .and_modify(|known| {
                if known.as_ref() != Some(&message) {
                    *known = None;
                }
            })
            .or_insert_with(|| Some(message.clone()));
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::operation::{ToolCall, ToolCallId};
    use crate::run::id::Id as _;
    use crate::run::scopes::Scopes;
    use crate::run::testing::{nodes, reading};

    /// What the call `f1` of a model below an agent with this history gets.
    fn given(history: serde_json::Value) -> Option<String> {
        let mut agent = reading(1, Kind::Agent, 0..90);
        agent.operation.input = history.into();
        let mut call = reading(2, Kind::Llm, 5..9);
        let mut said = Message::text(Role::Assistant, "");
        said.tool_calls = vec![ToolCall {
            id: Some(ToolCallId::Recorded("f1".to_owned())),
            name: "final_result".to_owned(),
            ..ToolCall::default()
        }];
        call.operation.output_messages = Some(vec![said]);
        let mut nodes = nodes([(agent, None), (call, Some(0))]);
        let scopes = Scopes::of(&nodes);
        let mut conversations = crate::run::conversation::reconstruct(&mut nodes, &scopes);
        give_results(&nodes, &mut conversations);
        let seen = conversations
            .iter()
            .flat_map(|one| one.calls.iter())
            .find_map(|draft| draft.result.clone())?;
        assert_eq!(seen.node, NodeId::new(1));
        Some(seen.message.content().to_string())
    }

    #[test]
    fn a_call_gets_the_result_that_only_its_agent_has() {
        let result = |words: &str| json!({"role": "user", "parts": [{"type": "tool_call_response", "id": "f1", "result": words}]});
        assert!(given(json!([result("Final result processed.")])).is_some());
        assert_eq!(given(json!([result("one"), result("another")])), None, "an id of two calls");
        assert_eq!(given(json!([{"role": "user", "content": "Weather"}])), None);
    }
}
