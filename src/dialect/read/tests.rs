use super::*;
use crate::span::{SpanId, TraceId};

fn span(name: &str, attributes: &[(&str, &str)]) -> Span {
    let (trace_id, span_id) = (TraceId::from_bytes(&[1; 16]), SpanId::from_bytes(&[1; 8]));
    let mut span = Span::new(trace_id.expect("an id"), span_id.expect("an id"), name);
    for (key, value) in attributes {
        span.attributes.push(*key, *value);
    }
    span
}

#[test]
fn a_part_of_the_name_tells_the_kind() {
    let rule = Rule {
        dialect: "own",
        key: "name",
        prefix: false,
        place: Place::Name,
        field: Field::Kind,
        codec: Codec::LastWord,
        rank: 1,
        when: Condition::ALWAYS,
        paths: &[],
        values: &[("lookup", "tool")],
    };
    let registry = Registry::of(vec![rule]);
    assert_eq!(kind(&registry, &span("run lookup", &[])), Kind::Tool);
    assert_eq!(kind(&registry, &span("lookup now", &[])), Kind::Plain);
}

#[test]
fn lists_are_whole_whatever_stands_between_their_keys() {
    let attributes = [
        ("openinference.span.kind", "LLM"),
        ("llm.input_messages.0.message.role", "user"),
        ("llm.output_messages.0.message.role", "assistant"),
        ("llm.input_messages.0.message.content", "Where?"),
        ("llm.model_name", "m"),
        ("llm.input_messages.1.message.role", "user"),
        ("llm.output_messages.0.message.content", "Here."),
        ("llm.input_messages.1.message.content", "Really?"),
    ];
    let read = read(&Registry::built_in(), &span("chat", &attributes), &[]).operation;
    let words = |list: Option<Vec<crate::operation::Message>>| -> Vec<String> {
        list.unwrap_or_default().iter().map(crate::operation::Message::content).collect()
    };
    assert_eq!(words(read.input_messages), ["Where?", "Really?"]);
    assert_eq!(words(read.output_messages), ["Here."]);
    assert_eq!(read.model.requested.or(read.model.response).as_deref(), Some("m"));
    assert!(read.unmapped.is_empty(), "{:?}", read.unmapped);
}
