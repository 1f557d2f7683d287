//! Calls that no tool span ran yet, by the names and the arguments that tool spans know them by.
//!
//! A run may hold tens of thousands of calls of one tool, and as many spans that tell nothing but its name: no call is
//! looked at for each span.

use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Range;

use serde_json::Value;

use super::conversation::{Asked, Conversation};
use super::names::{self, Fit};
use super::node::{Node, Nodes};
use crate::hash::HashMap;
use crate::operation::Kind;
use crate::span::UnixNanos;

/// So many calls are looked at for one tool span. More than one is looked at where arguments overlap without fitting, or where
/// a call began later than one after it.
const LOOK: usize = 256;

/// All scopes.
pub(super) const EVERYWHERE: Range<usize> = 0..usize::MAX;

/// A call in one of many conversations.
pub(super) type Place = (usize, usize);

/// Open calls in order.
pub(super) struct Open {
    entries: Vec<Entry>,
    queues: HashMap<u64, Queue>,
    state: foldhash::fast::RandomState,
}

struct Entry {
    place: Place,
    /// Where its scope stands among all scopes.
    nest: usize,
    /// When the model call that asked began.
    began: UnixNanos,
}

/// What a queue's calls have in common.
#[derive(Hash)]
enum Mark<'a> {
    /// They have this name, or one that ends with it behind a server's or class's name.
    Ends(&'a str),
    /// They have this very name.
    Named(&'a str),
    /// They pass the run to this agent.
    Passes(&'a str),
}

/// What the arguments of a queue's calls have in common.
#[derive(Hash)]
enum Arguments<'a> {
    Any,
    /// None were recorded.
    None,
    /// They are equal to these.
    Same(u64),
    /// This member is one of them.
    Member(&'a str, u64),
    /// Their only member has this text.
    Only(&'a str),
}

impl Open {
    /// The open calls of one conversation.
    pub(super) fn of(nodes: &Nodes, which: usize, conversation: &Conversation) -> Self {
        Self::of_all(nodes, std::iter::once((0, which, conversation)))
    }

    /// The open calls of many, each with the place of its scope, in order of those places.
    pub(super) fn of_all<'a>(nodes: &Nodes, conversations: impl Iterator<Item = (usize, usize, &'a Conversation)>) -> Self {
        let mut open = Self {
            entries: Vec::new(),
            queues: HashMap::default(),
            state: foldhash::fast::RandomState::default(),
        };
        for (nest, which, conversation) in conversations {
            for (at, asked) in conversation.calls.iter().enumerate().filter(|(_, asked)| asked.tools.is_empty()) {
                let began = asked.by.and_then(|by| nodes.get(by)).map_or(UnixNanos(0), |call| call.start);
                let entry = Entry {
                    place: (which, at),
                    nest,
                    began,
                };
                open.add(entry, asked);
            }
        }
        for queue in open.queues.values_mut() {
            queue.close(&open.entries);
        }
        open
    }

    fn add(&mut self, entry: Entry, asked: &Asked) {
        let name = asked.call.name.as_str();
        let number = self.entries.len();
        self.entries.push(entry);
        let marks = std::iter::once(Mark::Named(name))
            .chain(std::iter::once(Mark::Ends(name)))
            .chain(names::ends(name).map(Mark::Ends));
        let arguments = asked.call.arguments.as_ref();
        let mut of = vec![Arguments::Any, Arguments::Same(signature(&self.state, arguments))];
        let only;
        match arguments {
            None => of.push(Arguments::None),
            Some(Value::Object(map)) => {
                of.extend(self.members(map));
                if let (1, Some(value)) = (map.len(), map.values().next()) {
                    only = text(value);
                    of.push(Arguments::Only(&only));
                }
            }
            Some(_) => {}
        }
        for mark in marks {
            for arguments in &of {
                self.file(&mark, arguments, number);
            }
        }
        if let Some(agent) = names::transfers_to(name) {
            self.file(&Mark::Passes(&agent), &Arguments::Any, number);
        }
    }

    fn members<'a>(&self, map: &'a serde_json::Map<String, Value>) -> impl Iterator<Item = Arguments<'a>> + use<'a, '_> {
        map.iter()
            .map(|(key, value)| Arguments::Member(key, signature(&self.state, Some(value))))
    }

    fn key(&self, mark: &Mark<'_>, arguments: &Arguments<'_>) -> u64 {
        self.state.hash_one((mark, arguments))
    }

    fn file(&mut self, mark: &Mark<'_>, arguments: &Arguments<'_>, number: usize) {
        let key = self.key(mark, arguments);
        self.queues.entry(key).or_default().entries.push(number);
    }

    /// The first open call that a tool span may have run: of its name, asked before it began, with arguments that fit at least
    /// so well; for a handoff the first that passes the run to its agent. The call's scope stands in `within`.
    pub(super) fn first(&mut self, node: &Node, conversations: &[Conversation], least: Fit, within: &Range<usize>) -> Option<Place> {
        let used = node.operation.tool.as_ref();
        let name = used.and_then(|used| used.name.as_deref());
        let mut found: Option<usize> = None;
        if node.kind() == Kind::Handoff {
            let agent = super::stitch::handed_to(node).map(names::plain);
            let by_agent = agent.as_deref().map(Mark::Passes);
            for mark in by_agent.into_iter().chain(name.into_iter().flat_map(named)) {
                let fits = |asked: &Asked| {
                    name.is_some_and(|name| names::same_tool(name, &asked.call.name))
                        || agent.as_deref().is_some_and(|agent| names::is_transfer_to(&asked.call.name, agent))
                };
                self.look(&mark, &Arguments::Any, node, conversations, within, fits, &mut found);
            }
            return found.and_then(|found| self.entries.get(found)).map(|entry| entry.place);
        }
        let name = names::tool(node)?;
        let arguments = used.and_then(|used| used.arguments.as_ref());
        let fits =
            |asked: &Asked| names::same_tool(name, &asked.call.name) && names::fit(arguments, asked.call.arguments.as_ref()) >= least;
        let only;
        let mut of = Vec::new();
        match (least, arguments) {
            (Fit::Same, _) => of.push(Arguments::Same(signature(&self.state, arguments))),
            (Fit::Other, _) | (_, None) => of.push(Arguments::Any),
            (_, Some(value)) => {
                of.extend([Arguments::Same(signature(&self.state, arguments)), Arguments::None]);
                match value {
                    Value::Object(map) => of.extend(self.members(map)),
                    bare => {
                        only = text(bare);
                        of.push(Arguments::Only(&only));
                    }
                }
            }
        }
        for mark in named(name) {
            for of in &of {
                self.look(&mark, of, node, conversations, within, fits, &mut found);
            }
        }
        found.and_then(|found| self.entries.get(found)).map(|entry| entry.place)
    }

    /// The first of one queue's calls that fits, if it is before the one that was found.
    #[expect(clippy::too_many_arguments, reason = "one question, asked of several queues")]
    fn look(
        &mut self,
        mark: &Mark<'_>,
        arguments: &Arguments<'_>,
        node: &Node,
        conversations: &[Conversation],
        within: &Range<usize>,
        fits: impl Fn(&Asked) -> bool,
        found: &mut Option<usize>,
    ) {
        let key = self.key(mark, arguments);
        let Some(queue) = self.queues.get_mut(&key) else { return };
        let entries = &self.entries;
        let asked = |entry: &Entry| conversations.get(entry.place.0)?.calls.get(entry.place.1);
        let mut at = queue
            .entries
            .partition_point(|number| entries.get(*number).is_some_and(|entry| entry.nest < within.start));
        for _ in 0..LOOK {
            at = queue.from(at, |number| {
                entries.get(number).and_then(asked).is_some_and(|asked| asked.tools.is_empty())
            });
            let Some((number, entry)) = queue.entries.get(at).and_then(|number| Some((*number, entries.get(*number)?))) else {
                return;
            };
            let later = found.is_some_and(|found| found <= number);
            if later || entry.nest >= within.end || queue.earliest.get(at).is_some_and(|earliest| *earliest > node.start) {
                return;
            }
            if entry.began <= node.start && asked(entry).is_some_and(&fits) {
                *found = Some(number);
                return;
            }
            at += 1;
        }
    }
}

/// Calls with a common mark, in order.
#[derive(Default)]
struct Queue {
    entries: Vec<usize>,
    /// When the first of this call and those after it was asked for.
    earliest: Vec<UnixNanos>,
    /// A place at or behind each place, before which no call is open.
    next: Vec<usize>,
}

impl Queue {
    fn close(&mut self, entries: &[Entry]) {
        self.next = (0..self.entries.len()).collect();
        let mut earliest = UnixNanos(u64::MAX);
        self.earliest = vec![earliest; self.entries.len()];
        for (number, slot) in self.entries.iter().zip(&mut self.earliest).rev() {
            earliest = entries.get(*number).map_or(earliest, |entry| entry.began.min(earliest));
            *slot = earliest;
        }
    }

    /// The first place from here on whose call is open. What was passed over is not passed again.
    fn from(&mut self, begin: usize, is_open: impl Fn(usize) -> bool) -> usize {
        let mut at = begin;
        while let Some(next) = self.next.get(at).copied() {
            if next != at {
                at = next;
            } else if self.entries.get(at).is_some_and(|number| is_open(*number)) {
                break;
            } else if let Some(slot) = self.next.get_mut(at) {
                *slot = at + 1;
                at += 1;
            }
        }
        let mut behind = begin;
        while behind < at {
            let Some(slot) = self.next.get_mut(behind) else { break };
            behind = std::mem::replace(slot, at);
        }
        at
    }
}

/// The queues of the calls that a span with this name may have run.
fn named(name: &str) -> impl Iterator<Item = Mark<'_>> {
    std::iter::once(Mark::Ends(name)).chain(names::ends(name).map(Mark::Named))
}

/// Equal for arguments that are the same as [`names::same_value`] has it, and for none and an empty object.
fn signature(state: &foldhash::fast::RandomState, arguments: Option<&Value>) -> u64 {
    let mut hasher = state.build_hasher();
    match arguments {
        None => sign(&Value::Object(serde_json::Map::new()), state, &mut hasher),
        Some(value) => sign(value, state, &mut hasher),
    }
    hasher.finish()
}

fn sign(value: &Value, state: &foldhash::fast::RandomState, hasher: &mut impl Hasher) {
    match value {
        Value::Object(map) => {
            // In any order.
            let members = map.iter().map(|(key, value)| {
                let mut hasher = state.build_hasher();
                key.hash(&mut hasher);
                sign(value, state, &mut hasher);
                hasher.finish()
            });
            (1_u8, map.len(), members.fold(0_u64, u64::wrapping_add)).hash(hasher);
        }
        Value::Array(items) => {
            (2_u8, items.len()).hash(hasher);
            items.iter().for_each(|item| sign(item, state, hasher));
        }
        Value::Number(number) => (3_u8, number.as_f64().map(|number| (number + 0.0).to_bits())).hash(hasher),
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => match serde_json::from_str::<Value>(text) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => sign(&value, state, hasher),
            _ => (4_u8, text).hash(hasher),
        },
        Value::String(text) => (4_u8, text).hash(hasher),
        Value::Bool(bool) => (5_u8, *bool).hash(hasher),
        Value::Null => 6_u8.hash(hasher),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(1)),
            Just(json!(1.0)),
            Just(json!(0)),
            Just(json!(-0.0)),
            Just(json!("{}")),
            Just(json!("{\"a\":1}")),
            Just(json!("a")),
            Just(json!(null)),
        ];
        leaf.prop_recursive(2, 6, 2, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
                proptest::collection::vec(("[ab]", inner), 0..3).prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_the_same_has_one_signature(a in values(), b in values()) {
            let state = foldhash::fast::RandomState::default();
            let same = signature(&state, Some(&a)) == signature(&state, Some(&b));
            prop_assert!(same || !names::same_value(&a, &b), "{} {}", a, b);
        }

        /// A call is found by all names of its tool, and by no other.
        #[test]
        fn names_of_one_tool_share_a_queue(a in "[ab_.]{1,5}", b in "[ab_.]{1,5}") {
            let filed = |mark: &Mark<'_>| match mark {
                Mark::Ends(end) => *end == b || names::ends(&b).any(|have| have == *end),
                Mark::Named(name) => *name == b,
                Mark::Passes(_) => false,
            };
            prop_assert_eq!(named(&a).any(|mark| filed(&mark)), names::same_tool(&a, &b));
        }
    }
}
