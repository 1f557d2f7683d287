//! Spans in, beside and around one another.

use serde_json::json;

use crate::measure::grows_evenly;
use crate::shapes::{AGENT, CHAT, TOOL, answer, backwards, chain, in_turns, said, wide};

#[test]
fn agents_in_agents() {
    grows_evenly(|count| chain(count, |number| said(AGENT, &[("gen_ai.agent.name", format!("a{number}"))])));
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
