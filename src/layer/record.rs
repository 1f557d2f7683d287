//! Values recorded on a span until it closes.

use std::borrow::Cow;
use std::time::SystemTime;

use opentelemetry::trace::{Event, Status};
use opentelemetry::{Key, KeyValue, Value};

use super::panics::Panic;
use super::plan::Plan;
use crate::hash::HashMap;
use crate::operation::Kind;

/// The recorded values of a span.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) plan: &'static Plan,
    /// Values by the field's slot.
    pub(super) values: Vec<Option<Value>>,
    /// Bit set of the slots with a value, for the first 64.
    pub(super) present: u64,
    /// Bit set of the slots whose value is a `Debug` form, for the first 64.
    pub(super) debug: u64,
    pub(super) more: Option<Box<More>>,
    /// Whether the span was opened while its thread was already unwinding; then an exit is not a new panic.
    pub(super) opened_in_panic: bool,
}

/// Recycles memory for the values of this thread's next spans.
mod spare {
    use std::cell::RefCell;

    use opentelemetry::Value;

    /// Maximum number of vectors kept, and their maximum capacity.
    const MAX_SPARE: usize = 8;
    const MAX_CAPACITY: usize = 64;

    thread_local! {
        static SPARE: RefCell<Vec<Vec<Option<Value>>>> = const { RefCell::new(Vec::new()) };
    }

    /// An empty vector, reusing spare memory if possible.
    pub(super) fn take() -> Vec<Option<Value>> {
        let spare = SPARE.try_with(|spare| spare.try_borrow_mut().ok()?.pop());
        spare.ok().flatten().unwrap_or_default()
    }

    /// Keeps the memory of an empty vector.
    pub(super) fn give(values: Vec<Option<Value>>) {
        if !values.is_empty() || values.capacity() > MAX_CAPACITY {
            return;
        }
        // Fails while the thread ends, when no one needs the memory.
        let _ = SPARE.try_with(|spare| {
            if let Ok(mut spare) = spare.try_borrow_mut()
                && spare.len() < MAX_SPARE
            {
                spare.push(values);
            }
        });
    }
}

/// Up to this many attributes, keys are searched linearly.
const LINEAR_SEARCH_MAX: usize = 32;

/// Data that fields cannot express. Kept outside the record, as most spans have none and records should stay small.
#[derive(Debug, Default, Clone)]
pub(super) struct More {
    pub(super) outcome: SpanOutcome,
    pub(super) events: Vec<Event>,
    /// The event in which `#[instrument(ret)]` records the return value.
    pub(super) returned: Option<Event>,
    pub(super) panic: Option<Panic>,
    pub(super) kind: Option<Kind>,
    pub(super) attributes: Vec<KeyValue>,
    /// Index of the first `indexed` attributes, once there are many.
    places: HashMap<Key, usize>,
    indexed: usize,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) tools: usize,
    pub(super) documents: usize,
    pub(super) first_token: bool,
}

/// The recorded outcome of the operation.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) enum SpanOutcome {
    /// Nothing was recorded.
    #[default]
    Unset,
    /// It succeeded.
    Ok,
    /// It failed, with a reason or the empty text.
    Error(Cow<'static, str>),
}

impl SpanOutcome {
    /// Records a failure. The last non-empty reason wins.
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

    /// Whether nothing was recorded that must be written.
    pub(super) fn is_idle(&self) -> bool {
        self.values.is_empty() && self.more.is_none() && !self.plan.known_target
    }

    /// Stores the value of a declared field; the last one wins.
    pub(super) fn set(&mut self, field: usize, value: Value) {
        if let Some(field) = self.plan.fields.get(field) {
            self.keep(field.slot, value);
        }
    }

    /// Stores a value in this slot.
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

    /// Stores the `Debug` form of a declared field's value.
    pub(super) fn set_debug(&mut self, field: usize, text: String) {
        self.set(field, text.into());
        if let Some(field) = self.plan.fields.get(field) {
            self.debug |= bit_of(field.slot);
        }
    }

    /// Merges later values, which win.
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

    /// Leaves the memory of the values for a later span.
    pub(super) fn recycle(mut self) {
        self.values.clear();
        spare::give(self.values);
    }

    pub(super) fn more(&mut self) -> &mut More {
        self.more.get_or_insert_with(Box::default)
    }

    /// Stores a value under any key; replaces the value of a declared field with that name.
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

    /// Records that a panic unwound through the span. Any earlier one was handled, or this one could not have happened.
    pub(super) fn panicked(&mut self, panic: Panic) {
        if let Some(earlier) = self.more().panic.replace(panic) {
            self.more().handled_panic(earlier);
        }
    }

    /// The span was entered on a thread that is not unwinding.
    pub(super) fn entered(&mut self) {
        if let Some(panic) = self.more.as_mut().and_then(|more| more.panic.as_mut()) {
            panic.entered();
            self.opened_in_panic = false;
        }
    }

    /// The span was exited on a thread that is not unwinding.
    pub(super) fn exited(&mut self) {
        if let Some(panic) = self.more.as_mut().and_then(|more| more.panic.as_mut()) {
            panic.exited();
            self.opened_in_panic = false;
        }
    }

    /// Whether the value in this slot is a `Debug` form.
    pub(super) fn is_debug(&self, slot: usize) -> bool {
        self.debug & bit_of(slot) != 0
    }

    /// Records an exception event and the matching status.
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

/// The bit of a slot; 0 from the 65th on.
fn bit_of(slot: usize) -> u64 {
    if slot < 64 { 1 << slot } else { 0 }
}

impl More {
    /// Turns the panic into the span's failure, or into an event if the span continued.
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

    /// Stores a value; the last one wins.
    pub(super) fn put(&mut self, key: Key, value: Value) {
        let known = self.place(&key);
        match known.and_then(|place| self.attributes.get_mut(place)) {
            Some(have) => have.value = value,
            None => self.attributes.push(KeyValue::new(key, value)),
        }
    }

    /// The index of the first attribute with this key.
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

    /// Removes the attributes whose keys have this prefix.
    pub(super) fn forget(&mut self, prefix: &str) {
        self.attributes.retain(|pair| !pair.key.as_str().starts_with(prefix));
        self.places.clear();
        self.indexed = 0;
    }
}
