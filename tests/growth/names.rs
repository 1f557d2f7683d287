//! Many different names: of models, tools, agents, sessions, tags; many system prompts; many traces of one session.

use serde_json::json;
use spanbridge::span::{TraceId, UnixNanos};

use crate::measure::grows_evenly;
use crate::shapes::{AGENT, Batch, CHAT, TOOL, answer, in_turns, said, wide};

fn calls(count: u64, more: impl Fn(u64) -> Vec<(&'static str, String)>) -> Batch {
    wide(count, |number| {
        let mut attributes = said(CHAT, &[("gen_ai.output.messages", answer(&format!("words {number}")))]);
        attributes.extend(more(number));
        attributes
    })
}

#[test]
fn models() {
    grows_evenly(|count| {
        calls(count, |number| {
            vec![
                ("gen_ai.request.model", format!("asked {number}")),
                ("gen_ai.response.model", format!("answered {number}")),
            ]
        })
    });
}

#[test]
fn tools() {
    grows_evenly(|count| {
        let call = |number: u64| {
            json!([{"role": "assistant", "parts": [{"type": "tool_call", "id": format!("c{number}"), "name": format!("tool {number}"), "arguments": {}}]}])
                .to_string()
        };
        in_turns(count, call, |number| {
            let asked = number - 1;
            said(
                TOOL,
                &[
                    ("gen_ai.tool.name", format!("tool {asked}")),
                    ("gen_ai.tool.call.id", format!("c{asked}")),
                    ("gen_ai.tool.call.result", "r".to_owned()),
                ],
            )
        })
    });
}

#[test]
fn agents() {
    grows_evenly(|count| {
        wide(count, |number| {
            said(
                AGENT,
                &[
                    ("gen_ai.agent.name", format!("agent {number}")),
                    ("gen_ai.output.messages", answer("words")),
                ],
            )
        })
    });
    grows_evenly(|count| calls(count, |number| vec![("gen_ai.agent.name", format!("agent {number}"))]));
}

#[test]
fn tags() {
    grows_evenly(|count| {
        let tags: Vec<String> = (0..count).map(|number| format!("tag {number}")).collect();
        calls(9, |_| vec![("tag.tags", json!(tags).to_string())])
    });
    grows_evenly(|count| calls(count, |number| vec![("tag.tags", json!([format!("tag {number}")]).to_string())]));
}

#[test]
fn sessions() {
    grows_evenly(|count| calls(count, |number| vec![("session.id", format!("session {number}"))]));
}

#[test]
fn system_prompts() {
    grows_evenly(|count| {
        calls(count, |number| {
            let prompt = json!([{"type": "text", "content": format!("You are number {number}.")}]);
            vec![("gen_ai.system_instructions", prompt.to_string())]
        })
    });
}

/// Calls of one agent that continue nothing: each is a conversation of its own.
#[test]
fn questions_of_one_agent() {
    grows_evenly(|count| {
        calls(count, |number| {
            let question = |words: &str| json!([{"role": "user", "parts": [{"type": "text", "content": words}]}]).to_string();
            let prompt = json!([{"type": "text", "content": "Translate."}]);
            vec![
                ("gen_ai.system_instructions", prompt.to_string()),
                ("gen_ai.input.messages", question(&format!("word {number}"))),
            ]
        })
    });
}

#[test]
fn traces_of_one_session() {
    grows_evenly(|count| {
        let (mut spans, logs) = calls(count, |_| vec![("session.id", "one".to_owned())]);
        for (span, number) in spans.iter_mut().zip(1_u64..) {
            span.trace_id = TraceId::from_bytes(&u128::from(number).to_be_bytes()).unwrap();
            span.parent = None;
            span.start = UnixNanos(span.start.0 + number * 1_000);
            span.end = UnixNanos(span.start.0 + 500);
        }
        (spans, logs)
    });
}
