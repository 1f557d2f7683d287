//! Decides whether two names mean the same tool or agent.

use super::node::Node;
use crate::dialect::span_names;
use crate::operation::Kind;

/// Letters and digits in lower case, everything else `_`.
pub(crate) fn plain(name: &str) -> String {
    name.chars()
        .map(|char| if char.is_alphanumeric() { char.to_ascii_lowercase() } else { '_' })
        .collect()
}

/// The name of a node's tool: the recorded one, else the span's.
pub(super) fn tool(node: &Node) -> Option<&str> {
    let used = node.operation.tool.as_deref()?;
    used.name.as_deref().or_else(|| span_names::tool(&node.operation.name))
}

/// The agent to which a handoff passes the run.
pub(super) fn handed_to(node: &Node) -> Option<&str> {
    let state = node.operation.state.as_ref().filter(|_| node.kind() == Kind::Handoff)?;
    state.new_value.as_ref()?.as_str()
}

/// Whether two names mean one tool: equal, or one is the other with a server's or class's name as prefix.
pub(super) fn same_tool(a: &str, b: &str) -> bool {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    if long == short {
        return true;
    }
    if short.is_empty() {
        return false;
    }
    long.strip_suffix(short)
        .is_some_and(|before| before.ends_with("__") || before.ends_with(['.', '/', ':']))
}

/// The name without each possible prefix that names a server or class.
pub(super) fn ends(name: &str) -> impl Iterator<Item = &str> {
    let begins = (1..name.len()).filter_map(move |at| {
        let (before, rest) = name.split_at_checked(at)?;
        matches!(before.as_bytes(), [.., b'_', b'_'] | [.., b'.' | b'/' | b':']).then_some(rest)
    });
    // Limited, because a name of separators alone would yield one for each of them.
    begins.take(8)
}

/// Whether a call of this tool passes the run to this agent.
pub(super) fn is_transfer_to(tool: &str, agent: &str) -> bool {
    transfers_to(tool).is_some_and(|target| target == plain(agent))
}

/// The agent to which the name of a tool passes the run, as [`plain`] returns it; `None` if the name contains no agent.
pub(super) fn transfers_to(tool: &str) -> Option<String> {
    handoff_target(tool).filter(|target| !target.is_empty())
}

/// The agent to which a call of this tool passes the run, as [`plain`] returns it; empty if the call's arguments name it. The words
/// may follow a server's or class's name.
pub(crate) fn handoff_target(tool: &str) -> Option<String> {
    let name = plain(tool);
    let words = ["transfer_to", "handoff_to", "hand_off_to", "delegate_to"];
    let behind = |word: &str| (0..name.len()).find_map(|at| name.get(at..)?.strip_prefix(word));
    let target = words.into_iter().find_map(behind)?;
    Some(target.trim_start_matches('_').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(same_tool("mcp__weather__get", "get") && same_tool("get", "get") && !same_tool("widget", "get"));
        assert!(is_transfer_to("transfer_to_weather_agent", "Weather Agent"));
        assert_eq!(handoff_target("swarm__transfer_to_billing").as_deref(), Some("billing"));
        assert_eq!(handoff_target("transfer_money"), None);
    }
}
