//! Collects spans into finished runs within bounded memory.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::run_document::RunSnapshot;
use super::sink::{NewDocument, Sink};
use crate::documents::{self, Vocabulary};
use crate::formats::{AnyFormat, Options};
use crate::span::{AnyValue, Resource, Span, SpanId, TraceId};

/// How much to keep, and for how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) quiet: Duration,
    pub(super) spans: usize,
    pub(super) bytes: usize,
}

/// Maximum number of written traces kept for late spans.
const MAX_WRITTEN_TRACES: usize = 64;

#[derive(Debug)]
struct Trace {
    spans: Vec<Span>,
    bytes: usize,
    last: Instant,
    /// The root has ended: spans arrive when they end.
    finished: bool,
    /// The documents of all these spans have been written.
    written: bool,
    revision: u32,
}

impl Trace {
    fn new(now: Instant) -> Self {
        Self {
            spans: Vec::new(),
            bytes: 0,
            last: now,
            finished: false,
            written: false,
            revision: 0,
        }
    }

    /// Eviction order when memory is short: written traces first, then those quiet longest.
    fn rank(&self, id: TraceId) -> Rank {
        (!self.written, self.last, id)
    }
}

type Rank = (bool, Instant, TraceId);

/// A span with a parent in another process (bit 9 of the flags) is a root of this process.
fn is_root(span: &Span) -> bool {
    span.parent.is_none() || span.flags & 0x200 != 0
}

/// Keeps spans by trace until their documents are due.
pub(super) struct Collector {
    pub(super) formats: Vec<&'static AnyFormat>,
    pub(super) options: Options,
    pub(super) limits: Limits,
    /// The resource of the provider that creates these spans.
    pub(super) resource: Arc<Resource>,
    sink: Sink,
    traces: HashMap<TraceId, Trace>,
    ranks: BTreeSet<Rank>,
    spans: usize,
    bytes: usize,
}

impl Collector {
    pub(super) fn new(formats: Vec<&'static AnyFormat>, sink: Sink) -> Self {
        Self {
            formats,
            options: Options::default(),
            limits: Limits {
                quiet: Duration::from_millis(250),
                spans: 100_000,
                bytes: 256 * 1024 * 1024,
            },
            resource: Arc::default(),
            sink,
            traces: HashMap::new(),
            ranks: BTreeSet::new(),
            spans: 0,
            bytes: 0,
        }
    }

    pub(super) fn take(&mut self, spans: impl Iterator<Item = Span>, now: Instant) {
        for span in spans {
            self.add(span, now, |trace, span| {
                trace.finished |= is_root(span);
                trace.last = now;
            });
            while self.spans > self.limits.spans || self.bytes > self.limits.bytes {
                let Some((.., oldest)) = self.ranks.first().copied() else { break };
                self.write(oldest);
                self.forget(oldest);
            }
        }
    }

    /// Takes spans still open when the program ends, if their run has not been written or its root is among them. Spans that ended in the
    /// meantime are skipped.
    pub(super) fn take_open(&mut self, open: impl Iterator<Item = Span>, now: Instant) {
        let open: Vec<Span> = open.collect();
        let rooted: HashSet<TraceId> = open.iter().filter(|span| is_root(span)).map(|span| span.trace_id).collect();
        let spans = self.traces.values().flat_map(|trace| &trace.spans);
        let ended: HashSet<(TraceId, SpanId)> = spans.map(|span| (span.trace_id, span.span_id)).collect();
        for span in open {
            let held = self.traces.get(&span.trace_id).is_some_and(|trace| !trace.written);
            if ended.contains(&(span.trace_id, span.span_id)) || !held && !rooted.contains(&span.trace_id) {
                continue;
            }
            self.add(span, now, |_, _| ());
        }
    }

    /// Adds a span to its trace and marks the trace's documents as outdated.
    fn add(&mut self, span: Span, now: Instant, change: impl FnOnce(&mut Trace, &Span)) {
        let (id, bytes) = (span.trace_id, size(&span));
        let trace = self.traces.entry(id).or_insert_with(|| Trace::new(now));
        let _ = self.ranks.remove(&trace.rank(id));
        change(trace, &span);
        trace.written = false;
        trace.bytes += bytes;
        trace.spans.push(span);
        let _ = self.ranks.insert(trace.rank(id));
        self.spans += 1;
        self.bytes += bytes;
    }

    /// Time until the next documents are due; `None` if no finished run is waiting or the quiet time never passes.
    pub(super) fn next_due(&self, now: Instant) -> Option<Duration> {
        let due = self.traces.values().filter(|trace| trace.finished && !trace.written);
        let due = due.filter_map(|trace| trace.last.checked_add(self.limits.quiet));
        due.map(|due| due.saturating_duration_since(now)).min()
    }

    pub(super) fn write_due(&mut self, now: Instant) {
        let quiet = self.limits.quiet;
        self.write_where(|trace| trace.finished && now.saturating_duration_since(trace.last) >= quiet);
        let mut written: Vec<(Instant, TraceId)> = self
            .traces
            .iter()
            .filter(|(_, trace)| trace.written)
            .map(|(id, trace)| (trace.last, *id))
            .collect();
        if written.len() > MAX_WRITTEN_TRACES {
            written.sort_unstable();
            let more = written.len() - MAX_WRITTEN_TRACES;
            written.into_iter().take(more).for_each(|(_, id)| self.forget(id));
        }
    }

    pub(super) fn write_finished(&mut self) {
        self.write_where(|trace| trace.finished);
    }

    pub(super) fn write_all(&mut self) {
        self.write_where(|_| true);
        self.traces.clear();
        self.ranks.clear();
        (self.spans, self.bytes) = (0, 0);
    }

    fn write_where(&mut self, due: impl Fn(&Trace) -> bool) {
        let ready = self.traces.iter().filter(|(_, trace)| !trace.written && due(trace));
        let mut ready: Vec<(Instant, TraceId)> = ready.map(|(id, trace)| (trace.last, *id)).collect();
        ready.sort_unstable();
        for (_, id) in ready {
            self.write(id);
        }
    }

    fn write(&mut self, id: TraceId) {
        let Some(trace) = self.traces.get_mut(&id).filter(|trace| !trace.written) else {
            return;
        };
        let _ = self.ranks.remove(&trace.rank(id));
        trace.written = true;
        let _ = self.ranks.insert(trace.rank(id));
        let (finished, revision) = (trace.finished, trace.revision);
        trace.revision += 1;
        // One trace yields one run.
        for run in &Vocabulary::built_in().runs(trace.spans.clone(), Vec::new()) {
            let take = match &mut self.sink {
                Sink::Documents(take) => take,
                Sink::Runs(take) => {
                    take(&RunSnapshot {
                        trace_id: id,
                        run,
                        finished,
                        revision,
                    });
                    continue;
                }
            };
            for format in &self.formats {
                for document in documents::of_run(run, format, &self.options).documents {
                    take(NewDocument {
                        trace_id: id,
                        document,
                        finished,
                        revision,
                    });
                }
            }
        }
    }

    fn forget(&mut self, id: TraceId) {
        if let Some(trace) = self.traces.remove(&id) {
            let _ = self.ranks.remove(&trace.rank(id));
            self.spans -= trace.spans.len();
            self.bytes -= trace.bytes;
        }
    }
}

/// Approximate size of a span in memory, in bytes.
fn size(span: &Span) -> usize {
    fn value(value: &AnyValue) -> usize {
        match value {
            AnyValue::String(text) => text.len(),
            AnyValue::Bytes(bytes) => bytes.len(),
            AnyValue::Array(list) => list.iter().map(value_size).sum(),
            AnyValue::KvList(pairs) => pairs.iter().map(|(key, inner)| key.len() + value_size(inner)).sum(),
            _ => 0,
        }
    }
    fn value_size(inner: &AnyValue) -> usize {
        size_of::<AnyValue>() + value(inner)
    }
    let pairs = |list: &crate::span::Attributes| -> usize { list.iter().map(|(key, value)| 24 + key.len() + value_size(value)).sum() };
    size_of::<Span>()
        + span.name.len()
        + pairs(&span.attributes)
        + span.events.iter().map(|event| 96 + pairs(&event.attributes)).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::formats::by_id;
    use crate::layer::{RunDocument, sink};
    use crate::span::{SpanId, UnixNanos};

    type Given = Arc<Mutex<Vec<(String, bool, u32)>>>;

    fn collector() -> (Collector, Given) {
        let given = Given::default();
        let seen = Arc::clone(&given);
        let sink = sink::callback(move |document: &RunDocument| {
            if let Ok(mut seen) = seen.lock() {
                seen.push((document.trace_id.to_string(), document.finished, document.revision));
            }
        });
        (Collector::new(by_id("contextforge").into_iter().collect(), sink), given)
    }

    fn span(trace: u8, id: u8, parent: Option<u8>) -> Span {
        let span_id = |id: u8| SpanId::from_bytes(&[id; 8]);
        let trace_id = TraceId::from_bytes(&[trace; 16]).expect("not zero");
        let mut span = Span::new(trace_id, span_id(id).expect("not zero"), "agent");
        span.parent = parent.and_then(span_id);
        span.start = UnixNanos(1_000_000_000);
        span.end = UnixNanos(2_000_000_000);
        span.attributes.push("openinference.span.kind", "AGENT");
        span
    }

    #[test]
    fn a_run_is_given_when_its_root_has_ended_and_again_for_a_late_span() {
        let (mut collector, given) = collector();
        let start = Instant::now();
        collector.take([span(1, 2, Some(1))].into_iter(), start);
        assert_eq!(collector.next_due(start), None);
        collector.take([span(1, 1, None)].into_iter(), start);
        collector.limits.quiet = Duration::MAX;
        assert_eq!(collector.next_due(start), None, "a wait without an end");
        collector.limits.quiet = Duration::from_millis(250);
        collector.write_due(start);
        assert!(given.lock().expect("no panic").is_empty());
        collector.write_due(start + Duration::from_millis(250));
        collector.take([span(1, 3, Some(1))].into_iter(), start);
        collector.write_all();
        let trace = "01".repeat(16);
        assert_eq!(*given.lock().expect("no panic"), [(trace.clone(), true, 0), (trace, true, 1)]);
    }

    #[test]
    fn runs_are_given_and_a_panic_at_one_loses_no_other() {
        let given = Given::default();
        let seen = Arc::clone(&given);
        let sink = sink::runs(move |snapshot| {
            assert!(snapshot.finished, "an unfinished run");
            let mut seen = seen.lock().expect("no panic");
            seen.push((snapshot.run.steps.len().to_string(), snapshot.finished, snapshot.revision));
        });
        let mut collector = Collector::new(Vec::new(), sink);
        let now = Instant::now();
        collector.take([span(1, 2, Some(1)), span(2, 2, Some(1)), span(2, 1, None)].into_iter(), now);
        collector.write_all();
        assert_eq!(*given.lock().expect("no panic"), [("2".to_owned(), true, 0)]);
    }

    #[test]
    fn open_spans_make_a_run_unfinished_and_no_other_run_again() {
        let (mut collector, given) = collector();
        let now = Instant::now();
        collector.take([span(1, 1, None), span(2, 2, Some(1))].into_iter(), now);
        collector.write_finished();
        let open = |trace, id, parent| {
            let mut span = span(trace, id, parent);
            span.end = UnixNanos(0);
            span
        };
        // A left-over of a run that is out; a root with a child that has ended; one that ended meanwhile; a root alone.
        let left = [open(1, 9, Some(1)), open(2, 1, None), open(2, 2, Some(1)), open(3, 1, None)];
        collector.take_open(left.into_iter(), now);
        assert_eq!(collector.traces.values().map(|trace| trace.spans.len()).sum::<usize>(), 4);
        assert_eq!((collector.spans, collector.ranks.len()), (4, 3), "open spans count");
        collector.write_all();
        let mut given = given.lock().expect("no panic").clone();
        given.sort();
        let trace = |number: &str| number.repeat(16);
        assert_eq!(given, [(trace("01"), true, 0), (trace("02"), false, 0), (trace("03"), false, 0)]);
    }

    #[test]
    fn memory_is_bounded_and_what_never_ends_is_given_unfinished() {
        let (mut collector, given) = collector();
        collector.limits.spans = 2;
        let start = Instant::now();
        for trace in 1..=3 {
            collector.take([span(trace, 2, Some(1))].into_iter(), start + Duration::from_secs(trace.into()));
        }
        assert_eq!((collector.spans, collector.traces.len(), collector.ranks.len()), (2, 2, 2));
        collector.write_all();
        assert_eq!((collector.spans, collector.bytes), (0, 0));
        assert!(given.lock().expect("no panic").iter().all(|(_, finished, _)| !finished));
        assert_eq!(given.lock().expect("no panic").len(), 3);
    }
}
