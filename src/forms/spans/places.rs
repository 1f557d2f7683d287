//! The fields of a span, apart from its attributes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::forms::source::{Kept, Path, Source};

/// The fields of the span.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Places {
    /// 16 bytes as hexadecimal digits, or any text, from which an id is derived.
    pub(super) trace_id: Source,
    /// 8 bytes as hexadecimal digits, or any text.
    pub(super) span_id: Source,
    /// The id of the parent span.
    pub(super) parent_span_id: Option<Source>,
    /// The span's name.
    pub(super) name: Source,
    /// The start time: ISO 8601, or seconds, milliseconds, microseconds or nanoseconds since 1970.
    pub(super) start_time: Source,
    /// The end time, in the same formats.
    pub(super) end_time: Option<Source>,
    /// The error message.
    pub(super) message: Option<Source>,
    /// An object with the resource's attributes.
    pub(super) resource: Option<Source>,
    /// An object with the scope's `name` and `version`, if records have their own scope.
    pub(super) scope: Option<Source>,
}

/// A span with field names that every reader of spans knows.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    pub(super) trace_id: Option<Value>,
    pub(super) span_id: Option<Value>,
    pub(super) parent_span_id: Option<Value>,
    pub(super) name: Value,
    pub(super) start_time: Option<Value>,
    pub(super) end_time: Option<Value>,
    pub(super) status: Option<Value>,
    pub(super) scope: Value,
    pub(super) resource: Value,
    pub(super) attributes: Map<String, Value>,
    pub(super) events: Vec<Value>,
}

impl Places {
    /// Converts a record to a span without attributes.
    pub(super) fn written(&self, scope: &str, around: &[&Value]) -> Record {
        let of = |source: &Source| source.of(around, &Kept::new()).map(Cow::into_owned);
        let option = |source: &Option<Source>| source.as_ref().and_then(of);
        let name = of(&self.name).filter(|name| name.as_str().is_some_and(|name| !name.is_empty()));
        Record {
            trace_id: of(&self.trace_id),
            span_id: of(&self.span_id),
            parent_span_id: option(&self.parent_span_id),
            name: name.unwrap_or_else(|| scope.into()),
            start_time: of(&self.start_time),
            end_time: option(&self.end_time),
            status: None,
            scope: object(&self.scope, around).cloned().unwrap_or_else(|| json!({ "name": scope })),
            resource: json!({"attributes": object(&self.resource, around)}),
            attributes: Map::new(),
            events: Vec::new(),
        }
    }

    /// The paths that the fields read from a record.
    pub(super) fn paths<'f>(&'f self, around: &[&Value]) -> impl Iterator<Item = &'f Path> {
        let needed = [&self.trace_id, &self.span_id, &self.name, &self.start_time];
        let others = [&self.parent_span_id, &self.end_time, &self.message];
        let objects = [&self.resource, &self.scope]
            .into_iter()
            .filter(|source| object(source, around).is_some());
        let sources = others.into_iter().chain(objects.collect::<Vec<_>>()).flatten();
        needed.into_iter().chain(sources).flat_map(Source::paths)
    }
}

fn object<'v>(source: &Option<Source>, around: &[&'v Value]) -> Option<&'v Value> {
    source.as_ref()?.place(around).filter(|value| value.is_object())
}
