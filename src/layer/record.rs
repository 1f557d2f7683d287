//! What was recorded on one span, until it closes.

use std::borrow::Cow;
use std::time::SystemTime;

use opentelemetry::trace::{Event, Status};
use opentelemetry::{Key, KeyValue, Value};

use super::panics::Panic;
use super::plan::Plan;
use crate::hash::HashMap;
use crate::operation::Kind;

/// The values of one span.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) plan: &'static Plan,
    /// By the slot of the field.
    pub(super) values: Vec<Option<Value>>,
    /// The slots that have values, of the first 64.
    pub(super) present: u64,
    /// The slots of the values that are the `Debug` form of something, of the first 64.
    pub(super) debug: u64,
    pub(super) more: Option<Box<More>>,
    /// The span was opened while its thread was already unwinding: an exit then is no new panic.
    pub(super) opened_in_panic: bool,
}

/// Memory for the values of the next spans of this thread.
mod spare {
    use std::cell::RefCell;

    use opentelemetry::Value;

    /// So many vectors are kept, of at most so many values.
    const KEPT: usize = 8;
    const LARGEST: usize = 64;

    thread_local! {
        static SPARE: RefCell<Vec<Vec<Option<Value>>>> = const { RefCell::new(Vec::new()) };
    }

    /// An empty vector, with memory if there is a spare one.
    pub(super) fn take() -> Vec<Option<Value>> {
        let spare = SPARE.try_with(|spare| spare.try_borrow_mut().ok()?.pop());
        spare.ok().flatten().unwrap_or_default()
    }

    /// Keeps the memory of an empty vector.
    pub(super) fn give(values: Vec<Option<Value>>) {
        if !values.is_empty() || values.capacity() > LARGEST {
            return;
        }
        // The thread may be at its end: then nobody needs it.
        let _ = SPARE.try_with(|spare| {
            if let Ok(mut spare) = spare.try_borrow_mut()
                && spare.len() < KEPT
            {
                spare.push(values);
            }
        });
    }
}

/// So many attributes are looked through for a key.
const LINEAR_SEARCH_MAX: usize = 32;

/// What fields cannot express. Most spans have none of it: it is no part of the record, so that records stay small.
#[derive(Debug, Default, Clone)]
pub(super) struct More {
    pub(super) outcome: SpanOutcome,
    pub(super) events: Vec<Event>,
    /// The event that `#[instrument(ret)]` makes of the returned value.
    pub(super) returned: Option<Event>,
    pub(super) panic: Option<Panic>,
    pub(super) kind: Option<Kind>,
    pub(super) attributes: Vec<KeyValue>,
    /// The places of the first `indexed` attributes, once there are many.
    places: HashMap<Key, usize>,
    indexed: usize,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) tools: usize,
    pub(super) documents: usize,
    pub(super) first_token: bool,
}

/// How the operation ended, as far as it was recorded.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) enum SpanOutcome {
    /// Nothing was recorded.
    #[default]
    Unset,
    /// It succeeded.
    Ok,
    /// It failed, with the reason; empty where none was recorded.
    Error(Cow<'static, str>),
}

impl SpanOutcome {
    /// Records a failure. The last reason that is not empty wins.
    pub(super) fn fail(&mut self, message: impl Into<Cow<'static, str>>) {
        let message = message.into();
        if !message.is_empty() || !matches!(self, Self::Error(_)) {
            *self = Self::Error(message);
        }
    }

    pub(super) fn into_status(self) -> Option<Status> {
        match self {
            Self::Unset => None,
            Self::Ok => Some(Status::Ok),
            Self::Error(description) => Some(Status::Error { description }),
        }
    }
}

impl Record {
    pub(super) fn new(plan: &'static Plan) -> Self {
        Self {
            plan,
            values: Vec::new(),
            present: 0,
            debug: 0,
            more: None,
            opened_in_panic: std::thread::panicking(),
        }
    }

    /// Nothing is known of the span that would have to be written.
    pub(super) fn is_idle(&self) -> bool {
        self.values.is_empty() && self.more.is_none() && !self.plan.known_target
    }

    /// Keeps the value of a declared field; the last one wins.
    pub(super) fn set(&mut self, field: usize, value: Value) {
        if let Some(field) = self.plan.fields.get(field) {
            self.keep(field.slot, value);
        }
    }

    /// Keeps the value of this slot.
    pub(super) fn keep(&mut self, slot: usize, value: Value) {
        if self.values.is_empty() {
            self.values = spare::take();
            self.values.resize_with(self.plan.fields.len(), || None);
        }
        let bit = bit_of(slot);
        self.present |= bit;
        self.debug &= !bit;
        match self.values.get_mut(slot) {
            Some(Some(before)) => *before = value,
            Some(place @ None) => *place = Some(value),
            None => {}
        }
    }

    /// Keeps the `Debug` form of a declared field's value.
    pub(super) fn set_debug(&mut self, field: usize, text: String) {
        self.set(field, text.into());
        if let Some(field) = self.plan.fields.get(field) {
            self.debug |= bit_of(field.slot);
        }
    }

    /// Takes what was recorded later; it wins.
    pub(super) fn take_changes(&mut self, mut changes: Self) {
        self.present |= changes.present;
        if self.values.is_empty() {
            (self.values, self.debug) = (changes.values, changes.debug);
        } else {
            for (slot, (have, new)) in self.values.iter_mut().zip(changes.values.drain(..)).enumerate() {
                if new.is_some() {
                    *have = new;
                    let bit = bit_of(slot);
                    self.debug = self.debug & !bit | changes.debug & bit;
                }
            }
            spare::give(changes.values);
        }
        if let Some(changes) = changes.more {
            let more = self.more();
            more.events.extend(changes.events);
            if changes.outcome != SpanOutcome::Unset {
                more.outcome = changes.outcome;
            }
        }
    }

    /// Leaves the memory of the values to a span that opens later.
    pub(super) fn recycle(mut self) {
        self.values.clear();
        spare::give(self.values);
    }

    pub(super) fn more(&mut self) -> &mut More {
        self.more.get_or_insert_with(Box::default)
    }

    /// Keeps a value under any key; a declared field of this name gives way.
    pub(super) fn put(&mut self, key: Key, value: Value) {
        let declared = self.plan.fields.iter().position(|field| field.name == key.as_str());
        match declared {
            Some(field) => self.set(field, value),
            None => self.more().put(key, value),
        }
    }

    pub(super) fn event(&mut self, name: impl Into<Cow<'static, str>>, attributes: Vec<KeyValue>) {
        self.more().events.push(Event::new(name, SystemTime::now(), attributes, 0));
    }

    /// A panic unwound through the span. An earlier one was handled, or this one could not have come.
    pub(super) fn panicked(&mut self, panic: Panic) {
        if let Some(earlier) = self.more().panic.replace(panic) {
            self.more().handled_panic(earlier);
        }
    }

    /// The span was entered, and its thread does not unwind.
    pub(super) fn entered(&mut self) {
        if let Some(panic) = self.more.as_mut().and_then(|more| more.panic.as_mut()) {
            panic.entered();
            self.opened_in_panic = false;
        }
    }

    /// The span was left, and its thread does not unwind.
    pub(super) fn exited(&mut self) {
        if let Some(panic) = self.more.as_mut().and_then(|more| more.panic.as_mut()) {
            panic.exited();
            self.opened_in_panic = false;
        }
    }

    /// Whether the value in this slot is the `Debug` form of something.
    pub(super) fn is_debug(&self, slot: usize) -> bool {
        self.debug & bit_of(slot) != 0
    }

    /// An exception event and the status that goes with it.
    pub(super) fn exception(&mut self, class: Option<String>, message: String, stacktrace: Option<String>) {
        let mut attributes = Vec::with_capacity(3);
        if let Some(class) = class {
            attributes.push(KeyValue::new("exception.type", class));
        }
        attributes.push(KeyValue::new("exception.message", message.clone()));
        if let Some(stacktrace) = stacktrace {
            attributes.push(KeyValue::new("exception.stacktrace", stacktrace));
        }
        self.event("exception", attributes);
        self.more().outcome.fail(message);
    }
}

/// The bit of a slot; 0 beyond the 64th.
fn bit_of(slot: usize) -> u64 {
    if slot < 64 { 1 << slot } else { 0 }
}

impl More {
    /// The panic becomes the span's failure, or an event if the span went on.
    pub(super) fn settle_panic(&mut self) {
        let Some(panic) = self.panic.take() else { return };
        if panic.was_handled() {
            return self.handled_panic(panic);
        }
        let attributes = vec![
            KeyValue::new("exception.type", "panic"),
            KeyValue::new("exception.message", panic.message.clone()),
        ];
        self.events.push(Event::new("exception", panic.time, attributes, 0));
        self.outcome.fail(panic.message);
    }

    fn handled_panic(&mut self, panic: Panic) {
        let attributes = vec![KeyValue::new("message", panic.message)];
        self.events.push(Event::new("panic", panic.time, attributes, 0));
    }

    /// Keeps a value; the last one wins.
    pub(super) fn put(&mut self, key: Key, value: Value) {
        let known = self.place(&key);
        match known.and_then(|place| self.attributes.get_mut(place)) {
            Some(have) => have.value = value,
            None => self.attributes.push(KeyValue::new(key, value)),
        }
    }

    /// The place of an attribute: the first one of this key.
    fn place(&mut self, key: &Key) -> Option<usize> {
        if self.attributes.len() <= LINEAR_SEARCH_MAX {
            return self.attributes.iter().position(|have| have.key == *key);
        }
        for (place, pair) in self.attributes.iter().enumerate().skip(self.indexed) {
            self.places.entry(pair.key.clone()).or_insert(place);
        }
        self.indexed = self.attributes.len();
        self.places.get(key).copied()
    }

    /// Takes out the attributes whose keys begin like this.
    pub(super) fn forget(&mut self, prefix: &str) {
        self.attributes.retain(|pair| !pair.key.as_str().starts_with(prefix));
        self.places.clear();
        self.indexed = 0;
    }
}
