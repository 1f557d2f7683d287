//! Messages and calls of one model call.

use serde_json::json;
use spanbridge::span::UnixNanos;

use crate::measure::grows_evenly;
use crate::shapes::{CHAT, answer, span};

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

/// Two agents on one conversation; the second has many prompts.
#[test]
fn system_messages_of_one_call() {
    grows_evenly(|count| {
        let asked = json!({"role": "user", "parts": [{"type": "text", "content": "q"}]});
        let first = span(
            0,
            None,
            &[
                CHAT,
                ("gen_ai.agent.name", "a"),
                ("gen_ai.input.messages", &json!([asked]).to_string()),
                ("gen_ai.output.messages", &answer("yes")),
            ],
        );
        let said = json!({"role": "assistant", "parts": [{"type": "text", "content": "yes"}]});
        let prompts = (0..count).map(|number| json!({"role": "system", "parts": [{"type": "text", "content": format!("p{number}")}]}));
        let heard: Vec<_> = prompts.chain([asked, said]).collect();
        let mut second = span(
            1,
            None,
            &[
                CHAT,
                ("gen_ai.agent.name", "b"),
                ("gen_ai.input.messages", &json!(heard).to_string()),
                ("gen_ai.output.messages", &answer("no")),
            ],
        );
        second.start = UnixNanos(first.end.0 + 1);
        second.end = UnixNanos(first.end.0 + 2);
        (vec![first, second], Vec::new())
    });
}

/// Calls outside of all agents, each of which may join what the agents said.
#[test]
fn calls_beside_agents() {
    grows_evenly(|count| {
        let mut spans = vec![span(0, None, &[("gen_ai.operation.name", "invoke_workflow")])];
        for number in 1..=count {
            let words = answer(&format!("said {number}"));
            let mut one = if number % 2 == 0 {
                let agent = [("gen_ai.operation.name", "invoke_agent"), ("gen_ai.output.messages", &words)];
                span(number, Some(0), &agent)
            } else {
                let heard = json!([{"role": "user", "parts": [{"type": "text", "content": format!("q{number}")}]}]).to_string();
                span(
                    number,
                    Some(0),
                    &[CHAT, ("gen_ai.input.messages", &heard), ("gen_ai.output.messages", &words)],
                )
            };
            one.start = UnixNanos(one.start.0 + number * 10);
            one.end = UnixNanos(one.start.0 + 5);
            spans.push(one);
        }
        (spans, Vec::new())
    });
}

/// Agents that hand one conversation on again and again.
#[test]
fn a_conversation_that_is_handed_on() {
    grows_evenly(|count| {
        // Each call hears the last few turns: the input is linear in their number.
        let spans = (0..count).map(|number| {
            let agent = if number % 2 == 0 { "a" } else { "b" };
            let prompt = json!({"role": "system", "parts": [{"type": "text", "content": format!("You are {agent}")}]});
            let turn = |number: u64| json!({"role": "assistant", "parts": [{"type": "text", "content": format!("t{number}")}]});
            let begin = json!({"role": "user", "parts": [{"type": "text", "content": "q"}]});
            let heard: Vec<_> = [prompt, begin].into_iter().chain((0..number.min(8)).map(turn)).collect();
            let heard = json!(heard).to_string();
            let mut one = span(
                number,
                None,
                &[
                    CHAT,
                    ("gen_ai.agent.name", agent),
                    ("gen_ai.input.messages", &heard),
                    ("gen_ai.output.messages", &answer(&format!("t{number}"))),
                ],
            );
            one.start = UnixNanos(one.start.0 + number * 10);
            one.end = UnixNanos(one.start.0 + 5);
            one
        });
        (spans.collect(), Vec::new())
    });
}

#[test]
fn messages_of_one_answer() {
    grows_evenly(|count| {
        let messages: Vec<_> = (0..count)
            .map(|number| json!({"role": if number % 2 == 0 { "user" } else { "assistant" }, "content": format!("m{number}")}))
            .collect();
        let text = json!({ "messages": messages }).to_string();
        let said = [
            ("openinference.span.kind", "LLM"),
            ("output.value", &text),
            ("output.mime_type", "application/json"),
        ];
        (vec![span(0, None, &said)], Vec::new())
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

/// A server that gives each call of a turn the same id.
#[test]
fn tool_calls_of_one_id_in_one_message() {
    grows_evenly(|count| {
        let calls: Vec<_> = (0..count)
            .map(|number| json!({"type": "tool_call", "id": "call_0", "name": "look", "arguments": {"at": number}}))
            .collect();
        let results: Vec<_> = (0..count)
            .map(|number| json!({"type": "tool_call_response", "id": "call_0", "response": format!("seen {number}")}))
            .collect();
        let asked = json!([{"role": "assistant", "parts": calls}]);
        let given = json!([asked[0], {"role": "tool", "parts": results}]).to_string();
        let first = span(0, None, &[CHAT, ("gen_ai.output.messages", &asked.to_string())]);
        let second = span(
            1,
            None,
            &[CHAT, ("gen_ai.input.messages", &given), ("gen_ai.output.messages", &answer("done"))],
        );
        (vec![first, second], Vec::new())
    });
}

/// One answer, as the pieces of its stream.
fn stream(pieces: &str) -> Vec<spanbridge::span::Span> {
    let said = [("openinference.span.kind", "LLM"), ("output.value", pieces)];
    vec![span(0, None, &said)]
}

#[test]
fn chunks_of_one_answer() {
    grows_evenly(|count| {
        let chunks: Vec<_> = (0..count)
            .map(|number| {
                let call = json!({"index": 0, "id": format!("c{number}"), "function": {"name": "t", "arguments": "{}"}});
                json!({"choices": [{"index": 0, "delta": {"content": "word ", "tool_calls": [call]}}]})
            })
            .collect();
        (stream(&json!(chunks).to_string()), Vec::new())
    });
}

#[test]
fn events_of_one_answer() {
    grows_evenly(|count| {
        let events = (0..count)
            .map(|number| json!({"type": "content_block_delta", "index": number % 3, "delta": {"type": "text_delta", "text": "word "}}))
            .map(|event| format!("event: content_block_delta\ndata: {event}\n\n"));
        (stream(&events.collect::<String>()), Vec::new())
    });
}

#[test]
fn broken_events_of_one_answer() {
    grows_evenly(|count| {
        (
            stream(&"data: {\"choices\":\n".repeat(usize::try_from(count).unwrap_or_default())),
            Vec::new(),
        )
    });
}
