//! Log records and span events.

use serde_json::json;
use spanbridge::span::{AnyValue, LogRecord, SpanId, TraceId, UnixNanos};

use crate::measure::{grows_evenly, work};
use crate::shapes::{CHAT, said, span, wide};

fn record(number: u64, name: &str, span: Option<u64>) -> LogRecord {
    LogRecord {
        trace_id: TraceId::from_bytes(&[1; 16]),
        span_id: span.map(|number| SpanId::from_bytes(&(number + 1).to_be_bytes()).unwrap()),
        time: Some(UnixNanos(1_767_261_600_000_000_000 + number * 1_000 + 1)),
        observed_time: None,
        severity: 0,
        severity_text: String::new(),
        event_name: name.to_owned(),
        body: AnyValue::KvList(vec![("content".to_owned(), AnyValue::from(format!("m{number}")))]),
        attributes: [("input_token_count".to_owned(), AnyValue::Int(i64::try_from(number).unwrap() + 100))]
            .into_iter()
            .collect(),
        dropped_attributes: 0,
        flags: 0,
        resource: std::sync::Arc::default(),
        scope: std::sync::Arc::default(),
    }
}

#[test]
fn log_records_of_one_span() {
    grows_evenly(|count| {
        let one = span(0, None, &[CHAT]);
        (
            vec![one],
            (0..count).map(|number| record(number, "gen_ai.user.message", Some(0))).collect(),
        )
    });
}

#[test]
fn log_records_that_look_for_their_call() {
    grows_evenly(|count| {
        let (mut spans, _) = wide(count, |_| said(CHAT, &[]));
        for (number, span) in spans.iter_mut().enumerate() {
            span.attributes
                .push("gen_ai.usage.input_tokens", i64::try_from(number).unwrap() + 100);
        }
        (spans, (0..count).map(|number| record(number, "codex.sse_event", None)).collect())
    });
}

#[test]
fn log_records_that_are_near_a_call() {
    grows_evenly(|count| {
        let (spans, _) = wide(count, |_| said(CHAT, &[]));
        (
            spans,
            (0..count).map(|number| record(number, "gen_ai.user.message", None)).collect(),
        )
    });
}

#[test]
fn events_of_one_span() {
    grows_evenly(|count| {
        let mut one = span(0, None, &[CHAT]);
        one.events = (0..count)
            .map(|number| spanbridge::span::Event {
                time: UnixNanos(one.start.0 + number),
                name: "gen_ai.user.message".to_owned(),
                attributes: [("content".to_owned(), AnyValue::from(format!("m{number}")))].into_iter().collect(),
                dropped_attributes: 0,
            })
            .collect();
        (vec![one], Vec::new())
    });
}

#[test]
fn sessions_and_tags_of_many_spans() {
    grows_evenly(|count| {
        wide(count, |number| {
            said(
                CHAT,
                &[
                    ("session.id", format!("s{number}")),
                    ("tag.tags", json!([format!("t{number}")]).to_string()),
                    ("metadata", json!({format!("k{number}"): 1}).to_string()),
                ],
            )
        })
    });
}

#[test]
fn one_call_in_many_traces() {
    grows_evenly(|count| {
        let (mut spans, logs) = wide(count, |_| said(CHAT, &[("gen_ai.response.id", "r".to_owned())]));
        for (number, span) in spans.iter_mut().enumerate() {
            span.trace_id = TraceId::from_bytes(&(number as u128 + 1).to_be_bytes()).unwrap();
            span.parent = None;
        }
        (spans, logs)
    });
}

#[test]
fn a_large_index_is_one_message() {
    let with = |indices: [&str; 3]| {
        let mut one = span(0, None, &[("openinference.span.kind", "LLM")]);
        for index in indices {
            one.attributes.push(format!("llm.input_messages.{index}.message.role"), "user");
            one.attributes.push(format!("llm.input_messages.{index}.message.content"), "m");
        }
        work((vec![one], Vec::new()))
    };
    let (written, allocated) = with(["4294967295", "18446744073709551615", "99999999999999999999999999"]);
    assert_eq!(written, with(["0", "1", "2"]).0);
    assert!(allocated < 4_000_000, "{allocated}");
}
