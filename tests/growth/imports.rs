//! Documents that are read into spans: each format, one long document and many short ones.

use serde_json::{Value, json};
use spanbridge::documents::Vocabulary;
use spanbridge::formats::{self, Layout, Options};
use spanbridge::otlp::encode;
use spanbridge::run::Run;
use spanbridge::span::Span;

use crate::measure::{Work, all_grow_evenly};
use crate::shapes::{CHAT, answer, said, wide};

/// What is stored of a document is at most this many times its bytes.
const STORED: usize = 3;
/// A trace has a root, ids, times and a resource, however little the document says.
const TRACE: usize = 1_000;
/// The same for a span.
const SPAN: usize = 250;

fn runs(spans: Vec<Span>) -> Vec<Run> {
    Vocabulary::built_in().runs(spans, Vec::new())
}

fn document(format: &str, runs: &[Run]) -> String {
    let format = formats::by_id(format).unwrap();
    let mut documents = format.assemble(runs, &Options::default(), Layout::Compact);
    assert_eq!(documents.len(), 1);
    documents.remove(0).document
}

/// Reading a text, and reading what is stored of it. Formats that tell each message once are written again, too.
fn import(format: &str, text: &str) -> Vec<Work> {
    let mut spans = Vec::new();
    let read = Work::of(format!("reading {format}"), &mut || {
        let read = formats::disassemble(formats::by_id(format), text).unwrap();
        spans = read.spans;
        encode::traces(&spans).len()
    });
    let traces = spans.iter().filter(|span| span.parent.is_none()).count();
    let stored = encode::traces(&spans).len();
    let least = traces * TRACE + spans.len() * SPAN;
    assert!(
        stored <= STORED * text.len() + least,
        "{format}: {stored} bytes of {}, {} spans",
        text.len(),
        spans.len()
    );
    let mut list = vec![read];
    let mut made = Vec::new();
    list.push(Work::of(format!("run of {format}"), &mut || {
        made = runs(std::mem::take(&mut spans));
        0
    }));
    for again in ["messages", "atif", "openreward", "invariant", "verifiers"] {
        list.push(Work::of(format!("{format} as {again}"), &mut || {
            let documents = formats::by_id(again).unwrap().assemble(&made, &Options::default(), Layout::Compact);
            documents.iter().map(|assembled| assembled.document.len()).sum()
        }));
    }
    list
}

/// People and models in turn, with a tool now and then.
fn chat(count: u64) -> Value {
    let message = |number: u64| match number % 6 {
        3 => json!({"role": "assistant", "content": "I look.", "tool_calls": [{"id": format!("c{number}"), "type": "function",
            "function": {"name": "look", "arguments": {"at": number}}}]}),
        4 => json!({"role": "tool", "tool_call_id": format!("c{}", number - 1), "content": "found"}),
        1 | 5 => json!({"role": "assistant", "content": format!("a{number}")}),
        _ => json!({"role": "user", "content": "go on"}),
    };
    json!({ "messages": (0..count).map(message).collect::<Vec<_>>() })
}

fn conversation_in(format: &str) {
    all_grow_evenly(|count| {
        let chat = chat(count).to_string();
        if format == "messages" {
            return import(format, &chat);
        }
        let read = formats::disassemble(formats::by_id("messages"), &chat).unwrap();
        import(format, &document(format, &runs(read.spans)))
    });
}

/// As long as a short answer.
const FOUND: &str =
    "It was found where it was thought to be, behind the second door on the left, beside all the others that nobody had asked for since.";

#[test]
fn turns_of_sharegpt() {
    all_grow_evenly(|count| {
        let turn = |number: u64| match number % 4 {
            0 => json!({"from": "human", "value": format!("q{number} {FOUND}")}),
            1 => json!({"from": "function_call", "value": json!({"name": "look", "arguments": {"at": number, "for": FOUND}}).to_string()}),
            2 => json!({"from": "observation", "value": FOUND}),
            _ => json!({"from": "gpt", "value": format!("a{number} {FOUND}")}),
        };
        let turns: Vec<Value> = (0..count).map(turn).collect();
        import("messages", &json!({"conversations": turns, "tools": "[]"}).to_string())
    });
}

/// Results that no call asked for.
#[test]
fn results_of_no_call_in_messages() {
    all_grow_evenly(|count| {
        let message = |number: u64| match number % 2 {
            0 => json!({"role": "tool", "tool_call_id": format!("c{number}"), "content": FOUND}),
            _ => json!({"role": "assistant", "content": format!("a{number} {FOUND}")}),
        };
        import(
            "messages",
            &json!({"messages": (0..count).map(message).collect::<Vec<_>>()}).to_string(),
        )
    });
}

#[test]
fn items_of_the_responses_api() {
    all_grow_evenly(|count| {
        let item = |number: u64| match number % 5 {
            0 => json!({"role": "user", "content": format!("q{number} {FOUND}")}),
            1 => json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": FOUND}]}),
            2 => json!({"type": "function_call", "call_id": format!("c{number}"), "name": "look", "arguments": "{}"}),
            3 => json!({"type": "function_call_output", "call_id": format!("c{}", number - 1), "output": FOUND}),
            _ => json!({"role": "assistant", "content": format!("a{number} {FOUND}")}),
        };
        import("messages", &Value::from((0..count).map(item).collect::<Vec<_>>()).to_string())
    });
}

/// One response may ask for all of them.
#[test]
fn events_of_openhands() {
    all_grow_evenly(|count| {
        let event = |number: u64| match number % 2 {
            0 => json!({"id": format!("e{number}"), "timestamp": "2026-01-01T10:00:00", "source": "agent", "thought": [], "action": {},
                "tool_name": "look", "tool_call_id": format!("c{number}"), "llm_response_id": "r", "kind": "ActionEvent"}),
            _ => {
                json!({"id": format!("e{number}"), "timestamp": "2026-01-01T10:00:00", "source": "environment", "kind": "ObservationEvent",
                "tool_call_id": format!("c{}", number - 1), "observation": {"content": [{"type": "text", "text": FOUND}]}})
            }
        };
        let asked = json!({"timestamp": "2026-01-01T10:00:00", "source": "user", "kind": "MessageEvent", "llm_message": {"role": "user", "content": "q"}});
        let events: Vec<Value> = std::iter::once(asked).chain((0..count).map(event)).collect();
        import("messages", &json!({"history": events}).to_string())
    });
}

#[test]
fn messages_a_line() {
    all_grow_evenly(|count| {
        let line = |number: u64| json!({"role": if number.is_multiple_of(2) { "user" } else { "assistant" }, "content": format!("{number} {FOUND}")});
        let lines: Vec<String> = (0..count).map(|number| line(number).to_string()).collect();
        import("messages", &lines.join("\n"))
    });
}

#[test]
fn events_of_a_session_of_adk() {
    all_grow_evenly(|count| {
        let event = |number: u64| {
            let part = match number % 4 {
                0 => json!({"text": format!("q{number} {FOUND}")}),
                1 => json!({"functionCall": {"id": format!("f{number}"), "name": "look", "args": {"at": number, "for": FOUND}}}),
                2 => json!({"functionResponse": {"id": format!("f{}", number - 1), "name": "look", "response": {"result": FOUND}}}),
                _ => json!({"text": format!("a{number} {FOUND}")}),
            };
            let author = if number.is_multiple_of(4) { "user" } else { "pilot" };
            json!({"id": format!("e{number}"), "invocationId": format!("i{}", number / 4), "author": author,
                "timestamp": 1_795_615_875 + number, "content": {"role": author, "parts": [part]}})
        };
        let events: Vec<Value> = (0..count).map(event).collect();
        import(
            "adk",
            &json!({"id": "s", "appName": "a", "userId": "u", "events": events}).to_string(),
        )
    });
}

/// Model calls that have nothing to do with one another.
fn calls_in(format: &str) {
    all_grow_evenly(|count| {
        let (spans, _) = wide(count, |number| {
            let asked = json!([{"role": "user", "parts": [{"type": "text", "content": format!("q{number}")}]}]).to_string();
            said(
                CHAT,
                &[
                    ("gen_ai.input.messages", asked),
                    ("gen_ai.output.messages", answer(&format!("a{number}"))),
                ],
            )
        });
        import(format, &document(format, &runs(spans)))
    });
}

#[test]
fn a_conversation_in_messages() {
    conversation_in("messages");
}

#[test]
fn a_conversation_in_atif() {
    conversation_in("atif");
}

#[test]
fn a_conversation_in_openreward() {
    conversation_in("openreward");
}

#[test]
fn a_conversation_in_invariant() {
    conversation_in("invariant");
}

#[test]
fn a_conversation_in_adk() {
    conversation_in("adk");
}

#[test]
fn a_conversation_in_inspect() {
    conversation_in("inspect");
}

#[test]
fn a_conversation_in_verifiers() {
    conversation_in("verifiers");
}

/// Many samples of one log; and one long text that the input of each model call names.
#[test]
fn samples_and_names_in_inspect() {
    // With the fields that Inspect writes: what a log lacks of them is noted for each of its samples.
    let (at, end) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z");
    let said = json!({"id": "M1", "role": "assistant", "source": "generate", "model": "m", "content": "a"});
    let output = json!({"model": "m", "time": 1.0, "choices": [{"message": said, "stop_reason": "stop"}]});
    let call = |input: Value, refs: Value| {
        json!({"event": "model", "uuid": "E1", "span_id": "S1", "timestamp": at, "completed": end, "working_start": 0.0, "working_time": 1.0,
            "metadata": {}, "model": "m", "input": input, "input_refs": refs, "tools": [], "tool_choice": "auto", "config": {}, "output": output})
    };
    let log = |samples: Vec<Value>| {
        json!({"version": 2, "status": "success", "plan": {}, "stats": {}, "eval": {"task": "t", "eval_id": "E", "run_id": "R",
            "task_id": "T", "created": at, "dataset": {}, "model": "m", "config": {}, "metadata": {"long": "m".repeat(1_000)}}, "samples": samples})
    };
    let question = json!({"role": "user", "content": "q"});
    all_grow_evenly(|count| {
        let sample = |number: u64| {
            let events = [call(json!([question]), Value::Null)];
            json!({"id": number, "epoch": 1, "input": "q", "target": "t", "uuid": format!("U{number}"), "messages": [question, said],
                "output": output, "model_usage": {}, "metadata": {}, "started_at": at, "completed_at": end, "total_time": 1.0,
                "events": events})
        };
        import("inspect", &log((0..count).map(sample).collect()).to_string())
    });
    let text = "x".repeat(100_000);
    let named = json!({"role": "user", "content": "attachment://0"});
    let calls: Vec<Value> = (0..2_000).map(|number| call(json!([]), json!([[number % 2, 2]]))).collect();
    let one = json!({"id": "s", "epoch": 1, "input": "q", "target": "t", "events": calls, "attachments": {"0": text},
        "events_data": {"messages": [question, named], "calls": []}});
    let text = log(vec![one]).to_string();
    let read = formats::disassemble(formats::by_id("inspect"), &text).unwrap();
    let bytes = encode::traces(&read.spans).len();
    assert!(bytes < 40 * text.len(), "{bytes} bytes of {}", text.len());
}

/// Many traces of one episode; and many branches of one long conversation.
#[test]
fn traces_and_branches_in_verifiers() {
    let task = json!({"type": "T", "data": {}});
    let node = |parent: Option<u64>, role: &str| json!({"parent": parent, "message": {"role": role, "content": "words"}, "sampled": role == "assistant", "timestamp": 0.0});
    let trace = |nodes: Vec<Value>| json!({"task": task, "agent": {"config": {}}, "nodes": nodes});
    all_grow_evenly(|count| {
        let traces: Vec<Value> = (0..count)
            .map(|_| trace(vec![node(None, "user"), node(Some(0), "assistant")]))
            .collect();
        import(
            "verifiers",
            &json!({"task": task, "env": {"id": "e".repeat(1_000)}, "traces": traces}).to_string(),
        )
    });
    let mut nodes: Vec<Value> = (0..2_000_u64).map(|number| node(number.checked_sub(1), "user")).collect();
    nodes.extend((0..2_000).map(|_| node(Some(1_999), "assistant")));
    let text = json!({"task": task, "traces": [trace(nodes)]}).to_string();
    let read = formats::disassemble(formats::by_id("verifiers"), &text).unwrap();
    let bytes = encode::traces(&read.spans).len();
    assert!(bytes < 40 * text.len(), "{bytes} bytes of {}", text.len());
}

/// A case of many calls, half of which begin a model call; and many cases.
#[test]
fn calls_and_cases_in_deepeval() {
    all_grow_evenly(|count| {
        let call = |number: u64| match number % 2 {
            0 => json!({"name": "look", "input_parameters": {"at": number}, "output": "nothing there", "reasoning": "r"}),
            _ => json!({"name": "look", "input_parameters": {"at": number}, "output": "nothing there"}),
        };
        let calls: Vec<Value> = (0..count).map(call).collect();
        let mut list = import(
            "deepeval",
            &json!({"input": "q", "actual_output": "a", "tools_called": calls}).to_string(),
        );
        let case = |number: u64| json!({"input": format!("q{number}"), "actual_output": "a"});
        let cases: Vec<Value> = (0..count).map(case).collect();
        list.extend(import("deepeval", &json!(cases).to_string()));
        list
    });
}

/// A set of many cases, each a trace, with a name and an id of their own.
#[test]
fn cases_of_many_traces() {
    all_grow_evenly(|count| {
        let case = |number: u64| {
            json!({"eval_id": format!("c{number}"), "conversation": [
                {"user_content": {"parts": [{"text": format!("q{number}")}]}, "final_response": {"parts": [{"text": "a"}]}}]})
        };
        let cases: Vec<Value> = (0..count).map(case).collect();
        let mut list = import("adk", &json!({"eval_set_id": "s", "eval_cases": cases}).to_string());
        let long = json!({"eval_set_id": "s".repeat(100 * usize::try_from(count).unwrap()), "description": "d".repeat(1_000), "eval_cases": cases});
        list.extend(import("adk", &long.to_string()));
        list
    });
}

/// One call after another, in each of which an agent runs.
#[test]
fn agents_inside_of_calls_in_adk() {
    all_grow_evenly(|count| {
        let event = |author: &str, role: &str, part: Value| json!({"author": author, "content": {"role": role, "parts": [part]}});
        let events = (0..count / 4).flat_map(|number| {
            let id = format!("c{number}");
            [
                event("boss", "model", json!({"function_call": {"id": id, "name": "ask", "args": {}}})),
                event("user", "user", json!({"text": "go"})),
                event("worker", "model", json!({"text": format!("a{number}")})),
                event(
                    "boss",
                    "user",
                    json!({"function_response": {"id": id, "name": "ask", "response": {"result": "a"}}}),
                ),
            ]
        });
        let events: Vec<Value> = events.collect();
        let set = json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": [
            {"user_content": {"parts": [{"text": "q"}]}, "intermediate_data": {"invocation_events": events}}]}]});
        import("adk", &set.to_string())
    });
}

#[test]
fn calls_in_contextforge() {
    calls_in("contextforge");
}

#[test]
fn calls_in_reflex() {
    calls_in("reflex");
}

#[test]
fn calls_in_synth() {
    calls_in("synth");
}

/// A list of traces, each with one block.
#[test]
fn blocks_of_many_traces() {
    all_grow_evenly(|count| {
        let block = |number: u64| {
            json!({"id": format!("tb_{number}"), "trace_id": format!("tr_{number}"), "block_type": "MESSAGE", "sub_type": "MESSAGE",
                "payload": {"role": "assistant", "content": format!("m{number}")}})
        };
        let blocks: Vec<Value> = (0..count).map(block).collect();
        let mut list = import("openreward", &json!(blocks).to_string());
        list.extend(import(
            "openreward",
            &json!({"blocks": blocks, "note": "n".repeat(1_000)}).to_string(),
        ));
        list
    });
}

/// Many rows, as lines and as a list.
#[test]
fn many_rows_of_messages() {
    all_grow_evenly(|count| {
        let row =
            |number: u64| json!({"messages": [{"role": "user", "content": format!("q{number}")}, {"role": "assistant", "content": "a"}]});
        let rows: Vec<Value> = (0..count).map(row).collect();
        let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
        let mut list = import("messages", &lines);
        list.extend(import("messages", &json!(rows).to_string()));
        list
    });
}

/// A model call that goes on with the one before, where no importer made the spans: with its answer, and without it.
#[test]
fn calls_that_go_on_with_one_another() {
    for kept in [0, 1] {
        all_grow_evenly(|count| {
            let (mut spans, _) = wide(count, |number| {
                let asked = json!([{"role": "user", "parts": [{"type": "text", "content": format!("q{number}")}]}]).to_string();
                said(
                    CHAT,
                    &[
                        ("gen_ai.input.messages", asked),
                        ("gen_ai.output.messages", answer(&format!("a{number}"))),
                    ],
                )
            });
            for number in 2..spans.len() {
                let base = spans[number - 1].span_id;
                let messages = i64::try_from((number - 1) * (1 + kept)).unwrap();
                spans[number].attributes.push("spanbridge.continues.span_id", base.to_string());
                spans[number].attributes.push("spanbridge.continues.messages", messages);
            }
            let mut made = Vec::new();
            let run = Work::of(format!("run, {kept}"), &mut || {
                made = runs(std::mem::take(&mut spans));
                0
            });
            assert_eq!(made[0].steps.len() as u64, count);
            vec![run]
        });
    }
}

/// Many calls that all go on with one, each in its own way, and in the opposite order of time.
#[test]
fn calls_that_go_on_with_one() {
    for backwards in [false, true] {
        all_grow_evenly(|count| {
            let (mut spans, _) = wide(count, |number| {
                let asked = json!([{"role": "user", "parts": [{"type": "text", "content": format!("q{number}")}]}]).to_string();
                said(CHAT, &[("gen_ai.input.messages", asked), ("gen_ai.output.messages", answer("a"))])
            });
            let base = if backwards { spans.len() - 1 } else { 1 };
            let id = spans[base].span_id;
            for (number, span) in spans.iter_mut().enumerate().skip(1).filter(|(number, _)| *number != base) {
                span.attributes.push("spanbridge.continues.span_id", id.to_string());
                span.attributes
                    .push("spanbridge.continues.messages", i64::try_from(number % 3).unwrap());
            }
            vec![Work::of(format!("run, backwards {backwards}"), &mut || {
                runs(std::mem::take(&mut spans)).len()
            })]
        });
    }
}
