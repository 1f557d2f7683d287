//! Writes spans and log records as OTLP/JSON, grouped by resource and scope in the order of first appearance.

#[cfg(feature = "server")]
use std::io;
use std::sync::Arc;

use base64::Engine as _;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;

use crate::span::groups::{Groups, OfScope, group_by};
use crate::span::{AnyValue, Attributes, Event, Link, LogRecord, Resource, Scope, Span};

/// A traces message with these spans.
#[must_use]
pub fn spans(spans: &[Span]) -> Value {
    let message = Message {
        spans: Some(spans),
        ..Message::default()
    };
    serde_json::to_value(message).unwrap_or_default()
}

/// A logs message with these records.
#[must_use]
pub fn log_records(records: &[LogRecord]) -> Value {
    let message = Message {
        records: Some(records),
        ..Message::default()
    };
    serde_json::to_value(message).unwrap_or_default()
}

/// Writes one object with a traces message, a logs message, and `damaged`, which lists unreadable parts of the trace.
///
/// # Errors
///
/// `out` cannot be written.
#[cfg(feature = "server")]
pub(crate) fn write_trace(spans: &[Span], records: &[LogRecord], damaged: &[String], out: impl io::Write) -> io::Result<()> {
    let message = Message {
        spans: Some(spans),
        records: Some(records),
        damaged: Some(damaged),
    };
    serde_json::to_writer(out, &message).map_err(io::Error::from)
}

#[derive(Default)]
struct Message<'a> {
    spans: Option<&'a [Span]>,
    records: Option<&'a [LogRecord]>,
    damaged: Option<&'a [String]>,
}

impl Serialize for Message<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(spans) = self.spans {
            let groups = group(spans, |span| (&span.resource, &span.scope));
            map.serialize_entry("resourceSpans", &groups.iter().map(OfResource).collect::<Vec<_>>())?;
        }
        if let Some(records) = self.records {
            let groups = group(records, |record| (&record.resource, &record.scope));
            map.serialize_entry("resourceLogs", &groups.iter().map(OfResource).collect::<Vec<_>>())?;
        }
        if let Some(damaged) = self.damaged {
            map.serialize_entry("damaged", damaged)?;
        }
        map.end()
    }
}

/// Groups items; resources and scopes are equal if their serialized text is.
fn group<'a, T>(items: &'a [T], of: impl Fn(&'a T) -> (&'a Arc<Resource>, &'a Arc<Scope>)) -> Groups<'a, T> {
    group_by(
        items,
        of,
        |resource| text(&(ResourceText(resource), &resource.schema_url)),
        |scope| text(&(ScopeText(scope), &scope.schema_url)),
    )
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A span or a log record that is written as an element of its scope's list.
trait Item {
    const SCOPES: &'static str;
    const ITEMS: &'static str;
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

struct SerializedItem<'a, T>(&'a T);

impl<T: Item> Serialize for SerializedItem<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

struct OfResource<'a, T>(&'a (&'a Arc<Resource>, Vec<OfScope<'a, T>>));

impl<T: Item> Serialize for OfResource<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (resource, scopes) = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("resource", &ResourceText(resource))?;
        map.serialize_entry(T::SCOPES, &scopes.iter().map(InScope).collect::<Vec<_>>())?;
        put_text::<S>(&mut map, "schemaUrl", &resource.schema_url)?;
        map.end()
    }
}

struct InScope<'a, T>(&'a OfScope<'a, T>);

impl<T: Item> Serialize for InScope<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (scope, items) = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("scope", &ScopeText(scope))?;
        map.serialize_entry(T::ITEMS, &List(|| items.iter().map(|item| SerializedItem(*item))))?;
        put_text::<S>(&mut map, "schemaUrl", &scope.schema_url)?;
        map.end()
    }
}

/// A list whose values are produced while it is serialized.
struct List<F>(F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for List<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

struct ResourceText<'a>(&'a Resource);

impl Serialize for ResourceText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        put_attributes::<S>(&mut map, &self.0.attributes, self.0.dropped_attributes)?;
        map.end()
    }
}

struct ScopeText<'a>(&'a Scope);

impl Serialize for ScopeText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let scope = self.0;
        let mut map = serializer.serialize_map(None)?;
        put_text::<S>(&mut map, "name", &scope.name)?;
        put_text::<S>(&mut map, "version", &scope.version)?;
        put_attributes::<S>(&mut map, &scope.attributes, scope.dropped_attributes)?;
        map.end()
    }
}

impl Item for Span {
    const SCOPES: &'static str = "scopeSpans";
    const ITEMS: &'static str = "spans";

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("traceId", &self.trace_id.to_string())?;
        map.serialize_entry("spanId", &self.span_id.to_string())?;
        put_text::<S>(&mut map, "traceState", &self.trace_state)?;
        if let Some(parent) = self.parent {
            map.serialize_entry("parentSpanId", &parent.to_string())?;
        }
        put_number::<S>(&mut map, "flags", self.flags)?;
        put_text::<S>(&mut map, "name", &self.name)?;
        if self.kind.number() != 0 {
            map.serialize_entry("kind", &self.kind.number())?;
        }
        put_nanos::<S>(&mut map, "startTimeUnixNano", self.start.0)?;
        put_nanos::<S>(&mut map, "endTimeUnixNano", self.end.0)?;
        put_attributes::<S>(&mut map, &self.attributes, self.dropped_attributes)?;
        if !self.events.is_empty() {
            map.serialize_entry("events", &List(|| self.events.iter().map(EventText)))?;
        }
        put_number::<S>(&mut map, "droppedEventsCount", self.dropped_events)?;
        if !self.links.is_empty() {
            map.serialize_entry("links", &List(|| self.links.iter().map(LinkText)))?;
        }
        put_number::<S>(&mut map, "droppedLinksCount", self.dropped_links)?;
        map.serialize_entry("status", &StatusText(self))?;
        map.end()
    }
}

struct StatusText<'a>(&'a Span);

impl Serialize for StatusText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let status = &self.0.status;
        let mut map = serializer.serialize_map(None)?;
        put_text::<S>(&mut map, "message", &status.message)?;
        if status.code != 0 {
            map.serialize_entry("code", &status.code)?;
        }
        map.end()
    }
}

struct EventText<'a>(&'a Event);

impl Serialize for EventText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let event = self.0;
        let mut map = serializer.serialize_map(None)?;
        put_nanos::<S>(&mut map, "timeUnixNano", event.time.0)?;
        put_text::<S>(&mut map, "name", &event.name)?;
        put_attributes::<S>(&mut map, &event.attributes, event.dropped_attributes)?;
        map.end()
    }
}

struct LinkText<'a>(&'a Link);

impl Serialize for LinkText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let link = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("traceId", &link.trace_id.to_string())?;
        map.serialize_entry("spanId", &link.span_id.to_string())?;
        put_text::<S>(&mut map, "traceState", &link.trace_state)?;
        put_attributes::<S>(&mut map, &link.attributes, link.dropped_attributes)?;
        put_number::<S>(&mut map, "flags", link.flags)?;
        map.end()
    }
}

impl Item for LogRecord {
    const SCOPES: &'static str = "scopeLogs";
    const ITEMS: &'static str = "logRecords";

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        put_nanos::<S>(&mut map, "timeUnixNano", self.time.map_or(0, |time| time.0))?;
        put_nanos::<S>(&mut map, "observedTimeUnixNano", self.observed_time.map_or(0, |time| time.0))?;
        if self.severity != 0 {
            map.serialize_entry("severityNumber", &self.severity)?;
        }
        put_text::<S>(&mut map, "severityText", &self.severity_text)?;
        if !self.body.is_empty() {
            map.serialize_entry("body", &ValueText(&self.body))?;
        }
        put_attributes::<S>(&mut map, &self.attributes, self.dropped_attributes)?;
        put_number::<S>(&mut map, "flags", self.flags)?;
        if let Some(id) = self.trace_id {
            map.serialize_entry("traceId", &id.to_string())?;
        }
        if let Some(id) = self.span_id {
            map.serialize_entry("spanId", &id.to_string())?;
        }
        put_text::<S>(&mut map, "eventName", &self.event_name)?;
        map.end()
    }
}

fn put_text<S: Serializer>(map: &mut S::SerializeMap, key: &'static str, text: &str) -> Result<(), S::Error> {
    if text.is_empty() { Ok(()) } else { map.serialize_entry(key, text) }
}

fn put_number<S: Serializer>(map: &mut S::SerializeMap, key: &'static str, number: u32) -> Result<(), S::Error> {
    if number == 0 { Ok(()) } else { map.serialize_entry(key, &number) }
}

/// 64-bit integers are text in OTLP/JSON.
fn put_nanos<S: Serializer>(map: &mut S::SerializeMap, key: &'static str, nanos: u64) -> Result<(), S::Error> {
    if nanos == 0 {
        Ok(())
    } else {
        map.serialize_entry(key, &nanos.to_string())
    }
}

fn put_attributes<S: Serializer>(map: &mut S::SerializeMap, attributes: &Attributes, dropped: u32) -> Result<(), S::Error> {
    if !attributes.is_empty() {
        map.serialize_entry("attributes", &Pairs(&attributes.0))?;
    }
    put_number::<S>(map, "droppedAttributesCount", dropped)
}

struct Pairs<'a>(&'a [(String, AnyValue)]);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(key, value)| Pair {
            key,
            value: ValueText(value),
        }))
    }
}

#[derive(serde::Serialize)]
struct Pair<'a> {
    key: &'a str,
    value: ValueText<'a>,
}

struct ValueText<'a>(&'a AnyValue);

impl Serialize for ValueText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            AnyValue::Empty => {}
            AnyValue::String(text) => map.serialize_entry("stringValue", text)?,
            AnyValue::Bool(flag) => map.serialize_entry("boolValue", flag)?,
            AnyValue::Int(number) => map.serialize_entry("intValue", &number.to_string())?,
            AnyValue::Double(number) if number.is_finite() => map.serialize_entry("doubleValue", number)?,
            AnyValue::Double(number) if number.is_nan() => map.serialize_entry("doubleValue", "NaN")?,
            AnyValue::Double(number) if *number > 0.0 => map.serialize_entry("doubleValue", "Infinity")?,
            AnyValue::Double(_) => map.serialize_entry("doubleValue", "-Infinity")?,
            AnyValue::Array(values) => map.serialize_entry("arrayValue", &Values { values: ListOf(values) })?,
            AnyValue::KvList(pairs) => map.serialize_entry("kvlistValue", &Values { values: Pairs(pairs) })?,
            AnyValue::Bytes(bytes) => {
                map.serialize_entry("bytesValue", &base64::engine::general_purpose::STANDARD.encode(bytes))?;
            }
        }
        map.end()
    }
}

#[derive(serde::Serialize)]
struct Values<T> {
    values: T,
}

struct ListOf<'a>(&'a [AnyValue]);

impl Serialize for ListOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(ValueText))
    }
}
