//! The session by which the index finds a trace is the one that its run names.
#![expect(clippy::expect_used, reason = "a test")]

use crate::support;

use std::collections::BTreeMap;
use std::sync::Arc;

use spanbridge::dialect::Registry;
use spanbridge::otlp::{encode, scan};
use spanbridge::span::{Signal, Span, SpanId, TraceId, UnixNanos};
use spanbridge::trace::FindingKind;

/// What the index says of each trace of these spans.
fn indexed(registry: &Registry, spans: &[Span]) -> BTreeMap<TraceId, Option<Arc<str>>> {
    let keys = registry.session_keys();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let scanned = scan::scan(&encode::traces(spans), Signal::Traces, &keys).expect("a request");
    let parts = scanned.parts.into_iter();
    let of_trace = |part: scan::Part| match part.key {
        scan::Key::Trace(id) => Some((id, part.session)),
        scan::Key::Session(_) => None,
    };
    parts.filter_map(of_trace).collect()
}

#[test]
fn every_recorded_trace_is_found_by_the_session_of_its_run() {
    let registry = Registry::built_in();
    let mut wrong = Vec::new();
    let mut named = 0;
    for case in support::cases(280, |name| !name.starts_with("made-")) {
        let index = indexed(registry, &case.spans);
        for run in case.runs() {
            let known = index.get(&run.trace_id).and_then(|session| session.as_deref());
            named += usize::from(run.session_id.is_some());
            // Keys that only the net under unknown dialects reads are in no index.
            let by_shape = run.findings.iter().any(|finding| finding.kind == FindingKind::UnknownDialect);
            if run.session_id.as_deref() != known && !by_shape {
                wrong.push(format!("{}: the run says {:?}, the index {known:?}", case.name, run.session_id));
            }
        }
    }
    assert!(named > 100, "only {named} runs name a session");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_session_inside_a_json_text_is_indexed_and_the_text_is_not() {
    let registry = Registry::built_in();
    let session_of = |metadata: &str| {
        let id = SpanId::from_bytes(&[1; 8]).expect("an id");
        let mut span = Span::new(TraceId::from_bytes(&[1; 16]).expect("an id"), id, "agent");
        (span.start, span.end) = (UnixNanos(1), UnixNanos(2));
        span.attributes.push("openinference.span.kind", "AGENT");
        span.attributes.push("metadata", metadata);
        let known = indexed(registry, &[span]);
        known.into_values().next().flatten()
    };
    assert_eq!(session_of(r#"{"ls_provider": "x", "session_id": "s 1"}"#).as_deref(), Some("s 1"));
    assert_eq!(session_of(r#"{"thread_id": "t"}"#).as_deref(), Some("t"));
    assert_eq!(session_of(r#"{"other": "t"}"#), None);
    assert_eq!(session_of("plain words"), None);
}
