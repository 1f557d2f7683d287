//! What no dialect knows is read by the shapes that all dialects share, and nothing else is taken for it.
#![expect(clippy::unwrap_used, reason = "a test may")]

use crate::support;

use serde_json::Value;
use spanbridge::dialect::{Registry, read};
use spanbridge::operation::{Kind, Operation};
use spanbridge::span::{AnyValue, Span, SpanId, TraceId};
use spanbridge::trace::FindingKind;

/// Recordings whose spans say what they say in attributes: one or two of a family.
const CASES: [&str; 16] = [
    "agentops-openai-tools",
    "judgeval-openai-tools",
    "langwatch-openai-tools",
    "lf-agent",
    "lmnr-openai-tools",
    "mlf-agent",
    "netra-openai-tools",
    "oi-langchain-agent",
    "oi-openai-tools",
    "oijs-openai-tools",
    "otelg-openai-tools",
    "pyd-tools",
    "tl-openai-tools",
    "tlold-openai-tools",
    "traceai-openai-tools",
    "volt-tools",
];

/// A key of another vendor that says the same.
type Rename = fn(&str) -> String;

const RENAMES: [(&str, Rename); 4] = [
    ("acme.tracer", |key| {
        format!("acme.{}", key.split_once('.').map_or(key, |(_, rest)| rest))
    }),
    ("initech", |key| format!("initech.trace.{key}")),
    ("", |key| {
        format!("hooli_{}", key.replace("span.kind", "span_kind").replace("tool.name", "toolName"))
    }),
    ("io.umbrella/otel", |key| format!("umbrella:{key}")),
];

fn renamed(span: &Span, scope: &str, rename: Rename) -> Span {
    let mut other = span.clone();
    other.scope = std::sync::Arc::new(spanbridge::span::Scope {
        name: scope.to_owned(),
        ..Default::default()
    });
    other.attributes = span.attributes.iter().map(|(key, value)| (rename(key), value.clone())).collect();
    other
}

/// What a document needs of an operation.
fn facts(operation: &Operation) -> Vec<(&'static str, Value)> {
    let mut out = Vec::new();
    let mut add = |name, value: Option<Value>| out.extend(value.filter(|value| !value.is_null()).map(|value| (name, value)));
    let spoken = |list: Option<&[spanbridge::operation::Message]>| {
        let texts = list.as_ref()?.iter().map(|message| message.content()).collect::<Vec<_>>();
        Some(Value::from(texts))
    };
    match operation.kind {
        Kind::Llm => {
            add("kind", Some("llm".into()));
            add(
                "model",
                operation
                    .model
                    .requested
                    .clone()
                    .or(operation.model.response.clone())
                    .map(Value::from),
            );
            add("input tokens", operation.usage.input.map(Value::from));
            add("output tokens", operation.usage.output.map(Value::from));
            add("input messages", spoken(operation.input_messages.as_deref()));
            add("output messages", spoken(operation.output_messages.as_deref()));
            let calls = operation.output_messages.iter().flatten().flat_map(|message| &message.tool_calls);
            let calls: Vec<Value> = calls
                .map(|call| serde_json::json!([call.id.as_deref(), call.name, call.arguments]))
                .collect();
            add("calls", Some(calls).filter(|calls| !calls.is_empty()).map(Value::from));
        }
        Kind::Tool => {
            let tool = operation.tool.clone().unwrap_or_default();
            add("kind", Some("tool".into()));
            add("tool name", tool.name.map(Value::from));
            add("arguments", tool.arguments);
            add("result", tool.result);
            add("call id", tool.call_id.map(Value::from));
        }
        Kind::Agent => {
            add("kind", Some("agent".into()));
            add("agent name", operation.agent.name.clone().map(Value::from));
        }
        _ => {}
    }
    out
}

#[test]
fn a_known_dialect_under_another_vendors_name_tells_the_same() {
    let registry = Registry::built_in();
    let (mut asked, mut told) = (0, 0);
    for case in support::cases(CASES.len(), |name| CASES.contains(&name)) {
        let (mut asked_here, mut told_here) = (0, 0);
        let mut missing = Vec::new();
        let spans = &case.spans;
        let case = case.name.as_str();
        for span in spans {
            let known = facts(&read(registry, span, &[]).operation);
            for (scope, rename) in RENAMES {
                let read = read(registry, &renamed(span, scope, rename), &[]);
                let have = facts(&read.operation);
                asked_here += known.len();
                let same = known.iter().filter(|fact| have.contains(fact));
                told_here += same.count();
                missing.extend(known.iter().filter(|fact| !have.contains(fact)).map(|(name, _)| (scope, *name)));
                if !known.is_empty() && !have.is_empty() {
                    assert!(
                        read.findings.iter().any(|finding| finding.kind == FindingKind::UnknownDialect),
                        "{case}: {} is read by its shape, and no finding says so",
                        span.name
                    );
                }
            }
        }
        missing.sort_unstable();
        missing.dedup();
        assert!(
            told_here * 100 >= asked_here * 75,
            "{case}: {told_here} of {asked_here}, not {missing:?}"
        );
        asked += asked_here;
        told += told_here;
    }
    assert!(asked > 1_000, "{asked}");
    assert!(told * 100 >= asked * 90, "{told} of {asked} facts");
}

fn span(scope: &str, name: &str, attributes: &[(&str, AnyValue)]) -> Span {
    let mut span = Span::new(TraceId::from_bytes(&[1; 16]).unwrap(), SpanId::from_bytes(&[2; 8]).unwrap(), name);
    span.scope = std::sync::Arc::new(spanbridge::span::Scope {
        name: scope.to_owned(),
        ..Default::default()
    });
    for (key, value) in attributes {
        span.attributes.push(*key, value.clone());
    }
    span
}

#[test]
fn ordinary_spans_stay_ordinary() {
    let text = |value: &str| AnyValue::from(value);
    let spans = [
        span(
            "http",
            "POST /agents",
            &[
                ("http.request.method", text("POST")),
                ("http.response.status_code", 200.into()),
                ("url.full", text("https://api.openai.com/v1/chat/completions")),
                ("user.type", text("agent")),
                ("request.type", text("chat")),
                ("app.input", text("x")),
            ],
        ),
        span(
            "db",
            "SELECT tools",
            &[
                ("db.system.name", text("postgresql")),
                ("db.operation.name", text("SELECT")),
                ("db.query.text", text("select * from tools")),
                ("entity.type", text("tool")),
                ("db.response.returned_rows", 3.into()),
            ],
        ),
        span(
            "rpc",
            "grpc.chat.Chat/Send",
            &[
                ("rpc.system", text("grpc")),
                ("rpc.method", text("Send")),
                ("message.type", text("SENT")),
                ("messages", text("[{\"role\": \"user\", \"content\": \"hi\"}]")),
                ("model", text("T")),
            ],
        ),
        span(
            "opentracing",
            "work",
            &[
                ("span.kind", text("server")),
                ("span.type", text("web")),
                ("component", text("net/http")),
            ],
        ),
        span(
            "messaging",
            "publish",
            &[
                ("messaging.system", text("kafka")),
                ("messaging.operation.type", text("send")),
                ("event.type", text("tool")),
                ("app.input", text("x")),
            ],
        ),
        span(
            "shop",
            "rent",
            &[
                ("car.model", text("T")),
                ("tool.name", text("drill")),
                ("staff.name", text("Ms Smith")),
            ],
        ),
        span(
            "shop",
            "sell",
            &[("product.type", text("tool")), ("seller.type", text("agent")), ("price", 3.into())],
        ),
        span(
            "k8s",
            "schedule",
            &[("node.type", text("agent")), ("task.type", text("tool")), ("thread.id", 7.into())],
        ),
        span("tokenizer", "count", &[("input.tokens", 5.into())]),
    ];
    let registry = Registry::built_in();
    for span in spans {
        let read = read(registry, &span, &[]);
        assert_eq!(read.operation.kind, Kind::Plain, "{}", span.name);
        assert!(read.findings.is_empty(), "{}: {:?}", span.name, read.findings);
        assert_eq!(
            read.operation.unmapped.len(),
            span.attributes.len(),
            "{}: {:?}",
            span.name,
            read.operation.unmapped
        );
    }
}

#[test]
fn what_an_ordinary_span_takes_and_gives_is_told_where_no_rule_reads_it() {
    for key in ["input", "output", "arguments"] {
        let read = read(Registry::built_in(), &span("shop", "rent", &[(key, AnyValue::from("x"))]), &[]);
        let told = read.findings.iter().any(|finding| finding.detail.contains(key));
        assert!(told && read.operation.kind == Kind::Plain, "{key}: {:?}", read.findings);
    }
}

#[test]
fn what_a_dialect_says_wins_over_a_shape() {
    let known = span(
        "openinference.instrumentation.openai",
        "chat",
        &[
            ("openinference.span.kind", "LLM".into()),
            ("gen_ai.request.model", "gpt-4o".into()),
            ("llm.token_count.prompt", 5.into()),
            ("acme.span.kind", "tool".into()),
            ("acme.request.model", "other".into()),
            ("acme.prompt_tokens", 7.into()),
            ("acme.completion_tokens", 9.into()),
            ("acme.tool.name", "search".into()),
        ],
    );
    let read = read(Registry::built_in(), &known, &[]);
    let operation = read.operation;
    assert_eq!(operation.kind, Kind::Llm);
    assert_eq!(operation.model.requested.as_deref(), Some("gpt-4o"));
    assert_eq!(
        (operation.usage.input, operation.usage.output),
        (Some(5), Some(9)),
        "only what the dialect does not say"
    );
    assert_eq!(operation.tool, None);
    let unmapped: Vec<&str> = operation.unmapped.keys().map(String::as_str).collect();
    assert_eq!(
        unmapped,
        ["acme.span.kind", "acme.request.model", "acme.prompt_tokens", "acme.tool.name"]
    );
    let findings: Vec<&str> = read.findings.iter().map(|finding| finding.detail.as_str()).collect();
    assert_eq!(
        findings,
        ["no dialect knows these keys of scope `openinference.instrumentation.openai`: read by their shape: acme.completion_tokens"]
    );
}

#[test]
fn shapes_of_an_unknown_vendor() {
    let registry = Registry::built_in();
    let call = span(
        "acme",
        "step 1",
        &[
            ("acme.spanKind", "SpanKind.LLM_CALL".into()),
            (
                "acme.request",
                r#"{"model": "gemini-2", "contents": [{"role": "user", "parts": [{"text": "Hi?"}]}]}"#.into(),
            ),
            (
                "acme.response",
                r#"{"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "search", "args": {"q": 1}}}]}}],
               "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 2}}"#
                    .into(),
            ),
            ("acme.conversation_id", "c1".into()),
            ("acme.other", "kept".into()),
        ],
    );
    let operation = read(registry, &call, &[]).operation;
    assert_eq!(operation.kind, Kind::Llm);
    assert_eq!(operation.model.requested.as_deref(), Some("gemini-2"));
    assert_eq!((operation.usage.input, operation.usage.output), (Some(4), Some(2)));
    assert_eq!(operation.session_id.as_deref(), Some("c1"));
    let output = operation.output_messages.unwrap();
    assert_eq!(output.first().unwrap().tool_calls.first().unwrap().name, "search");
    assert_eq!(operation.unmapped.keys().collect::<Vec<_>>(), ["acme.other"]);

    let tool = span(
        "acme",
        "execute_tool search",
        &[
            ("acme.kind", "tool-call".into()),
            ("acme.tool.args", r#"{"q": 1}"#.into()),
            ("acme.tool_output", r#"{"hits": 3}"#.into()),
            ("acme.tool.call_id", "call_1".into()),
        ],
    );
    let tool = read(registry, &tool, &[]).operation.tool.unwrap();
    assert_eq!(tool.name.as_deref(), Some("search"));
    assert_eq!(tool.call_id.as_deref(), Some("call_1"));
    assert_eq!(tool.arguments, Some(serde_json::json!({"q": 1})));
    assert_eq!(tool.result, Some(serde_json::json!({"hits": 3})));
}
