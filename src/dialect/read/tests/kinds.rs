//! What tells the kind of a span.

use super::*;

#[test]
fn a_part_of_the_name_tells_the_kind() {
    let rule = Rule {
        dialect: "own",
        key: "name",
        prefix: false,
        location: Location::Name,
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

/// Who instruments by hand leaves out what marks a span, and has all the rest.
#[test]
fn the_shape_of_a_span_tells_the_kind_where_nothing_marks_it() {
    let messages = r#"[{"role":"user","content":"Hi"}]"#;
    let flat = ("gen_ai.prompt.0.content", "Hi");
    let cases: [(&[(&str, &str)], Kind); 13] = [
        (&[("gen_ai.request.model", "m"), flat], Kind::Llm),
        (&[flat], Kind::Plain),
        (
            &[("gen_ai.input.messages", messages), ("gen_ai.output.messages", messages)],
            Kind::Llm,
        ),
        (&[("gen_ai.output.messages", messages)], Kind::Plain),
        (&[("gen_ai.agent.name", "a"), ("gen_ai.output.messages", messages)], Kind::Agent),
        (
            &[("llm.model_name", "m"), ("llm.input_messages.0.message.content", "Hi")],
            Kind::Llm,
        ),
        (
            &[
                ("llm.model_name", "m"),
                ("llm.input_messages.0.message.content", "Hi"),
                ("openinference.span.kind", "CHAIN"),
            ],
            Kind::Chain,
        ),
        (&[("tool.name", "t"), ("output.value", "9")], Kind::Tool),
        (&[("tool.name", "t"), ("tool.parameters", "{}")], Kind::Tool),
        // What a model asked for, at AgentOps.
        (
            &[("tool.name", "t"), ("tool.parameters", "{}"), ("tool.call.type", "function")],
            Kind::Plain,
        ),
        (
            &[("langfuse.observation.model.name", "m"), ("langfuse.observation.input", messages)],
            Kind::Llm,
        ),
        (&[("llm.prompt", "Hi"), ("llm.model", "m")], Kind::Llm),
        (
            &[("http.request.method", "POST"), ("llm.prompt", "Hi"), ("llm.model", "m")],
            Kind::Plain,
        ),
    ];
    for (attributes, wanted) in cases {
        assert_eq!(kind(Registry::built_in(), &span("work", attributes)), wanted, "{attributes:?}");
    }
}
