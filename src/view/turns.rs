//! The model calls of each agent, each compared with the calls before it: what of its history was there already, and what is new.

use std::hash::BuildHasher as _;

use crate::hash::HashMap;
use crate::operation::{Kind, Message, Role};
use crate::run::{Id as _, Run, ScopeId, Step, StepId};

/// A model call, and how what it was given compares with the earlier call that shares the longest beginning with it. The calls of an
/// agent are numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The call.
    pub(crate) step: StepId,
    /// How many of its messages an earlier call of the agent was given, or said.
    pub(crate) unchanged: usize,
    /// The number of that call.
    pub(crate) like: Option<usize>,
    /// What became of the rest.
    pub(crate) history: History,
    /// Messages of the rest that an earlier call was given or said, elsewhere: where each is, and the number of the first such call.
    heard: Vec<(usize, usize)>,
    number: usize,
}

/// Messages of a call as a conversation tells them: each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told<'m, M> {
    /// So many that are told with the calls of these numbers.
    Before(usize, Vec<usize>),
    /// A new one.
    New(&'m M),
}

/// Calls that are named for messages that they told.
const NAMED: usize = 6;

impl Turn {
    /// The messages behind those that are unchanged.
    pub(crate) fn told<'m, M>(&self, input: &'m [M]) -> Vec<Told<'m, M>> {
        let mut told: Vec<Told<'m, M>> = Vec::new();
        let (from, to) = self.kept();
        let mut heard = self.heard.iter().peekable();
        for (at, said) in input.iter().enumerate().skip(self.unchanged) {
            let call = match (from..to).contains(&at) {
                true => self.number.checked_sub(1),
                false => heard.next_if(|(place, _)| *place == at).map(|(_, call)| *call),
            };
            match (call, told.last_mut()) {
                (Some(call), Some(Told::Before(number, calls))) => {
                    *number += 1;
                    if calls.len() < NAMED && !calls.contains(&call) {
                        calls.push(call);
                    }
                }
                (Some(call), _) => told.push(Told::Before(1, vec![call])),
                (None, _) => told.push(Told::New(said)),
            }
        }
        told
    }

    /// Whether the calls that it is compared with had the message at this place.
    pub(crate) fn has_before(&self, place: usize) -> bool {
        let (from, to) = self.kept();
        place < self.unchanged || (from..to).contains(&place) || self.heard.iter().any(|(heard, _)| *heard == place)
    }

    /// The messages that repeat the previous call behind a gap: the first, and the one behind the last.
    fn kept(&self) -> (usize, usize) {
        match self.history {
            History::Trimmed { kept, .. } => kept,
            _ => (self.unchanged, self.unchanged),
        }
    }

    /// What is new in the call beside the beginning and the messages that it shares with an earlier one.
    pub(crate) fn added<'m, M>(&self, input: &'m [M]) -> impl Iterator<Item = &'m M> {
        let (from, to) = self.kept();
        let added = input.iter().enumerate().skip(self.unchanged);
        added.filter(move |(at, _)| !(from..to).contains(at)).map(|(_, said)| said)
    }
}

/// How a call's history compares with those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum History {
    /// The agent's first call, or one that goes on with what was said before.
    GoesOn,
    /// The agent keeps a window of its history and dropped messages behind the beginning.
    Trimmed {
        /// The number of messages that were dropped since the previous call.
        gone: usize,
        /// The range of this call's messages that repeats the previous call: the first index, and the index behind the last.
        kept: (usize, usize),
    },
    /// So many messages that the nearest earlier call knew are gone or changed.
    Rewritten {
        /// How many.
        gone: usize,
    },
    /// It shares nothing with the calls before it.
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

/// The calls of every scope that has some, in the order of their first calls.
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

/// How a call compares with one before it.
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

/// What calls knew, as a tree of messages: a call is a way from its root.
#[derive(Debug, Default)]
struct Tree {
    nodes: HashMap<(usize, u64), usize>,
    /// Of each node but the root: whether a call's input or its answer ended here, the length of the longest way through it, and the
    /// number of the last call that went this way.
    known: Vec<(bool, usize, usize)>,
    /// The first call that was given a message, or said it.
    first: HashMap<u64, usize>,
    /// How many calls there are.
    calls: usize,
    /// What the last call was given, and said.
    last: (Vec<u64>, Vec<u64>),
}

impl Tree {
    /// How a call that is given these messages compares with those before it.
    fn turn(&self, step: StepId, given: &[u64]) -> Turn {
        let (unchanged, history) = self.compare(given);
        Turn {
            step,
            unchanged,
            like: self.like(given, unchanged),
            history,
            heard: self.heard(given, unchanged, history),
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
            // Prompts of different kinds may have one question in common.
            History::OfItsOwn => trimmed(true),
            History::GoesOn | History::Trimmed { .. } => None,
        };
        (shared, found.unwrap_or(history))
    }

    /// The node at which the longest known beginning of a list ends, and how long it is.
    fn walk(&self, given: &[u64]) -> (usize, usize) {
        let (mut at, mut shared) = (0, 0);
        while let Some(next) = given.get(shared).and_then(|hash| self.nodes.get(&(at, *hash))) {
            at = *next;
            shared += 1;
        }
        (at, shared)
    }

    /// The last call that begins with these messages, as far as they are shared.
    fn like(&self, given: &[u64], shared: usize) -> Option<usize> {
        let (at, _) = self.walk(given.get(..shared)?);
        self.known.get(at.checked_sub(1)?).map(|(.., call)| *call)
    }

    /// The messages behind the shared ones that an earlier call had, each with its place and the first such call. Where a history goes on
    /// in order, an equal message is a new one: people say the same twice.
    fn heard(&self, given: &[u64], shared: usize, history: History) -> Vec<(usize, usize)> {
        let rest = match history {
            History::GoesOn => 0..0,
            History::Trimmed { kept: (from, _), .. } => shared..from,
            History::Rewritten { .. } | History::OfItsOwn => shared..given.len(),
        };
        let heard = rest.filter_map(|at| Some((at, *self.first.get(given.get(at)?)?)));
        heard.collect()
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

/// The longest beginning of a list that is somewhere in another one: its first place there and its length. Linear in both.
fn longest(of: &[u64], within: &[u64]) -> Option<(usize, usize)> {
    // For each length of the beginning: of its shorter beginnings the longest that it also ends with.
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

/// Calls of a conversation share their messages: each is hashed once, by where it is.
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
        // Who speaks, what is said, which tools are asked for. Clients write the same answer with and without ids and thoughts.
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
                Told::Before(number, calls) => (number, calls, None),
                Told::New(said) => (1, Vec::new(), Some(*said)),
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
