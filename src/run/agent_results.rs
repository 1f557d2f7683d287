//! Stage "results on agents": takes the nodes, gives the results that an agent's span records to the tools below it (adk-rust
//! does so).
//!
//! It comes before the tool calls are joined: a tool that has its result takes none out of a later model input.

use super::id::NodeId;
use super::node::Nodes;
use crate::operation::{Failure, Kind};

/// Each to the tool of its name that ended right before.
pub(super) fn give_to_tools(nodes: &mut Nodes) {
    for agent in nodes.list.ids() {
        let results = nodes
            .get_mut(agent)
            .map(|node| std::mem::take(&mut node.beside.child_results))
            .unwrap_or_default();
        if results.is_empty() {
            continue;
        }
        let mut tools: Vec<NodeId> = nodes
            .of_kind(Kind::Tool)
            .into_iter()
            .filter(|index| nodes.ancestors(*index).any(|up| up == agent))
            .collect();
        tools.sort_by_key(|index| nodes.get(*index).map(|node| (node.end_or_start(), node.span_id)));
        for result in results {
            let place = tools.iter().position(|index| {
                nodes.get(*index).is_some_and(|node| {
                    let name = node.operation.tool.as_ref().and_then(|tool| tool.name.as_ref());
                    name == Some(&result.tool) && node.end_or_start() <= result.at
                })
            });
            let Some(node) = place.map(|place| tools.remove(place)).and_then(|index| nodes.get_mut(index)) else {
                continue;
            };
            if let (Some(tool), Some(value)) = (node.operation.tool.as_mut(), &result.result)
                && tool.result.is_none()
            {
                tool.result = Some(value.clone());
            }
            if let (Some(error), None) = (&result.error, &node.operation.failure) {
                node.operation.failure = Some(Failure {
                    message: Some(error.clone()),
                    ..Failure::default()
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dialect::ChildResult;
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
}
