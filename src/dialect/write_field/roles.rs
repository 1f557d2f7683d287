//! Results of tools recorded under wrong roles: the tool's name (LangChain.js in Langfuse), or `unknown` (OpenLLMetry for JavaScript).

use std::collections::VecDeque;

use crate::hash::HashMap;
use crate::operation::{Message, Role};

/// Gives results the tool role and the id of the call they answer.
pub(super) fn results(messages: &mut [Message]) {
    let is_other = |message: &Message| matches!(message.role, Role::Other(_));
    if !messages.iter().any(is_other) {
        return;
    }
    // Calls without a result yet, by the tool's name and in order.
    let mut by_name: HashMap<String, VecDeque<Option<String>>> = HashMap::default();
    let mut waiting: VecDeque<(String, Option<String>)> = VecDeque::new();
    for message in messages {
        if message.role == Role::Assistant {
            waiting.clear();
            for call in &message.tool_calls {
                let id = call.recorded_id().map(str::to_owned);
                by_name.entry(call.name.clone()).or_default().push_back(id.clone());
                waiting.push_back((call.name.clone(), id));
            }
        }
        let Role::Other(word) = &message.role else { continue };
        let found = match by_name.get_mut(word) {
            Some(ids) => Some((word.clone(), ids.pop_front().flatten())),
            None if word == "unknown" => waiting.pop_front(),
            None => None,
        };
        if let Some((name, id)) = found {
            message.role = Role::Tool;
            message.name.get_or_insert(name);
            message.tool_call_id = message.tool_call_id.take().or(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{ToolCall, ToolCallId};

    #[test]
    fn a_role_that_is_the_name_of_a_tool_or_unknown_after_a_call() {
        let mut asks = Message::text(Role::Assistant, "");
        let call = |name: &str, id: &str| ToolCall {
            id: Some(ToolCallId::Recorded(id.to_owned())),
            name: name.to_owned(),
            ..ToolCall::default()
        };
        asks.tool_calls = vec![call("weather", "a"), call("time", "b")];
        let of = |word: &str| Message::text(Role::Other(word.to_owned()), "18 C");
        let mut list = vec![of("unknown"), asks, of("weather"), of("critic")];
        results(&mut list);
        let roles: Vec<(&str, Option<&str>)> = list
            .iter()
            .map(|message| (message.role.name(), message.tool_call_id.as_deref()))
            .collect();
        assert_eq!(
            roles,
            [("unknown", None), ("assistant", None), ("tool", Some("a")), ("critic", None)]
        );
    }
}
