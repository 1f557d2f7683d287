//! Large and deep runs: the stack holds, and twice the spans are about twice the work.
//!
//! Work is counted in bytes allocated and in bytes written; no time is asserted. `SPANBRIDGE_FULL=1` takes ten thousand
//! items, where what grows with their square shows in the time that the test takes.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::alloc::System;
use std::sync::Mutex;

use serde_json::json;
use spanbridge::dialect::Registry;
use spanbridge::formats::{FORMATS, Layout, Options};
use spanbridge::run;
use spanbridge::span::{AnyValue, LogRecord, Span, SpanId, TraceId, UnixNanos};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// One shape at a time: the allocator counts for the whole program.
static ONE: Mutex<()> = Mutex::new(());

type Batch = (Vec<Span>, Vec<LogRecord>);

fn items() -> u64 {
    if std::env::var_os("SPANBRIDGE_FULL").is_some() {
        10_000
    } else {
        3_000
    }
}

fn span(number: u64, parent: Option<u64>, attributes: &[(&str, &str)]) -> Span {
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

/// Everything that is made of a batch: bytes written, bytes allocated.
fn work(batch: Batch) -> (usize, usize) {
    let (spans, logs) = batch;
    let registry = Registry::built_in();
    let region = Region::new(ALLOCATOR);
    let runs = run::from_batch(spans, logs, &registry);
    let mut written = 0;
    for format in FORMATS {
        for assembled in format.assemble(&runs, &Options::default(), Layout::Compact) {
            written += assembled.document.len();
        }
    }
    (written, region.change().bytes_allocated)
}

/// On a thread with the stack that the server's threads have.
fn grows_evenly(make: fn(u64) -> Batch) {
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let run = move || {
        let (written, allocated) = work(make(items() / 2));
        let (twice_written, twice_allocated) = work(make(items()));
        assert!(twice_written < written * 5 / 2, "{written} bytes written, then {twice_written}");
        assert!(
            twice_allocated < allocated * 5 / 2,
            "{allocated} bytes allocated, then {twice_allocated}"
        );
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

const CHAT: (&str, &str) = ("gen_ai.operation.name", "chat");
const AGENT: (&str, &str) = ("gen_ai.operation.name", "invoke_agent");
const TOOL: (&str, &str) = ("gen_ai.operation.name", "execute_tool");

fn chain(count: u64, of: impl Fn(u64) -> Vec<(&'static str, String)>) -> Batch {
    let spans = (0..count).map(|number| {
        let attributes = of(number);
        let attributes: Vec<(&str, &str)> = attributes.iter().map(|(key, value)| (*key, value.as_str())).collect();
        span(number, number.checked_sub(1), &attributes)
    });
    (spans.collect(), Vec::new())
}

fn wide(count: u64, of: impl Fn(u64) -> Vec<(&'static str, String)>) -> Batch {
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

fn said(kind: (&'static str, &'static str), more: &[(&'static str, String)]) -> Vec<(&'static str, String)> {
    let mut list = vec![(kind.0, kind.1.to_owned())];
    list.extend(more.iter().cloned());
    list
}

fn answer(text: &str) -> String {
    json!([{"role": "assistant", "parts": [{"type": "text", "content": text}]}]).to_string()
}

#[test]
fn agents_in_agents() {
    grows_evenly(|count| chain(count, |number| said(AGENT, &[("gen_ai.agent.name", format!("a{number}"))])));
}

/// The spans of a chain begin in the opposite order: an inner one is read before the one around it.
fn backwards((mut spans, logs): Batch) -> Batch {
    let count = spans.len() as u64;
    for (number, span) in spans.iter_mut().enumerate() {
        span.start = UnixNanos(1_767_261_600_000_000_000 + (count - number as u64) * 1_000);
    }
    (spans, logs)
}

#[test]
fn agents_that_begin_before_those_around_them() {
    grows_evenly(|count| backwards(chain(count, |number| said(AGENT, &[("gen_ai.agent.name", format!("a{number}"))]))));
}

#[test]
fn sub_agents_inside_the_tools_that_called_them() {
    grows_evenly(|count| {
        chain(count, |number| match number % 2 {
            0 => said(AGENT, &[("gen_ai.agent.name", format!("a{number}"))]),
            _ => said(
                TOOL,
                &[
                    ("gen_ai.tool.name", format!("a{}", number + 1)),
                    ("gen_ai.tool.call.id", format!("c{number}")),
                ],
            ),
        })
    });
}

#[test]
fn one_agent_in_itself() {
    grows_evenly(|count| chain(count, |_| said(AGENT, &[("gen_ai.agent.name", "a".to_owned())])));
}

#[test]
fn agents_and_tools_in_turn() {
    grows_evenly(|count| {
        chain(count, |number| match number % 3 {
            0 => said(AGENT, &[("gen_ai.agent.name", format!("a{number}"))]),
            1 => said(CHAT, &[("gen_ai.output.messages", answer(&format!("x{number}")))]),
            _ => said(
                TOOL,
                &[
                    ("gen_ai.tool.name", format!("t{number}")),
                    ("gen_ai.tool.call.id", format!("c{number}")),
                ],
            ),
        })
    });
}

#[test]
fn tools_in_tools() {
    grows_evenly(|count| chain(count, |number| said(TOOL, &[("gen_ai.tool.name", format!("t{number}"))])));
}

#[test]
fn one_tool_in_itself() {
    grows_evenly(|count| chain(count, |_| said(TOOL, &[("gen_ai.tool.name", "t".to_owned())])));
}

#[test]
fn calls_in_calls() {
    grows_evenly(|count| {
        chain(count, |number| {
            said(CHAT, &[("gen_ai.output.messages", answer(&format!("x{number}")))])
        })
    });
}

#[test]
fn plain_spans_around_a_call() {
    grows_evenly(|count| {
        let (mut spans, logs) = chain(count, |_| Vec::new());
        spans.last_mut().unwrap().attributes.push(CHAT.0, CHAT.1);
        (spans, logs)
    });
}

#[test]
fn chains_in_chains() {
    grows_evenly(|count| {
        chain(count, |number| {
            said(("openinference.span.kind", "CHAIN"), &[("input.value", format!("x{number}"))])
        })
    });
}

#[test]
fn tools_beside_tools() {
    grows_evenly(|count| {
        wide(count, |_| {
            said(
                TOOL,
                &[("gen_ai.tool.name", "t".to_owned()), ("gen_ai.tool.call.result", "r".to_owned())],
            )
        })
    });
}

#[test]
fn calls_beside_calls() {
    grows_evenly(|count| {
        wide(count, |number| {
            said(CHAT, &[("gen_ai.output.messages", answer(&format!("x{number}")))])
        })
    });
}

/// Calls of a model, each followed by one operation.
fn in_turns(count: u64, call: impl Fn(u64) -> String, of: impl Fn(u64) -> Vec<(&'static str, String)>) -> Batch {
    wide(count, |number| match number % 2 {
        1 => said(CHAT, &[("gen_ai.output.messages", call(number))]),
        _ => of(number),
    })
}

#[test]
fn people_who_answer_between_calls() {
    grows_evenly(|count| {
        in_turns(
            count,
            |number| answer(&format!("x{number}")),
            |number| {
                said(
                    ("step_type", "interrupt"),
                    &[("prompt", "go on?".to_owned()), ("response", format!("yes {number}"))],
                )
            },
        )
    });
}

#[test]
fn people_who_speak_between_calls() {
    grows_evenly(|count| {
        in_turns(
            count,
            |number| answer(&format!("x{number}")),
            |number| said(("step_type", "user_input"), &[("content", format!("and {number}?"))]),
        )
    });
}

#[test]
fn searches_between_calls() {
    grows_evenly(|count| {
        in_turns(
            count,
            |number| answer(&format!("x{number}")),
            |number| said(("step_type", "retrieval"), &[("query", format!("q{number}"))]),
        )
    });
}

#[test]
fn handoffs_between_calls_that_ask_for_them() {
    grows_evenly(|count| {
        in_turns(
            count,
            |number| {
                let call =
                    json!({"type": "tool_call", "id": format!("c{number}"), "name": format!("transfer_to_a{number}"), "arguments": {}});
                json!([{"role": "assistant", "parts": [call]}]).to_string()
            },
            |number| said(("step_type", "handoff"), &[("new_value", format!("a{}", number - 1))]),
        )
    });
}

#[test]
fn judgements_between_calls() {
    grows_evenly(|count| {
        in_turns(
            count,
            |number| answer(&format!("x{number}")),
            |number| said(("step_type", "guardrail"), &[("reward", format!("0.{number}"))]),
        )
    });
}

#[test]
fn chains_between_calls_repeat_what_they_say() {
    grows_evenly(|count| {
        in_turns(
            count,
            |number| answer(&format!("x{number}")),
            |number| {
                said(
                    ("openinference.span.kind", "CHAIN"),
                    &[("output.value", format!("x{}", number - 1))],
                )
            },
        )
    });
}

#[test]
fn calls_without_words() {
    grows_evenly(|count| wide(count, |_| said(CHAT, &[("gen_ai.request.model", "m".to_owned())])));
}

#[test]
fn agents_beside_agents() {
    grows_evenly(|count| wide(count, |number| said(AGENT, &[("gen_ai.agent.name", format!("a{number}"))])));
}

#[test]
fn calls_that_ask_for_tools() {
    grows_evenly(|count| {
        wide(count, |number| {
            if number % 2 == 1 {
                let call = json!([{"role": "assistant", "parts": [{"type": "tool_call", "name": "t", "arguments": {"n": number}}]}]);
                said(CHAT, &[("gen_ai.output.messages", call.to_string())])
            } else {
                said(
                    TOOL,
                    &[
                        ("gen_ai.tool.name", "t".to_owned()),
                        ("gen_ai.tool.call.result", format!("r{number}")),
                    ],
                )
            }
        })
    });
}

#[test]
fn messages_of_one_call() {
    grows_evenly(|count| {
        let messages: Vec<_> = (0..count)
            .map(|number| json!({"role": if number % 2 == 0 { "user" } else { "assistant" }, "parts": [{"type": "text", "content": format!("m{number}")}]}))
            .collect();
        let text = json!(messages).to_string();
        (vec![span(0, None, &[CHAT, ("gen_ai.input.messages", &text)])], Vec::new())
    });
}

#[test]
fn flat_messages_of_one_call() {
    grows_evenly(|count| {
        let mut one = span(0, None, &[("openinference.span.kind", "LLM")]);
        for number in 0..count {
            one.attributes.push(format!("llm.input_messages.{number}.message.role"), "user");
            one.attributes
                .push(format!("llm.input_messages.{number}.message.content"), format!("m{number}"));
        }
        (vec![one], Vec::new())
    });
}

#[test]
fn tool_calls_of_one_message() {
    grows_evenly(|count| {
        let parts: Vec<_> = (0..count)
            .map(|number| json!({"type": "tool_call", "id": format!("c{number}"), "name": "t", "arguments": {}}))
            .collect();
        let results: Vec<_> = (0..count)
            .map(|number| json!({"role": "tool", "parts": [{"type": "tool_call_response", "id": format!("c{number}"), "response": "r"}]}))
            .collect();
        let (asked, told) = (
            json!([{"role": "assistant", "parts": parts}]).to_string(),
            json!(results).to_string(),
        );
        let first = span(0, None, &[CHAT, ("gen_ai.output.messages", &asked)]);
        let mut second = span(1, None, &[CHAT, ("gen_ai.input.messages", &told)]);
        second.start = UnixNanos(first.end.0 + 1);
        second.end = UnixNanos(first.end.0 + 2);
        (vec![first, second], Vec::new())
    });
}

#[test]
fn tool_calls_without_ids_in_one_message() {
    grows_evenly(|count| {
        let parts: Vec<_> = (0..count)
            .map(|number| json!({"type": "tool_call", "name": format!("t{number}"), "arguments": {}}))
            .collect();
        let asked = json!([{"role": "assistant", "parts": parts}]).to_string();
        let first = span(0, None, &[CHAT, ("gen_ai.output.messages", &asked)]);
        (vec![first], Vec::new())
    });
}

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
    let mut one = span(0, None, &[("openinference.span.kind", "LLM")]);
    for index in ["4294967295", "18446744073709551615", "99999999999999999999999999"] {
        one.attributes.push(format!("llm.input_messages.{index}.message.role"), "user");
        one.attributes.push(format!("llm.input_messages.{index}.message.content"), "m");
    }
    let (written, allocated) = work((vec![one], Vec::new()));
    assert!(written < 20_000, "{written}");
    assert!(allocated < 4_000_000, "{allocated}");
}
