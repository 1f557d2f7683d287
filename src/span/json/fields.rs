//! Serde types for spans, log records, attributes and values in JSON, and their conversion.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose};
use serde::de::{Deserialize, Deserializer};

use super::error::JsonError;
use super::number::{Enum, F64, IntValue, U32, U64};
use crate::span::{
    AnyValue, Attributes, ContentFault, Event, IdFault, Link, LogRecord, RefusedReason, Resource, Scope, Span, SpanId, SpanKind, Status,
    TraceId, UnixNanos,
};

/// JSON null means "not set", like a missing key.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

macro_rules! message {
    ($name:ident $(<$items:ident: Items>)? { $($(#[$attribute:meta])* $field:ident: $type:ty,)* }) => {
        #[derive(Debug, Default, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        $(#[serde(bound(deserialize = "I: Items"))] #[doc = stringify!($items)])?
        pub(super) struct $name $(<$items>)? {
            $($(#[$attribute])* #[serde(deserialize_with = "crate::span::json::fields::or_default")] pub(super) $field: $type,)*
        }
    };
}

pub(super) use message;

/// Rejects a key in snake_case: it would be ignored like any unknown key, and everything below it silently lost.
#[derive(Debug, Default)]
pub(super) struct SnakeCase;

impl<'de> Deserialize<'de> for SnakeCase {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom(JsonError::SnakeCase))
    }
}

message!(ResourceText { attributes: Vec<PairText>, dropped_attributes_count: U32, });
message!(ScopeText { name: String, version: String, attributes: Vec<PairText>, dropped_attributes_count: U32, });
message!(StatusText {
    code: Enum,
    message: String,
});
message!(PairText {
    key: String,
    value: ValueText,
});
message!(ListText { values: Vec<ValueText>, });
message!(PairsText { values: Vec<PairText>, });
message!(SpanText {
    trace_id: String,
    span_id: String,
    trace_state: String,
    parent_span_id: String,
    flags: U32,
    name: String,
    kind: Enum,
    start_time_unix_nano: U64,
    end_time_unix_nano: U64,
    attributes: Vec<PairText>,
    dropped_attributes_count: U32,
    events: Vec<EventText>,
    dropped_events_count: U32,
    links: Vec<LinkText>,
    dropped_links_count: U32,
    status: StatusText,
    #[serde(rename = "!")] unreadable: U32,
});
message!(EventText { time_unix_nano: U64, name: String, attributes: Vec<PairText>, dropped_attributes_count: U32, });
message!(LinkText {
    trace_id: String,
    span_id: String,
    trace_state: String,
    attributes: Vec<PairText>,
    dropped_attributes_count: U32,
    flags: U32,
});
message!(RecordText {
    time_unix_nano: U64,
    observed_time_unix_nano: U64,
    severity_number: Enum,
    severity_text: String,
    event_name: String,
    body: ValueText,
    attributes: Vec<PairText>,
    dropped_attributes_count: U32,
    flags: U32,
    trace_id: String,
    span_id: String,
    #[serde(rename = "!")] unreadable: U32,
});

impl SpanText {
    /// JSON that replaces an unreadable item of a message.
    pub(super) fn mark(fault: ContentFault) -> &'static str {
        match fault {
            ContentFault::Depth => r#"{"!":1}"#,
            ContentFault::Value | ContentFault::Utf8 | ContentFault::Encoding => r#"{"!":2}"#,
        }
    }
}

fn marked(unreadable: U32) -> Result<(), RefusedReason> {
    match unreadable.0 {
        0 => Ok(()),
        1 => Err(RefusedReason::Content(ContentFault::Depth)),
        _ => Err(RefusedReason::Content(ContentFault::Value)),
    }
}

/// A value, converted while reading so that an element of a list is no larger than [`AnyValue`].
#[derive(Debug)]
pub(super) struct ValueText(AnyValue);

impl Default for ValueText {
    fn default() -> Self {
        Self(AnyValue::Empty)
    }
}

impl<'de> Deserialize<'de> for ValueText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        OneOf::deserialize(deserializer).map(|value| Self(value_from(value)))
    }
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct OneOf {
    string_value: Option<String>,
    bool_value: Option<bool>,
    int_value: Option<IntValue>,
    double_value: Option<F64>,
    array_value: Option<ListText>,
    kvlist_value: Option<PairsText>,
    bytes_value: Option<BytesText>,
}

/// Bytes in base64 of either alphabet, with or without padding.
#[derive(Debug)]
pub(super) struct BytesText(Vec<u8>);

impl<'de> Deserialize<'de> for BytesText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        base64_bytes(&text)
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom("bytesValue must be base64"))
    }
}

pub(super) fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    const CONFIG: GeneralPurposeConfig = general_purpose::PAD.with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, CONFIG);
    const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, CONFIG);
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

/// The fault of text that is not an id of `want` bytes.
fn fault(text: &str, want: usize) -> IdFault {
    if text.is_empty() {
        IdFault::Missing
    } else if text.len() == want * 2 && text.bytes().all(|digit| digit == b'0') {
        IdFault::Zero
    } else if base64_bytes(text).is_some_and(|bytes| bytes.len() == want) {
        IdFault::Base64
    } else {
        IdFault::NotHex
    }
}

pub(super) fn resource_from(resource: ResourceText, schema_url: String) -> Resource {
    Resource {
        attributes: attributes_from(resource.attributes),
        dropped_attributes: resource.dropped_attributes_count.0,
        schema_url,
    }
}

pub(super) fn scope_from(scope: ScopeText, schema_url: String) -> Scope {
    Scope {
        name: scope.name,
        version: scope.version,
        attributes: attributes_from(scope.attributes),
        dropped_attributes: scope.dropped_attributes_count.0,
        schema_url,
    }
}

pub(super) fn span_from(span: SpanText, around: &Around) -> Result<Span, RefusedReason> {
    marked(span.unreadable)?;
    let trace_id = TraceId::from_hex(&span.trace_id).ok_or_else(|| RefusedReason::TraceId(fault(&span.trace_id, 16)))?;
    let span_id = SpanId::from_hex(&span.span_id).ok_or_else(|| RefusedReason::SpanId(fault(&span.span_id, 8)))?;
    let parent = match SpanId::from_hex(&span.parent_span_id) {
        Some(parent) => Some(parent),
        None => match fault(&span.parent_span_id, 8) {
            IdFault::Missing | IdFault::Zero => None,
            fault => return Err(RefusedReason::ParentId(fault)),
        },
    };
    let links_before = span.links.len();
    let links: Vec<Link> = span.links.into_iter().filter_map(link_from).collect();
    let unusable_links = u32::try_from(links_before - links.len()).unwrap_or(u32::MAX);
    Ok(Span {
        trace_id,
        span_id,
        trace_state: span.trace_state,
        parent,
        flags: span.flags.0,
        name: span.name,
        kind: SpanKind::from_number(span.kind.0),
        start: UnixNanos(span.start_time_unix_nano.0),
        end: UnixNanos(span.end_time_unix_nano.0),
        attributes: attributes_from(span.attributes),
        dropped_attributes: span.dropped_attributes_count.0,
        events: span.events.into_iter().map(event_from).collect(),
        dropped_events: span.dropped_events_count.0,
        links,
        dropped_links: span.dropped_links_count.0.saturating_add(unusable_links),
        status: Status {
            code: span.status.code.0,
            message: span.status.message,
        },
        resource: Arc::clone(&around.0),
        scope: Arc::clone(&around.1),
    })
}

fn event_from(event: EventText) -> Event {
    Event {
        time: UnixNanos(event.time_unix_nano.0),
        name: event.name,
        attributes: attributes_from(event.attributes),
        dropped_attributes: event.dropped_attributes_count.0,
    }
}

fn link_from(link: LinkText) -> Option<Link> {
    Some(Link {
        trace_id: TraceId::from_hex(&link.trace_id)?,
        span_id: SpanId::from_hex(&link.span_id)?,
        trace_state: link.trace_state,
        attributes: attributes_from(link.attributes),
        dropped_attributes: link.dropped_attributes_count.0,
        flags: link.flags.0,
    })
}

pub(super) fn record_from(record: RecordText, around: &Around) -> Result<LogRecord, RefusedReason> {
    marked(record.unreadable)?;
    let trace_id = TraceId::from_hex(&record.trace_id);
    if trace_id.is_none() && fault(&record.trace_id, 16) == IdFault::Base64 {
        return Err(RefusedReason::TraceId(IdFault::Base64));
    }
    let span_id = SpanId::from_hex(&record.span_id);
    if span_id.is_none() && fault(&record.span_id, 8) == IdFault::Base64 {
        return Err(RefusedReason::SpanId(IdFault::Base64));
    }
    let said = |nanos: U64| (nanos.0 != 0).then_some(UnixNanos(nanos.0));
    Ok(LogRecord {
        trace_id,
        span_id,
        time: said(record.time_unix_nano),
        observed_time: said(record.observed_time_unix_nano),
        severity: record.severity_number.0,
        severity_text: record.severity_text,
        event_name: record.event_name,
        body: record.body.0,
        attributes: attributes_from(record.attributes),
        dropped_attributes: record.dropped_attributes_count.0,
        flags: record.flags.0,
        resource: Arc::clone(&around.0),
        scope: Arc::clone(&around.1),
    })
}

/// The empty resource and scope of items read before theirs are known, shared within a list.
pub(super) type Around = (Arc<Resource>, Arc<Scope>);

fn attributes_from(pairs: Vec<PairText>) -> Attributes {
    pairs.into_iter().map(|pair| (pair.key, pair.value.0)).collect()
}

fn value_from(value: OneOf) -> AnyValue {
    if let Some(text) = value.string_value {
        AnyValue::String(text)
    } else if let Some(flag) = value.bool_value {
        AnyValue::Bool(flag)
    } else if let Some(number) = value.int_value {
        match number {
            IntValue::Int(number) => AnyValue::Int(number),
            IntValue::Double(number) => AnyValue::Double(number),
            IntValue::Digits(digits) => AnyValue::String(digits),
        }
    } else if let Some(number) = value.double_value {
        AnyValue::Double(number.0)
    } else if let Some(list) = value.array_value {
        AnyValue::Array(list.values.into_iter().map(|value| value.0).collect())
    } else if let Some(list) = value.kvlist_value {
        AnyValue::KvList(list.values.into_iter().map(|pair| (pair.key, pair.value.0)).collect())
    } else if let Some(bytes) = value.bytes_value {
        AnyValue::Bytes(bytes.0)
    } else {
        AnyValue::Empty
    }
}
