//! Messages in span events, as Azure's clients write them.

use super::span;
use crate::dialect::{Registry, read};
use crate::operation::{Message, Operation, Role};
use crate::span::{Attributes, Event, UnixNanos};

fn of_events(attributes: &[(&str, &str)], events: &[(&str, &str)]) -> Operation {
    let mut span = span("responses", attributes);
    for (name, content) in events {
        let mut own = Attributes::default();
        own.push("gen_ai.event.content", *content);
        span.events.push(Event {
            name: (*name).to_owned(),
            time: UnixNanos(5),
            attributes: own,
            dropped_attributes: 0,
        });
    }
    *read(Registry::built_in(), &span, &[]).operation
}

fn said<'m>(list: impl IntoIterator<Item = &'m Message>) -> Vec<(Role, String)> {
    list.into_iter().map(|message| (message.role.clone(), message.content())).collect()
}

#[test]
fn an_assistant_event_that_nothing_follows_is_the_answer() {
    let span = [("gen_ai.operation.name", "responses"), ("gen_ai.request.model", "m")];
    let events = [
        ("gen_ai.user.message", r#"{"text": "Oslo?"}"#),
        (
            "gen_ai.assistant.message",
            r#"{"tool_calls": [{"type": "function", "id": "c1", "function": {"name": "w", "arguments": "{}"}}]}"#,
        ),
        (
            "gen_ai.tool.message",
            r#"{"tool_call_outputs": [{"type": "function", "id": "c1", "output": "3C"}]}"#,
        ),
        ("gen_ai.assistant.message", r#"{"text": "It is 3C"}"#),
    ];
    let operation = of_events(&span, &events);
    let given = operation.input_messages.as_deref().unwrap_or_default();
    assert_eq!(
        said(given),
        [
            (Role::User, "Oslo?".to_owned()),
            (Role::Assistant, String::new()),
            (Role::Tool, "3C".to_owned())
        ]
    );
    assert_eq!(given.last().and_then(|result| result.tool_call_id.as_deref()), Some("c1"));
    assert_eq!(
        said(operation.output_messages.iter().flatten()),
        [(Role::Assistant, "It is 3C".to_owned())]
    );
    let chat = [("gen_ai.operation.name", "chat"), ("gen_ai.request.model", "m")];
    let history = of_events(&chat, &events);
    assert_eq!(
        (history.input_messages.iter().flatten().count(), history.output_messages),
        (4, None),
        "what others mean by it"
    );
}

#[test]
fn calls_and_results_in_the_content_of_their_parts() {
    let span = [("gen_ai.operation.name", "responses"), ("gen_ai.request.model", "m")];
    let result = r#"[{"role": "tool", "parts": [{"type": "tool_call_output", "content": {"type": "function_call_output", "id": "c1", "output": "3C"}}]}]"#;
    let call = r#"[{"role": "assistant", "parts": [{"type": "tool_call", "content": {"type": "function_call", "id": "c2", "function": {"name": "w", "arguments": {"a": 1}}}}]}]"#;
    let operation = of_events(&span, &[("gen_ai.input.messages", result), ("gen_ai.output.messages", call)]);
    let given = operation.input_messages.as_deref().unwrap_or_default();
    assert_eq!(given.first().and_then(|result| result.tool_call_id.as_deref()), Some("c1"));
    assert_eq!(said(given), [(Role::Tool, "3C".to_owned())]);
    let calls: Vec<_> = operation
        .output_messages
        .iter()
        .flatten()
        .flat_map(|message| &message.tool_calls)
        .collect();
    assert_eq!(
        calls
            .iter()
            .map(|call| (call.name.as_str(), call.recorded_id()))
            .collect::<Vec<_>>(),
        [("w", Some("c2"))]
    );
    assert_eq!(
        calls.first().and_then(|call| call.arguments.clone()),
        Some(serde_json::json!({"a": 1}))
    );
}
