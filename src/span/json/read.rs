//! OTLP/JSON to spans and log records. Nesting is bounded: what the protobuf form can hold can be read here.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose};
use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::JsonError;
use super::number::{Enum, F64, I64, U32, U64};
use crate::span::{
    AnyValue, Attributes, Decoded, Event, IdFault, Link, LogRecord, Place, Refused, RefusedReason, Resource, Scope, Signal, Span, SpanId,
    SpanKind, Status, TraceId, UnixNanos,
};

/// How deep JSON may nest. The protobuf decoders take 100 levels of messages, and a list of lists has two messages a level and
/// three levels of JSON: 150, and those of the envelope.
const JSON_DEPTH_LIMIT: usize = 170;

/// Parses JSON that may nest deeper than serde_json's own limit of 128.
fn parse<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    let parsed = serde_json::from_slice(bytes);
    match &parsed {
        Err(error)
            if error.is_syntax() && error.to_string().starts_with("recursion limit exceeded") && depth(bytes) <= JSON_DEPTH_LIMIT => {}
        _ => return parsed,
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// The deepest nesting of lists and objects.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0usize, 0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// One message as it stands in JSON: an export request of any signal, or a line of the Collector's file exporter.
pub type Message = MessageOf<Kept>;

/// What becomes of the items of a scope, one after the other as they are read: a message need not be in memory whole.
pub trait Items: Default {
    /// Takes a span, or why it cannot be used. Resource and scope are not known yet: those of the span are empty.
    fn span(&mut self, span: Result<Span, RefusedReason>);
    /// Takes a log record, or why it cannot be used.
    fn record(&mut self, record: Result<LogRecord, RefusedReason>);
}

/// Items that are kept as they are.
#[derive(Debug, Default)]
pub struct Kept {
    spans: Vec<Result<Span, RefusedReason>>,
    records: Vec<Result<LogRecord, RefusedReason>>,
}

impl Items for Kept {
    fn span(&mut self, span: Result<Span, RefusedReason>) {
        self.spans.push(span);
    }

    fn record(&mut self, record: Result<LogRecord, RefusedReason>) {
        self.records.push(record);
    }
}

/// What a resource has: its scopes with their items.
pub type OfResource<I> = (Resource, Vec<(Scope, I)>);

/// One message, with its items in this form.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "I: Items")]
pub struct MessageOf<I> {
    resource_spans: Option<Vec<ResourceSpans<I>>>,
    resource_logs: Option<Vec<ResourceLogs<I>>>,
    resource_metrics: Option<Vec<ResourceMetrics>>,
    #[serde(rename = "resource_spans")]
    snake_spans: Option<IgnoredAny>,
    #[serde(rename = "resource_logs")]
    snake_logs: Option<IgnoredAny>,
    #[serde(rename = "resource_metrics")]
    snake_metrics: Option<IgnoredAny>,
}

impl<I: Items> MessageOf<I> {
    /// Parses one message.
    ///
    /// # Errors
    ///
    /// Not JSON, or a value of the wrong type.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        // Derived readers would take a list for an object, its values in order.
        let source = match bytes.trim_ascii_start().first() {
            Some(first) if *first != b'{' => Err(serde::de::Error::custom("expected an object at line 1 column 1")),
            _ => parse(bytes),
        };
        source.map_err(|source| JsonError::Syntax { source })
    }

    /// What it carries; `None` for an object without any of the three keys.
    ///
    /// # Errors
    ///
    /// The keys are in snake_case.
    pub fn signal(&self) -> Result<Option<Signal>, JsonError> {
        if self.snake_spans.is_some() || self.snake_logs.is_some() || self.snake_metrics.is_some() {
            return Err(JsonError::SnakeCase);
        }
        Ok(if self.resource_spans.is_some() {
            Some(Signal::Traces)
        } else if self.resource_logs.is_some() {
            Some(Signal::Logs)
        } else {
            self.resource_metrics.as_ref().map(|_| Signal::Metrics)
        })
    }

    /// That it carries this signal, or nothing.
    ///
    /// # Errors
    ///
    /// It carries another one, or its keys are in snake_case.
    pub fn expect(&self, wanted: Signal) -> Result<(), JsonError> {
        match self.signal()? {
            Some(found) if found != wanted => Err(JsonError::WrongSignal { wanted, found }),
            _ => Ok(()),
        }
    }

    /// How many data points of metrics it carries; nothing else is read of them.
    #[must_use]
    pub fn metric_points(&self) -> usize {
        let resources = self.resource_metrics.iter().flatten();
        resources
            .flat_map(|resource| &resource.scope_metrics)
            .flat_map(|scope| &scope.metrics)
            .flat_map(|metric| {
                [
                    &metric.gauge,
                    &metric.sum,
                    &metric.histogram,
                    &metric.exponential_histogram,
                    &metric.summary,
                ]
            })
            .map(|data| data.data_points.len())
            .sum()
    }

    /// Its spans, by resource and scope.
    pub fn into_spans(self) -> impl Iterator<Item = OfResource<I>> {
        self.resource_spans.into_iter().flatten().map(|of_resource| {
            let scopes = of_resource.scope_spans.into_iter();
            let scopes = scopes.map(|of_scope| (scope_from(of_scope.scope, of_scope.schema_url), of_scope.spans.0));
            (resource_from(of_resource.resource, of_resource.schema_url), scopes.collect())
        })
    }

    /// Its log records, by resource and scope.
    pub fn into_records(self) -> impl Iterator<Item = OfResource<I>> {
        self.resource_logs.into_iter().flatten().map(|of_resource| {
            let scopes = of_resource.scope_logs.into_iter();
            let scopes = scopes.map(|of_scope| (scope_from(of_scope.scope, of_scope.schema_url), of_scope.log_records.0));
            (resource_from(of_resource.resource, of_resource.schema_url), scopes.collect())
        })
    }
}

impl Message {
    /// Its spans and its log records.
    #[must_use]
    pub fn into_parts(mut self) -> (Decoded<Span>, Decoded<LogRecord>) {
        let logs = Self {
            resource_logs: self.resource_logs.take(),
            ..Self::default()
        };
        let (mut spans, mut records) = (Decoded::default(), Decoded::default());
        each(self.into_spans(), |resource, scope, kept, place| {
            for (item, span) in kept.spans.into_iter().enumerate() {
                let span = span.map(|span| Span {
                    resource: Arc::clone(resource),
                    scope: Arc::clone(scope),
                    ..span
                });
                sort_in(&mut spans, at(Signal::Traces, place, item), span);
            }
        });
        each(logs.into_records(), |resource, scope, kept, place| {
            for (item, record) in kept.records.into_iter().enumerate() {
                let record = record.map(|record| LogRecord {
                    resource: Arc::clone(resource),
                    scope: Arc::clone(scope),
                    ..record
                });
                sort_in(&mut records, at(Signal::Logs, place, item), record);
            }
        });
        (spans, records)
    }
}

fn each(resources: impl Iterator<Item = OfResource<Kept>>, mut tell: impl FnMut(&Arc<Resource>, &Arc<Scope>, Kept, (usize, usize))) {
    for (resource, (shared, scopes)) in resources.enumerate() {
        let shared = Arc::new(shared);
        for (scope, (shared_scope, kept)) in scopes.into_iter().enumerate() {
            tell(&shared, &Arc::new(shared_scope), kept, (resource, scope));
        }
    }
}

fn at(signal: Signal, (resource, scope): (usize, usize), item: usize) -> Place {
    Place {
        signal,
        resource,
        scope,
        item,
    }
}

/// Spans, given away one after the other.
#[derive(Debug, Default)]
struct Spans<I>(I);

/// Log records, given away one after the other.
#[derive(Debug, Default)]
struct Records<I>(I);

struct Each<I, T> {
    items: I,
    around: Around,
    take: fn(&mut I, T, &Around),
}

impl<'de, I, T: Deserialize<'de>> Visitor<'de> for Each<I, T> {
    type Value = I;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<I, A::Error> {
        while let Some(item) = list.next_element()? {
            (self.take)(&mut self.items, item, &self.around);
        }
        Ok(self.items)
    }
}

impl<'de, I: Items> Deserialize<'de> for Spans<I> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let take = |items: &mut I, span: SpanText, around: &Around| items.span(span_from(span, around));
        let each = Each {
            items: I::default(),
            around: Around::default(),
            take,
        };
        deserializer.deserialize_seq(each).map(Self)
    }
}

impl<'de, I: Items> Deserialize<'de> for Records<I> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let take = |items: &mut I, record: RecordText, around: &Around| items.record(record_from(record, around));
        let each = Each {
            items: I::default(),
            around: Around::default(),
            take,
        };
        deserializer.deserialize_seq(each).map(Self)
    }
}

fn sort_in<T>(decoded: &mut Decoded<T>, place: Place, item: Result<T, RefusedReason>) {
    match item {
        Ok(item) => decoded.items.push(item),
        Err(reason) => decoded.refused.push(Refused { place, reason }),
    }
}

/// JSON null means "not set", like a missing key.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

macro_rules! message {
    ($name:ident $(<$items:ident: Items>)? { $($(#[$attribute:meta])* $field:ident: $type:ty,)* }) => {
        #[derive(Debug, Default, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        $(#[serde(bound(deserialize = "I: Items"))] #[doc = stringify!($items)])?
        struct $name $(<$items>)? {
            $($(#[$attribute])* #[serde(deserialize_with = "or_default")] $field: $type,)*
        }
    };
}

/// A key in snake_case below which everything would be ignored, as unknown keys are: refused, so that nothing is lost unseen.
#[derive(Debug, Default)]
struct SnakeCase;

impl<'de> Deserialize<'de> for SnakeCase {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom(JsonError::SnakeCase))
    }
}

message!(ResourceSpans<I: Items> {
    resource: ResourceText,
    scope_spans: Vec<ScopeSpans<I>>,
    #[serde(rename = "scope_spans")] _snake: SnakeCase,
    schema_url: String,
});
message!(ResourceLogs<I: Items> {
    resource: ResourceText,
    scope_logs: Vec<ScopeLogs<I>>,
    #[serde(rename = "scope_logs")] _snake: SnakeCase,
    schema_url: String,
});
message!(ScopeSpans<I: Items> { scope: ScopeText, spans: Spans<I>, schema_url: String, });
message!(ScopeLogs<I: Items> {
    scope: ScopeText,
    log_records: Records<I>,
    #[serde(rename = "log_records")] _snake: SnakeCase,
    schema_url: String,
});
message!(ResourceMetrics {
    scope_metrics: Vec<ScopeMetrics>,
    #[serde(rename = "scope_metrics")] _snake: SnakeCase,
});
message!(ScopeMetrics {
    metrics: Vec<Metric>,
});
message!(Metric {
    gauge: Points,
    sum: Points,
    histogram: Points,
    exponential_histogram: Points,
    summary: Points,
});
message!(Points { data_points: Vec<IgnoredAny>, });
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
});

/// A value: what stands in a list of them is no larger than the value itself.
#[derive(Debug)]
struct ValueText(AnyValue);

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
struct OneOf {
    string_value: Option<String>,
    bool_value: Option<bool>,
    int_value: Option<I64>,
    double_value: Option<F64>,
    array_value: Option<ListText>,
    kvlist_value: Option<PairsText>,
    bytes_value: Option<BytesText>,
}

/// Bytes in base64 of either alphabet, with or without padding.
#[derive(Debug)]
struct BytesText(Vec<u8>);

impl<'de> Deserialize<'de> for BytesText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        base64_bytes(&text)
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom("bytesValue must be base64"))
    }
}

fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    const CONFIG: GeneralPurposeConfig = general_purpose::PAD.with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, CONFIG);
    const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, CONFIG);
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

/// What is wrong with the text of an id of `want` bytes.
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

fn resource_from(resource: ResourceText, schema_url: String) -> Resource {
    Resource {
        attributes: attributes_from(resource.attributes),
        dropped_attributes: resource.dropped_attributes_count.0,
        schema_url,
    }
}

fn scope_from(scope: ScopeText, schema_url: String) -> Scope {
    Scope {
        name: scope.name,
        version: scope.version,
        attributes: attributes_from(scope.attributes),
        dropped_attributes: scope.dropped_attributes_count.0,
        schema_url,
    }
}

fn span_from(span: SpanText, around: &Around) -> Result<Span, RefusedReason> {
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

fn record_from(record: RecordText, around: &Around) -> Result<LogRecord, RefusedReason> {
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

/// The empty resource and scope of items that are read before theirs are known, shared by one list of them.
type Around = (Arc<Resource>, Arc<Scope>);

fn attributes_from(pairs: Vec<PairText>) -> Attributes {
    pairs.into_iter().map(|pair| (pair.key, pair.value.0)).collect()
}

fn value_from(value: OneOf) -> AnyValue {
    if let Some(text) = value.string_value {
        AnyValue::String(text)
    } else if let Some(flag) = value.bool_value {
        AnyValue::Bool(flag)
    } else if let Some(number) = value.int_value {
        AnyValue::Int(number.0)
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
