//! Lists of traces and of sessions: filters, cursors and rows.

use std::ops::{ControlFlow, RangeInclusive};

use crate::span::TraceId;

/// Which traces a list contains.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only these traces.
    pub traces: Vec<TraceId>,
    /// Only traces whose ids begin with these digits.
    pub id: Option<IdPrefix>,
    /// Only traces with items of this service.
    pub service: Option<String>,
    /// Only traces of this session.
    pub session: Option<String>,
    /// Only traces that began at this time or later, in nanoseconds since 1970.
    pub since: Option<u64>,
    /// Only traces that began before this time.
    pub until: Option<u64>,
    /// Only traces after this one, in the order of the list.
    pub after: Option<TraceCursor>,
    /// Maximum number of traces.
    pub limit: Option<usize>,
    /// Ends the list once its names take this many bytes; it has at least one trace.
    pub name_bytes: Option<usize>,
    /// The order of the list.
    pub order: Order,
}

/// The first digits of a trace id: at most 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdPrefix(String);

impl IdPrefix {
    /// Parses digits in upper or lower case. `None` if a character is not a digit, or there are too many.
    #[must_use]
    pub fn parse(digits: &str) -> Option<Self> {
        let is_prefix = digits.len() <= 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_prefix.then(|| Self(digits.to_ascii_lowercase()))
    }

    /// The first and the last id that begin with these digits.
    #[must_use]
    pub fn range(&self) -> RangeInclusive<[u8; 16]> {
        let filled = |digit: &str| {
            let digits = format!("{}{}", self.0, digit.repeat(32_usize.saturating_sub(self.0.len())));
            u128::from_str_radix(&digits, 16).unwrap_or_default().to_be_bytes()
        };
        filled("0")..=filled("f")
    }
}

impl std::fmt::Display for IdPrefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The order of a list of traces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// By start, newest first.
    #[default]
    NewestFirst,
    /// By start, oldest first.
    OldestFirst,
    /// By the arrival of the first span, latest first, whenever the traces began. [`Filter::after`] is ignored.
    LatestArrivalFirst,
}

/// Called with each trace that matches a filter, and its revision. Returns whether to list the trace; a break ends the list before it.
pub type Wanted<'a> = dyn FnMut(TraceCursor, u64) -> ControlFlow<(), bool> + 'a;

/// A trace after which the next page of a list begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceCursor {
    /// The start of the last trace of the list so far.
    pub start: u64,
    /// Its id.
    pub trace_id: TraceId,
}

impl TraceCursor {
    /// Parses the text form: the start, a dot, the trace's id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (start, trace_id) = text.split_once('.')?;
        Some(Self {
            start: start.parse().ok()?,
            trace_id: TraceId::from_hex(trace_id)?,
        })
    }
}

impl std::fmt::Display for TraceCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.start, self.trace_id)
    }
}

/// One trace in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceRow {
    /// The trace.
    pub trace_id: TraceId,
    /// Name of the first span without a parent.
    pub root: Option<String>,
    /// Whether such a span has ended.
    pub root_ended: bool,
    /// `service.name`.
    pub service: Option<String>,
    /// The session that its spans name.
    pub session: Option<String>,
    /// Earliest start, nanoseconds since 1970.
    pub start: u64,
    /// Latest end, nanoseconds since 1970.
    pub end: u64,
    /// Number of spans received, including repeats with different bytes.
    pub spans: u64,
    /// Number of log records received.
    pub logs: u64,
    /// Number of spans that failed.
    pub errors: u64,
    /// Bytes in the log.
    pub bytes: u64,
    /// Grows with every chunk of the trace.
    pub revision: u64,
}

impl TraceRow {
    /// Where the page after this trace begins.
    #[must_use]
    pub fn cursor(&self) -> TraceCursor {
        TraceCursor {
            start: self.start,
            trace_id: self.trace_id,
        }
    }
}

/// A session after which the next page of a list begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCursor {
    /// The start of its last trace.
    pub last_start: u64,
    /// Its name.
    pub session: String,
}

/// One session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// The session's name.
    pub session: String,
    /// Number of traces that name it.
    pub traces: u64,
    /// Start of its first trace.
    pub start: u64,
    /// Start of its last trace.
    pub last_start: u64,
    /// End of the trace that ended last.
    pub end: u64,
}

impl SessionRow {
    /// Where the page after this session begins.
    #[must_use]
    pub fn cursor(&self) -> SessionCursor {
        SessionCursor {
            last_start: self.last_start,
            session: self.session.clone(),
        }
    }
}
