//! Reads typed values from `tracing` fields: integers and floats stay numbers.

use std::cell::RefCell;
use std::error::Error;
use std::fmt::{self, Write as _};

use opentelemetry::{KeyValue, Value};
use tracing::field::{Field, Visit};

use super::debug_form;
use super::names;
use super::parameters::Parameters;
use super::record::Record;
use super::role::Role;
use super::words::kind_of_word;

/// Converts an integer. Beyond 64 bits it becomes text with its decimal digits, as OpenTelemetry specifies.
pub(super) fn integer(value: impl TryInto<i64> + fmt::Display + Copy) -> Value {
    value
        .try_into()
        .map_or_else(|_| Value::String(value.to_string().into()), Value::I64)
}

/// Formats a value in a reused buffer.
fn format_debug(value: &dyn fmt::Debug) -> String {
    thread_local! {
        static BUFFER: RefCell<String> = const { RefCell::new(String::new()) };
    }
    let formatted = BUFFER.try_with(|buffer| {
        let mut buffer = buffer.try_borrow_mut().ok()?;
        buffer.clear();
        let _ = write!(buffer, "{value:?}");
        let text = buffer.as_str().to_owned();
        buffer.shrink_to(16 * 1024);
        Some(text)
    });
    // The buffer is in use if formatting a value records another span, and gone while the thread ends.
    formatted.ok().flatten().unwrap_or_else(|| format!("{value:?}"))
}

/// The causes of an error, one per line.
pub(super) fn causes(error: &(dyn Error + 'static)) -> Option<String> {
    let mut out = String::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let _ = writeln!(out, "caused by: {cause}");
        next = cause.source();
    }
    (!out.is_empty()).then_some(out)
}

/// Records the fields of a span.
#[derive(Debug)]
pub(super) struct Fields<'a>(pub(super) &'a mut Record);

impl Visit for Fields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.set(field.index(), Value::F64(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.set(field.index(), Value::I64(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.set(field.index(), integer(value));
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.0.set(field.index(), integer(value));
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.0.set(field.index(), integer(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.set(field.index(), Value::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let Some(plan) = self.0.plan.fields.get(field.index()) else {
            return;
        };
        // The words for kinds are few and static, so they need no copy.
        let kind = match plan.role {
            Role::Kind | Role::StepType => kind_of_word(value),
            _ => None,
        };
        let value = match kind {
            Some(kind) => kind.name().into(),
            None if plan.names => names::shared(value).into(),
            None => value.to_owned().into(),
        };
        let slot = plan.slot;
        self.0.keep(slot, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let message = value.to_string();
        self.0.exception(None, message.clone(), causes(value));
        self.0.set(field.index(), message.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format_debug(value);
        let plan = self.0.plan.fields.get(field.index());
        // Parameters become JSON values, which are parsed when written.
        if plan.is_some_and(Parameters::may_be) {
            self.0.set_debug(field.index(), text);
        } else if let Some(text) = debug_form::field_text(text) {
            self.0.set(field.index(), text.into());
        }
    }
}

/// The field in which `#[instrument(ret)]` records the return value. As it is a keyword, no other field can have this name.
pub(super) const RETURN: &str = "return";

/// Collects the fields of an event.
#[derive(Debug, Default)]
pub(super) struct EventFields {
    pub(super) message: Option<String>,
    pub(super) error: Option<String>,
    pub(super) causes: Option<String>,
    /// Whether a field `return` exists: `#[instrument(ret)]` created the event when the function returned.
    pub(super) is_return: bool,
    pub(super) attributes: Vec<KeyValue>,
}

impl EventFields {
    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), &value) {
            ("message", Value::String(text)) => self.message = Some(text.as_str().to_owned()),
            ("error", Value::String(text)) => self.error = Some(text.as_str().to_owned()),
            (name, _) if name.starts_with("log.") => {}
            (RETURN, _) => {
                self.is_return = true;
                self.attributes.push(KeyValue::new(RETURN, value));
            }
            (name, _) => self.attributes.push(KeyValue::new(name, value)),
        }
    }
}

impl Visit for EventFields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, Value::F64(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, Value::I64(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, integer(value));
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.put(field, integer(value));
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.put(field, integer(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, Value::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.to_owned().into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.causes = causes(value);
        self.put(field, value.to_string().into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format_debug(value);
        // A message is prose. A return value is clearer in its own form, such as `Err(..)` or `None`.
        let said = match field.name() {
            "message" | RETURN => Some(text),
            _ => debug_form::field_text(text),
        };
        if let Some(text) = said {
            self.put(field, text.into());
        }
    }
}
