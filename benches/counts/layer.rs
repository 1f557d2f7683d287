//! Spans through the Layer, to an exporter that drops them.

use std::hint::black_box;
use std::rc::Rc;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use spanbridge::layer::{Privacy, SpanExt as _};
use tracing::{Dispatch, dispatcher, error, info_span};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;

use super::Case;

const SPANS: usize = 20;

/// The words of `step_type`.
const KINDS: [&str; 19] = [
    "llm_call",
    "tool_call",
    "agent",
    "chain",
    "retrieval",
    "embedding",
    "rerank",
    "guardrail",
    "evaluator",
    "prompt",
    "decision",
    "user_input",
    "final_output",
    "memory_read",
    "memory_write",
    "state_change",
    "interrupt",
    "handoff",
    "unknown",
];

#[derive(Debug)]
struct Drops;

impl SpanExporter for Drops {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        black_box(batch);
        Ok(())
    }
}

fn subscriber(privacy: Privacy) -> Dispatch {
    let provider = SdkTracerProvider::builder().with_simple_exporter(Drops).build();
    let layer = spanbridge::layer().with_tracer(provider.tracer("counts")).with_privacy(privacy);
    Dispatch::new(Registry::default().with(layer))
}

pub(super) fn cases() -> Vec<Case> {
    let plain = Rc::new(subscriber(Privacy::default()));
    let mut cases: Vec<Case> = Vec::new();
    let mut add = |name: &str, span: Box<dyn Fn()>| {
        let plain = Rc::clone(&plain);
        let work = move || dispatcher::with_default(&plain, || (0..SPANS).for_each(|_| span()));
        cases.push((format!("layer: {name}"), Box::new(work)));
    };
    for kind in KINDS {
        add(kind, Box::new(move || short_words(kind)));
    }
    add("no fields", Box::new(|| info_span!("step").in_scope(|| ())));
    add("OpenInference's fields", Box::new(|| openinference("What is the weather like?")));
    let message = "What is the weather like in Oslo today? ".repeat(103);
    add("a message of 4 KB", Box::new(move || openinference(&message)));
    add("GenAI's fields", Box::new(genai));
    add("parameters of a tool", Box::new(tool));
    add("messages as JSON", Box::new(messages));
    add("recorded later", Box::new(later));
    add("an error", Box::new(failing));
    cases
}

fn short_words(kind: &str) {
    info_span!(
        "step",
        step_type = kind,
        model = "gpt-4o",
        tool_name = "weather",
        tool_call_id = "call_1",
        input = "Oslo",
        output = "It is cold in Oslo.",
        session_id = "session-1",
        tokens_in = 12_u64,
        step = 3_u64,
    )
    .in_scope(|| ());
}

fn openinference(message: &str) {
    info_span!(
        "chat",
        openinference.span.kind = "LLM",
        llm.model_name = "gpt-4o",
        llm.provider = "openai",
        llm.token_count.prompt = 1234_u64,
        llm.token_count.completion = 56_u64,
        session.id = "session-1",
        output.value = "It is cold in Oslo.",
        input.value = message,
    )
    .in_scope(|| ());
}

fn genai() {
    info_span!(
        "chat",
        gen_ai.operation.name = "chat",
        gen_ai.request.model = "gpt-4o",
        gen_ai.usage.input_tokens = 1234_u64,
        gen_ai.usage.output_tokens = 56_u64,
        gen_ai.input.messages = r#"[{"role":"user","parts":[{"type":"text","content":"Hello"}]}]"#,
    )
    .in_scope(|| ());
}

fn tool() {
    info_span!("weather", step_type = "tool_call", tool_name = "weather", city = "Oslo", days = ?[1, 2, 3]).in_scope(|| ());
}

fn messages() {
    info_span!(
        "chat",
        step_type = "llm_call",
        llm.input_messages = r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}]"#,
        llm.output_messages = r#"[{"role":"assistant","content":"Hi."}]"#,
    )
    .in_scope(|| ());
}

fn later() {
    let span = info_span!("chat", step_type = "llm_call", model = "gpt-4o", output = tracing::field::Empty);
    span.record("output", "It is cold in Oslo.");
    span.set_model("gpt-4o", Some("openai"));
}

fn failing() {
    info_span!("weather", step_type = "tool_call", tool_name = "weather").in_scope(|| error!(error = "no network", "failed"));
}
