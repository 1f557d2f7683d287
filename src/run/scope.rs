//! Which agent each operation belongs to.

use std::ops::Range;

use super::loose;
use super::names;
use super::node::Nodes;
use crate::hash::{HashMap, HashSet};
use crate::operation::Kind;

/// A scope while the run is being made: node indices instead of step indices.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) agent: Option<String>,
    /// The agent's node.
    pub(super) node: Option<usize>,
    pub(super) parent: Option<usize>,
    /// The tool node around it.
    pub(super) tool: Option<usize>,
    /// Whether it checks what others do, or stands beside them.
    pub(super) aside: bool,
}

/// All scopes, and the scope of each node.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    pub(super) list: Vec<Draft>,
    pub(super) of: Vec<usize>,
}

/// What opens a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    /// No agent stands above.
    Nobody,
    /// An agent span.
    Agent(usize),
    /// A tool span right above model calls: a sub-agent without a span of its own.
    Tool(usize),
    /// A guardrail or an evaluator right above model calls.
    Check(usize),
    /// A model call beside the agents, the first of a conversation of its own.
    Beside(usize),
}

impl Scopes {
    pub(super) fn of(nodes: &Nodes) -> Self {
        let mut scopes = Self {
            list: Vec::new(),
            of: vec![0; nodes.list.len()],
        };
        let mut known: HashMap<Owner, usize> = HashMap::default();
        let checks = nodes.nearest_above(is_check);
        let mut owners = owners(nodes);
        for (call, first) in loose::conversations(nodes, &owners_of_nobody(nodes, &owners), &top_agents(nodes, &owners, &checks)) {
            if let Some(owner) = owners.get_mut(call) {
                *owner = Owner::Beside(first);
            }
        }
        let owners = owners;
        // The scope without an agent is the outermost one wherever it exists.
        let loose = (0..nodes.list.len()).any(|index| {
            nodes.stands(index)
                && owners.get(index) == Some(&Owner::Nobody)
                && !matches!(nodes.kind(index), Kind::Plain | Kind::Chain | Kind::AgentCreate | Kind::Unknown)
        });
        if loose {
            let _ = known.insert(Owner::Nobody, 0);
            scopes.list.push(Draft::default());
        }
        for index in 0..nodes.list.len() {
            if nodes.stands(index)
                && let Some(owner) = owners.get(index)
                && *owner != Owner::Nobody
            {
                scopes.open(nodes, (&owners, &checks), &mut known, *owner);
            }
        }
        if scopes.list.is_empty() {
            scopes.list.push(Draft::default());
        }
        for (index, owner) in owners.iter().enumerate() {
            if let (Some(slot), Some(scope)) = (scopes.of.get_mut(index), known.get(owner)) {
                *slot = *scope;
            }
        }
        scopes
    }

    /// Opens the scope of an owner, and before it those of the owners above, so that a parent scope has the lower index.
    fn open(&mut self, nodes: &Nodes, (owners, checks): (&[Owner], &[Option<usize>]), known: &mut HashMap<Owner, usize>, owner: Owner) {
        let mut way = Vec::new();
        let mut seen = HashSet::default();
        let mut next = Some(owner);
        while let Some(owner) = next.filter(|owner| *owner != Owner::Nobody && !known.contains_key(owner) && seen.insert(*owner)) {
            way.push(owner);
            next = above(nodes, owners, owner);
        }
        for owner in way.into_iter().rev() {
            let parent = above(nodes, owners, owner).and_then(|above| known.get(&above).copied());
            let aside = match owner {
                Owner::Nobody => false,
                Owner::Check(_) | Owner::Beside(_) => true,
                Owner::Agent(node) | Owner::Tool(node) => checks.get(node).copied().flatten().is_some(),
            };
            self.push(nodes, owner, parent, aside);
            let _ = known.insert(owner, self.list.len() - 1);
        }
    }

    fn push(&mut self, nodes: &Nodes, owner: Owner, parent: Option<usize>, aside: bool) {
        let (Owner::Agent(node) | Owner::Tool(node) | Owner::Check(node) | Owner::Beside(node)) = owner else {
            return;
        };
        let tool = match owner {
            Owner::Tool(tool) => Some(tool),
            Owner::Beside(_) => None,
            _ => nodes
                .ancestors(node)
                .take_while(|up| nodes.kind(*up) != Kind::Agent)
                .find(|up| nodes.kind(*up) == Kind::Tool),
        };
        let agent = nodes.get(node).and_then(|node| {
            if matches!(owner, Owner::Agent(_)) {
                node.operation
                    .agent
                    .name
                    .clone()
                    .or_else(|| names::agent_of_span(&node.operation.name))
            } else {
                None
            }
        });
        self.list.push(Draft {
            agent,
            node: matches!(owner, Owner::Agent(_)).then_some(node),
            parent,
            tool,
            aside,
        });
    }

    pub(super) fn scope_of(&self, index: usize) -> usize {
        self.of.get(index).copied().unwrap_or(0)
    }

    /// Which scopes stand within which.
    pub(super) fn nesting(&self) -> Nesting {
        let parent = |scope: usize| self.list.get(scope).and_then(|draft| draft.parent);
        // A parent has the lower index.
        let mut sizes = vec![1; self.list.len()];
        for scope in (0..self.list.len()).rev() {
            let size = sizes.get(scope).copied().unwrap_or(1);
            if let Some(around) = parent(scope).and_then(|parent| sizes.get_mut(parent)) {
                *around += size;
            }
        }
        let mut places: Vec<Range<usize>> = Vec::with_capacity(self.list.len());
        let mut free: Vec<usize> = Vec::with_capacity(self.list.len());
        let mut outside = 0;
        for (scope, size) in sizes.into_iter().enumerate() {
            let next = parent(scope).and_then(|parent| free.get_mut(parent)).unwrap_or(&mut outside);
            let begin = *next;
            *next += size;
            places.push(begin..begin + size);
            free.push(begin + 1);
        }
        Nesting(places)
    }
}

/// For each scope its place and behind it those of all scopes within it.
pub(super) struct Nesting(Vec<Range<usize>>);

impl Nesting {
    /// The places of a scope, which is the first, and of those within it.
    pub(super) fn within(&self, scope: usize) -> Option<Range<usize>> {
        self.0.get(scope).cloned()
    }
}

/// The owner of what stands around an owner.
fn above(nodes: &Nodes, owners: &[Owner], owner: Owner) -> Option<Owner> {
    let around = match owner {
        Owner::Nobody => None,
        Owner::Agent(node) => nodes.parent(node),
        Owner::Tool(node) | Owner::Check(node) => Some(node),
        Owner::Beside(_) => return Some(Owner::Nobody),
    };
    owners.get(around?).copied()
}

/// Whether it looks at what others do instead of doing it.
pub(super) fn is_check(kind: Kind) -> bool {
    matches!(kind, Kind::Guardrail | Kind::Evaluator)
}

/// Model calls that no agent, tool or check stands above.
fn owners_of_nobody(nodes: &Nodes, owners: &[Owner]) -> Vec<usize> {
    let calls = nodes.of_kind(Kind::Llm).into_iter();
    calls.filter(|call| owners.get(*call) == Some(&Owner::Nobody)).collect()
}

/// Agents that nothing called and that do not check others.
fn top_agents(nodes: &Nodes, owners: &[Owner], checks: &[Option<usize>]) -> Vec<usize> {
    let above = nodes.nearest_above(|kind| matches!(kind, Kind::Agent | Kind::Tool));
    let is_top = |agent: &usize| above.get(*agent).is_some_and(Option::is_none) && checks.get(*agent).is_some_and(Option::is_none);
    let speaks: HashSet<usize> = owners
        .iter()
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

/// Who owns each node: an agent owns itself; a model call below a tool belongs to the sub-agent in that tool.
fn owners(nodes: &Nodes) -> Vec<Owner> {
    let agents = nodes.nearest_above(|kind| kind == Kind::Agent);
    let nearest = nodes.nearest_above(|kind| matches!(kind, Kind::Agent | Kind::Tool) || is_check(kind));
    let both = agents.into_iter().zip(nearest).enumerate();
    both.map(|(index, (agent, nearest))| match nodes.kind(index) {
        Kind::Agent => Owner::Agent(index),
        Kind::Llm => match nearest {
            Some(up) if nodes.kind(up) == Kind::Tool => Owner::Tool(up),
            Some(up) if is_check(nodes.kind(up)) => Owner::Check(up),
            up => up.map_or(Owner::Nobody, Owner::Agent),
        },
        _ => agent.map_or(Owner::Nobody, Owner::Agent),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// As walking up says.
        #[test]
        fn scopes_stand_within_those_above_them(parents in proptest::collection::vec(any::<Option<u8>>(), 1..24)) {
            let draft = |(scope, parent): (usize, &Option<u8>)| Draft {
                parent: parent.map(usize::from).filter(|_| scope > 0).map(|parent| parent % scope),
                ..Draft::default()
            };
            let list: Vec<Draft> = parents.iter().enumerate().map(|(scope, parent)| draft((scope, parent))).collect();
            let scopes = Scopes { list, of: Vec::new() };
            let nesting = scopes.nesting();
            for scope in 0..parents.len() {
                let above: Vec<usize> = std::iter::successors(Some(scope), |at| scopes.list.get(*at)?.parent).collect();
                for around in 0..parents.len() {
                    let place = nesting.within(scope).map(|places| places.start);
                    let is_within = place.is_some_and(|place| nesting.within(around).is_some_and(|places| places.contains(&place)));
                    prop_assert_eq!(is_within, above.contains(&around));
                }
            }
        }
    }
}
