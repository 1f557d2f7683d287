//! What the code records is what an exporter gets.
#![expect(clippy::unwrap_used, reason = "a test")]

use crate::layer_support;

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;

use layer_support::{Kept, provider, run, run_with};
use opentelemetry::Value;
use opentelemetry::trace::{Status, TracerProvider as _};
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde_json::json;
use spanbridge::layer::{Privacy, SpanExt as _};
use spanbridge::operation::{Kind, Message, Role};
use tracing::{Dispatch, Level, Span, info_span, instrument};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;

/// A thread's values are dropped when it ends, the youngest first: a span in an old one closes after all others are gone.
#[test]
fn a_span_in_a_thread_local_keeps_what_was_recorded() {
    thread_local! {
        static RUN: RefCell<Option<Span>> = const { RefCell::new(None) };
    }
    let kept = Kept::default();
    // The SDK's simple processor has such a value of its own, and panics without it.
    let provider = SdkTracerProvider::builder().with_batch_exporter(kept.clone()).build();
    let layer = spanbridge::layer().with_tracer(provider.tracer("test"));
    let dispatch = Dispatch::new(Registry::default().with(layer));
    let thread = std::thread::spawn(move || {
        RUN.set(None);
        tracing::dispatcher::with_default(&dispatch, || {
            RUN.set(Some(info_span!("run", question = tracing::field::Empty)));
            info_span!("step", detail = ?"first").in_scope(|| ());
            RUN.with_borrow(|run| {
                run.as_ref().unwrap().record("question", "Oslo?");
            });
        });
    });
    thread.join().unwrap();
    provider.force_flush().unwrap();
    assert_eq!(kept.span("run").text("question"), "Oslo?");
}

#[test]
fn every_number_is_a_number() {
    let kept = run(|| {
        let span = info_span!(
            "numbers",
            a = 1_u8,
            b = 2_u16,
            c = 3_u32,
            d = 4_u64,
            e = 5_usize,
            f = -6_i64,
            g = 7_i128,
            h = u64::MAX,
            i = 0.5_f32,
            j = 0.25_f64,
            k = true,
            l = tracing::field::Empty,
        );
        span.record("l", 9_u64);
    });
    let span = kept.span("numbers");
    for (key, number) in [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5), ("f", -6), ("g", 7), ("l", 9)] {
        assert_eq!(span.int(key), number);
    }
    assert_eq!(span.get("h"), Some(Value::String(u64::MAX.to_string().into())), "no digit is lost");
    assert_eq!((span.get("i"), span.get("j")), (Some(Value::F64(0.5)), Some(Value::F64(0.25))));
    assert_eq!(span.get("k"), Some(Value::Bool(true)));
    for noise in ["busy_ns", "idle_ns", "thread.id", "thread.name", "code.file.path", "target"] {
        assert!(!span.has(noise), "{noise}");
    }
}

#[test]
fn two_hundred_messages_keep_the_models_name() {
    let record = || {
        let span = info_span!("chat", openinference.span.kind = "LLM", llm.model_name = tracing::field::Empty);
        for index in 0..200 {
            span.add_input_message(&Message::text(Role::User, format!("message {index}")));
        }
        span.record("llm.model_name", "gpt-4o");
    };
    let kept = run(record);
    let span = kept.span("chat");
    assert_eq!(span.text("llm.model_name"), "gpt-4o");
    assert_eq!(span.text("llm.input_messages.199.message.content"), "message 199");
    assert_eq!(span.0.attributes.len(), 402);

    // A provider with the SDK's own limit of 128.
    let kept = Kept::default();
    let provider = opentelemetry_sdk::trace::SdkTracerProvider::builder()
        .with_simple_exporter(kept.clone())
        .build();
    let layer = spanbridge::layer().with_tracer(provider.tracer("test"));
    tracing::subscriber::with_default(Registry::default().with(layer), record);
    assert_eq!(kept.span("chat").text("llm.model_name"), "gpt-4o");
}

#[test]
fn short_words_are_read_by_the_table() {
    let kept = run(|| {
        let agent = info_span!(
            "agent",
            step_type = "agent",
            session_id = "s1",
            input = "Weather?",
            output = tracing::field::Empty
        );
        let _in_agent = agent.enter();
        drop(info_span!(
            "call",
            step_type = "llm_call",
            model = "gpt-4o",
            provider = "openai",
            tokens_in = 12_u64,
            tokens_out = 5_u32,
            cost_estimate = 1_u64,
            input = r#"[{"role":"user","content":"Weather?"}]"#,
            output = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}"#,
        ));
        drop(info_span!(
            "tool",
            step_type = "tool_call",
            tool_name = "weather",
            tool_call_id = "c1",
            arguments = r#"{"city":"Oslo"}"#,
            result = "cold",
            success = false,
            error = "no sensor"
        ));
        drop(info_span!(
            "memory",
            step_type = "memory_write",
            entity_id = "e1",
            data = r#"{"a":1}"#
        ));
        drop(info_span!("plain", model = "T-800", result = 3));
        agent.record("output", "Cold.");
    });
    let agent = kept.span("agent");
    assert_eq!(agent.text("openinference.span.kind"), "AGENT");
    assert_eq!(
        (agent.text("input.value"), agent.text("output.value")),
        ("Weather?".into(), "Cold.".into())
    );
    assert_eq!(agent.text("session.id"), "s1");
    assert!(!agent.has("step_type") && !agent.has("input"));
    let call = kept.span("call");
    assert_eq!(call.text("openinference.span.kind"), "LLM");
    assert_eq!(
        (call.text("llm.model_name"), call.text("llm.provider")),
        ("gpt-4o".into(), "openai".into())
    );
    assert_eq!(
        (call.int("llm.token_count.prompt"), call.int("llm.token_count.completion")),
        (12, 5)
    );
    assert_eq!(call.get("llm.cost.total"), Some(Value::F64(1.0)));
    assert_eq!(call.text("llm.input_messages.0.message.content"), "Weather?");
    assert_eq!(call.text("input.mime_type"), "application/json");
    let arguments = "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments";
    assert_eq!(call.text(arguments), r#"{"city":"Oslo"}"#);
    let tool = kept.span("tool");
    assert_eq!((tool.text("tool.name"), tool.text("tool_call.id")), ("weather".into(), "c1".into()));
    assert_eq!(
        (tool.text("input.value"), tool.text("output.value")),
        (r#"{"city":"Oslo"}"#.into(), "cold".into())
    );
    assert_eq!(tool.0.status, Status::error("no sensor"));
    assert_eq!(tool.event("exception", "exception.message").as_deref(), Some("no sensor"));
    let memory = kept.span("memory");
    assert_eq!(memory.text("spanbridge.step_type"), "memory_write");
    assert_eq!(
        (memory.text("spanbridge.memory.entity_id"), memory.text("spanbridge.memory.data")),
        ("e1".into(), r#"{"a":1}"#.into())
    );
    let plain = kept.span("plain");
    assert!(plain.has("model") && plain.has("result") && !plain.has("openinference.span.kind"));
}

#[test]
fn lists_in_json_are_flattened() {
    let kept = run(|| {
        drop(info_span!(
            "call",
            llm.input_messages = %json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}]),
            llm.tools = %json!([{"type": "function", "function": {"name": "weather"}}]),
        ));
        drop(info_span!(
            "search",
            retrieval.documents = %json!([{"id": "d1", "content": "text", "score": 0.5, "metadata": {"page": 3}}, "bare"]),
        ));
        drop(info_span!(
            "tagged",
            openinference.span.kind = "chain",
            tag.tags = r#"["a","b"]"#,
            llm.input_messages = "no JSON"
        ));
    });
    let call = kept.span("call");
    assert_eq!(call.text("openinference.span.kind"), "LLM");
    assert_eq!(call.text("llm.input_messages.0.message.role"), "system");
    assert_eq!(
        call.text("llm.input_messages.1.message.contents.0.message_content.text"),
        "What is it?"
    );
    let url = "llm.input_messages.1.message.contents.1.message_content.image.image.url";
    assert_eq!(call.text(url), "https://x/y.png");
    assert_eq!(
        call.text("llm.tools.0.tool.json_schema"),
        r#"{"type":"function","function":{"name":"weather"}}"#
    );
    let search = kept.span("search");
    assert_eq!(search.text("openinference.span.kind"), "RETRIEVER");
    assert_eq!(search.get("retrieval.documents.0.document.score"), Some(Value::F64(0.5)));
    assert_eq!(search.text("retrieval.documents.0.document.metadata"), r#"{"page":3}"#);
    assert_eq!(search.text("retrieval.documents.1.document.content"), "bare");
    let tagged = kept.span("tagged");
    assert_eq!(
        (tagged.text("openinference.span.kind"), tagged.text("llm.input_messages")),
        ("CHAIN".into(), "no JSON".into())
    );
    assert!(matches!(tagged.get("tag.tags"), Some(Value::Array(_))));
}

#[test]
fn the_last_value_of_a_key_holds() {
    let kept = run(|| {
        let span = info_span!("chat", gen_ai.operation.name = "chat", n = 1_u64, otel.name = tracing::field::Empty);
        span.in_scope(|| ());
        span.record("gen_ai.operation.name", "text_completion");
        span.record("n", 2_u64);
        span.set_field("n", 3_u32);
        span.set_field("more", 1).set_field("more", 2);
        span.record("otel.name", "renamed");
    });
    let span = kept.span("renamed");
    assert_eq!((span.int("n"), span.int("more")), (3, 2));
    assert_eq!(span.text("gen_ai.operation.name"), "text_completion");
    assert_eq!(span.text("openinference.span.kind"), "LLM");
}

/// As rig 0.42 and agent-framework write their spans.
#[test]
fn crates_that_instrument_themselves_are_translated() {
    let kept = run(|| {
        drop(info_span!(
            target: "rig_core::completions",
            "chat",
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = "openai",
            gen_ai.request.model = "gpt-4o",
            gen_ai.usage.input_tokens = 33_u64,
            gen_ai.usage.output_tokens = 7_u64,
            gen_ai.input.messages = r#"[{"role":"user","parts":[{"type":"text","content":"Oslo?"}]}]"#,
            gen_ai.output.messages = r#"[{"role":"assistant","parts":[{"type":"text","content":"Cold."}],"finish_reason":"stop"}]"#,
        ));
        drop(info_span!(
            target: "rig_agent::tool",
            "execute_tool",
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = "weather",
            gen_ai.tool.call.id = "c1",
            gen_ai.tool.call.arguments = r#"{"city":"Oslo"}"#,
            gen_ai.tool.call.result = "the tool failed",
            gen_ai.tool.call.outcome = "error",
            gen_ai.tool.error.type = "ToolError",
        ));
        drop(info_span!(
            "maf",
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = "weather",
            otel.status_code = "ERROR",
            otel.status_message = "no sensor"
        ));
        drop(info_span!(target: "adk_agent::llm", "agent.execute", agent.name = "planner", adk.user_id = "ada"));
        drop(info_span!("POST", http.request.method = "POST", server.port = 443_u16));
    });
    let chat = kept.span("chat");
    assert_eq!(chat.text("openinference.span.kind"), "LLM");
    assert_eq!(
        (chat.int("gen_ai.usage.input_tokens"), chat.int("llm.token_count.prompt")),
        (33, 33)
    );
    assert_eq!(
        (chat.text("llm.model_name"), chat.text("llm.provider")),
        ("gpt-4o".into(), "openai".into())
    );
    assert_eq!(chat.text("llm.input_messages.0.message.content"), "Oslo?");
    assert_eq!(chat.text("llm.output_messages.0.message.content"), "Cold.");
    assert_eq!(chat.text("llm.finish_reason"), "stop");
    let tool = kept.span("execute_tool");
    assert_eq!(tool.text("openinference.span.kind"), "TOOL");
    assert_eq!(
        (tool.text("input.value"), tool.text("output.value")),
        (r#"{"city":"Oslo"}"#.into(), "the tool failed".into())
    );
    assert_eq!(tool.0.status, Status::error("ToolError"));
    assert_eq!(kept.span("maf").0.status, Status::error("no sensor"));
    let adk = kept.span("agent.execute");
    assert_eq!(
        (adk.text("openinference.span.kind"), adk.text("user.id")),
        ("AGENT".into(), "ada".into())
    );
    let http = kept.span("POST");
    assert_eq!(http.int("server.port"), 443);
    assert_eq!(http.0.attributes.len(), 2);
}

#[test]
fn errors_are_status_and_exception() {
    #[derive(Debug)]
    struct Outer(std::io::Error);
    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the tool failed")
        }
    }
    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }
    #[instrument(err, fields(step_type = "tool_call"))]
    fn failing() -> Result<(), String> {
        Err("out of range".to_owned())
    }
    let kept = run(|| {
        let _ = failing();
        info_span!("typed").set_error(&Outer(std::io::Error::other("disk")));
        info_span!(
            "field",
            error = &Outer(std::io::Error::other("disk")) as &(dyn std::error::Error + 'static)
        )
        .in_scope(|| ());
        info_span!("logged").in_scope(|| tracing::error!(attempts = 3_u64, "gave up"));
        info_span!("fine").in_scope(|| tracing::info!(n = 3_u64, "note"));
        let _ = std::panic::catch_unwind(|| info_span!("panics").in_scope(|| panic!("boom")));
        info_span!("denied").set_failure("PermissionError", "not allowed");
    });
    let failing = kept.span("failing");
    assert_eq!(failing.0.status, Status::error("out of range"));
    assert_eq!(failing.event("exception", "exception.message").as_deref(), Some("out of range"));
    for name in ["typed", "field"] {
        let span = kept.span(name);
        assert_eq!(span.0.status, Status::error("the tool failed"), "{name}");
        assert_eq!(span.event("exception", "exception.stacktrace").unwrap().trim(), "caused by: disk");
    }
    let logged = kept.span("logged");
    assert_eq!(logged.0.status, Status::error("gave up"));
    assert_eq!(logged.event("gave up", "attempts").as_deref(), Some("3"));
    assert_eq!(kept.span("fine").0.status, Status::Unset);
    let panics = kept.span("panics");
    assert_eq!(panics.event("exception", "exception.type").as_deref(), Some("panic"));
    assert!(matches!(panics.0.status, Status::Error { .. }));
    assert_eq!(
        kept.span("denied").event("exception", "exception.type").as_deref(),
        Some("PermissionError")
    );
}

#[test]
fn undeclared_fields_are_kept_and_reported_once() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    #[derive(Clone, Default)]
    struct Count(Arc<AtomicUsize>);
    impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Count {
        fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
            if event.metadata().target() == "spanbridge" && *event.metadata().level() == Level::WARN {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    let (kept, count) = (Kept::default(), Count::default());
    let provider = provider(&kept);
    let layer = spanbridge::layer().with_tracer(provider.tracer("test"));
    tracing::subscriber::with_default(Registry::default().with(layer).with(count.clone()), || {
        for round in 0..3_u64 {
            let span = info_span!("tool", declared = tracing::field::Empty);
            span.record_field("declared", round).record_field("undeclared", round);
        }
    });
    assert_eq!(count.0.load(Ordering::Relaxed), usize::from(cfg!(debug_assertions)));
    let spans = kept.spans();
    assert!(spans.len() == 3 && spans.iter().all(|span| span.attributes.len() == 2), "{spans:?}");
}

#[test]
fn hidden_content_stays_in_the_process() {
    let privacy = Privacy::default().with_hook(|key, value| match (key, value) {
        ("user.id", _) => None,
        (_, Value::String(text)) if text.as_str().contains("secret") => Some("[redacted]".into()),
        (_, value) => Some(value),
    });
    let kept = run_with(
        |layer| layer.with_privacy(privacy),
        || {
            let span = info_span!("chat", openinference.span.kind = "LLM", user.id = "ada");
            span.add_input_message(&Message::text(Role::User, "my secret"))
                .add_output_message(&Message::text(Role::Assistant, "noted"));
            span.in_scope(|| tracing::info!(note = "a secret", "said"));
            span.in_scope(|| tracing::info!("the secret is out"));
            span.set_failure("Error", "secret in an error");
            drop(info_span!("named", otel.name = "secret plan"));
            let late = info_span!("renamed", otel.name = tracing::field::Empty);
            late.in_scope(|| late.record("otel.name", "secret plan"));
        },
    );
    let span = kept.span("chat");
    assert!(!span.has("user.id"));
    assert_eq!(span.text("llm.input_messages.0.message.content"), "[redacted]");
    assert_eq!(span.text("llm.output_messages.0.message.content"), "noted");
    assert_eq!(span.event("said", "note").as_deref(), Some("[redacted]"));
    assert_eq!(span.0.status, Status::error("[redacted]"));
    assert_eq!(kept.spans().iter().filter(|span| span.name == "[redacted]").count(), 2);
    assert!(!format!("{:?}", kept.spans()).contains("secret"));
}

#[test]
fn kinds_come_from_what_is_there() {
    let kept = run(|| {
        drop(info_span!("a", llm.token_count.prompt = 3_u64, agent.name = "x"));
        drop(info_span!("b", tool.name = "t"));
        drop(info_span!("c", agent.name = "x", session.id = "s"));
        drop(info_span!("d", input.value = "x"));
        drop(info_span!("e", session.id = "s"));
        info_span!("f", input.value = "x").set_kind(Kind::Guardrail);
    });
    for (name, kind) in [("a", "LLM"), ("b", "TOOL"), ("c", "AGENT"), ("d", "CHAIN"), ("f", "GUARDRAIL")] {
        assert_eq!(kept.span(name).text("openinference.span.kind"), kind, "{name}");
    }
    assert!(!kept.span("e").has("openinference.span.kind"));
}

#[instrument(err, fields(step_type = "tool_call", tool_name = "weather", result))]
fn weather(city: &str, days: u8, units: Option<String>, query: Vec<String>) -> Result<String, std::io::Error> {
    Span::current().record("result", "cold");
    Ok(format!("{city} {days} {units:?} {query:?}"))
}

#[test]
fn parameters_of_a_function_are_the_arguments_of_the_tool() {
    let kept = run(|| {
        weather("\"Oslo\"", 3, Some("C".to_owned()), vec!["snow".to_owned()]).unwrap();
        drop(info_span!(
            "explicit",
            step_type = "tool_call",
            arguments = r#"{"a":1}"#,
            attempt = 2
        ));
        drop(info_span!("other", step_type = "agent", city = "Oslo"));
        drop(info_span!("dotted", step_type = "tool_call", http.url = "/x"));
        drop(info_span!("foreign", gen_ai.operation.name = "execute_tool", city = "Oslo"));
    });
    let tool = kept.span("weather");
    let arguments = json!({"city": "\"Oslo\"", "days": 3, "units": "C", "query": ["snow"]});
    assert_eq!(tool.text("input.value"), arguments.to_string());
    assert_eq!(tool.text("input.mime_type"), "application/json");
    assert_eq!((tool.text("output.value"), tool.has("city")), ("cold".to_owned(), false));
    let explicit = kept.span("explicit");
    assert_eq!(
        (explicit.text("input.value"), explicit.int("attempt")),
        (r#"{"a":1}"#.to_owned(), 2)
    );
    let other = kept.span("other");
    assert!(other.has("city") && !other.has("input.value"));
    let dotted = kept.span("dotted");
    assert!(dotted.has("http.url") && !dotted.has("input.value"));
    assert_eq!(kept.span("foreign").text("input.value"), r#"{"city":"Oslo"}"#);
    let hidden = Privacy::default();
    let hidden = run_with(
        |layer| {
            let mut hidden = hidden;
            hidden.inputs = true;
            layer.with_privacy(hidden)
        },
        || drop(weather("Oslo", 1, None, Vec::new())),
    );
    let hidden = hidden.span("weather");
    assert!(!hidden.has("city") && hidden.text("input.value") == "__REDACTED__");
}

#[test]
fn returned_values_are_outputs() {
    #[instrument(ret, fields(step_type = "tool_call"))]
    fn text() -> String {
        "cold".to_owned()
    }
    #[instrument(ret, fields(step_type = "tool_call"))]
    fn fails() -> Result<u8, &'static str> {
        Err("no sensor")
    }
    #[instrument(ret(Display), fields(step_type = "llm_call", model = "m"))]
    fn model() -> &'static str {
        "hello"
    }
    #[instrument(ret, fields(step_type = "agent", output))]
    fn agent() -> &'static str {
        Span::current().record("output", "said");
        "returned"
    }
    #[instrument(ret)]
    fn plain() -> u8 {
        3
    }
    let kept = run(|| {
        text();
        let _ = fails();
        model();
        agent();
        plain();
    });
    assert_eq!(kept.span("text").text("output.value"), "cold");
    assert!(kept.span("text").0.events.iter().next().is_none());
    assert_eq!(kept.span("fails").0.status, Status::error("no sensor"));
    assert_eq!(kept.span("model").text("output.value"), "hello");
    let agent = kept.span("agent");
    assert_eq!(agent.text("output.value"), "said");
    assert!(
        agent
            .0
            .events
            .iter()
            .any(|event| event.attributes.iter().any(|pair| pair.value.to_string() == "\"returned\""))
    );
    let plain = kept.span("plain");
    assert!(!plain.has("output.value") && plain.0.events.iter().count() == 1);
}

#[test]
fn a_panic_that_the_span_survives_is_no_failure() {
    let kept = run(|| {
        let outer = info_span!("survives", step_type = "agent");
        let _inside = outer.enter();
        let again = outer.clone();
        let _ = std::panic::catch_unwind(AssertUnwindSafe(move || again.in_scope(|| panic!("handled"))));
        let _ = std::panic::catch_unwind(|| info_span!("fails", step_type = "tool_call").in_scope(|| panic!("not handled")));
    });
    let survives = kept.span("survives");
    assert_eq!(survives.0.status, Status::Unset);
    assert!(survives.event("panic", "message").is_some() && survives.event("exception", "exception.message").is_none());
    let fails = kept.span("fails");
    assert!(matches!(fails.0.status, Status::Error { .. }));
    assert!(fails.event("exception", "exception.message").is_some());
}

#[test]
fn handoffs_memory_scores_and_tokens_have_words() {
    let kept = run(|| {
        drop(info_span!("handoff", step_type = "handoff", input = "billing"));
        drop(info_span!(
            "handoff from",
            step_type = "handoff",
            from_agent = "triage",
            to_agent = "billing"
        ));
        drop(info_span!("read", step_type = "memory_read", query = "who", results = r#"["Ada"]"#));
        drop(info_span!("state", step_type = "state_change", state_key = "k", new_value = "2"));
        drop(info_span!("interrupt", step_type = "interrupt", prompt = "Sure?", response = "Yes"));
        drop(info_span!(
            "judge",
            step_type = "evaluator",
            score = 1,
            label = "good",
            explanation = "short"
        ));
        drop(info_span!(
            "call",
            step_type = "llm_call",
            response_id = "r1",
            prompt_token_ids = "[1,2]",
            logprobs = "[-0.1]"
        ));
        let call = spanbridge::layer::ModelCall::new("openai", "m");
        call.answer(&json!({"id": "r2", "choices": [{"message": {"role": "assistant", "content": "Hi"}, "logprobs": {"content": []}}]}));
    });
    let handoff = kept.span("handoff");
    assert_eq!(
        (handoff.text("openinference.span.kind"), handoff.text("spanbridge.step_type")),
        ("TOOL".into(), "handoff".into())
    );
    assert_eq!(
        (handoff.text("spanbridge.state.new_value"), handoff.text("input.value")),
        ("billing".into(), "billing".into())
    );
    assert_eq!(kept.span("handoff from").text("spanbridge.state.old_value"), "triage");
    let read = kept.span("read");
    assert_eq!(
        (read.text("input.value"), read.text("output.value")),
        ("who".into(), r#"["Ada"]"#.into())
    );
    assert_eq!(kept.span("state").text("output.value"), "2");
    let interrupt = kept.span("interrupt");
    assert_eq!(
        (interrupt.text("input.value"), interrupt.text("output.value")),
        ("Sure?".into(), "Yes".into())
    );
    let judge = kept.span("judge");
    assert_eq!(judge.get("evaluations.0.evaluation.score"), Some(Value::F64(1.0)));
    assert_eq!(judge.text("evaluations.0.evaluation.label"), "good");
    let call = kept.span("call");
    assert_eq!(
        (call.text("gen_ai.response.id"), call.text("spanbridge.token_ids.prompt")),
        ("r1".into(), "[1,2]".into())
    );
    let made = kept.span("chat m");
    assert_eq!(
        (made.text("gen_ai.response.id"), made.text("spanbridge.logprobs")),
        ("r2".into(), r#"{"content":[]}"#.into())
    );
}
