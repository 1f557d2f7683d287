//! What an OTLP reader returns: the items it read and the ones it refused.

use std::fmt;

/// What an OTLP message carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Signal {
    /// Spans.
    Traces,
    /// Log records.
    Logs,
    /// Metrics.
    Metrics,
}

impl Signal {
    /// The word used in the endpoint's path: `traces`, `logs` or `metrics`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Logs => "logs",
            Self::Metrics => "metrics",
        }
    }

    /// The endpoint's path, such as `/v1/traces`.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Traces => "/v1/traces",
            Self::Logs => "/v1/logs",
            Self::Metrics => "/v1/metrics",
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The items that were read, and those that could not be. One bad span does not cost the rest of its batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded<T> {
    /// Items in the order of the message.
    pub items: Vec<T>,
    /// Refused items in the order of the message.
    pub refused: Vec<Refused>,
}

impl<T> Default for Decoded<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            refused: Vec::new(),
        }
    }
}

/// One item that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its place in the message.
    pub path: ItemPath,
    /// The reason.
    pub reason: RefusedReason,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

/// Where an item is in its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemPath {
    /// The kind of message.
    pub signal: Signal,
    /// Index of the resource.
    pub resource: usize,
    /// Index of the scope in that resource.
    pub scope: usize,
    /// Index of the item in that scope.
    pub item: usize,
}

impl fmt::Display for ItemPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, scope, item, .. } = self;
        match self.signal {
            Signal::Traces => write!(f, "resourceSpans[{resource}].scopeSpans[{scope}].spans[{item}]"),
            Signal::Logs => write!(f, "resourceLogs[{resource}].scopeLogs[{scope}].logRecords[{item}]"),
            Signal::Metrics => write!(f, "resourceMetrics[{resource}].scopeMetrics[{scope}].metrics[{item}]"),
        }
    }
}

/// Why an item cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusedReason {
    /// The trace id.
    TraceId(IdFault),
    /// The span's own id.
    SpanId(IdFault),
    /// The parent's id.
    ParentId(IdFault),
    /// Any other part of it.
    Content(ContentFault),
}

/// Why the content of an item cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentFault {
    /// Text is not UTF-8.
    Utf8,
    /// Values nest too deeply.
    Depth,
    /// A value has a type that OTLP does not allow there.
    Value,
    /// The bytes are not protobuf.
    Encoding,
}

impl fmt::Display for ContentFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Utf8 => "a text in it is not UTF-8",
            Self::Depth => "values in it nest too deep",
            Self::Value => "a value in it has another type than OTLP gives it",
            Self::Encoding => "its bytes are not protobuf",
        })
    }
}

impl RefusedReason {
    /// The fault of the id, if an id is the reason.
    #[must_use]
    pub fn fault(self) -> Option<IdFault> {
        match self {
            Self::TraceId(fault) | Self::SpanId(fault) | Self::ParentId(fault) => Some(fault),
            Self::Content(_) => None,
        }
    }

    /// A short stable name, for counters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TraceId(_) => "trace_id",
            Self::SpanId(_) => "span_id",
            Self::ParentId(_) => "parent_span_id",
            Self::Content(_) => "content",
        }
    }
}

impl fmt::Display for RefusedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, bytes, fault) = match self {
            Self::TraceId(fault) => ("trace id", 16, fault),
            Self::SpanId(fault) => ("span id", 8, fault),
            Self::ParentId(fault) => ("parent span id", 8, fault),
            Self::Content(fault) => return fault.fmt(f),
        };
        match fault {
            IdFault::Missing => write!(f, "the {name} is missing"),
            IdFault::Zero => write!(f, "the {name} is all zeros, which means none"),
            IdFault::Length(have) => write!(f, "the {name} has {have} bytes, it must have {bytes}"),
            IdFault::Base64 => write!(
                f,
                "the {name} is base64; OTLP/JSON writes ids as hexadecimal digits ({} of them)",
                bytes * 2
            ),
            IdFault::NotHex => write!(f, "the {name} must be {} hexadecimal digits", bytes * 2),
        }
    }
}

/// What is wrong with an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdFault {
    /// The id is missing.
    Missing,
    /// All bytes are zero.
    Zero,
    /// The length in bytes is wrong; this is the actual one.
    Length(usize),
    /// The text is an id in base64.
    Base64,
    /// The text is not an id in any form.
    NotHex,
}

/// The fault of bytes that are not an id of `want` bytes.
#[cfg(feature = "protobuf")]
#[must_use]
pub(crate) fn id_fault(bytes: &[u8], want: usize) -> IdFault {
    if bytes.is_empty() {
        IdFault::Missing
    } else if bytes.len() == want {
        IdFault::Zero
    } else {
        IdFault::Length(bytes.len())
    }
}
