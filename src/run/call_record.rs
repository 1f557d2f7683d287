//! Evidence against two spans recording one model call.
//!
//! An equal response id, or one call inside the other, makes two spans one call only without such evidence: servers,
//! caches and cassettes repeat ids, and a context left open makes the next call a child.

use serde_json::Value;

use super::arguments::{self, Fit};
use super::model::Step;
use super::names;
use super::node::Node;
use crate::operation::{Message, Operation, Role, ToolCall};
use crate::span::UnixNanos;

/// Maximum number of tool calls, or of records in a group, compared.
const MAX_COMPARED: usize = 16;

/// Texts may be cut: a long one may differ in this many bytes at its end.
const CUT: usize = 16;

/// One span's record of a model call.
#[derive(Clone, Copy)]
pub(super) struct CallRecord<'a> {
    operation: &'a Operation,
    start: UnixNanos,
    end: Option<UnixNanos>,
    /// The name of the instrumentation scope, if known.
    instrumentation: Option<&'a str>,
}

impl<'a> From<&'a Node> for CallRecord<'a> {
    fn from(node: &'a Node) -> Self {
        Self {
            operation: &node.operation,
            start: node.start,
            end: node.end,
            instrumentation: Some(node.instrumentation()),
        }
    }
}

impl<'a> From<&'a Step> for CallRecord<'a> {
    fn from(step: &'a Step) -> Self {
        Self {
            operation: &step.operation,
            start: step.started_at,
            end: step.ended_at,
            instrumentation: None,
        }
    }
}

impl CallRecord<'_> {
    /// Whether anything contradicts that two spans with one response id are one call.
    pub(super) fn contradicts(&self, other: &Self) -> bool {
        self.follows(other)
            || other.follows(self)
            || self.answers_otherwise(other)
            || self.is_same_kind(other) && (self.asks_otherwise(other) || self.continues(other) || other.continues(self))
    }

    /// Whether anything contradicts that this span, inside the other, records the same call.
    pub(super) fn is_other_than(&self, outer: &Self) -> bool {
        if self.follows(outer) && (!outer.is_blank() || self.is_same_kind(outer)) {
            return true;
        }
        let other_id = matches!((&self.operation.response_id, &outer.operation.response_id), (Some(one), Some(other)) if one != other);
        if !other_id && self.has_usage_of(outer) {
            return false;
        }
        // A framework may use its own id where its client records the provider's.
        let is_repetition = !self.is_same_kind(outer) && self.answers_alike(outer);
        other_id && !is_repetition || self.answers_otherwise(outer) || self.ends_otherwise(outer)
    }

    /// Whether this span and one around it, of the same instrumentation, record the same answer and token counts.
    pub(super) fn repeats(&self, outer: &Self) -> bool {
        let same_usage = self.operation.usage == outer.operation.usage;
        self.is_same_kind(outer) && same_usage && self.answers_alike(outer)
    }

    /// Whether both record a finish reason and token counts, and both of these differ.
    fn ends_otherwise(&self, other: &Self) -> bool {
        let (one, two) = (&self.operation, &other.operation);
        let ends = matches!((&one.finish_reason, &two.finish_reason), (Some(one), Some(two)) if one != two);
        let has_counts = |operation: &Operation| operation.usage.input.is_some() && operation.usage.output.is_some();
        ends && has_counts(one) && has_counts(two) && one.usage.output != two.usage.output
    }

    /// Whether two sibling spans cannot be one call.
    pub(super) fn is_separate_from(&self, other: &Self) -> bool {
        let (first, second) = if self.start <= other.start { (self, other) } else { (other, self) };
        let over = first.end.is_none_or(|end| second.start >= end.max(first.start));
        over || self.answers_otherwise(other)
    }

    fn is_same_kind(&self, other: &Self) -> bool {
        self.instrumentation.is_some() && self.instrumentation == other.instrumentation
    }

    /// Whether both count the same tokens.
    fn has_usage_of(&self, other: &Self) -> bool {
        let (one, other) = (&self.operation.usage, &other.operation.usage);
        one.input.is_some_and(|input| input > 0)
            && one.output.is_some_and(|output| output > 0)
            && (one.input, one.output) == (other.input, other.output)
    }

    fn is_blank(&self) -> bool {
        self.operation.output_messages.is_none() && self.operation.usage.is_empty() && self.operation.response_id.is_none()
    }

    /// Whether this one began after the other ended. A span without duration right after a call may record how that ended.
    fn follows(&self, other: &Self) -> bool {
        let lasts = |telling: &Self| telling.end.is_none_or(|end| end > telling.start);
        let Some(end) = other.end else { return false };
        if lasts(self) || !lasts(other) {
            self.start > end || self.start == end && lasts(other)
        } else {
            false
        }
    }

    /// Whether both have an answer, and the two cannot be the same.
    fn answers_otherwise(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (self.answer(), other.answer()) else {
            return false;
        };
        let (words, other_words) = (one.joined_text(), two.joined_text());
        if !words.trim().is_empty() && !other_words.trim().is_empty() && !is_part(&words, &other_words) {
            return true;
        }
        let (calls, other_calls) = (&one.tool_calls, &two.tool_calls);
        !calls.is_empty() && !other_calls.is_empty() && !share_a_call(calls, other_calls)
    }

    /// Whether both have an answer, and it is the same.
    fn answers_alike(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (self.answer(), other.answer()) else {
            return false;
        };
        let spoke = one.has_words() && two.has_words();
        let called = !one.tool_calls.is_empty() && !two.tool_calls.is_empty();
        (spoke || called) && !self.answers_otherwise(other)
    }

    fn answer(&self) -> Option<&Message> {
        self.operation.output_messages.as_ref()?.first()
    }

    /// Whether this one received the other's answer: the last turn of its input asks for the same tools.
    fn continues(&self, other: &Self) -> bool {
        let Some(answer) = other.answer().filter(|answer| !answer.tool_calls.is_empty()) else {
            return false;
        };
        let history = self.operation.input_messages.as_ref();
        let last = history.and_then(|list| list.iter().rev().find(|message| message.role == Role::Assistant));
        let ids = last.into_iter().flat_map(|last| &last.tool_calls).take(MAX_COMPARED);
        let ids: Vec<&str> = ids.filter_map(|call| call.recorded_id()).collect();
        let mut asked = answer.tool_calls.iter().take(MAX_COMPARED).filter_map(|call| call.recorded_id());
        asked.any(|id| ids.contains(&id))
    }

    /// Whether the inputs of both end with a question, and the two cannot be the same.
    fn asks_otherwise(&self, other: &Self) -> bool {
        let last = |telling: &Self| {
            let input = telling.operation.input_messages.as_ref()?;
            let asked = |message: &&Message| message.role == Role::User && message.has_words();
            input.iter().rev().find(asked).map(Message::content)
        };
        match (last(self), last(other)) {
            (Some(one), Some(two)) => !is_part(&one, &two),
            _ => false,
        }
    }
}

fn share_a_call(calls: &[ToolCall], others: &[ToolCall]) -> bool {
    calls.iter().take(MAX_COMPARED).any(|call| {
        others.iter().take(MAX_COMPARED).any(|other| {
            let unread = |call: &ToolCall| !matches!(call.arguments, Some(Value::Object(_)));
            let fit = || arguments::fit(call.arguments.as_ref(), other.arguments.as_ref()) != Fit::Other;
            names::same_tool(&call.name, &other.name) && (unread(call) || unread(other) || fit())
        })
    })
}

/// Whether one text is part of the other, however each was written: as JSON, in pieces, or cut at its end.
fn is_part(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let escaped = [one, other].iter().any(|text| text.contains("\\u"));
    let (one, other) = (bare(one, escaped), bare(other, escaped));
    let (short, long) = if one.len() <= other.len() { (&one, &other) } else { (&other, &one) };
    let kept = if short.len() >= 2 * CUT { short.len() - CUT } else { short.len() };
    short.get(..kept).is_some_and(|begin| memchr::memmem::find(long, begin).is_some())
}

/// The letters and digits of a text, without JSON escapes; only those of ASCII where others may be `escaped`.
fn bare(text: &str, escaped: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' {
            if bytes.next() == Some(b'u') {
                let _ = bytes.nth(3);
            }
        } else if byte.is_ascii_alphanumeric() || !byte.is_ascii() && !escaped {
            out.push(byte);
        }
    }
    out
}

/// Groups records that may be of one call. Where a server repeats an id, each group is one of several calls.
pub(super) fn groups<T: Copy>(list: &[T], contradict: impl Fn(T, T) -> bool) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for item in list {
        let recent = groups.iter_mut().rev().take(MAX_COMPARED);
        let mut fitting = recent.filter(|group| !group.iter().take(MAX_COMPARED).any(|other| contradict(*other, *item)));
        match fitting.next() {
            Some(group) => group.push(*item),
            None => groups.push(vec![*item]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Kind;
    use crate::run::testing::reading;

    fn call(time: std::ops::Range<u64>, question: &str, answer: &str) -> Node {
        let mut call = reading(1, Kind::Llm, time);
        call.operation.input_messages = Some(vec![Message::text(Role::User, question)].into());
        call.operation.output_messages = Some(vec![Message::text(Role::Assistant, answer)]);
        call
    }

    #[test]
    fn what_follows_or_answers_otherwise_is_another_call() {
        let first = call(0..10, "Where?", "Here.");
        let contradicts = |other: &Node| CallRecord::from(other).contradicts(&CallRecord::from(&first));
        assert!(!contradicts(&call(2..8, "Where?", "Here.")));
        assert!(contradicts(&call(10..20, "Where?", "Here.")), "a cassette");
        assert!(contradicts(&call(2..8, "Where?", "There.")), "a server that repeats its ids");
        assert!(contradicts(&call(2..8, "When?", "Here.")));
        assert!(!contradicts(&call(11..11, "Where?", "Here.")), "a moment that tells how it ended");
    }

    #[test]
    fn what_was_given_the_answer_is_another_call() {
        let asking = || {
            let mut message = Message::text(Role::Assistant, "");
            message.tool_calls.push(ToolCall {
                id: Some(crate::operation::ToolCallId::Recorded("c1".to_owned())),
                name: "sound".to_owned(),
                ..ToolCall::default()
            });
            message
        };
        let mut first = call(5..5, "Where?", "");
        first.operation.output_messages = Some(vec![asking()]);
        let mut second = call(5..5, "Where?", "Here.");
        second.operation.input_messages = Some(vec![Message::text(Role::User, "Where?"), asking()].into());
        assert!(CallRecord::from(&second).contradicts(&CallRecord::from(&first)));
        assert!(CallRecord::from(&first).contradicts(&CallRecord::from(&second)));
        assert!(!CallRecord::from(&first).contradicts(&CallRecord::from(&first)));
    }

    #[test]
    fn texts_are_compared_as_they_are_written() {
        assert!(is_part("{\"a\": \"x\\ny\"}", "{\"a\":\"x\ny\"}"));
        assert!(is_part(
            "It is a long and winding road to the pier",
            "It is a long and winding road to [truncated]"
        ));
        assert!(!is_part("It is a long road.", "It is a short road."));
    }
}
