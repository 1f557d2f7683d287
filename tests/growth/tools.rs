//! Tools: with ids and without, asked for and not.

use serde_json::{Value, json};
use spanbridge::span::{Span, UnixNanos};

use crate::measure::grows_evenly;
use crate::shapes::{AGENT, Batch, CHAT, TOOL, said, span, wide};

/// A model call with these calls in its output.
fn asks(calls: &[Value]) -> String {
    json!([{"role": "assistant", "parts": calls}]).to_string()
}

fn call(arguments: Value) -> Value {
    json!({"type": "tool_call", "name": "t", "arguments": arguments})
}

/// One turn after the other: a model call, then what it asks for.
fn turn_by_turn(count: u64, mut at: impl FnMut(u64) -> Vec<(&'static str, String)>) -> Batch {
    let mut spans = vec![span(0, None, &[AGENT, ("gen_ai.agent.name", "root")])];
    for number in 1..count {
        let attributes = at(number);
        let attributes: Vec<(&str, &str)> = attributes.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let mut one = span(number, Some(0), &attributes);
        one.end = UnixNanos(one.start.0 + 500);
        spans.push(one);
    }
    (spans, Vec::new())
}

#[test]
fn runs_of_one_tool_without_ids_and_arguments() {
    grows_evenly(|count| {
        turn_by_turn(count, |number| match number % 2 {
            1 => said(CHAT, &[("gen_ai.output.messages", asks(&[call(json!({"n": number}))]))]),
            _ => said(TOOL, &[("gen_ai.tool.name", "t".to_owned())]),
        })
    });
}

#[test]
fn runs_of_one_tool_without_ids_and_with_other_arguments() {
    grows_evenly(|count| {
        turn_by_turn(count, |number| match number % 2 {
            1 => said(CHAT, &[("gen_ai.output.messages", asks(&[call(json!({"n": number}))]))]),
            _ => said(
                TOOL,
                &[
                    ("gen_ai.tool.name", "t".to_owned()),
                    ("gen_ai.tool.call.arguments", json!({"n": format!("x{number}")}).to_string()),
                ],
            ),
        })
    });
}

#[test]
fn runs_of_one_tool_with_arguments_in_the_opposite_order() {
    grows_evenly(|count| {
        let half = count / 2;
        turn_by_turn(count, |number| {
            if number <= half {
                said(CHAT, &[("gen_ai.output.messages", asks(&[call(json!({"n": number}))]))])
            } else {
                said(
                    TOOL,
                    &[
                        ("gen_ai.tool.name", "t".to_owned()),
                        ("gen_ai.tool.call.arguments", json!({"n": count - number}).to_string()),
                    ],
                )
            }
        })
    });
}

#[test]
fn runs_of_one_tool_before_anyone_asked() {
    grows_evenly(|count| {
        let half = count / 2;
        turn_by_turn(count, |number| {
            if number <= half {
                said(TOOL, &[("gen_ai.tool.name", "t".to_owned())])
            } else {
                said(CHAT, &[("gen_ai.output.messages", asks(&[call(json!({}))]))])
            }
        })
    });
}

#[test]
fn runs_of_one_tool_that_one_call_asks_for() {
    grows_evenly(|count| {
        let calls: Vec<Value> = (1..count).map(|number| call(json!({"n": number}))).collect();
        let text = asks(&calls);
        turn_by_turn(count, |number| match number {
            1 => said(CHAT, &[("gen_ai.output.messages", text.clone())]),
            _ => said(TOOL, &[("gen_ai.tool.name", "t".to_owned())]),
        })
    });
}

/// Words beside calls, whose tools ran while the call went on.
fn turns_in_one_call(count: u64, ids: impl Fn(u64) -> String, result: &str) -> Batch {
    let mut parts: Vec<Value> = vec![json!({"type": "text", "content": "done"})];
    parts.extend((2..count).map(|number| {
        let mut asked = call(json!({"n": number}));
        asked["id"] = ids(number).into();
        asked
    }));
    let text = asks(&parts);
    let (mut spans, logs) = turn_by_turn(count, |number| match number {
        1 => said(CHAT, &[("gen_ai.output.messages", text.clone())]),
        _ => said(
            TOOL,
            &[
                ("gen_ai.tool.name", "t".to_owned()),
                ("gen_ai.tool.call.id", ids(number)),
                ("gen_ai.tool.call.result", result.to_owned()),
            ],
        ),
    });
    let last = spans.iter().map(|span| span.end.0).max().unwrap();
    spans[1].end = UnixNanos(spans[1].start.0 + 2 * (last - spans[1].start.0));
    (spans, logs)
}

#[test]
fn turns_in_one_span() {
    grows_evenly(|count| turns_in_one_call(count, |number| format!("c{number}"), "found"));
}

/// A result may be long: it is there once, however many calls have its id.
#[test]
fn turns_in_one_span_with_one_id() {
    grows_evenly(|count| {
        let (mut spans, logs) = turns_in_one_call(count, |_| "c".to_owned(), "found");
        spans.truncate(2);
        let (tools, _) = turn_by_turn(3, |_| {
            said(
                TOOL,
                &[
                    ("gen_ai.tool.name", "t".to_owned()),
                    ("gen_ai.tool.call.id", "c".to_owned()),
                    ("gen_ai.tool.call.result", "found ".repeat(usize::try_from(count).unwrap() * 20)),
                ],
            )
        });
        spans.extend(tools.into_iter().skip(2));
        (spans, logs)
    });
}

#[test]
fn results_without_ids() {
    grows_evenly(|count| {
        turn_by_turn(count, |number| {
            let told = json!([{"role": "tool", "parts": [{"type": "tool_call_response", "response": format!("r{number}")}]}]).to_string();
            said(
                CHAT,
                &[
                    ("gen_ai.input.messages", told),
                    ("gen_ai.output.messages", asks(&[call(json!({"n": number}))])),
                ],
            )
        })
    });
}

#[test]
fn results_of_unknown_calls() {
    grows_evenly(|count| {
        turn_by_turn(count, |number| {
            let told = json!([{"role": "tool", "parts": [{"type": "tool_call_response", "id": format!("c{number}"), "response": "r"}]}])
                .to_string();
            said(CHAT, &[("gen_ai.input.messages", told)])
        })
    });
}

#[test]
fn results_of_one_call() {
    grows_evenly(|count| {
        let mut asked = call(json!({}));
        asked["id"] = "c".into();
        turn_by_turn(count, |number| match number {
            1 => said(CHAT, &[("gen_ai.output.messages", asks(&[asked.clone()]))]),
            _ => said(
                TOOL,
                &[
                    ("gen_ai.tool.name", "t".to_owned()),
                    ("gen_ai.tool.call.id", "c".to_owned()),
                    ("gen_ai.tool.call.result", format!("r{number}")),
                ],
            ),
        })
    });
}

#[test]
fn results_of_one_call_that_nobody_made() {
    grows_evenly(|count| {
        wide(count, |number| {
            said(
                TOOL,
                &[
                    ("gen_ai.tool.name", "t".to_owned()),
                    ("gen_ai.tool.call.id", "c".to_owned()),
                    ("gen_ai.tool.call.result", format!("r{number}")),
                ],
            )
        })
    });
}

#[test]
fn calls_with_one_id() {
    grows_evenly(|count| {
        turn_by_turn(count, |number| {
            let mut asked = call(json!({"n": number}));
            asked["id"] = "c".into();
            let told = json!([{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": format!("r{number}")}]}])
                .to_string();
            said(CHAT, &[("gen_ai.input.messages", told), ("gen_ai.output.messages", asks(&[asked]))])
        })
    });
}

#[test]
fn calls_with_one_id_in_one_message() {
    grows_evenly(|count| {
        let calls: Vec<Value> = (0..count)
            .map(|number| {
                let mut asked = call(json!({"n": number}));
                asked["id"] = "c".into();
                asked
            })
            .collect();
        let first = span(0, None, &[CHAT, ("gen_ai.output.messages", &asks(&calls))]);
        (vec![first], Vec::new())
    });
}

#[test]
fn tools_of_other_agents_without_ids() {
    grows_evenly(|count| {
        wide(count, |number| match number % 3 {
            0 => said(AGENT, &[("gen_ai.agent.name", format!("a{number}"))]),
            1 => said(CHAT, &[("gen_ai.output.messages", asks(&[call(json!({"n": number}))]))]),
            _ => said(TOOL, &[("gen_ai.tool.name", "t".to_owned())]),
        })
    });
}

/// Agents side by side, each with a model call that asks for the tool that another agent runs.
#[test]
fn tools_asked_for_in_conversations_beside() {
    grows_evenly(|count| {
        let mut spans: Vec<Span> = Vec::new();
        for number in 0..count / 3 {
            let at = number * 3;
            let name = format!("a{number}");
            spans.push(span(at, None, &[AGENT, ("gen_ai.agent.name", &name)]));
            let text = asks(&[call(json!({"n": number}))]);
            let mut asking = span(at + 1, Some(at), &[CHAT, ("gen_ai.output.messages", &text)]);
            asking.end = UnixNanos(asking.start.0 + 10);
            spans.push(asking);
            spans.push(span(at + 2, None, &[TOOL, ("gen_ai.tool.name", "t")]));
        }
        (spans, Vec::new())
    });
}

#[test]
fn tools_that_no_name_is_known_of() {
    grows_evenly(|count| {
        turn_by_turn(count, |number| match number % 2 {
            1 => said(CHAT, &[("gen_ai.output.messages", asks(&[call(json!({"n": number}))]))]),
            _ => said(TOOL, &[]),
        })
    });
}

#[test]
fn handoffs_without_calls() {
    grows_evenly(|count| {
        wide(count, |number| {
            said(("step_type", "handoff"), &[("new_value", format!("a{number}"))])
        })
    });
}

#[test]
fn handoffs_to_one_agent() {
    grows_evenly(|count| {
        turn_by_turn(count, |number| match number % 2 {
            1 => said(
                CHAT,
                &[(
                    "gen_ai.output.messages",
                    json!([{"role": "assistant", "parts": [{"type": "tool_call", "name": "transfer_to_a", "arguments": {}}]}]).to_string(),
                )],
            ),
            _ => said(("step_type", "handoff"), &[("new_value", "a".to_owned())]),
        })
    });
}

#[test]
fn sub_agents_of_one_name() {
    grows_evenly(|count| {
        turn_by_turn(count, |number| match number % 2 {
            1 => said(
                CHAT,
                &[(
                    "gen_ai.output.messages",
                    json!([{"role": "assistant", "parts": [{"type": "tool_call", "name": "a", "arguments": {"n": number}}]}]).to_string(),
                )],
            ),
            _ => said(AGENT, &[("gen_ai.agent.name", "a".to_owned())]),
        })
    });
}

#[test]
fn tools_below_one_call_with_its_last_words() {
    grows_evenly(|count| {
        let answer = json!([{"role": "assistant", "parts": [{"type": "text", "content": "done"}]}]).to_string();
        let mut spans = vec![span(0, None, &[CHAT, ("gen_ai.output.messages", &answer)])];
        spans.extend((1..count).map(|number| {
            let arguments = json!({ "n": number }).to_string();
            let ran = [
                TOOL,
                ("gen_ai.tool.name", "t"),
                ("gen_ai.tool.call.arguments", &arguments),
                ("gen_ai.tool.call.result", "r"),
            ];
            span(number, Some(0), &ran)
        }));
        (spans, Vec::new())
    });
}
