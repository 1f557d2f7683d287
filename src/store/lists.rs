//! Lists of traces and of sessions: what is asked for, and the rows of the answer.

use std::ops::{ControlFlow, RangeInclusive};

use crate::span::TraceId;

/// Which traces a list contains.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only these traces.
    pub traces: Vec<TraceId>,
    /// Only traces whose ids begin with these digits.
    pub id: Option<IdPrefix>,
    /// Only those with items of this service.
    pub service: Option<String>,
    /// Only of this session.
    pub session: Option<String>,
    /// Only those that began at this time or later, in nanoseconds since 1970.
    pub since: Option<u64>,
    /// Only those that began before this time.
    pub until: Option<u64>,
    /// Only those after this one, in the order of the list.
    pub after: Option<TraceCursor>,
    /// At most this many.
    pub limit: Option<usize>,
    /// The list ends once the names in it take this many bytes; it has at least one trace.
    pub name_bytes: Option<usize>,
    /// In which order.
    pub order: Order,
}

/// The first digits of an id: at most 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdPrefix(String);

impl IdPrefix {
    /// Reads digits in upper or lower case. `None` if a character is not a digit, or there are too many.
    #[must_use]
    pub fn parse(digits: &str) -> Option<Self> {
        let is_prefix = digits.len() <= 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_prefix.then(|| Self(digits.to_ascii_lowercase()))
    }

    /// The first and the last id with these digits, as bytes.
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
    /// By the arrival of the first span, latest first, whenever the traces began. [`Filter::after`] has no meaning here.
    LatestArrivalFirst,
}

/// Called with each trace that matches a filter and its revision. Returns whether the list takes the trace, or breaks off before it.
pub type Wanted<'a> = dyn FnMut(TraceCursor, u64) -> ControlFlow<(), bool> + 'a;

/// Where a list of traces goes on: behind this trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceCursor {
    /// The start of the last trace of the list so far.
    pub start: u64,
    /// Its id.
    pub trace_id: TraceId,
}

impl TraceCursor {
    /// Reads what [`TraceCursor`] is written as: the start, a dot, the trace's id.
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
    /// How many spans came, replays with other bytes included.
    pub spans: u64,
    /// How many log records came.
    pub logs: u64,
    /// How many of the spans failed.
    pub errors: u64,
    /// Bytes in the log.
    pub bytes: u64,
    /// Grows with every chunk of the trace.
    pub revision: u64,
}

impl TraceRow {
    /// Where a list that ends with this trace goes on.
    #[must_use]
    pub fn cursor(&self) -> TraceCursor {
        TraceCursor {
            start: self.start,
            trace_id: self.trace_id,
        }
    }
}

/// Where a list of sessions goes on: behind this session.
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
    /// How many traces name it.
    pub traces: u64,
    /// Start of the first.
    pub start: u64,
    /// Start of the last.
    pub last_start: u64,
    /// End of the last.
    pub end: u64,
}

impl SessionRow {
    /// Where a list that ends with this session goes on.
    #[must_use]
    pub fn cursor(&self) -> SessionCursor {
        SessionCursor {
            last_start: self.last_start,
            session: self.session.clone(),
        }
    }
}
