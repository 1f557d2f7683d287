//! Stage "continuations": takes the readings and gives each span that continues another one's conversation its whole input.
//!
//! This runs right after the reading, so that no later stage has to handle such spans. The spans of one conversation share its
//! messages. A span can only continue one that began before it, which rules out cycles, whatever the spans contain.

use std::sync::Arc;

use super::id::ReadingId;
use super::readings::Readings;
use crate::dialect::Continuation;
use crate::hash::HashMap;
use crate::operation::messages::SharedMessages;
use crate::operation::{Message, Messages};
use crate::span::SpanId;
use crate::trace::{Finding, FindingKind};

/// Base limit on copied messages of a trace, in bytes; the size of its messages is allowed on top. Messages are copied where several
/// spans continue one span in different ways.
const BASE_COPY_LIMIT: usize = 4 << 20;

/// Gives each reading its whole input.
pub(super) fn resolve(readings: &mut Readings) {
    let continuations = readings.continuations();
    if continuations.is_empty() {
        return;
    }
    let ids: HashMap<SpanId, ReadingId> = readings.by_span();
    let mut lists = SharedLists::default();
    for (id, continuation) in continuations {
        let base = ids.get(&continuation.span_id).copied();
        if let Err(what) = lists.add(readings, id, base, continuation) {
            let detail = format!("it goes on with the conversation of span {}, {what}", continuation.span_id);
            let span = readings.get(id).map(|node| node.span_id);
            let finding = Finding::new(span, FindingKind::UnresolvedContinuation, detail);
            readings.findings.push(finding);
        }
    }
    lists.share(readings);
}

/// The input of a reading: the beginning of a list.
#[derive(Debug, Clone, Copy)]
struct InputPrefix {
    list: usize,
    count: usize,
    /// How many of these belong to another reading.
    continued: usize,
    /// How many messages of the reading's answer follow in the list.
    answered: usize,
}

/// The conversations that spans continue.
#[derive(Debug, Default)]
struct SharedLists {
    lists: Vec<SharedMessages>,
    places: HashMap<ReadingId, InputPrefix>,
    /// Bytes of these conversations' messages, and of copies.
    original: usize,
    copied: usize,
}

impl SharedLists {
    /// Adds a reading that continues the first messages of another one's conversation. The error says why it cannot.
    fn add(&mut self, readings: &mut Readings, id: ReadingId, base: Option<ReadingId>, goes_on: Continuation) -> Result<(), String> {
        let base = base.ok_or("which is not among the spans: only its own messages are known")?;
        if base >= id {
            return Err("which did not begin before it: only its own messages are used".to_owned());
        }
        let own = readings.get_mut(id).and_then(|node| node.operation.input_messages.take());
        let own = own.map(Messages::into_vec).unwrap_or_default();
        let place = self.place(readings, base);
        let answer = readings.get(base).and_then(|node| node.operation.output_messages.as_deref());
        let answer = answer.unwrap_or_default();
        let there = place.count + answer.len();
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let wanted = match (goes_on.messages, goes_on.without) {
            (Some(wanted), _) => number(wanted),
            (None, Some(without)) => place.count.saturating_sub(number(without)),
            (None, None) => there,
        };
        let kept = wanted.min(there);
        let answer = answer.get(..kept.saturating_sub(place.count)).unwrap_or_default();
        match self.put(place, kept, answer, own) {
            Ok(new) => {
                if let Some(base) = self.places.get_mut(&base).filter(|base| base.list == new.list) {
                    base.answered = base.answered.max(answer.len());
                }
                self.places.insert(id, new);
            }
            Err(own) => {
                if let Some(node) = readings.get_mut(id) {
                    node.operation.input_messages = Some(own.into());
                }
                return Err("as do others in other ways, which takes too much memory: only its own messages are used".to_owned());
            }
        }
        match wanted > there {
            true => Err(format!("of which {wanted} messages should be known, but {there} are")),
            false => Ok(()),
        }
    }

    /// The input of a span that another one continues.
    fn place(&mut self, readings: &mut Readings, id: ReadingId) -> InputPrefix {
        if let Some(place) = self.places.get(&id) {
            return *place;
        }
        let messages = readings.get_mut(id).and_then(|node| node.operation.input_messages.take());
        let messages = messages.map(Messages::into_vec).unwrap_or_default();
        let place = InputPrefix {
            list: self.lists.len(),
            count: messages.len(),
            continued: 0,
            answered: 0,
        };
        let mut list = SharedMessages::new(place.list);
        self.original += messages.into_iter().map(|message| list.push(message)).sum::<usize>();
        self.lists.push(list);
        self.places.insert(id, place);
        place
    }

    /// Appends an answer and new messages to the first messages of a conversation. Returns the new messages if that would copy too much.
    fn put(&mut self, base: InputPrefix, kept: usize, answer: &[Message], own: Vec<Message>) -> Result<InputPrefix, Vec<Message>> {
        let given = kept.min(base.count);
        let new = InputPrefix {
            list: base.list,
            count: kept + own.len(),
            continued: kept,
            answered: 0,
        };
        // An answer that an earlier span appended need not be compared.
        let known = base.answered.min(answer.len());
        let Some(list) = self.lists.get(base.list) else { return Err(own) };
        let behind = list.messages().get(given + known..).unwrap_or_default();
        let answer: Vec<Message> = answer.iter().skip(known).map(as_input).collect();
        let is_there = behind.iter().zip(answer.iter().chain(&own)).all(|(one, other)| one == other);
        if is_there {
            let skipped = behind.len();
            self.extend(base.list, answer.into_iter().chain(own).skip(skipped));
            return Ok(new);
        }
        let before = given + known;
        let copied = self.copied.saturating_add(list.size(before));
        if copied > BASE_COPY_LIMIT.saturating_add(self.original) {
            return Err(own);
        }
        self.copied = copied;
        let mut copy = SharedMessages::new(self.lists.len());
        let messages = list.messages().iter().take(before).cloned();
        for message in messages {
            copy.push(message);
        }
        self.lists.push(copy);
        let list = self.lists.len() - 1;
        self.extend(list, answer.into_iter().chain(own));
        Ok(InputPrefix { list, ..new })
    }

    fn extend(&mut self, list: usize, messages: impl Iterator<Item = Message>) {
        if let Some(list) = self.lists.get_mut(list) {
            self.original += messages.map(|message| list.push(message)).sum::<usize>();
        }
    }

    /// Gives each reading its messages.
    fn share(self, readings: &mut Readings) {
        let ended = self.lists.into_iter().map(|mut list| {
            list.end();
            Arc::new(list)
        });
        let lists: Vec<Arc<SharedMessages>> = ended.collect();
        for (id, place) in self.places {
            if let (Some(node), Some(list)) = (readings.get_mut(id), lists.get(place.list)) {
                node.operation.input_messages = Some(Messages::shared(list, place.count, place.continued));
            }
        }
    }
}

/// A model's output as it appears in the input of the next call.
fn as_input(message: &Message) -> Message {
    Message {
        finish_reason: None,
        choice: 0,
        ..message.clone()
    }
}
