//! Converts OTLP/JSON to spans and log records. Nesting is bounded, but deep enough for anything the protobuf form can hold.

use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::error::JsonError;
use super::fields::{
    Around, RecordText, ResourceText, ScopeText, SnakeCase, SpanText, message, record_from, resource_from, scope_from, span_from,
};
use super::jaeger_traces::JaegerTraces;
use crate::json_tokens::{Kind, Tokens};
use crate::span::{Decoded, IdFault, ItemPath, LogRecord, Refused, RefusedReason, Resource, Scope, Signal, Span};

/// Maximum nesting of JSON. Protobuf decoders accept 100 levels of messages. A list of lists takes two message levels and three JSON levels
/// per step, so that is 150, plus the envelope.
const JSON_DEPTH_LIMIT: usize = 170;

/// Parses JSON that may exceed serde_json's own nesting limit of 128.
pub(super) fn parse<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    let (value, end) = parse_first(bytes).unwrap_or_else(|| serde_json::from_slice(bytes).map(|value| (value, bytes.len())))?;
    let rest = bytes.get(end..).unwrap_or_default();
    if !rest.trim_ascii_start().is_empty() {
        // Parse again for an error with its position.
        serde_json::from_slice::<IgnoredAny>(bytes)?;
    }
    Ok(value)
}

/// Parses the first value of a text and returns where it ends; `None` if the text has no value.
fn parse_first<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<Result<(T, usize), serde_json::Error>> {
    let first = |reader: serde_json::Deserializer<serde_json::de::SliceRead<'_>>| {
        let mut values = reader.into_iter::<T>();
        let value = values.next()?;
        Some(value.map(|value| (value, values.byte_offset())))
    };
    let parsed = first(serde_json::Deserializer::from_slice(bytes));
    match &parsed {
        Some(Err(error))
            if error.is_syntax() && error.to_string().starts_with("recursion limit exceeded") && depth(bytes) <= JSON_DEPTH_LIMIT => {}
        _ => return parsed,
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.disable_recursion_limit();
    first(reader)
}

/// The nesting depth of lists and objects in the first value.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for token in Tokens::of(json) {
        match token.kind {
            Kind::Object | Kind::List => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            Kind::End => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            _ => {}
        }
    }
    deepest
}

/// A message in JSON: an export request of any signal, or a line of the Collector's file exporter.
pub type Message = MessageOf<Kept>;

/// Receives the items of a scope as they are read, so that a message need not be in memory as a whole.
pub trait Items: Default {
    /// Takes a span, or the reason to refuse it. The span's resource and scope are still empty; they are not known yet.
    fn span(&mut self, span: Result<Span, RefusedReason>);
    /// Takes a log record, or the reason to refuse it.
    fn record(&mut self, record: Result<LogRecord, RefusedReason>);
}

/// Keeps all items in memory.
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

/// A resource with its scopes and their items.
pub type OfResource<I> = (Resource, Vec<(Scope, I)>);

/// A message with its items in the form `I`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "I: Items")]
pub struct MessageOf<I> {
    /// Tempo's API calls the same list `batches`.
    #[serde(alias = "batches")]
    resource_spans: Option<Vec<ResourceSpans<I>>>,
    resource_logs: Option<Vec<ResourceLogs<I>>>,
    resource_metrics: Option<Vec<ResourceMetrics>>,
    #[serde(rename = "resource_spans")]
    snake_spans: Option<IgnoredAny>,
    #[serde(rename = "resource_logs")]
    snake_logs: Option<IgnoredAny>,
    #[serde(rename = "resource_metrics")]
    snake_metrics: Option<IgnoredAny>,
    /// List of traces in Jaeger's API and UI. Others use the name for many things.
    data: JaegerTraces,
    /// Zipkin, Jaeger and others use this name for their spans.
    spans: Option<IgnoredAny>,
}

impl<I: Items> MessageOf<I> {
    /// Parses one message.
    ///
    /// # Errors
    ///
    /// Not JSON, or a value of the wrong type.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        // Derived deserializers would accept a list for an object and read its values in order.
        let source = match bytes.trim_ascii_start().first() {
            Some(first) if *first != b'{' => Err(serde::de::Error::custom("expected an object at line 1 column 1")),
            _ => parse(bytes),
        };
        source.map_err(|source| JsonError::Syntax { source })
    }

    /// Parses the first message of a text and returns where it ends; `None` if the text is empty.
    ///
    /// # Errors
    ///
    /// Not JSON, or a value of the wrong type.
    #[must_use]
    pub fn parse_first(bytes: &[u8]) -> Option<Result<(Self, usize), serde_json::Error>> {
        parse_first(bytes)
    }

    /// Parses a list of messages.
    ///
    /// # Errors
    ///
    /// Not JSON, or a value of the wrong type.
    pub fn parse_list(bytes: &[u8]) -> Result<Vec<Self>, serde_json::Error> {
        parse(bytes)
    }

    /// The signal it carries; `None` for an object without any of the three keys.
    ///
    /// # Errors
    ///
    /// The keys are in snake_case, or the form belongs to another program.
    pub fn signal(&self) -> Result<Option<Signal>, JsonError> {
        if self.snake_spans.is_some() || self.snake_logs.is_some() || self.snake_metrics.is_some() {
            return Err(JsonError::SnakeCase);
        }
        let is_otlp = self.resource_spans.is_some() || self.resource_logs.is_some() || self.resource_metrics.is_some();
        if !is_otlp && self.data.0 {
            return Err(JsonError::Other {
                what: "traces as Jaeger's API writes them (data)",
            });
        }
        if !is_otlp && self.spans.is_some() {
            return Err(JsonError::Other {
                what: "spans without their resource (spans)",
            });
        }
        Ok(if self.resource_spans.is_some() {
            Some(Signal::Traces)
        } else if self.resource_logs.is_some() {
            Some(Signal::Logs)
        } else {
            self.resource_metrics.as_ref().map(|_| Signal::Metrics)
        })
    }

    /// Checks that it carries this signal or nothing.
    ///
    /// # Errors
    ///
    /// It carries another signal, or its keys are in snake_case.
    pub fn expect(&self, wanted: Signal) -> Result<(), JsonError> {
        match self.signal()? {
            Some(found) if found != wanted => Err(JsonError::WrongSignal { wanted, found }),
            _ => Ok(()),
        }
    }

    /// The number of metric data points; nothing else of metrics is read.
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

    /// The spans by resource and scope.
    pub fn into_spans(self) -> impl Iterator<Item = OfResource<I>> {
        self.resource_spans.into_iter().flatten().map(|of_resource| {
            let scopes = of_resource.scope_spans.into_iter();
            let scopes = scopes.map(|of_scope| (scope_from(of_scope.scope, of_scope.schema_url), of_scope.spans.0));
            (resource_from(of_resource.resource, of_resource.schema_url), scopes.collect())
        })
    }

    /// The log records by resource and scope.
    pub fn into_records(self) -> impl Iterator<Item = OfResource<I>> {
        self.resource_logs.into_iter().flatten().map(|of_resource| {
            let scopes = of_resource.scope_logs.into_iter();
            let scopes = scopes.map(|of_scope| (scope_from(of_scope.scope, of_scope.schema_url), of_scope.log_records.0));
            (resource_from(of_resource.resource, of_resource.schema_url), scopes.collect())
        })
    }
}

impl Message {
    /// Whether every span was refused because its ids are not hexadecimal.
    #[must_use]
    pub fn has_unusable_ids(&self) -> bool {
        let scopes = self.resource_spans.iter().flatten().flat_map(|resource| &resource.scope_spans);
        let mut spans = scopes.flat_map(|scope| &scope.spans.0.spans).peekable();
        let is_no_id = |span: &Result<Span, RefusedReason>| {
            let reason = span.as_ref().err();
            reason
                .and_then(|reason| reason.fault())
                .is_some_and(|fault| matches!(fault, IdFault::NotHex | IdFault::Base64))
        };
        spans.peek().is_some() && spans.all(is_no_id)
    }

    /// The spans and log records, with the refused items of each.
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

fn at(signal: Signal, (resource, scope): (usize, usize), item: usize) -> ItemPath {
    ItemPath {
        signal,
        resource,
        scope,
        item,
    }
}

/// Hands on spans one by one while reading.
#[derive(Debug, Default)]
pub(super) struct Spans<I>(I);

/// Hands on log records one by one while reading.
#[derive(Debug, Default)]
pub(super) struct Records<I>(I);

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

fn sort_in<T>(decoded: &mut Decoded<T>, path: ItemPath, item: Result<T, RefusedReason>) {
    match item {
        Ok(item) => decoded.items.push(item),
        Err(reason) => decoded.refused.push(Refused { path, reason }),
    }
}

// Before 1.0, scopes were called instrumentation libraries.
message!(ResourceSpans<I: Items> {
    resource: ResourceText,
    #[serde(alias = "instrumentationLibrarySpans")] scope_spans: Vec<ScopeSpans<I>>,
    #[serde(rename = "scope_spans")] _snake: SnakeCase,
    schema_url: String,
});
message!(ResourceLogs<I: Items> {
    resource: ResourceText,
    #[serde(alias = "instrumentationLibraryLogs")] scope_logs: Vec<ScopeLogs<I>>,
    #[serde(rename = "scope_logs")] _snake: SnakeCase,
    schema_url: String,
});
// Scopes had this name before OTLP 0.19.
message!(ScopeSpans<I: Items> {
    #[serde(alias = "instrumentationLibrary")] scope: ScopeText,
    spans: Spans<I>,
    schema_url: String,
});
message!(ScopeLogs<I: Items> {
    #[serde(alias = "instrumentationLibrary")] scope: ScopeText,
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
