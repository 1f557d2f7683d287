//! The model calls of each agent, each compared with earlier calls: which of its messages are repeated, and which are new.

use std::hash::BuildHasher as _;

use crate::hash::HashMap;
use crate::operation::{Kind, Message, Role};
use crate::run::{Id as _, Run, ScopeId, Step, StepId};

/// A model call, compared with the earlier call that shares the longest prefix of its messages. An agent's calls are
/// numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The call.
    pub(crate) step: StepId,
    /// Number of leading messages that an earlier call of the agent received or produced.
    pub(crate) unchanged: usize,
    /// The number of that call.
    pub(crate) like: Option<usize>,
    /// What happened to the rest.
    pub(crate) history: History,
    /// Messages of the rest that an earlier call had elsewhere: the index of each, and the number of the first such call.
    repeated: Vec<(usize, usize)>,
    number: usize,
}

/// Messages of a call as a conversation shows them, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TurnMessage<'m, M> {
    /// This many messages, shown with the calls of these numbers.
    Before(usize, Vec<usize>),
    /// A new message.
    New(&'m M),
}

/// Maximum number of calls that are named for earlier messages.
const NAMED: usize = 6;

impl Turn {
    /// The messages after the unchanged ones.
    pub(crate) fn told<'m, M>(&self, input: &'m [M]) -> Vec<TurnMessage<'m, M>> {
        let mut told: Vec<TurnMessage<'m, M>> = Vec::new();
        let (from, to) = self.kept();
        let mut repeated = self.repeated.iter().peekable();
        for (at, said) in input.iter().enumerate().skip(self.unchanged) {
            let call = match (from..to).contains(&at) {
                true => self.number.checked_sub(1),
                false => repeated.next_if(|(place, _)| *place == at).map(|(_, call)| *call),
            };
            match (call, told.last_mut()) {
                (Some(call), Some(TurnMessage::Before(number, calls))) => {
                    *number += 1;
                    if calls.len() < NAMED && !calls.contains(&call) {
                        calls.push(call);
                    }
                }
                (Some(call), _) => told.push(TurnMessage::Before(1, vec![call])),
                (None, _) => told.push(TurnMessage::New(said)),
            }
        }
        told
    }

    /// Whether an earlier call had the message at this index.
    pub(crate) fn has_before(&self, place: usize) -> bool {
        let (from, to) = self.kept();
        place < self.unchanged || (from..to).contains(&place) || self.repeated.iter().any(|(repeated, _)| *repeated == place)
    }

    /// The range of messages after a gap that repeat the previous call.
    fn kept(&self) -> (usize, usize) {
        match self.history {
            History::Trimmed { kept, .. } => kept,
            _ => (self.unchanged, self.unchanged),
        }
    }

    /// The messages that are new in the call: neither in the shared prefix nor repeated from an earlier call.
    pub(crate) fn added<'m, M>(&self, input: &'m [M]) -> impl Iterator<Item = &'m M> {
        let (from, to) = self.kept();
        let added = input.iter().enumerate().skip(self.unchanged);
        added.filter(move |(at, _)| !(from..to).contains(at)).map(|(_, said)| said)
    }
}

/// How a call's history compares with earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum History {
    /// The agent's first call, or one that continues an earlier one.
    GoesOn,
    /// The agent keeps a window of its history and dropped messages after the prefix.
    Trimmed {
        /// The number of messages dropped since the previous call.
        gone: usize,
        /// The range of this call's messages that repeat the previous call.
        kept: (usize, usize),
    },
    /// Messages that the nearest earlier call had are gone or changed.
    Rewritten {
        /// Number of such messages.
        gone: usize,
    },
    /// It shares nothing with earlier calls.
    OfItsOwn,
}

/// The model calls of one agent scope, in order.
#[derive(Debug)]
pub(crate) struct Turns {
    /// The scope.
    pub(crate) scope: ScopeId,
    /// Its calls.
    pub(crate) calls: Vec<Turn>,
}

/// The calls of every scope that has any, in the order of first calls.
pub(crate) fn of(run: &Run) -> Vec<Turns> {
    let mut all: Vec<Turns> = Vec::new();
    let mut places: HashMap<ScopeId, usize> = HashMap::default();
    let mut trees: Vec<Tree> = Vec::new();
    let mut hashes = Hashes::default();
    for (id, step) in run.steps.enumerate() {
        let operation = &step.operation;
        let input = operation.input_messages.as_deref().unwrap_or_default();
        let output = operation.output_messages.as_deref().unwrap_or_default();
        if operation.kind != Kind::Llm {
            continue;
        }
        let place = *places.entry(step.scope).or_insert_with(|| {
            all.push(Turns {
                scope: step.scope,
                calls: Vec::new(),
            });
            trees.push(Tree::default());
            all.len() - 1
        });
        let (Some(turns), Some(tree)) = (all.get_mut(place), trees.get_mut(place)) else {
            continue;
        };
        let given: Vec<u64> = input.iter().map(|message| hashes.of(message)).collect();
        let said: Vec<u64> = output.iter().map(|message| hashes.of(message)).collect();
        turns.calls.push(tree.turn(id, &given));
        tree.add(&given, &said);
    }
    all
}

/// Compares a call with an earlier one.
pub(crate) fn between(before: &Step, step: &Step) -> Turn {
    let (mut tree, mut hashes) = (Tree::default(), Hashes::default());
    let mut all = |messages: Option<&[Message]>| -> Vec<u64> {
        let messages = messages.unwrap_or_default();
        messages.iter().map(|message| hashes.of(message)).collect()
    };
    let earlier = &before.operation;
    let (given, said) = (all(earlier.input_messages.as_deref()), all(earlier.output_messages.as_deref()));
    tree.add(&given, &said);
    tree.turn(StepId::FIRST, &all(step.operation.input_messages.as_deref()))
}

/// The messages of earlier calls as a prefix tree: each call is a path from the root.
#[derive(Debug, Default)]
struct Tree {
    nodes: HashMap<(usize, u64), usize>,
    /// For each node but the root: whether a call's input or output ended here, the length of the longest path through it,
    /// and the number of the last call on this path.
    known: Vec<(bool, usize, usize)>,
    /// The first call that received or produced a message.
    first: HashMap<u64, usize>,
    /// Number of calls.
    calls: usize,
    /// Input and output of the last call.
    last: (Vec<u64>, Vec<u64>),
}

impl Tree {
    /// Compares a call with this input with earlier calls.
    fn turn(&self, step: StepId, given: &[u64]) -> Turn {
        let (unchanged, history) = self.compare(given);
        Turn {
            step,
            unchanged,
            like: self.like(given, unchanged),
            history,
            repeated: self.repeated(given, unchanged, history),
            number: self.calls,
        }
    }

    fn compare(&self, given: &[u64]) -> (usize, History) {
        let (shared, history) = self.beginning(given);
        let (last, said) = &self.last;
        let trimmed = |with_answer: bool| {
            let before = last.get(shared.min(last.len())..)?.iter();
            let before: Vec<u64> = before.chain(said.iter().filter(|_| with_answer)).rev().copied().collect();
            let rest: Vec<u64> = given.get(shared..)?.iter().rev().copied().collect();
            let (behind, kept) = longest(&before, &rest)?;
            let to = given.len() - behind;
            let gone = before.len() - kept;
            Some(History::Trimmed {
                gone,
                kept: (to - kept, to),
            })
        };
        let found = match history {
            History::Rewritten { .. } => trimmed(true).or_else(|| trimmed(false)),
            // Different kinds of prompts may share a question.
            History::OfItsOwn => trimmed(true),
            History::GoesOn | History::Trimmed { .. } => None,
        };
        (shared, found.unwrap_or(history))
    }

    /// The node at which the longest known prefix of a list ends, and its length.
    fn walk(&self, given: &[u64]) -> (usize, usize) {
        let (mut at, mut shared) = (0, 0);
        while let Some(next) = given.get(shared).and_then(|hash| self.nodes.get(&(at, *hash))) {
            at = *next;
            shared += 1;
        }
        (at, shared)
    }

    /// The last call that begins with the shared messages.
    fn like(&self, given: &[u64], shared: usize) -> Option<usize> {
        let (at, _) = self.walk(given.get(..shared)?);
        self.known.get(at.checked_sub(1)?).map(|(.., call)| *call)
    }

    /// The messages after the shared ones that an earlier call had, each with its index and the first such call. If a
    /// history continues in order, an equal message is a new one: people repeat themselves.
    fn repeated(&self, given: &[u64], shared: usize, history: History) -> Vec<(usize, usize)> {
        let rest = match history {
            History::GoesOn => 0..0,
            History::Trimmed { kept: (from, _), .. } => shared..from,
            History::Rewritten { .. } | History::OfItsOwn => shared..given.len(),
        };
        let repeated = rest.filter_map(|at| Some((at, *self.first.get(given.get(at)?)?)));
        repeated.collect()
    }

    fn beginning(&self, given: &[u64]) -> (usize, History) {
        let (at, shared) = self.walk(given);
        let known = at.checked_sub(1).and_then(|at| self.known.get(at));
        let history = match known {
            _ if self.known.is_empty() || given.is_empty() => History::GoesOn,
            None => History::OfItsOwn,
            Some((true, ..)) => History::GoesOn,
            Some((false, longest, _)) => History::Rewritten {
                gone: longest.saturating_sub(shared),
            },
        };
        (shared, history)
    }

    fn add(&mut self, given: &[u64], said: &[u64]) {
        self.last = (given.to_vec(), said.to_vec());
        let whole = given.len() + said.len();
        let mut at = 0;
        for (place, hash) in given.iter().chain(said).enumerate() {
            let next = self.known.len() + 1;
            at = *self.nodes.entry((at, *hash)).or_insert(next);
            if at == next {
                self.known.push((false, whole, self.calls));
            }
            let _ = self.first.entry(*hash).or_insert(self.calls);
            if let Some((ends, longest, call)) = at.checked_sub(1).and_then(|at| self.known.get_mut(at)) {
                *call = self.calls;
                *longest = whole.max(*longest);
                *ends |= place + 1 == given.len() || place + 1 == whole;
            }
        }
        self.calls += 1;
    }
}

/// The longest prefix of a list that occurs in another one: its first position there and its length. Linear in both.
fn longest(of: &[u64], within: &[u64]) -> Option<(usize, usize)> {
    // The failure function of Knuth, Morris and Pratt: for each prefix, its longest proper prefix that is also its suffix.
    let mut shorter = vec![0; of.len() + 1];
    let grow = |shorter: &[usize], mut length: usize, next: u64| {
        while length > 0 && of.get(length) != Some(&next) {
            length = shorter.get(length).copied().unwrap_or(0);
        }
        if of.get(length) == Some(&next) { length + 1 } else { 0 }
    };
    let mut length = 0;
    for (at, next) in of.iter().enumerate().skip(1) {
        length = grow(&shorter, length, *next);
        if let Some(place) = shorter.get_mut(at + 1) {
            *place = length;
        }
    }
    let mut length = 0;
    let lengths = within.iter().enumerate().map(|(at, next)| {
        length = grow(&shorter, length, *next);
        (length, at + 1)
    });
    let found = lengths.fold((0, 0), |best, next| if next.0 > best.0 { next } else { best });
    (found.0 > 0).then(|| (found.1 - found.0, found.0))
}

/// Calls of a conversation share messages, so each is hashed once, by address.
#[derive(Default)]
struct Hashes {
    known: HashMap<*const Message, u64>,
}

impl Hashes {
    fn of(&mut self, message: &Message) -> u64 {
        let known = &self.known;
        if let Some(hash) = known.get(&std::ptr::from_ref(message)) {
            return *hash;
        }
        // Role, content and requested tools. Clients record the same answer with and without ids and thoughts.
        let role = match message.role {
            Role::Developer => "system",
            ref role => role.name(),
        };
        let words = message.joined_text();
        let calls: Vec<(&str, String)> = message
            .tool_calls
            .iter()
            .map(|call| {
                (
                    call.name.as_str(),
                    call.arguments.as_ref().map(ToString::to_string).unwrap_or_default(),
                )
            })
            .collect();
        let result = message.result.as_ref().map(ToString::to_string);
        let hash = known.hasher().hash_one((role, words.trim(), calls, result));
        let _ = self.known.insert(std::ptr::from_ref(message), hash);
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_compared_with_the_nearest_earlier_one() {
        let mut tree = Tree::default();
        let mut next = |given: &[u64], said: &[u64]| {
            let found = tree.compare(given);
            tree.add(given, said);
            found
        };
        assert_eq!(next(&[1, 2], &[3]), (0, History::GoesOn), "the first");
        assert_eq!(next(&[1, 2, 3, 4], &[5]), (3, History::GoesOn));
        assert_eq!(next(&[1, 2, 3, 4], &[6]), (4, History::GoesOn), "the same once more");
        assert_eq!(next(&[90, 91], &[92]), (0, History::OfItsOwn), "a summary");
        assert_eq!(
            next(&[1, 2, 3, 4, 5, 7], &[8]),
            (5, History::GoesOn),
            "not compared with the summary"
        );
        assert_eq!(next(&[1, 50], &[9]), (1, History::Rewritten { gone: 6 }));
        assert_eq!(next(&[1, 50, 9, 7], &[10]), (3, History::GoesOn), "what it said, and a question");
        // A window of four messages: the oldest are left out.
        let trimmed = |gone, from, to| History::Trimmed { gone, kept: (from, to) };
        assert_eq!(next(&[1, 9, 7, 10, 11], &[12]), (1, trimmed(1, 1, 4)));
        assert_eq!(next(&[1, 7, 10, 11, 12, 13], &[14]), (1, trimmed(1, 1, 5)));
        assert_eq!(
            next(&[1, 80, 11, 12, 13, 14, 15], &[16]),
            (1, trimmed(2, 2, 6)),
            "with a summary of them"
        );
        assert_eq!(next(&[], &[9]), (0, History::GoesOn), "nothing is said of its input");
    }

    #[test]
    fn each_message_is_told_once_and_names_the_call_that_told_it() {
        let mut tree = Tree::default();
        let mut next = |given: &[u64], said: &[u64]| {
            let turn = tree.turn(StepId::FIRST, given);
            tree.add(given, said);
            let told = turn.told(given).into_iter().map(|told| match told {
                TurnMessage::Before(number, calls) => (number, calls, None),
                TurnMessage::New(said) => (1, Vec::new(), Some(*said)),
            });
            (turn.like, told.collect::<Vec<_>>())
        };
        let new = |said| (1, Vec::new(), Some(said));
        assert_eq!(next(&[1, 2], &[3]), (None, vec![new(1), new(2)]));
        assert_eq!(next(&[1, 2, 3, 2], &[4]), (Some(0), vec![new(2)]), "the same is said again");
        assert_eq!(
            next(&[1, 80, 3, 5], &[6]),
            (Some(1), vec![new(80), (1, vec![0], None), new(5)]),
            "rewritten"
        );
        // A window: 80 is gone.
        assert_eq!(next(&[1, 3, 5, 6, 7], &[8]), (Some(2), vec![(3, vec![2], None), new(7)]));
        assert_eq!(
            next(&[90, 4, 8], &[9]),
            (None, vec![new(90), (2, vec![1, 3], None)]),
            "a prompt of its own"
        );
    }
}
