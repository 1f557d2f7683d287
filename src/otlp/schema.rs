//! The fields of OTLP messages, as declared by `opentelemetry-proto`.

/// The type of a field in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Unknown,
    Varint,
    Fixed64,
    Fixed32,
    Bytes,
    Text,
    Message(Type),
}

/// The OTLP messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    TracesRequest,
    LogsRequest,
    MetricsRequest,
    ResourceSpans,
    ResourceLogs,
    ResourceMetrics,
    ScopeSpans,
    ScopeLogs,
    ScopeMetrics,
    Span,
    Event,
    Link,
    Status,
    LogRecord,
    Metric,
    /// A gauge or a sum.
    Numbers,
    NumberPoint,
    Histogram,
    HistogramPoint,
    ExponentialHistogram,
    ExponentialHistogramPoint,
    Summary,
    SummaryPoint,
    Exemplar,
    Resource,
    EntityRef,
    Scope,
    KeyValue,
    AnyValue,
    ArrayValue,
    KeyValueList,
}

impl Type {
    /// The field's type, as declared by `opentelemetry-proto`.
    #[inline]
    pub(super) fn field(self, number: u32) -> Kind {
        match (self, number) {
            (Self::TracesRequest, 1) => Kind::Message(Self::ResourceSpans),
            (Self::LogsRequest, 1) => Kind::Message(Self::ResourceLogs),
            (Self::MetricsRequest, 1) => Kind::Message(Self::ResourceMetrics),
            (Self::ResourceSpans | Self::ResourceLogs | Self::ResourceMetrics, 1) => Kind::Message(Self::Resource),
            (Self::ResourceSpans, 2) => Kind::Message(Self::ScopeSpans),
            (Self::ResourceLogs, 2) => Kind::Message(Self::ScopeLogs),
            (Self::ResourceMetrics, 2) => Kind::Message(Self::ScopeMetrics),
            (Self::ScopeSpans | Self::ScopeLogs | Self::ScopeMetrics, 1) => Kind::Message(Self::Scope),
            (Self::ScopeSpans, 2) => Kind::Message(Self::Span),
            (Self::ScopeLogs, 2) => Kind::Message(Self::LogRecord),
            (Self::ScopeMetrics, 2) => Kind::Message(Self::Metric),
            (Self::ResourceSpans | Self::ResourceLogs | Self::ResourceMetrics, 3) => Kind::Text,
            (Self::ScopeSpans | Self::ScopeLogs | Self::ScopeMetrics, 3) => Kind::Text,

            (Self::Span, 1 | 2 | 4) => Kind::Bytes,
            (Self::Span, 3 | 5) => Kind::Text,
            (Self::Span, 6 | 10 | 12 | 14) => Kind::Varint,
            (Self::Span, 7 | 8) => Kind::Fixed64,
            (Self::Span, 9) => Kind::Message(Self::KeyValue),
            (Self::Span, 11) => Kind::Message(Self::Event),
            (Self::Span, 13) => Kind::Message(Self::Link),
            (Self::Span, 15) => Kind::Message(Self::Status),
            (Self::Span, 16) => Kind::Fixed32,

            (Self::Event, 1) => Kind::Fixed64,
            (Self::Event, 2) => Kind::Text,
            (Self::Event, 3) => Kind::Message(Self::KeyValue),
            (Self::Event, 4) => Kind::Varint,

            (Self::Link, 1 | 2) => Kind::Bytes,
            (Self::Link, 3) => Kind::Text,
            (Self::Link, 4) => Kind::Message(Self::KeyValue),
            (Self::Link, 5) => Kind::Varint,
            (Self::Link, 6) => Kind::Fixed32,

            (Self::Status, 2) => Kind::Text,
            (Self::Status, 3) => Kind::Varint,

            (Self::LogRecord, 1 | 11) => Kind::Fixed64,
            (Self::LogRecord, 2 | 7) => Kind::Varint,
            (Self::LogRecord, 3 | 12) => Kind::Text,
            (Self::LogRecord, 5) => Kind::Message(Self::AnyValue),
            (Self::LogRecord, 6) => Kind::Message(Self::KeyValue),
            (Self::LogRecord, 8) => Kind::Fixed32,
            (Self::LogRecord, 9 | 10) => Kind::Bytes,

            (Self::Metric, 1..=3) => Kind::Text,
            (Self::Metric, 5 | 7) => Kind::Message(Self::Numbers),
            (Self::Metric, 9) => Kind::Message(Self::Histogram),
            (Self::Metric, 10) => Kind::Message(Self::ExponentialHistogram),
            (Self::Metric, 11) => Kind::Message(Self::Summary),
            (Self::Metric, 12) => Kind::Message(Self::KeyValue),
            (Self::Numbers, 1) => Kind::Message(Self::NumberPoint),
            (Self::Histogram, 1) => Kind::Message(Self::HistogramPoint),
            (Self::ExponentialHistogram, 1) => Kind::Message(Self::ExponentialHistogramPoint),
            (Self::Summary, 1) => Kind::Message(Self::SummaryPoint),
            // Lists of numbers may be packed or not, so they have no single wire type.
            (Self::NumberPoint | Self::SummaryPoint, 7) => Kind::Message(Self::KeyValue),
            (Self::HistogramPoint, 9) | (Self::ExponentialHistogramPoint, 1) => Kind::Message(Self::KeyValue),
            (Self::NumberPoint, 2..=4 | 6) | (Self::HistogramPoint | Self::SummaryPoint, 2..=5) => Kind::Fixed64,
            (Self::HistogramPoint, 11 | 12) | (Self::ExponentialHistogramPoint, 2..=5 | 7 | 12..=14) => Kind::Fixed64,
            (Self::NumberPoint, 5) | (Self::HistogramPoint, 8) => Kind::Message(Self::Exemplar),
            (Self::ExponentialHistogramPoint, 11) => Kind::Message(Self::Exemplar),
            (Self::NumberPoint | Self::SummaryPoint, 8) => Kind::Varint,
            (Self::HistogramPoint, 10) | (Self::ExponentialHistogramPoint, 6 | 10) => Kind::Varint,
            (Self::Exemplar, 2 | 3 | 6) => Kind::Fixed64,
            (Self::Exemplar, 4 | 5) => Kind::Bytes,
            (Self::Exemplar, 7) => Kind::Message(Self::KeyValue),

            (Self::Resource, 1) => Kind::Message(Self::KeyValue),
            (Self::Resource, 2) => Kind::Varint,
            (Self::Resource, 3) => Kind::Message(Self::EntityRef),
            (Self::EntityRef, 1..=4) => Kind::Text,

            (Self::Scope, 1 | 2) => Kind::Text,
            (Self::Scope, 3) => Kind::Message(Self::KeyValue),
            (Self::Scope, 4) => Kind::Varint,

            (Self::KeyValue, 1) => Kind::Text,
            (Self::KeyValue, 2) => Kind::Message(Self::AnyValue),
            (Self::KeyValue, 3) => Kind::Varint,

            (Self::AnyValue, 1) => Kind::Text,
            (Self::AnyValue, 2 | 3 | 8) => Kind::Varint,
            (Self::AnyValue, 4) => Kind::Fixed64,
            (Self::AnyValue, 5) => Kind::Message(Self::ArrayValue),
            (Self::AnyValue, 6) => Kind::Message(Self::KeyValueList),
            (Self::AnyValue, 7) => Kind::Bytes,
            (Self::ArrayValue, 1) => Kind::Message(Self::AnyValue),
            (Self::KeyValueList, 1) => Kind::Message(Self::KeyValue),

            _ => Kind::Unknown,
        }
    }
}
