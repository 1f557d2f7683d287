//! Batches to be measured.

use serde_json::json;
use spanbridge::span::{LogRecord, Span, SpanId, TraceId, UnixNanos};

pub(crate) type Batch = (Vec<Span>, Vec<LogRecord>);

pub(crate) fn span(number: u64, parent: Option<u64>, attributes: &[(&str, &str)]) -> Span {
    let id = |number: u64| SpanId::from_bytes(&(number + 1).to_be_bytes()).unwrap();
    let mut span = Span::new(TraceId::from_bytes(&[1; 16]).unwrap(), id(number), "span");
    span.parent = parent.map(id);
    span.start = UnixNanos(1_767_261_600_000_000_000 + number * 1_000);
    span.end = UnixNanos(1_767_261_700_000_000_000 - number * 1_000);
    for (key, value) in attributes {
        span.attributes.push(*key, *value);
    }
    span
}

pub(crate) const CHAT: (&str, &str) = ("gen_ai.operation.name", "chat");
pub(crate) const AGENT: (&str, &str) = ("gen_ai.operation.name", "invoke_agent");
pub(crate) const TOOL: (&str, &str) = ("gen_ai.operation.name", "execute_tool");

pub(crate) fn chain(count: u64, of: impl Fn(u64) -> Vec<(&'static str, String)>) -> Batch {
    let spans = (0..count).map(|number| {
        let attributes = of(number);
        let attributes: Vec<(&str, &str)> = attributes.iter().map(|(key, value)| (*key, value.as_str())).collect();
        span(number, number.checked_sub(1), &attributes)
    });
    (spans.collect(), Vec::new())
}

pub(crate) fn wide(count: u64, of: impl Fn(u64) -> Vec<(&'static str, String)>) -> Batch {
    let mut spans = vec![span(0, None, &[AGENT, ("gen_ai.agent.name", "root")])];
    spans.extend((1..count).map(|number| {
        let attributes = of(number);
        let attributes: Vec<(&str, &str)> = attributes.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let mut span = span(number, Some(0), &attributes);
        span.end = UnixNanos(span.start.0 + 500);
        span
    }));
    (spans, Vec::new())
}

pub(crate) fn said(kind: (&'static str, &'static str), more: &[(&'static str, String)]) -> Vec<(&'static str, String)> {
    let mut list = vec![(kind.0, kind.1.to_owned())];
    list.extend(more.iter().cloned());
    list
}

pub(crate) fn answer(text: &str) -> String {
    json!([{"role": "assistant", "parts": [{"type": "text", "content": text}]}]).to_string()
}

/// The spans of a chain begin in the opposite order: an inner one is read before the one around it.
pub(crate) fn backwards((mut spans, logs): Batch) -> Batch {
    let count = spans.len() as u64;
    for (number, span) in spans.iter_mut().enumerate() {
        span.start = UnixNanos(1_767_261_600_000_000_000 + (count - number as u64) * 1_000);
    }
    (spans, logs)
}

/// Calls of a model, each followed by one operation.
pub(crate) fn in_turns(count: u64, call: impl Fn(u64) -> String, of: impl Fn(u64) -> Vec<(&'static str, String)>) -> Batch {
    wide(count, |number| match number % 2 {
        1 => said(CHAT, &[("gen_ai.output.messages", call(number))]),
        _ => of(number),
    })
}
