//! Maps each span of a trace to its chunks, so that one span can be read without the others.

use crate::span::SpanId;
use crate::store::{ChunkKind, Position, Stored};

/// The chunks of a trace's spans and of their log records.
#[derive(Debug, Default)]
pub(crate) struct Places {
    chunks: Vec<(Position, ChunkKind)>,
    /// Spans and indexes of their chunks, sorted.
    spans: Vec<(SpanId, u32)>,
}

impl Places {
    /// The places of a trace read from these chunks. Empty if other chunks were read: some are damaged, or more arrived meanwhile.
    pub(crate) fn of(stored: &Stored, chunks: Vec<(Position, ChunkKind)>) -> Self {
        if chunks.len() != stored.ends.len() {
            return Self::default();
        }
        let mut spans = Vec::with_capacity(stored.spans.len());
        let (mut span, mut log) = (0, 0);
        for (number, (spans_end, logs_end)) in (0_u32..).zip(&stored.ends) {
            let of_spans = stored.spans.get(span..*spans_end).unwrap_or_default();
            let of_logs = stored.logs.get(log..*logs_end).unwrap_or_default();
            spans.extend(of_spans.iter().map(|span| (span.span_id, number)));
            spans.extend(of_logs.iter().filter_map(|log| Some((log.span_id?, number))));
            (span, log) = (*spans_end, *logs_end);
        }
        spans.sort_unstable();
        spans.dedup();
        spans.shrink_to_fit();
        Self { chunks, spans }
    }

    /// Their size in memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.chunks) + size_of_val(&*self.spans)
    }

    /// The chunks that have a span, in order of arrival; none if unknown.
    pub(crate) fn of_span(&self, span: SpanId) -> impl Iterator<Item = (Position, ChunkKind)> {
        let begin = self.spans.partition_point(|(id, _)| *id < span);
        let found = self
            .spans
            .get(begin..)
            .unwrap_or_default()
            .iter()
            .take_while(move |(id, _)| *id == span);
        found.filter_map(|(_, chunk)| self.chunks.get(usize::try_from(*chunk).ok()?).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::{AnyValue, Attributes, LogRecord, Span, TraceId};

    fn record(span_id: Option<SpanId>) -> LogRecord {
        LogRecord {
            trace_id: None,
            span_id,
            time: None,
            observed_time: None,
            severity: 0,
            severity_text: String::new(),
            event_name: String::new(),
            body: AnyValue::Empty,
            attributes: Attributes::default(),
            dropped_attributes: 0,
            flags: 0,
            resource: Default::default(),
            scope: Default::default(),
        }
    }

    #[test]
    fn a_span_is_in_the_chunks_that_have_it_or_its_log_records() {
        let trace = TraceId::from_bytes(&[1; 16]).expect("an id");
        let id = |number: u8| SpanId::from_bytes(&[number; 8]).expect("an id");
        let spans = [3, 1, 2, 1].map(|number| Span::new(trace, id(number), "a span"));
        let stored = Stored {
            spans: spans.into(),
            logs: vec![record(Some(id(2))), record(None)],
            ends: vec![(2, 0), (2, 1), (4, 2)],
            ..Stored::default()
        };
        let at = |offset| Position { segment: 1, offset };
        let chunks = vec![(at(0), ChunkKind::Spans), (at(9), ChunkKind::Logs), (at(20), ChunkKind::Spans)];
        let places = Places::of(&stored, chunks.clone());
        let found = |number| places.of_span(id(number)).map(|(at, _)| at.offset).collect::<Vec<_>>();
        assert_eq!(
            [found(1), found(2), found(3), found(4)],
            [vec![0, 20], vec![9, 20], vec![0], vec![]]
        );
        let other = Places::of(&stored, chunks.into_iter().skip(1).collect());
        assert_eq!((other.of_span(id(1)).count(), other.bytes()), (0, 0));
    }
}
