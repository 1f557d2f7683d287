//! The start time of a run from a row of chat messages, which has no times.

use std::collections::HashMap;

use crate::formats::format::Format as _;
use crate::formats::messages::Messages;
use crate::span::{Span, TIMES_UNKNOWN, TraceId, UnixNanos};

/// Moves traces in which every time is a substitute, so that they begin at a chosen time. Rows of chat messages are put at 1970, where
/// no list or view of recent runs shows them. The marks of substitutes stay. `at` may leave a trace unmoved. Other formats are left
/// alone: their documents may have times, and restoring their text depends on the substitutes.
pub(crate) fn begin_at(format: &str, spans: &mut [Span], mut at: impl FnMut(TraceId) -> Option<UnixNanos>) {
    if format != Messages::ID {
        return;
    }
    let mut starts: HashMap<TraceId, Option<UnixNanos>> = HashMap::new();
    for span in &*spans {
        let start = starts.entry(span.trace_id).or_insert(Some(span.start));
        *start = match start {
            Some(start) if is_stand_in(span) => Some((*start).min(span.start)),
            _ => None,
        };
    }
    let moved: HashMap<TraceId, (UnixNanos, UnixNanos)> = starts
        .into_iter()
        .filter_map(|(trace_id, start)| Some((trace_id, (start?, at(trace_id)?))))
        .collect();
    for span in spans {
        let Some((start, begin)) = moved.get(&span.trace_id) else {
            continue;
        };
        let events = span.events.iter_mut().map(|event| &mut event.time);
        for time in [&mut span.start, &mut span.end].into_iter().chain(events).filter(|time| time.0 > 0) {
            *time = UnixNanos(begin.0.saturating_add(time.0.saturating_sub(start.0)));
        }
    }
}

fn is_stand_in(span: &Span) -> bool {
    let marked = span.attributes.text(TIMES_UNKNOWN);
    marked.is_some_and(|which| which.starts_with("start, end") || which == "start" && span.end.0 == 0)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use crate::formats::disassemble;

    const NOW: UnixNanos = UnixNanos(1_795_000_000_000_000_000);

    const ROW: &str = r#"{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}"#;

    fn spans(row: &str) -> Vec<Span> {
        disassemble(None, row).unwrap().spans
    }

    #[test]
    fn a_run_without_times_begins_when_it_is_told_to_and_keeps_its_order() {
        let before = spans(ROW);
        let mut after = before.clone();
        begin_at("messages", &mut after, |_| Some(NOW));
        assert_eq!(after.iter().map(|span| span.start).min(), Some(NOW));
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(after.end.0 - after.start.0, before.end.0 - before.start.0);
            assert_eq!((before.span_id, &before.attributes), (after.span_id, &after.attributes));
        }
        let mut again = spans(ROW);
        begin_at("messages", &mut again, |_| Some(UnixNanos(1)));
        begin_at("messages", &mut again, |_| Some(NOW));
        assert_eq!(again, after);
    }

    #[test]
    fn one_time_of_its_own_keeps_a_run_where_it_is() {
        let mut spans = spans(ROW);
        let last = spans.last_mut().unwrap();
        last.attributes.0.retain(|(key, _)| key != TIMES_UNKNOWN);
        let before = spans.clone();
        begin_at("messages", &mut spans, |_| Some(NOW));
        assert_eq!(spans, before);
    }
}
