use serde_json::Value;

use crate::dialect::rule::{Codec, Location};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::span::{SpanId, TraceId};

mod events;
mod kinds;

fn span(name: &str, attributes: &[(&str, &str)]) -> Span {
    let (trace_id, span_id) = (TraceId::from_bytes(&[1; 16]), SpanId::from_bytes(&[1; 8]));
    let mut span = Span::new(trace_id.expect("an id"), span_id.expect("an id"), name);
    for (key, value) in attributes {
        span.attributes.push(*key, *value);
    }
    span
}

#[test]
fn a_list_as_an_answer_is_one_text_and_a_list_of_answers_several() {
    let answer = |attributes: &[(&str, &str)]| {
        let read = read(Registry::built_in(), &span("chat", attributes), &[]).operation;
        let said = read.output_messages.unwrap_or_default();
        said.first().map(crate::operation::Message::content)
    };
    let list = r#"["red","blue"]"#;
    for key in ["ai.response.text", "ai.response.object"] {
        let model = [
            ("ai.operationId", "ai.generateObject.doGenerate"),
            ("ai.model.id", "m"),
            (key, list),
        ];
        assert_eq!(answer(&model).as_deref(), Some(list), "{key}: the model's own words");
    }
    let model = [("gen_ai.operation.name", "chat"), ("gen_ai.response.text", list)];
    assert_eq!(
        answer(&model).as_deref(),
        Some("redblue"),
        "Sentry's list of the texts of one answer"
    );
}

#[test]
fn what_nobody_reads_below_a_key_of_members_is_told() {
    let registry = Registry::built_in();
    let recorded = |attributes: &[(&str, &str)]| {
        let read = read(registry, &span("chat", attributes), &[]);
        let findings: Vec<String> = read.findings.into_iter().map(|finding| finding.detail).collect();
        (findings, read.operation.unmapped.keys().cloned().collect::<Vec<_>>())
    };
    let ai = [
        ("ai.operationId", "ai.generateText.doGenerate"),
        ("ai.model.id", "m"),
        ("ai.response.text", "Blue."),
        ("ai.response.id", "r1"),
        ("ai.response.finishReason", "stop"),
    ];
    assert_eq!(recorded(&ai), (vec![], vec![]));
    let more = [&ai[..], &[("ai.response.mood", "good")]].concat();
    let (findings, kept) = recorded(&more);
    assert_eq!(findings, ["no rule reads ai.response.mood: it stays an attribute"]);
    assert_eq!(kept, ["ai.response.mood"]);
    let sentry = [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.response.model", "m"),
        ("gen_ai.response.text", "Blue."),
        ("gen_ai.response.mood", "good"),
    ];
    let (findings, kept) = recorded(&sentry);
    assert_eq!(findings, ["no rule reads gen_ai.response.mood: it stays an attribute"]);
    assert_eq!(kept, ["gen_ai.response.mood"]);
}

#[test]
fn what_a_program_prints_of_an_object_is_nobodys_answer() {
    let attributes = [("gen_ai.operation.name", "chat"), ("gen_ai.output.messages", "[object Object]")];
    let read = read(Registry::built_in(), &span("chat", &attributes), &[]);
    assert!(read.operation.output_messages.is_none() && read.operation.output.is_none());
    assert_eq!(read.operation.unmapped.keys().collect::<Vec<_>>(), ["gen_ai.output.messages"]);
    assert_eq!(read.findings.len(), 1, "{:?}", read.findings);
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
    let read = read(Registry::built_in(), &span("chat", &attributes), &[]).operation;
    let words = |list: Option<&[crate::operation::Message]>| -> Vec<String> {
        list.unwrap_or_default().iter().map(crate::operation::Message::content).collect()
    };
    assert_eq!(words(read.input_messages.as_deref()), ["Where?", "Really?"]);
    assert_eq!(words(read.output_messages.as_deref()), ["Here."]);
    assert_eq!(read.model.requested.or(read.model.response).as_deref(), Some("m"));
    assert!(read.unmapped.is_empty(), "{:?}", read.unmapped);
}

#[test]
fn codex_tells_the_time_to_the_first_token_in_a_record_of_the_model_call() {
    let like = span("turn", &[]);
    let mut record = LogRecord {
        trace_id: Some(like.trace_id),
        span_id: Some(like.span_id),
        time: None,
        observed_time: None,
        severity: 0,
        severity_text: String::new(),
        event_name: "event otel/src/events/session_telemetry.rs:1".to_owned(),
        body: AnyValue::Empty,
        attributes: like.attributes,
        dropped_attributes: 0,
        flags: 0,
        resource: like.resource,
        scope: like.scope,
    };
    record.attributes.push("event.name", "codex.turn_ttft");
    record.attributes.push("duration_ms", "820");
    let of = |kind: &str| {
        let span = span("turn", &[("openinference.span.kind", kind)]);
        read(Registry::built_in(), &span, &[&record]).operation.time_to_first_token
    };
    assert_eq!(of("LLM"), Some(0.82));
    assert_eq!(of("AGENT"), None, "it is that of a model");
}

fn json_rule(field: Field, paths: &'static [&'static str]) -> Rule {
    Rule {
        dialect: "own",
        key: "value",
        prefix: false,
        location: Location::Span,
        field,
        codec: Codec::Json,
        rank: 1,
        when: Condition::ALWAYS,
        paths,
        values: &[],
    }
}

/// Who looks at one member of a text leaves the rest to those who take all of it, before them or after.
#[test]
fn a_text_is_whole_whoever_looked_at_a_part() {
    let text = "{\"messages\": [{\"role\": \"user\", \"content\": \"Where?\"}], \"id\": \"r1\", \"rest\": [1, {\"deep\": true}]}";
    let whole: Value = serde_json::from_str(text).expect("it is JSON");
    for field in [Field::Input, Field::Output, Field::RawResponse, Field::Metadata] {
        for (part, paths) in [
            (Field::InputMessages, &["messages"][..]),
            (Field::InputMessages, &["no"]),
            (Field::ResponseId, &["id"]),
            (Field::ResponseId, &["id.deep", "rest.0"]),
        ] {
            let registry = Registry::of(vec![json_rule(part, paths), json_rule(field, &[])]);
            let operation = take(&registry, &mut span("step", &[("value", text)]), &[]).operation;
            let messages = operation.input_messages.is_some();
            assert_eq!(messages, paths.contains(&"messages"), "{field:?} {paths:?}");
            let id = match paths.first() {
                Some(&"id") => Some("r1"),
                Some(&"id.deep") => Some("1"),
                _ => None,
            };
            assert_eq!(operation.response_id.as_deref(), id, "{field:?} {paths:?}");
            let all = match field {
                Field::Input => operation.input.into_value(),
                Field::Output => operation.output.into_value(),
                Field::RawResponse => operation.raw_response,
                _ => Some(Value::Object(operation.metadata)),
            };
            assert_eq!(all.as_ref(), Some(&whole), "{field:?} {paths:?}");
        }
    }
}

/// A span that is read for the last time gives its texts away, and reads the same.
#[test]
fn what_is_taken_is_what_is_read() {
    let (object, list) = ("{\"question\": \"Where?\"}", "[\"Here.\"]");
    let cases: [&[(&str, &str)]; 5] = [
        &[("openinference.span.kind", "CHAIN"), ("input.value", ""), ("output.value", list)],
        &[
            ("openinference.span.kind", "CHAIN"),
            ("input.value", "\"Where?\""),
            ("output.value", list),
        ],
        &[
            ("openinference.span.kind", "CHAIN"),
            ("input.value", object),
            ("output.value", list),
        ],
        &[
            ("openinference.span.kind", "CHAIN"),
            ("input.value", "Where?"),
            ("output.value", list),
            ("own", object),
        ],
        &[
            ("openinference.span.kind", "TOOL"),
            ("input.value", object),
            ("input.mime_type", "application/json"),
            ("output.value", list),
        ],
    ];
    for attributes in cases {
        let registry = Registry::built_in();
        let mut span = span("step", attributes);
        let copied = read(registry, &span, &[]);
        let taken = take(registry, &mut span, &[]);
        assert_eq!(taken.operation, copied.operation, "{attributes:?}");
        assert_eq!(copied.operation.output.get().map(Value::to_string).as_deref(), Some("[\"Here.\"]"));
        assert_eq!(span.attributes.text("output.value").unwrap_or_default(), "", "taken out");
    }
    let registry = Registry::of(vec![json_rule(Field::Input, &[]), json_rule(Field::Output, &[])]);
    let taken = take(&registry, &mut span("step", &[("value", list)]), &[]).operation;
    assert_eq!(
        (taken.input.get(), taken.output.get()),
        (Some(&serde_json::json!(["Here."])), taken.input.get())
    );
}

proptest! {
    /// Earlier reads do not influence later ones: plans are cached by scope and keys and contain no values.
    #[test]
    fn earlier_spans_do_not_matter(
        picks in proptest::collection::vec((any::<bool>(), proptest::collection::vec((select(KEYS), select(VALUES)), 0..8)), 1..12),
    ) {
        let registry = Registry::built_in().clone();
        for (scoped, pairs) in picks {
            let mut span = span("chat gpt", &pairs);
            if scoped {
                span.scope = std::sync::Arc::new(crate::span::Scope { name: "pydantic-ai".to_owned(), ..Default::default() });
            }
            let (after, alone) = (read(&registry, &span, &[]), read(&Registry::built_in().clone(), &span, &[]));
            prop_assert_eq!(after.operation, alone.operation);
            prop_assert_eq!(after.findings, alone.findings);
        }
    }
}

const KEYS: &[&str] = &[
    "openinference.span.kind",
    "gen_ai.operation.name",
    "gen_ai.system",
    "input.value",
    "input.mime_type",
    "output.value",
    "llm.input_messages.0.message.role",
    "llm.input_messages.0.message.content",
    "gen_ai.tool.name",
    "agent_name",
    "my.own",
];
const VALUES: &[&str] = &[
    "LLM",
    "TOOL",
    "chat",
    "execute_tool",
    "application/json",
    "\"quoted\"",
    "{\"id\": \"a\"}",
    "user",
];

#[test]
fn of_equal_keys_the_last_one_holds() {
    let pairs = [
        ("llm.model_name", "first"),
        ("my.own", "a"),
        ("llm.model_name", "last"),
        ("my.own", "b"),
    ];
    let read = read(Registry::built_in(), &span("chat", &pairs), &[]).operation;
    assert_eq!(read.model.response.as_deref(), Some("last"));
    assert_eq!(serde_json::Value::Object(read.unmapped), serde_json::json!({"my.own": "b"}));
}

#[test]
fn more_sets_of_keys_than_are_kept() {
    let registry = Registry::built_in();
    for round in 0..2 {
        for number in 0..700 {
            let key = format!("llm.input_messages.{number}.message.content");
            let text = format!("{round} {number}");
            let read = read(registry, &span("chat", &[("openinference.span.kind", "LLM"), (&key, &text)]), &[]).operation;
            assert_eq!(read.kind, Kind::Llm);
            assert!(read.unmapped.is_empty(), "{:?}", read.unmapped);
        }
    }
}

fn unread(attributes: &[(&str, AnyValue)]) -> (Box<Operation>, Vec<String>) {
    let mut span = span("chat", &[]);
    for (key, value) in attributes {
        span.attributes.push(*key, value.clone());
    }
    let read = read(Registry::built_in(), &span, &[]);
    let details = read.findings.into_iter().map(|finding| finding.detail).collect();
    (read.operation, details)
}

#[test]
fn what_does_not_belong_in_a_list_stays_an_attribute() {
    let odd = [
        ("llm.input_messages.foo", vec!["Where?"], "llm.input_messages.foo"),
        (
            "llm.input_messages.foo.message.content",
            vec!["Where?"],
            "llm.input_messages.foo.message.content",
        ),
        ("llm.input_messages.0", vec!["Where?"], "llm.input_messages.0"),
        (
            "llm.input_messages.0.message.content.0",
            vec!["odd"],
            "llm.input_messages.0.message.content",
        ),
        ("llm.input_messages.9999999999.message.content", vec!["Where?", "odd"], ""),
    ];
    for (key, words, left) in odd {
        let (operation, findings) = unread(&[
            ("openinference.span.kind", "LLM".into()),
            ("llm.input_messages.0.message.role", "user".into()),
            ("llm.input_messages.0.message.content", "Where?".into()),
            (key, "odd".into()),
        ]);
        let messages = operation.input_messages.unwrap_or_default();
        assert_eq!(
            messages.iter().map(crate::operation::Message::content).collect::<Vec<_>>(),
            words,
            "{key}"
        );
        assert_eq!(operation.unmapped.keys().next().map_or("", String::as_str), left, "{key}");
        assert_eq!(
            findings.iter().any(|detail| detail.starts_with(left)),
            !left.is_empty(),
            "{key}: {findings:?}"
        );
    }
    for (kind, list) in [
        ("LLM", "llm.tools"),
        ("LLM", "gen_ai.prompt"),
        ("LLM", "gen_ai.completion"),
        ("LLM", "llm.request.functions"),
        ("LLM", "evaluations"),
        ("RETRIEVER", "retrieval.documents"),
        ("EMBEDDING", "embedding.embeddings"),
    ] {
        let (first, odd) = (format!("{list}.0.name"), format!("{list}.odd"));
        let (operation, findings) = unread(&[
            ("openinference.span.kind", kind.into()),
            (&first, "name".into()),
            (&odd, "odd".into()),
        ]);
        assert_eq!(operation.unmapped.get(&odd), Some(&Value::from("odd")), "{odd}");
        assert!(findings.iter().any(|detail| detail.contains(list)), "{odd}: {findings:?}");
    }
}

#[test]
fn what_another_rule_reads_is_no_stray() {
    let (operation, findings) = unread(&[
        ("traceloop.span.kind", "llm".into()),
        ("llm.request.type", "chat".into()),
        ("gen_ai.prompt.0.role", "user".into()),
        ("gen_ai.prompt.0.content", "Where?".into()),
        ("gen_ai.prompt.variable.city", "Paris".into()),
    ]);
    let messages = operation.input_messages.unwrap_or_default();
    assert_eq!(
        messages.iter().map(crate::operation::Message::content).collect::<Vec<_>>(),
        ["Where?"]
    );
    assert_eq!(operation.prompt.variables, Some(serde_json::json!({"city": "Paris"})));
    assert!(operation.unmapped.is_empty() && findings.is_empty(), "{findings:?}");
}

#[test]
fn a_value_that_its_rule_cannot_read_stays_an_attribute() {
    let list = AnyValue::Array(vec!["odd".into()]);
    let map = AnyValue::KvList(vec![("odd".to_owned(), "odd".into())]);
    for key in ["llm.model_name", "llm.token_count.prompt", "llm.provider", "session.id", "user.id"] {
        for value in [&list, &map] {
            let (operation, findings) = unread(&[("openinference.span.kind", "LLM".into()), (key, value.clone())]);
            assert_eq!(operation.unmapped.get(key), Some(&value.to_json()), "{key}");
            assert!(findings.iter().any(|detail| detail.starts_with(key)), "{key}: {findings:?}");
        }
    }
    // A JSON text of which a rule asks for one member: without the member nothing of it is read.
    let chain = ("openinference.span.kind", "CHAIN".into());
    let (operation, findings) = unread(&[chain, ("langchain.metadata", r#"{"odd": 1}"#.into())]);
    assert_eq!(operation.unmapped.keys().collect::<Vec<_>>(), ["langchain.metadata"]);
    assert_eq!(findings, ["no rule reads langchain.metadata: it stays an attribute"]);
}

#[test]
fn a_value_that_says_nothing_is_no_loss() {
    for value in [
        AnyValue::Empty,
        "".into(),
        "null".into(),
        AnyValue::Array(Vec::new()),
        AnyValue::Double(f64::NAN),
    ] {
        let (operation, _) = unread(&[("openinference.span.kind", "LLM".into()), ("llm.token_count.prompt", value.clone())]);
        assert!(operation.unmapped.is_empty(), "{value:?}");
    }
    // One reads it, the other cannot.
    let (operation, findings) = unread(&[("openinference.span.kind", "CHAIN".into()), ("input.value", "plain words".into())]);
    assert!(operation.unmapped.is_empty() && findings.is_empty(), "{findings:?}");
}
