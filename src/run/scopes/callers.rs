//! Finds the tool that called an agent.

use crate::hash::HashMap;
use crate::operation::Kind;
use crate::run::id::{IdVec, NodeId};
use crate::run::names;
use crate::run::node::{Node, Nodes};
use crate::span::UnixNanos;

/// Maximum number of an agent's latest sibling tools examined.
const MAX_SIBLINGS: usize = 16;

/// Index of tools and the agents that ran in them.
pub(super) struct Callers<'n> {
    nodes: &'n Nodes,
    /// For each node, the agent around it.
    agents: IdVec<NodeId, Option<NodeId>>,
    /// The start of each agent's last model call.
    last_calls: HashMap<NodeId, UnixNanos>,
    /// Tools below agents, by parent, ordered by start.
    beside: HashMap<NodeId, Vec<NodeId>>,
}

impl<'n> Callers<'n> {
    pub(super) fn of(nodes: &'n Nodes) -> Self {
        let agents = nodes.nearest_above(|kind| kind == Kind::Agent);
        let around = nodes.nearest_above(|kind| matches!(kind, Kind::Agent | Kind::Tool));
        let mut last_calls: HashMap<NodeId, UnixNanos> = HashMap::default();
        for call in nodes.of_kind(Kind::Llm) {
            if let (Some(agent), Some(node)) = (around.known(call), nodes.get(call)) {
                let last = last_calls.entry(agent).or_insert(node.start);
                *last = node.start.max(*last);
            }
        }
        let mut beside: HashMap<NodeId, Vec<NodeId>> = HashMap::default();
        for tool in nodes.of_kind(Kind::Tool) {
            if let (Some(parent), Some(_)) = (nodes.parent(tool), agents.known(tool)) {
                beside.entry(parent).or_default().push(tool);
            }
        }
        Self {
            nodes,
            agents,
            last_calls,
            beside,
        }
    }

    /// The tool around an agent or a check; none if the tool handed the run over to the agent, which then answers the
    /// user itself.
    pub(super) fn around(&self, node: NodeId) -> Option<NodeId> {
        let mut above = self.nodes.ancestors(node).take_while(|up| self.nodes.kind(*up) != Kind::Agent);
        let tool = above.find(|up| self.nodes.kind(*up) == Kind::Tool)?;
        (!self.hands_over(tool, node)).then_some(tool)
    }

    /// Whether a tool is a handoff, after which the agent that called it made no more model calls.
    fn hands_over(&self, tool: NodeId, agent: NodeId) -> bool {
        let is_handoff = |node: &Node| {
            let transfers = || names::tool(node).is_some_and(|name| names::handoff_target(name).is_some());
            node.operation.state.is_some() || transfers()
        };
        let (Some(used), Some(started)) = (self.nodes.get(tool), self.nodes.get(agent)) else {
            return false;
        };
        let asked_later = |caller: NodeId| self.last_calls.get(&caller).is_some_and(|last| *last >= started.start);
        self.nodes.kind(agent) == Kind::Agent && is_handoff(used) && !self.agents.known(tool).is_some_and(asked_later)
    }

    /// The sibling tool whose time contains the agent's, for clients that do not nest the spans of a call (NeMo-Relay).
    pub(super) fn sibling_tool(&self, agent: NodeId) -> Option<NodeId> {
        let node = self.nodes.get(agent)?;
        let tools = self.beside.get(&self.nodes.parent(agent)?)?;
        let began = tools.partition_point(|tool| self.nodes.get(*tool).is_some_and(|tool| tool.start <= node.start));
        let recent = tools.get(began.saturating_sub(MAX_SIBLINGS)..began)?;
        let contains = |tool: &&NodeId| self.nodes.get(**tool).is_some_and(|tool| tool.end.is_some() && node.within(tool));
        let mut containing = recent.iter().filter(contains);
        let first = containing.next()?;
        let mut others = containing.peekable();
        if others.peek().is_none() {
            return Some(*first);
        }
        let named = node.operation.agent.name.as_deref().map(names::plain)?;
        let is_named = |tool: &&NodeId| {
            self.nodes
                .get(**tool)
                .and_then(names::tool)
                .is_some_and(|name| names::plain(name) == named)
        };
        std::iter::once(first).chain(others).find(is_named).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::ToolUse;
    use crate::run::id::Id as _;
    use crate::run::testing::{nodes, reading};

    fn tool(number: u64, name: &str, time: std::ops::Range<u64>) -> Node {
        let mut tool = reading(number, Kind::Tool, time);
        tool.operation.tool = Some(Box::new(ToolUse {
            name: Some(name.to_owned()),
            ..ToolUse::default()
        }));
        tool
    }

    #[test]
    fn a_handoff_calls_no_agent_unless_its_caller_goes_on() {
        let called_by = |name: &str, goes_on: bool| {
            let last = if goes_on { 85..88 } else { 2..3 };
            let nodes = nodes([
                (reading(1, Kind::Agent, 0..90), None),
                (reading(2, Kind::Llm, last), Some(0)),
                (tool(3, name, 10..80), Some(0)),
                (reading(4, Kind::Agent, 20..70), Some(2)),
            ]);
            Callers::of(&nodes).around(NodeId::new(3))
        };
        assert_eq!(called_by("transfer_to_billing", false), None);
        assert_eq!(called_by("transfer_to_billing", true), Some(NodeId::new(2)));
        assert_eq!(called_by("ask_billing", false), Some(NodeId::new(2)));
    }

    #[test]
    fn an_agent_beside_the_only_tool_around_its_time_was_called_by_it() {
        let beside = |second: &str| {
            let mut named = reading(4, Kind::Agent, 20..70);
            named.operation.agent.name = Some("Look Up".to_owned());
            let nodes = nodes([
                (reading(1, Kind::Agent, 0..90), None),
                (tool(2, "ask", 10..80), Some(0)),
                (tool(3, second, 15..if second.is_empty() { 30 } else { 75 }), Some(0)),
                (named, Some(0)),
            ]);
            Callers::of(&nodes).sibling_tool(NodeId::new(3))
        };
        assert_eq!(beside(""), Some(NodeId::new(1)), "the other ended before the agent did");
        assert_eq!(beside("look_up"), Some(NodeId::new(2)));
        assert_eq!(beside("other"), None);
    }
}
