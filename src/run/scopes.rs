//! Stage "scopes": takes the nodes and determines the agent that each operation belongs to.
//!
//! This runs after the duplicates, since two spans of one agent are one scope, and before the conversations, which are
//! reconstructed per scope.

mod callers;
mod separate_calls;
mod unrelated_calls;

use std::ops::Range;

use super::id::{Id, IdVec, NodeId, ScopeId};
use super::node::Nodes;
use crate::dialect::span_names;
use crate::hash::{HashMap, HashSet};
use crate::operation::Kind;
use callers::Callers;
use unrelated_calls::{Clue, Threads, find_by_clue, new_clues};

/// A scope during assembly, which refers to nodes, not steps.
#[derive(Debug, Default)]
pub(super) struct DraftScope {
    pub(super) agent: Option<String>,
    /// The agent's node.
    pub(super) node: Option<NodeId>,
    pub(super) parent: Option<ScopeId>,
    /// The tool node around it.
    pub(super) tool: Option<NodeId>,
    /// Whether it checks others' work, or is outside all agents.
    pub(super) is_auxiliary: bool,
    /// Whether it has model calls of the agent around it that continue no earlier call.
    pub(super) is_unrelated: bool,
}

/// All scopes, and the scope of each node.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    /// Parents precede the scopes within them. Never empty.
    pub(super) list: IdVec<ScopeId, DraftScope>,
    of_node: IdVec<NodeId, ScopeId>,
}

/// The first scope: the one without an agent, if it exists.
const OUTERMOST: ScopeId = ScopeId::FIRST;

/// The node that opens a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    /// Outside all agents.
    NoAgent,
    /// An agent span.
    Agent(NodeId),
    /// A tool span directly above model calls: a sub-agent without its own span.
    Tool(NodeId),
    /// A guardrail or an evaluator directly above model calls.
    Check(NodeId),
    /// Model calls outside all agents that are a separate conversation: the first of them.
    SeparateCalls(NodeId),
    /// Model calls of an agent that continue no earlier call: the first of them.
    Unrelated(NodeId),
}

impl Scopes {
    pub(super) fn of(nodes: &Nodes) -> Self {
        let mut list: IdVec<ScopeId, DraftScope> = IdVec::default();
        let mut known: HashMap<Owner, ScopeId> = HashMap::default();
        let checks = nodes.nearest_above(is_check);
        let mut owners = owners(nodes);
        let separate = separate_calls::find(nodes, &calls_outside_agents(nodes, &owners), &top_agents(nodes, &owners, &checks));
        for (call, first) in separate {
            owners.set(call, Owner::SeparateCalls(first));
        }
        let around = unrelated(nodes, &mut owners);
        let owners = owners;
        let callers = Callers::of(nodes);
        // The scope without an agent, if any, is always the outermost.
        let has_facts = |kind: Kind| !matches!(kind, Kind::Plain | Kind::Chain | Kind::AgentCreate | Kind::Unknown);
        let mut all = owners.iter().zip(&nodes.list);
        if all.any(|(owner, node)| *owner == Owner::NoAgent && has_facts(node.kind())) {
            known.insert(Owner::NoAgent, list.push(DraftScope::default()));
        }
        for owner in owners.iter().filter(|owner| **owner != Owner::NoAgent) {
            open(&mut list, nodes, (&owners, &checks, &around, &callers), &mut known, *owner);
        }
        // A sub-agent without its own span takes its name from its model calls.
        for (owner, node) in owners.iter().zip(&nodes.list) {
            if let (Owner::Tool(_), Kind::Llm, Some(name)) = (owner, node.kind(), &node.operation.agent.name)
                && let Some(opened) = known.get(owner).and_then(|scope| list.get_mut(*scope))
            {
                opened.agent.get_or_insert_with(|| name.clone());
            }
        }
        if list.is_empty() {
            list.push(DraftScope::default());
        }
        let of_node = owners.iter().map(|owner| known.get(owner).copied().unwrap_or(OUTERMOST)).collect();
        Self { list, of_node }
    }

    /// The scope of a node; the outermost scope if it belongs to no agent.
    pub(super) fn scope_of(&self, node: NodeId) -> ScopeId {
        self.of_node.get(node).copied().unwrap_or(OUTERMOST)
    }

    /// How scopes are nested.
    pub(super) fn nesting(&self) -> Nesting {
        let mut sizes: IdVec<ScopeId, usize> = IdVec::filled(1, self.list.len());
        for (scope, draft) in self.list.enumerate().rev() {
            let size = sizes.get(scope).copied().unwrap_or(1);
            if let Some(around) = draft.parent.and_then(|parent| sizes.get_mut(parent)) {
                *around += size;
            }
        }
        let mut places = IdVec::with_capacity(self.list.len());
        let mut free: IdVec<ScopeId, usize> = IdVec::with_capacity(self.list.len());
        let mut outside = 0;
        for (draft, size) in self.list.iter().zip(sizes) {
            let next = draft.parent.and_then(|parent| free.get_mut(parent)).unwrap_or(&mut outside);
            let begin = *next;
            *next += size;
            places.push(begin..begin + size);
            free.push(begin + 1);
        }
        Nesting(places)
    }
}

type Owners = IdVec<NodeId, Owner>;
/// For each node, the guardrail or evaluator around it.
type Checks = IdVec<NodeId, Option<NodeId>>;

/// Opens the scope of an owner, after those of the owners above, so that a parent scope has the lower id.
fn open(
    list: &mut IdVec<ScopeId, DraftScope>,
    nodes: &Nodes,
    (owners, checks, around, callers): (&Owners, &Checks, &UnrelatedOwners, &Callers<'_>),
    known: &mut HashMap<Owner, ScopeId>,
    owner: Owner,
) {
    let mut path = Vec::new();
    let mut seen = HashSet::default();
    let mut next = Some(owner);
    while let Some(owner) = next.filter(|owner| *owner != Owner::NoAgent && !known.contains_key(owner) && seen.insert(*owner)) {
        path.push(owner);
        next = above(nodes, (owners, around), owner);
    }
    for owner in path.into_iter().rev() {
        let parent = above(nodes, (owners, around), owner).and_then(|above| known.get(&above).copied());
        let is_auxiliary = match owner {
            Owner::NoAgent => false,
            Owner::Check(_) | Owner::SeparateCalls(_) => true,
            Owner::Agent(node) | Owner::Tool(node) | Owner::Unrelated(node) => checks.known(node).is_some(),
        };
        let mut opened = draft(nodes, callers, owner, (parent, is_auxiliary));
        if opened.is_unrelated {
            opened.agent = parent.and_then(|parent| list.get(parent)?.agent.clone());
        }
        known.insert(owner, list.push(opened));
    }
}

fn draft(nodes: &Nodes, callers: &Callers<'_>, owner: Owner, (parent, is_auxiliary): (Option<ScopeId>, bool)) -> DraftScope {
    let (node, tool) = match owner {
        Owner::Agent(agent) => (Some(agent), callers.around(agent).or_else(|| callers.sibling_tool(agent))),
        Owner::Check(check) => (None, callers.around(check)),
        Owner::Tool(tool) => (None, Some(tool)),
        Owner::NoAgent | Owner::SeparateCalls(_) | Owner::Unrelated(_) => (None, None),
    };
    let operation = node.and_then(|node| nodes.get(node)).map(|node| &node.operation);
    DraftScope {
        agent: operation.and_then(|operation| {
            operation
                .agent
                .name
                .clone()
                .or_else(|| span_names::agent(&operation.name).map(str::to_owned))
        }),
        node,
        parent,
        tool,
        is_auxiliary,
        is_unrelated: matches!(owner, Owner::Unrelated(_)),
    }
}

/// Places of scopes, numbered so that a scope and all scopes within it form a range, beginning with the scope.
pub(super) struct Nesting(IdVec<ScopeId, Range<usize>>);

impl Nesting {
    /// The places of a scope (the first) and of those within it.
    pub(super) fn within(&self, scope: ScopeId) -> Option<Range<usize>> {
        self.0.get(scope).cloned()
    }
}

/// The owner around an owner.
fn above(nodes: &Nodes, (owners, around): (&Owners, &UnrelatedOwners), owner: Owner) -> Option<Owner> {
    let around = match owner {
        Owner::NoAgent => None,
        Owner::Agent(node) => nodes.parent(node),
        Owner::Tool(node) | Owner::Check(node) => Some(node),
        Owner::SeparateCalls(_) => return Some(Owner::NoAgent),
        Owner::Unrelated(first) => return around.get(&first).copied(),
    };
    owners.get(around?).copied()
}

/// Whether operations of this kind check others' work.
pub(super) fn is_check(kind: Kind) -> bool {
    matches!(kind, Kind::Guardrail | Kind::Evaluator)
}

/// Model calls without an agent, tool or check above.
fn calls_outside_agents(nodes: &Nodes, owners: &Owners) -> Vec<NodeId> {
    let calls = nodes.of_kind(Kind::Llm).into_iter();
    calls.filter(|call| owners.get(*call) == Some(&Owner::NoAgent)).collect()
}

/// Agents with model calls that were not called by others and do not check others.
fn top_agents(nodes: &Nodes, owners: &Owners, checks: &Checks) -> Vec<NodeId> {
    let above = nodes.nearest_above(|kind| matches!(kind, Kind::Agent | Kind::Tool));
    let is_top = |agent: &NodeId| above.get(*agent).is_some_and(Option::is_none) && checks.get(*agent).is_some_and(Option::is_none);
    let speaks: HashSet<NodeId> = owners
        .enumerate()
        .filter(|(index, _)| nodes.kind(*index) == Kind::Llm)
        .filter_map(|(_, owner)| match owner {
            Owner::Agent(agent) => Some(*agent),
            _ => None,
        })
        .collect();
    let agents = nodes.of_kind(Kind::Agent).into_iter();
    agents.filter(|agent| speaks.contains(agent)).filter(is_top).collect()
}

/// The owners of unrelated calls, by the first call of each thread.
type UnrelatedOwners = HashMap<NodeId, Owner>;

/// Moves calls that continue no earlier call out of their agent, or of a trace without agents, and gives sub-agents the calls below
/// their agent that continue the sub-agent's conversation.
fn unrelated(nodes: &Nodes, owners: &mut Owners) -> UnrelatedOwners {
    let mut threads: HashMap<Owner, Threads> = HashMap::default();
    let mut order: Vec<Owner> = Vec::new();
    // Messages of sub-agents, by the agent above each.
    let mut in_sub_agents: HashMap<(NodeId, Clue), Owner> = HashMap::default();
    let agents = nodes.nearest_above(|kind| kind == Kind::Agent);
    let has_agents = nodes.list.iter().any(|node| node.kind() == Kind::Agent);
    for call in nodes.of_kind(Kind::Llm) {
        let owner = owners.get(call).copied();
        let is_own = |owner: &Owner| matches!(owner, Owner::Agent(_) | Owner::Tool(_)) || *owner == Owner::NoAgent && !has_agents;
        let Some(owner) = owner.filter(is_own) else {
            continue;
        };
        let Some(node) = nodes.get(call) else { continue };
        let own = threads.get(&owner);
        let continued = match owner {
            Owner::Agent(agent) if own.is_some_and(|own| own.known(node).is_none()) && !in_sub_agents.is_empty() => {
                let sub_agent = find_by_clue(node, |clue| in_sub_agents.get(&(agent, clue)).copied());
                sub_agent.filter(|sub_agent| threads.get(sub_agent).is_some_and(|threads| threads.continues(node)))
            }
            _ => None,
        };
        if let Some(sub_agent) = continued {
            owners.set(call, sub_agent);
        }
        let owner = continued.unwrap_or(owner);
        if !threads.contains_key(&owner) {
            order.push(owner);
        }
        threads.entry(owner).or_default().add(nodes, call);
        let above = match owner {
            Owner::Agent(node) | Owner::Tool(node) => agents.known(node),
            _ => None,
        };
        if let Some(above) = above {
            in_sub_agents.extend(new_clues(node).map(|clue| ((above, clue), owner)));
        }
    }
    let mut around = UnrelatedOwners::default();
    for owner in order {
        for (call, first) in threads.remove(&owner).into_iter().flat_map(Threads::unrelated) {
            owners.set(call, Owner::Unrelated(first));
            let _ = around.insert(first, owner);
        }
    }
    around
}

/// The owner of each node: an agent owns itself; a model call below a tool belongs to the sub-agent in that tool, as do its sibling
/// tools.
fn owners(nodes: &Nodes) -> Owners {
    let agents = nodes.nearest_above(|kind| kind == Kind::Agent);
    let nearest = nodes.nearest_above(|kind| matches!(kind, Kind::Agent | Kind::Tool) || is_check(kind));
    let callers = nodes.of_kind(Kind::Llm).into_iter().filter_map(|call| nearest.known(call));
    let with_calls: HashSet<NodeId> = callers.filter(|up| nodes.kind(*up) == Kind::Tool).collect();
    let all = nodes.list.enumerate().zip(agents.into_iter().zip(nearest));
    all.map(|((id, node), (agent, nearest))| match node.kind() {
        Kind::Agent => Owner::Agent(id),
        Kind::Llm => match nearest {
            Some(up) if nodes.kind(up) == Kind::Tool => Owner::Tool(up),
            Some(up) if is_check(nodes.kind(up)) => Owner::Check(up),
            up => up.map_or(Owner::NoAgent, Owner::Agent),
        },
        Kind::Tool if nearest.is_some_and(|up| with_calls.contains(&up)) => nearest.map_or(Owner::NoAgent, Owner::Tool),
        _ => agent.map_or(Owner::NoAgent, Owner::Agent),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::run::testing::{nodes, reading};

    proptest! {
        /// Gives the same as walking up.
        #[test]
        fn scopes_stand_within_those_above_them(parents in proptest::collection::vec(any::<Option<u8>>(), 1..24)) {
            let draft = |(scope, parent): (usize, &Option<u8>)| DraftScope {
                parent: parent.map(usize::from).filter(|_| scope > 0).map(|parent| ScopeId::new(parent % scope)),
                ..DraftScope::default()
            };
            let list: IdVec<ScopeId, DraftScope> = parents.iter().enumerate().map(|(scope, parent)| draft((scope, parent))).collect();
            let scopes = Scopes { list, of_node: IdVec::default() };
            let nesting = scopes.nesting();
            for scope in scopes.list.ids() {
                let above: Vec<ScopeId> = std::iter::successors(Some(scope), |at| scopes.list.get(*at)?.parent).collect();
                for around in scopes.list.ids() {
                    let place = nesting.within(scope).map(|places| places.start);
                    let is_within = place.is_some_and(|place| nesting.within(around).is_some_and(|places| places.contains(&place)));
                    prop_assert_eq!(is_within, above.contains(&around));
                }
            }
        }
    }

    #[test]
    fn an_agent_in_a_tool_has_a_scope_within_that_of_the_tools_agent() {
        let nodes = nodes([
            (reading(1, Kind::Agent, 0..90), None),
            (reading(2, Kind::Tool, 10..80), Some(0)),
            (reading(3, Kind::Agent, 20..70), Some(1)),
            (reading(4, Kind::Llm, 30..40), Some(2)),
        ]);
        let scopes = Scopes::of(&nodes);
        let [outer, tool, inner, call] = [0, 1, 2, 3].map(NodeId::new);
        assert_eq!(scopes.scope_of(tool), scopes.scope_of(outer));
        assert_eq!(scopes.scope_of(call), scopes.scope_of(inner));
        let scope = scopes.list.get(scopes.scope_of(inner)).map(|scope| (scope.parent, scope.tool));
        assert_eq!(scope, Some((Some(scopes.scope_of(outer)), Some(tool))));
    }
}
