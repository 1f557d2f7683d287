//! Stage "results on agents": takes the nodes and moves results recorded on an agent's span (as by adk-rust) to the tools below it.
//!
//! This runs before tool calls are joined: a tool that has its result takes none from a later model input.

use std::collections::{HashMap, VecDeque};

use super::id::{IdVec, NodeId};
use super::node::{Node, Nodes};
use super::tree;
use crate::dialect::ChildResult;
use crate::operation::{Failure, Kind};

/// Gives each result to the first tool of its name that ended before it and has none, among the tools whose nearest span with
/// results is the agent's.
pub(super) fn give_to_tools(nodes: &mut Nodes) {
    let mut results: IdVec<NodeId, Vec<ChildResult>> = IdVec::with_capacity(nodes.list.len());
    for node in nodes.list.iter_mut() {
        results.push(std::mem::take(&mut node.beside.child_results));
    }
    if results.iter().all(Vec::is_empty) {
        return;
    }
    let has_results = |id: NodeId| results.get(id).is_some_and(|results| !results.is_empty());
    let agents = tree::nearest_above(nodes.list.len(), |id| nodes.parent(id), has_results);
    let mut tools = nodes.of_kind(Kind::Tool);
    tools.sort_by_key(|id| nodes.get(*id).map(|node| node.end_or_start()));
    let mut waiting: HashMap<(NodeId, String), VecDeque<NodeId>> = HashMap::new();
    for id in tools {
        if let (Some(agent), Some(name)) = (agents.known(id), nodes.get(id).and_then(tool_name)) {
            waiting.entry((agent, name.to_owned())).or_default().push_back(id);
        }
    }
    for (agent, results) in results.ids().zip(results) {
        for result in results {
            let Some(tools) = waiting.get_mut(&(agent, result.tool.clone())) else {
                continue;
            };
            let first = tools.front().and_then(|id| nodes.get_mut(*id));
            if let Some(node) = first.filter(|node| node.end_or_start() <= result.at) {
                give(node, result);
                tools.pop_front();
            }
        }
    }
}

fn tool_name(node: &Node) -> Option<&str> {
    node.operation.tool.as_ref()?.name.as_deref()
}

fn give(node: &mut Node, result: ChildResult) {
    if let (Some(tool), Some(value)) = (node.operation.tool.as_mut(), result.result)
        && tool.result.is_none()
    {
        tool.result = Some(value);
    }
    if let (Some(error), None) = (result.error, &node.operation.failure) {
        node.operation.failure = Some(Failure {
            message: Some(error),
            ..Failure::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::operation::ToolUse;
    use crate::run::id::Id;
    use crate::run::testing::{nodes, reading};
    use crate::span::UnixNanos;

    #[test]
    fn the_tool_that_ended_before_takes_the_result() {
        let tool = |number, at| {
            let mut tool = reading(number, Kind::Tool, at..at + 5);
            tool.operation.tool = Some(Box::new(ToolUse {
                name: Some("look".to_owned()),
                ..ToolUse::default()
            }));
            tool
        };
        let mut agent = reading(1, Kind::Agent, 0..90);
        agent.beside.child_results = vec![ChildResult {
            tool: "look".to_owned(),
            at: UnixNanos(30),
            result: Some(json!("found")),
            error: None,
        }];
        let mut nodes = nodes([(agent, None), (tool(2, 20), Some(0)), (tool(3, 40), Some(0))]);
        give_to_tools(&mut nodes);
        let results = [1, 2].map(|at| {
            nodes
                .get(NodeId::new(at))
                .and_then(|node| node.operation.tool.as_ref()?.result.clone())
        });
        assert_eq!(results, [Some(json!("found")), None]);
    }

    /// The agent around began first, and waits for a tool of the same name that ends later.
    #[test]
    fn an_inner_agents_tool_takes_no_result_of_the_agent_around() {
        let tool = |number, at| {
            let mut tool = reading(number, Kind::Tool, at..at + 5);
            tool.operation.tool = Some(Box::new(ToolUse {
                name: Some("look".to_owned()),
                ..ToolUse::default()
            }));
            tool
        };
        let agent = |number, time: std::ops::Range<u64>, at, found: &str| {
            let mut agent = reading(number, Kind::Agent, time);
            agent.beside.child_results = vec![ChildResult {
                tool: "look".to_owned(),
                at: UnixNanos(at),
                result: Some(json!(found)),
                error: None,
            }];
            agent
        };
        let mut nodes = nodes([
            (agent(1, 0..90, 60, "outer"), None),
            (agent(2, 10..40, 30, "inner"), Some(0)),
            (tool(3, 20), Some(1)),
            (tool(4, 50), Some(0)),
        ]);
        give_to_tools(&mut nodes);
        let results = [2, 3].map(|at| {
            nodes
                .get(NodeId::new(at))
                .and_then(|node| node.operation.tool.as_ref()?.result.clone())
        });
        assert_eq!(results, [Some(json!("inner")), Some(json!("outer"))]);
    }
}
