//! Stage "leaked answers": takes the nodes and removes a model call's own output from the end of its input.
//!
//! A client that appends the answer to its list of messages and records the list when the call ends writes the answer twice. A model
//! never receives its own answer: a prefix that it has to continue is only part of one. But it may receive, and repeat, the text of an
//! earlier call (an agent that continues another's text). This runs before the conversations, which would contain the answer twice.

use super::id::NodeId;
use super::node::{Node, Nodes};
use crate::hash::HashMap;
use crate::operation::{Kind, Message, Messages, Role};

pub(super) fn take_from_inputs(nodes: &mut Nodes) {
    let calls = nodes.of_kind(Kind::Llm);
    let leaking: Vec<NodeId> = calls
        .iter()
        .copied()
        .filter(|call| nodes.get(*call).is_some_and(|node| kept(node).is_some()))
        .collect();
    if leaking.is_empty() {
        return;
    }
    let mut said_first: HashMap<String, NodeId> = HashMap::default();
    for call in calls {
        for said in nodes
            .get(call)
            .iter()
            .flat_map(|node| node.operation.output_messages.iter().flatten())
        {
            let _ = said_first.entry(words(said)).or_insert(call);
        }
    }
    for call in leaking {
        let Some(node) = nodes.get_mut(call) else { continue };
        let is_first = |said: &Message| said_first.get(&words(said)) == Some(&call);
        let is_new = node.operation.output_messages.iter().flatten().all(is_first);
        if let Some(kept) = kept(node).filter(|_| is_new) {
            let mut given = node.operation.input_messages.take().map(Messages::into_vec).unwrap_or_default();
            given.truncate(kept);
            node.operation.input_messages = Some(given.into());
        }
    }
}

/// How many messages a call received, if its own output follows them in its input.
fn kept(node: &Node) -> Option<usize> {
    let said = node.operation.output_messages.as_deref()?;
    let given = node.operation.input_messages.as_deref()?;
    let kept = given.len().checked_sub(said.len()).filter(|kept| *kept > 0 && !said.is_empty())?;
    let mut both = given.get(kept..)?.iter().zip(said);
    both.all(|(leaked, said)| is_same(leaked, said)).then_some(kept)
}

fn words(message: &Message) -> String {
    message.joined_text().trim().to_owned()
}

fn is_same(leaked: &Message, said: &Message) -> bool {
    let calls = |message: &Message| -> Vec<(Option<String>, String)> {
        let of_call = |call: &crate::operation::ToolCall| (call.recorded_id().map(str::to_owned), call.name.clone());
        message.tool_calls.iter().map(of_call).collect()
    };
    leaked.role == Role::Assistant && said.role == Role::Assistant && words(leaked) == words(said) && calls(leaked) == calls(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::id::Id as _;
    use crate::run::testing::{nodes, reading};

    #[test]
    fn an_answer_is_no_input_of_its_own_call() {
        let given = |given: &[(Role, &str)], said: &str| {
            let mut call = reading(1, Kind::Llm, 0..9);
            call.operation.input_messages = Some(given.iter().map(|(role, text)| Message::text(role.clone(), *text)).collect());
            call.operation.output_messages = Some(vec![Message::text(Role::Assistant, said)]);
            let mut nodes = nodes([(call, None)]);
            take_from_inputs(&mut nodes);
            let call = nodes.get(NodeId::new(0));
            call.and_then(|call| call.operation.input_messages.as_ref()).map(|list| list.len())
        };
        let asked = (Role::User, "Which bus?");
        assert_eq!(given(&[asked.clone(), (Role::Assistant, "The 09:05.")], "The 09:05."), Some(1));
        assert_eq!(given(&[asked, (Role::Assistant, "The")], "09:05."), Some(2), "a beginning");
        assert_eq!(given(&[(Role::Assistant, "Hello.")], "Hello."), Some(1), "all that it was given");
    }
}
