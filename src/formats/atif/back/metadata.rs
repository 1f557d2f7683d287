//! Reads a step's metadata: its invocation, its metrics, other facts.

use serde_json::{Map, Value};

use super::super::table::{METRICS, MORE_METRICS};
use super::word;
use crate::formats::back::{At, Result, read_facts, read_record, seconds};
use crate::operation::{Kind, Operation};
use crate::span::UnixNanos;

/// An operation's ids, names and times, from NeMo's keys `ancestry` and `invocation`.
#[derive(Default)]
pub(super) struct Invocation {
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) parent_name: Option<String>,
    pub(super) start: Option<UnixNanos>,
    pub(super) end: Option<UnixNanos>,
    pub(super) running: bool,
}

impl Invocation {
    pub(super) fn name(&self) -> Option<String> {
        self.name.clone()
    }

    /// Whether the operation has a recorded id, and it is this one.
    pub(super) fn is(&self, id: Option<&str>) -> bool {
        self.id.is_some() && self.id.as_deref() == id
    }
}

/// Reads token counts and cost of a model call.
pub(super) fn metrics(at: &At<'_>, operation: &mut Operation) -> Result<()> {
    let Some(metrics) = at.some("metrics") else { return Ok(()) };
    metrics.object()?;
    if let Some(more) = metrics.some("extra") {
        more.object()?;
        read_record(&more, MORE_METRICS.fields, operation)?;
    }
    read_record(&metrics, METRICS.fields, operation)
}

/// Moves the facts of a step, a call or a result into an operation; those without a field go to its metadata.
pub(super) fn take(mut extra: Map<String, Value>, operation: &mut Operation) {
    for key in ["observed", "evidence", "role", "branch", "content_captured", "content_unread"] {
        extra.shift_remove(key);
    }
    if let Some(kind) = word(&extra, "kind").as_deref().and_then(Kind::from_name) {
        operation.kind = kind;
        extra.shift_remove("kind");
    }
    if extra.get("name").and_then(Value::as_str).is_some() {
        extra.shift_remove("name");
    }
    read_facts(&mut extra, operation);
    operation.metadata.extend(extra);
}

/// Takes ids and times out of `extra`; an operation without times ended at the step's time.
pub(super) fn invocation(extra: &mut Map<String, Value>, stamp: Option<UnixNanos>) -> Invocation {
    let mut group = |key: &str| match extra.get(key) {
        Some(Value::Object(_)) => extra.shift_remove(key).and_then(|value| value.as_object().cloned()),
        _ => None,
    };
    let (ancestry, times) = (group("ancestry").unwrap_or_default(), group("invocation").unwrap_or_default());
    let at = |key: &str| times.get(key).and_then(Value::as_f64).and_then(seconds);
    let (start, end) = (at("start_timestamp"), at("end_timestamp"));
    let running = word(&times, "status").as_deref() == Some("running");
    Invocation {
        id: word(&ancestry, "function_id"),
        name: word(&ancestry, "function_name"),
        parent: word(&ancestry, "parent_id"),
        parent_name: word(&ancestry, "parent_name"),
        start: start.or(stamp.filter(|_| running)),
        end: end.or(stamp.filter(|_| !running)),
        running,
    }
}
