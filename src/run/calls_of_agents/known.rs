//! Finds the calls and tools below agents and workflows, and those agents and workflows that describe unrecorded model calls.

use super::messages::{describes_calls, has_described_messages, may_describe_calls};
use crate::dialect::span_names;
use crate::operation::{Agent, Form, Kind, Operation};
use crate::run::id::{IdVec, NodeId};
use crate::run::node::Nodes;
use crate::span::UnixNanos;

/// The calls and tools below agents and workflows.
pub(super) struct Described {
    /// Each agent's own model calls, by start.
    pub(super) own_calls: IdVec<NodeId, Vec<NodeId>>,
    /// Each agent's and workflow's own tools.
    pub(super) tools: IdVec<NodeId, Vec<NodeId>>,
    /// Whether a model call, or an agent that describes its own, is below with no tool in between: a tool's inner work belongs to
    /// others.
    covered: IdVec<NodeId, bool>,
    /// The same, but also inside tools: the agent's counts may be theirs.
    pub(super) within: IdVec<NodeId, bool>,
    /// Whether a model call of another agent is below.
    pub(super) around: IdVec<NodeId, bool>,
    /// Whether a tool with a call id, which only a model assigns, is below with no tool in between.
    asks: IdVec<NodeId, bool>,
    /// Whether a step below ended the run by itself: the answer is not a model's.
    ended: IdVec<NodeId, bool>,
    /// Start times of model calls without an agent above.
    outside: Vec<UnixNanos>,
    has_calls: bool,
}

impl Described {
    pub(super) fn of(nodes: &Nodes) -> Self {
        let empty = || IdVec::filled(Vec::new(), nodes.list.len());
        let mut this = Self {
            own_calls: empty(),
            tools: empty(),
            covered: IdVec::filled(false, nodes.list.len()),
            within: IdVec::filled(false, nodes.list.len()),
            around: IdVec::filled(false, nodes.list.len()),
            asks: IdVec::filled(false, nodes.list.len()),
            ended: IdVec::filled(false, nodes.list.len()),
            outside: Vec::new(),
            has_calls: false,
        };
        let agents = nodes.nearest_above(|kind| kind == Kind::Agent);
        let owners = nodes.nearest_above(may_describe_calls);
        for call in nodes.of_kind(Kind::Llm) {
            this.has_calls = true;
            match agents.known(call) {
                Some(agent) => this.own_calls.get_mut(agent).into_iter().for_each(|calls| calls.push(call)),
                None => this.outside.extend(nodes.get(call).map(|node| node.start)),
            }
            Self::mark(&mut this.covered, nodes, call, Kind::Tool);
            Self::mark(&mut this.within, nodes, call, Kind::Unknown);
            if let Some(agent) = agents.known(call) {
                Self::mark(&mut this.around, nodes, agent, Kind::Unknown);
            }
        }
        for tool in nodes.of_kind(Kind::Tool) {
            let used = nodes.get(tool).and_then(|tool| tool.operation.tool.as_ref());
            if used.is_some_and(|used| used.call_id.is_some()) {
                Self::mark(&mut this.asks, nodes, tool, Kind::Tool);
            }
            if let Some(tools) = owners.known(tool).and_then(|owner| this.tools.get_mut(owner)) {
                tools.push(tool);
            }
        }
        for (step, _) in nodes.list.enumerate().filter(|(_, node)| ends_the_run(&node.operation)) {
            Self::mark(&mut this.ended, nodes, step, Kind::Tool);
        }
        let speaking: Vec<NodeId> = nodes
            .of_kind(Kind::Agent)
            .into_iter()
            .filter(|agent| !this.covered.is_set(*agent) && this.describes_own(nodes, *agent))
            .collect();
        for agent in speaking {
            Self::mark(&mut this.covered, nodes, agent, Kind::Tool);
            Self::mark(&mut this.within, nodes, agent, Kind::Unknown);
        }
        this
    }

    /// Marks the ancestors of a node up to the first of a kind. Each node is visited once.
    fn mark(known: &mut IdVec<NodeId, bool>, nodes: &Nodes, below: NodeId, until: Kind) {
        for up in nodes.ancestors(below) {
            if known.is_set(up) || nodes.kind(up) == until {
                break;
            }
            known.set(up, true);
        }
    }

    /// Corrects workflow steps that a client takes for agents by their name (LangGraph's `route_to_agent`): nothing else makes them agents.
    pub(super) fn no_agents(&self, nodes: &mut Nodes) {
        let owners = nodes.nearest_above(may_describe_calls);
        let is_step = |id: &NodeId| {
            let Some(node) = nodes.get(*id) else { return false };
            let operation = &node.operation;
            let in_workflow = owners.known(*id).is_some_and(|up| nodes.kind(up) == Kind::Chain);
            let named_so = operation.agent == Agent::default() && operation.name.to_ascii_lowercase().contains("agent");
            in_workflow
                && named_so
                && span_names::agent(&operation.name).is_none_or(|name| name == operation.name)
                && !self.covered.is_set(*id)
                && self.tools.get(*id).is_none_or(Vec::is_empty)
                && !self.describes_own(nodes, *id)
        };
        let steps: Vec<NodeId> = nodes.of_kind(Kind::Agent).into_iter().filter(is_step).collect();
        for id in steps {
            nodes.get_mut(id).into_iter().for_each(|node| node.operation.kind = Kind::Chain);
        }
    }

    /// Whether an agent's span has data that only a model call has.
    fn describes_own(&self, nodes: &Nodes, agent: NodeId) -> bool {
        nodes
            .get(agent)
            .is_some_and(|node| describes_calls(&node.operation, self.asks.is_set(agent)))
    }

    /// Whether this span describes a call. A workflow describes calls only if nothing else does.
    pub(super) fn describes(&self, nodes: &Nodes, owner: NodeId) -> bool {
        let is_open = !self.covered.is_set(owner) && !self.ended.is_set(owner);
        let Some(node) = nodes.get(owner).filter(|_| is_open) else {
            return false;
        };
        let beside = || {
            let from = self.outside.partition_point(|start| *start < node.start);
            self.outside.get(from).is_some_and(|start| node.end.is_none_or(|end| *start <= end))
        };
        match node.kind() {
            Kind::Agent => self.describes_own(nodes, owner) && !beside() && !self.is_recorded_around(nodes, owner, node),
            _ => {
                !self.has_calls
                    && has_described_messages(&node.operation)
                    && nodes.ancestors(owner).all(|up| !may_describe_calls(nodes.kind(up)))
            }
        }
    }
}

/// Whether a workflow step ends the run, as a guard of LangChain's middleware does (`jump_to`), which answers in place of a model.
fn ends_the_run(operation: &Operation) -> bool {
    // Most outputs do not have it, and are not parsed for it.
    let may_end = match operation.output.form() {
        Some(Form::Text(text)) => text.contains("jump_to"),
        form => form.is_some(),
    };
    let is_step = matches!(operation.kind, Kind::Chain | Kind::Guardrail);
    if !is_step || !may_end {
        return false;
    }
    let output = operation.output.get();
    // OpenLLMetry's envelope.
    let target = output.and_then(|output| output.get("outputs").unwrap_or(output).get("jump_to")?.as_str());
    matches!(target, Some("end" | "__end__"))
}
