//! Calls not yet matched with a tool span, indexed by the names and arguments that tool spans record.
//!
//! A run may have tens of thousands of calls of one tool, and as many spans with only its name, so calls must
//! not be scanned for each span.

use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Range;

use serde_json::Value;

use crate::hash::HashMap;
use crate::operation::Kind;
use crate::run::arguments::{self, Fit};
use crate::run::conversation::{CallRef, Conversations, DraftCall};
use crate::run::id::ConversationId;
use crate::run::names;
use crate::run::node::{Node, Nodes};
use crate::span::UnixNanos;

/// Maximum number of calls examined for one tool span. More than one is examined if arguments overlap without fitting, or if a
/// call began later than the next one.
const MAX_CANDIDATES: usize = 256;

/// Up to this many calls are scanned without an index, which would cost more than it saves.
const MAX_UNINDEXED: usize = 8;

/// The scope place of the only conversation in [`UnmatchedCalls::of`].
pub(super) const ONLY_PLACE: Range<usize> = 0..1;

/// Unmatched calls in order.
pub(super) struct UnmatchedCalls {
    calls: Vec<Unmatched>,
    /// Empty if the calls are few.
    queues: HashMap<u64, Queue>,
    state: foldhash::fast::RandomState,
}

struct Unmatched {
    place: CallRef,
    /// The place of its scope among all scopes.
    nest: usize,
    /// The start of the model call that asked.
    began: UnixNanos,
}

/// The tool name that a queue's calls share.
#[derive(Hash)]
enum Mark<'a> {
    /// They have this name, possibly with a server's or class's name as prefix.
    Ends(&'a str),
    /// They have exactly this name.
    Named(&'a str),
    /// They pass the run to this agent.
    Passes(&'a str),
}

/// The arguments that a queue's calls share.
#[derive(Hash)]
enum Arguments<'a> {
    Any,
    /// None were recorded.
    None,
    /// They are equal to these.
    Same(u64),
    /// They include this member.
    Member(&'a str, u64),
    /// Their only member has this text.
    Only(&'a str),
}

impl UnmatchedCalls {
    /// The unmatched calls of one conversation.
    pub(super) fn of(nodes: &Nodes, conversations: &Conversations, id: ConversationId) -> Self {
        Self::of_all(nodes, conversations, [(ONLY_PLACE.start, id)])
    }

    /// The unmatched calls of many conversations, each with the place of its scope, ordered by place.
    pub(super) fn of_all(nodes: &Nodes, all: &Conversations, wanted: impl IntoIterator<Item = (usize, ConversationId)>) -> Self {
        Self::indexed_above(MAX_UNINDEXED, nodes, all, wanted)
    }

    fn indexed_above(
        unindexed: usize,
        nodes: &Nodes,
        all: &Conversations,
        wanted: impl IntoIterator<Item = (usize, ConversationId)>,
    ) -> Self {
        let mut out = Self {
            calls: Vec::new(),
            queues: HashMap::default(),
            state: foldhash::fast::RandomState::default(),
        };
        for (nest, id) in wanted {
            let calls = all.get(id).into_iter().flat_map(|conversation| conversation.calls.enumerate());
            for (call, draft) in calls.filter(|(_, draft)| draft.tools.is_empty()) {
                let began = draft.by.and_then(|by| nodes.get(by)).map_or(UnixNanos(0), |call| call.start);
                let place = CallRef { conversation: id, call };
                out.calls.push(Unmatched { place, nest, began });
            }
        }
        if out.calls.len() > unindexed {
            for (number, place) in out.calls.iter().map(|call| call.place).enumerate().collect::<Vec<_>>() {
                if let Some(draft) = place.of(all) {
                    out.index(number, draft);
                }
            }
        }
        for queue in out.queues.values_mut() {
            queue.close(&out.calls);
        }
        out
    }

    fn index(&mut self, number: usize, draft: &DraftCall) {
        let name = draft.call.name.as_str();
        let marks = std::iter::once(Mark::Named(name))
            .chain(std::iter::once(Mark::Ends(name)))
            .chain(names::ends(name).map(Mark::Ends));
        let arguments = draft.call.arguments.as_ref();
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
        self.queues.entry(key).or_default().numbers.push(number);
    }

    /// The first unmatched call that a tool span may have run: same name, made before the tool began, with arguments that fit at
    /// least this well; for a handoff the first that passes the run to its agent. The call's scope is in `within`.
    pub(super) fn first(&mut self, node: &Node, conversations: &Conversations, least: Fit, within: &Range<usize>) -> Option<CallRef> {
        let used = node.operation.tool.as_ref();
        let name = used.and_then(|used| used.name.as_deref());
        let mut found: Option<usize> = None;
        if node.kind() == Kind::Handoff {
            let agent = names::handed_to(node).map(names::plain);
            let fits = |draft: &DraftCall| {
                name.is_some_and(|name| names::same_tool(name, &draft.call.name))
                    || agent.as_deref().is_some_and(|agent| names::is_transfer_to(&draft.call.name, agent))
            };
            if self.queues.is_empty() {
                return self.first_of_few(node, conversations, within, fits);
            }
            let by_agent = agent.as_deref().map(Mark::Passes);
            for mark in by_agent.into_iter().chain(name.into_iter().flat_map(named)) {
                self.look(&mark, &Arguments::Any, node, conversations, within, fits, &mut found);
            }
            return found.and_then(|found| self.calls.get(found)).map(|call| call.place);
        }
        let name = names::tool(node)?;
        let recorded = used.and_then(|used| used.arguments.as_ref());
        let fits = |draft: &DraftCall| {
            names::same_tool(name, &draft.call.name) && arguments::fit(recorded, draft.call.arguments.as_ref()) >= least
        };
        if self.queues.is_empty() {
            return self.first_of_few(node, conversations, within, fits);
        }
        let only;
        let mut of = Vec::new();
        match (least, recorded) {
            (Fit::Same, _) => of.push(Arguments::Same(signature(&self.state, recorded))),
            (Fit::Other, _) | (_, None) => of.push(Arguments::Any),
            (_, Some(value)) => {
                of.extend([Arguments::Same(signature(&self.state, recorded)), Arguments::None]);
                match value {
                    // Positional arguments may have the values of any members.
                    Value::Array(_) => of.push(Arguments::Any),
                    Value::Object(map) if map.get("args").is_some_and(Value::is_array) => of.push(Arguments::Any),
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
        found.and_then(|found| self.calls.get(found)).map(|call| call.place)
    }

    /// [`Self::first`] without an index.
    fn first_of_few(
        &self,
        node: &Node,
        conversations: &Conversations,
        within: &Range<usize>,
        fits: impl Fn(&DraftCall) -> bool,
    ) -> Option<CallRef> {
        let may_be = |call: &&Unmatched| within.contains(&call.nest) && call.began <= node.start;
        let is_it = |call: &&Unmatched| {
            call.place
                .of(conversations)
                .is_some_and(|draft| draft.tools.is_empty() && fits(draft))
        };
        self.calls.iter().filter(may_be).find(is_it).map(|call| call.place)
    }

    /// The first of a queue's calls that fits, if it precedes the one found so far.
    #[expect(clippy::too_many_arguments, reason = "one question, asked of several queues")]
    fn look(
        &mut self,
        mark: &Mark<'_>,
        arguments: &Arguments<'_>,
        node: &Node,
        conversations: &Conversations,
        within: &Range<usize>,
        fits: impl Fn(&DraftCall) -> bool,
        found: &mut Option<usize>,
    ) {
        let key = self.key(mark, arguments);
        let Some(queue) = self.queues.get_mut(&key) else { return };
        let calls = &self.calls;
        let draft = |call: &Unmatched| call.place.of(conversations);
        let mut at = queue
            .numbers
            .partition_point(|number| calls.get(*number).is_some_and(|call| call.nest < within.start));
        for _ in 0..MAX_CANDIDATES {
            at = queue.next_unmatched(at, |number| {
                calls.get(number).and_then(draft).is_some_and(|draft| draft.tools.is_empty())
            });
            let Some((number, call)) = queue.numbers.get(at).and_then(|number| Some((*number, calls.get(*number)?))) else {
                return;
            };
            let later = found.is_some_and(|found| found <= number);
            if later || call.nest >= within.end || queue.earliest.get(at).is_some_and(|earliest| *earliest > node.start) {
                return;
            }
            if call.began <= node.start && draft(call).is_some_and(&fits) {
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
    /// Their indexes in [`UnmatchedCalls::calls`].
    numbers: Vec<usize>,
    /// For each call, the earliest time of it and those after it.
    earliest: Vec<UnixNanos>,
    /// For each place, a place at or behind it up to which every call is matched.
    next: Vec<usize>,
}

impl Queue {
    fn close(&mut self, calls: &[Unmatched]) {
        self.next = (0..self.numbers.len()).collect();
        let mut earliest = UnixNanos(u64::MAX);
        self.earliest = vec![earliest; self.numbers.len()];
        for (number, slot) in self.numbers.iter().zip(&mut self.earliest).rev() {
            earliest = calls.get(*number).map_or(earliest, |call| call.began.min(earliest));
            *slot = earliest;
        }
    }

    /// The first place from here on whose call is unmatched. Matched calls are skipped only once.
    fn next_unmatched(&mut self, begin: usize, is_unmatched: impl Fn(usize) -> bool) -> usize {
        let mut at = begin;
        while let Some(next) = self.next.get(at).copied() {
            if next != at {
                at = next;
            } else if self.numbers.get(at).is_some_and(|number| is_unmatched(*number)) {
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

/// Equal for arguments that are equal by [`arguments::same_value`], and for none and an empty object.
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
            // Independent of the order.
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
    use crate::operation::{Message, Role, ToolCall, ToolUse};
    use crate::run::conversation;
    use crate::run::scopes::Scopes;
    use crate::run::testing::{nodes, reading};

    fn names_of_tools() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("look"),
            Just("mcp.look"),
            Just("mcp__server__look"),
            Just("find"),
            Just("transfer_to_look")
        ]
        .prop_map(str::to_owned)
    }

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
            prop_assert!(same || !arguments::same_value(&a, &b), "{} {}", a, b);
        }

        /// Few calls are looked at one by one, many through the index: both find the same.
        #[test]
        fn the_index_finds_what_a_look_at_each_call_finds(
            asked in proptest::collection::vec((names_of_tools(), proptest::option::of(values())), 0..6),
            (name, used, handoff, start) in (names_of_tools(), proptest::option::of(values()), any::<bool>(), 9_u64..12),
        ) {
            let call = |(name, arguments): &(String, Option<Value>)| ToolCall {
                name: name.clone(),
                arguments: arguments.clone(),
                ..ToolCall::default()
            };
            let mut asking = reading(1, Kind::Llm, 10..20);
            asking.operation.output_messages = Some(vec![Message {
                tool_calls: asked.iter().map(call).collect(),
                ..Message::text(Role::Assistant, "")
            }]);
            let mut nodes = nodes([(asking, None)]);
            let scopes = Scopes::of(&nodes);
            let conversations = conversation::reconstruct(&mut nodes, &scopes);
            let mut tool = reading(2, if handoff { Kind::Handoff } else { Kind::Tool }, start..30);
            tool.operation.tool = Some(Box::new(ToolUse { name: Some(name), arguments: used, ..ToolUse::default() }));
            let all = || conversations.ids().map(|id| (ONLY_PLACE.start, id));
            for least in [Fit::Same, Fit::Unknown, Fit::Other] {
                let found = [0, usize::MAX].map(|unindexed| {
                    let mut calls = UnmatchedCalls::indexed_above(unindexed, &nodes, &conversations, all());
                    calls.first(&tool, &conversations, least, &ONLY_PLACE)
                });
                prop_assert_eq!(found[0], found[1], "{:?}", least);
            }
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
