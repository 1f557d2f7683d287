//! Stage "continuations": takes the readings, gives each span that continues another one's conversation its whole input.
//!
//! It comes right after the reading, so that no later stage knows such spans. The spans of one conversation share its messages. A
//! span can only continue one that began before it, so there are no cycles, whatever the spans contain.

use std::sync::Arc;

use super::id::ReadingId;
use super::readings::Readings;
use crate::dialect::Continuation;
use crate::hash::HashMap;
use crate::operation::messages::SharedMessages;
use crate::operation::{Message, Messages};
use crate::span::SpanId;
use crate::trace::{Finding, FindingKind};

/// Several spans may continue one span in different ways: the messages before are copied then. All copies of a trace may take
/// this many bytes, and as many as its spans contain.
const COPIES: usize = 4 << 20;

/// Gives each reading its whole input.
pub(super) fn resolve(readings: &mut Readings) {
    let continuations = readings.continuations();
    if continuations.is_empty() {
        return;
    }
    let ids: HashMap<SpanId, ReadingId> = readings.by_span();
    let mut lists = Lists::default();
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

/// What went into a reading: the beginning of a list.
#[derive(Debug, Clone, Copy)]
struct Place {
    list: usize,
    count: usize,
    /// How many of these are another reading's.
    continued: usize,
    /// How many messages of its answer follow in the list.
    answered: usize,
}

/// The conversations that spans go on with.
#[derive(Debug, Default)]
struct Lists {
    lists: Vec<SharedMessages>,
    places: HashMap<ReadingId, Place>,
    /// Bytes of the messages of these conversations, and of their copies.
    original: usize,
    copied: usize,
}

impl Lists {
    /// Takes a reading that goes on with the first messages of another one's conversation. An error is what is wrong with that.
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

    /// What went into a span that another goes on with.
    fn place(&mut self, readings: &mut Readings, id: ReadingId) -> Place {
        if let Some(place) = self.places.get(&id) {
            return *place;
        }
        let messages = readings.get_mut(id).and_then(|node| node.operation.input_messages.take());
        let messages = messages.map(Messages::into_vec).unwrap_or_default();
        let place = Place {
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

    /// Puts an answer and what is new behind the first messages of a conversation. What is new comes back if that takes too much.
    fn put(&mut self, base: Place, kept: usize, answer: &[Message], own: Vec<Message>) -> Result<Place, Vec<Message>> {
        let given = kept.min(base.count);
        let new = Place {
            list: base.list,
            count: kept + own.len(),
            continued: kept,
            answered: 0,
        };
        // An answer that an earlier span put there needs no look.
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
        if copied > COPIES.saturating_add(self.original) {
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
        Ok(Place { list, ..new })
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

/// A model's output in the form that it has in the input of the next call.
fn as_input(message: &Message) -> Message {
    Message {
        finish_reason: None,
        choice: 0,
        ..message.clone()
    }
}
