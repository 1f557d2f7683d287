//! The content of a request, and how it is split.

use bytes::Bytes;

use super::dead_letters::DeadLetter;
use crate::otlp::items::{self, Item};
use crate::otlp::signal::count_points;
use crate::span::Signal;
use crate::store::Position;

/// A part of a request. It is itself a valid message, because concatenated messages are one message.
#[derive(Debug, Clone)]
pub struct Part {
    /// The chunk it belongs to; `None`: it came from a file.
    pub at: Option<Position>,
    /// An export request.
    pub message: Bytes,
    /// Number of spans, log records or data points.
    pub items: u64,
}

/// Number of spans, log records or data points in a message, as far as it can be read.
pub(super) fn count(message: &[u8], signal: Signal) -> u64 {
    match signal {
        Signal::Traces | Signal::Logs => items::count(message),
        Signal::Metrics => count_points(message).unwrap_or_default() as u64,
    }
}

/// The content of one request.
#[derive(Debug, Clone)]
pub struct Payload {
    /// Its signal.
    pub signal: Signal,
    /// Its parts.
    pub parts: Vec<Part>,
}

impl Part {
    /// A part with a whole message.
    #[must_use]
    pub fn new(at: Option<Position>, message: impl Into<Bytes>, signal: Signal) -> Self {
        let message = message.into();
        Self {
            at,
            items: count(&message, signal),
            message,
        }
    }

    fn of_items(&self, items: &[Item], signal: Signal) -> Self {
        Self::new(self.at, items::join(items), signal)
    }

    /// Splits it into parts of at most this many bytes; a single item may be larger.
    fn divide(self, most: usize, signal: Signal) -> Vec<Self> {
        if self.message.len() <= most || self.items < 2 {
            return vec![self];
        }
        let Ok(items) = items::items(&self.message) else {
            return vec![self];
        };
        let mut out = Vec::new();
        let mut rest = items.as_slice();
        while !rest.is_empty() {
            let mut bytes = 0;
            let fitting = rest.iter().take_while(|item| {
                bytes += item.length();
                bytes <= most
            });
            let (taken, behind) = rest.split_at(fitting.count().clamp(1, rest.len()));
            out.push(self.of_items(taken, signal));
            rest = behind;
        }
        out
    }
}

impl Payload {
    /// Packs parts of one signal into requests of at most this many bytes.
    #[must_use]
    pub fn pack(signal: Signal, parts: Vec<Part>, most: usize) -> Vec<Self> {
        let mut out: Vec<Self> = Vec::new();
        let mut bytes = 0;
        for part in parts
            .into_iter()
            .filter(|part| part.items > 0)
            .flat_map(|part| part.divide(most, signal))
        {
            bytes += part.message.len();
            match out.last_mut() {
                Some(last) if bytes <= most => last.parts.push(part),
                _ => {
                    bytes = part.message.len();
                    out.push(Self { signal, parts: vec![part] });
                }
            }
        }
        out
    }

    /// The export request.
    #[must_use]
    pub fn message(&self) -> Bytes {
        match self.parts.as_slice() {
            [part] => part.message.clone(),
            parts => {
                let mut message = Vec::with_capacity(parts.iter().map(|part| part.message.len()).sum());
                parts.iter().for_each(|part| message.extend_from_slice(&part.message));
                message.into()
            }
        }
    }

    /// Number of spans, log records or data points.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.parts.iter().map(|part| part.items).sum()
    }

    /// Whether it cannot be divided: it has only one span, log record or metric.
    #[must_use]
    pub fn is_single(&self) -> bool {
        match self.parts.as_slice() {
            [] => true,
            [part] => items::count(&part.message) <= 1,
            _ => false,
        }
    }

    /// Splits it into halves; `None`: it has one item, or cannot be divided.
    #[must_use]
    pub fn halves(&self) -> Option<[Self; 2]> {
        let of = |parts: Vec<Part>| Self {
            signal: self.signal,
            parts,
        };
        if let [part] = self.parts.as_slice() {
            let items = items::items(&part.message).ok()?;
            let (first, second) = items.split_at(items.len() / 2);
            return (!first.is_empty()).then(|| [first, second].map(|half| of(vec![part.of_items(half, self.signal)])));
        }
        let (first, second) = self.parts.split_at(self.parts.len() / 2);
        Some([first, second].map(|half| of(half.to_vec())))
    }

    /// A dead letter for a refusal. Of several items, it names only the first chunk.
    pub(super) fn dead_letter(&self, items: u64, reason: &str, time: u64) -> DeadLetter {
        let at = self.parts.iter().find_map(|part| part.at);
        let first = self
            .parts
            .first()
            .and_then(|part| items::items(&part.message).ok()?.into_iter().next());
        let head = first
            .filter(|_| self.signal == Signal::Traces && self.items() == 1)
            .map(|item| item.span_head())
            .unwrap_or_default();
        DeadLetter {
            time,
            signal: self.signal.to_string(),
            segment: at.map(|at| at.segment),
            offset: at.map(|at| at.offset),
            trace_id: head.trace_id.map(|id| id.to_string()),
            span_id: head.span_id.map(|id| id.to_string()),
            items,
            reason: reason.to_owned(),
        }
    }
}
