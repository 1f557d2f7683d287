//! Reads the input of model calls: indices into the pool of a sample's messages, and the conversations they continue.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;

use super::attachments::Attachments;
use super::message;
use crate::formats::back::{At, HistoryId, Result, TraceBuilder};
use crate::operation::Message;

/// How many of an agent's conversations are searched for the one that a call continues.
const MAX_SEARCHED: usize = 8;

/// A message with its id.
type MessageWithId = (Message, Option<String>);

/// The messages of a sample, each stored once.
pub(super) struct Pool<'a> {
    messages: Vec<At<'a>>,
    /// Messages written inside events, by their text.
    places: HashMap<String, usize>,
    /// How many more bytes may be repeated: a short reference can stand for many messages.
    left: usize,
    /// Number of calls without input.
    pub(super) without_input: usize,
}

/// A conversation, up to its last model call.
pub(super) struct PooledConversation {
    history: HistoryId,
    input_ranges: Vec<Range<usize>>,
    /// The output of the last call.
    last_output: Option<MessageWithId>,
}

impl<'a> Pool<'a> {
    /// `room`: maximum number of bytes of messages to repeat.
    pub(super) fn of(sample: &At<'a>, room: usize) -> Result<Self> {
        let data = sample.some("events_data");
        // The first logs with a pool had it outside `events_data`.
        let messages = data.and_then(|data| data.some("messages")).or_else(|| sample.some("message_pool"));
        Ok(Self {
            messages: messages.map(|messages| messages.items()).transpose()?.unwrap_or_default(),
            places: HashMap::new(),
            left: room,
            without_input: 0,
        })
    }

    /// The indices of a model call's input messages.
    pub(super) fn input(&mut self, event: &At<'a>) -> Result<Vec<Range<usize>>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        if let Some(refs) = event.some("input_refs") {
            for range in refs.items()? {
                let bounds = range.items()?;
                let place = |at: &At<'_>| at.value.as_u64().and_then(|place| usize::try_from(place).ok());
                let bounds: Option<Vec<usize>> = bounds.iter().map(place).collect();
                match bounds.as_deref() {
                    Some(&[from, to]) if from < to && to <= self.messages.len() => add(&mut ranges, from..to),
                    _ => {
                        return Err(range.refuse(format!(
                            "a first and an end place among the {} messages of `events_data` are wanted",
                            self.messages.len()
                        )));
                    }
                }
            }
            if !ranges.is_empty() {
                return Ok(ranges);
            }
        }
        for message in event.need("input")?.items()? {
            let text = message.value.to_string();
            let next = self.messages.len();
            let place = *self.places.entry(text).or_insert(next);
            if place == next {
                self.messages.push(message);
            }
            add(&mut ranges, place..place + 1);
        }
        Ok(ranges)
    }

    fn message(&self, place: usize, texts: &mut Attachments<'a>) -> Result<(Message, usize, Option<String>)> {
        let Some(at) = self.messages.get(place) else {
            return Ok((Message::default(), 0, None));
        };
        let whole = texts.whole(at.value);
        let message = message::read(&at.below("", &whole))?;
        let size = message.content().len();
        let id = whole.get("id").and_then(Value::as_str).map(str::to_owned);
        Ok((message, size, id))
    }

    /// The messages at these indices; `None` if too many bytes were repeated already.
    fn messages(&mut self, ranges: &[Range<usize>], texts: &mut Attachments<'a>) -> Result<Option<Vec<MessageWithId>>> {
        /// Cost of a message without words.
        const MESSAGE_COST: usize = 64;
        let mut out = Vec::new();
        for place in ranges.iter().cloned().flatten() {
            let (message, size, id) = self.message(place, texts)?;
            let Some(left) = self.left.checked_sub(size + MESSAGE_COST) else {
                self.without_input += 1;
                return Ok(None);
            };
            self.left = left;
            out.push((message, id));
        }
        Ok(Some(out))
    }

    /// Finds the conversation that a model call continues, or begins a new one, and adds the call's input.
    pub(super) fn continued_history(
        &mut self,
        list: &mut Vec<PooledConversation>,
        ranges: Vec<Range<usize>>,
        texts: &mut Attachments<'a>,
        builder: &mut TraceBuilder,
    ) -> Result<Option<HistoryId>> {
        let known = list
            .iter()
            .enumerate()
            .rev()
            .find_map(|(index, one)| after(&one.input_ranges, &ranges).map(|rest| (index, rest)));
        let (mut conversation, rest) = match known {
            Some((index, rest)) => (list.remove(index), rest),
            None => (
                PooledConversation {
                    history: builder.begin_history(),
                    input_ranges: Vec::new(),
                    last_output: None,
                },
                ranges.clone(),
            ),
        };
        let Some(new) = self.messages(&rest, texts)? else { return Ok(None) };
        let mut new = new.into_iter().peekable();
        // The next message may repeat the output of the last call.
        if let Some((said, id)) = conversation.last_output.take()
            && new
                .next_if(|(next, own)| is_same((&said, id.as_deref()), (next, own.as_deref())))
                .is_some()
        {
            builder.history(conversation.history).push(said);
        }
        builder.history(conversation.history).extend(new.map(|(message, _)| message));
        conversation.input_ranges = ranges;
        let history = conversation.history;
        if list.len() >= MAX_SEARCHED {
            list.remove(0);
        }
        list.push(conversation);
        Ok(Some(history))
    }
}

impl PooledConversation {
    /// Records the model's output.
    pub(super) fn answered(&mut self, message: Message, id: Option<String>) {
        self.last_output = Some((message, id));
    }
}

fn is_same((said, said_id): (&Message, Option<&str>), (next, id): (&Message, Option<&str>)) -> bool {
    let same_id = said_id.is_some() && said_id == id;
    said.role == next.role && (same_id || said.parts == next.parts && said.tool_calls == next.tool_calls)
}

fn add(ranges: &mut Vec<Range<usize>>, next: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == next.start => last.end = next.end,
        _ => ranges.push(next),
    }
}

/// The part of the second ranges after the first; `None` if the second do not begin with the first.
fn after(first: &[Range<usize>], second: &[Range<usize>]) -> Option<Vec<Range<usize>>> {
    let Some((last, before)) = first.split_last() else {
        return Some(second.to_vec());
    };
    let rest = second.strip_prefix(before)?;
    let (next, rest) = rest.split_first()?;
    if next.start != last.start || next.end < last.end {
        return None;
    }
    let mut out = Vec::with_capacity(rest.len() + 1);
    if next.end > last.end {
        out.push(last.end..next.end);
    }
    out.extend(rest.iter().cloned());
    Some(out)
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of places")]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_goes_on_where_it_begins_as_before() {
        assert_eq!(after(&[0..2], &[0..4]), Some(vec![2..4]));
        assert_eq!(after(&[0..2, 6..8], &[0..2, 6..9, 3..4]), Some(vec![8..9, 3..4]));
        assert_eq!(after(&[0..2], &[0..2, 6..8]), Some(vec![6..8]));
        assert_eq!(after(&[0..2], &[0..2]), Some(Vec::new()));
        assert_eq!(after(&[0..2], &[0..1]), None);
        assert_eq!(after(&[0..2, 3..4], &[0..4]), None);
    }
}
