//! Spans across `.await`, tasks, streams and cancelled futures: none lost, none open.
#![expect(clippy::unwrap_used, reason = "a test")]

use crate::layer_support;

use std::collections::HashMap;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use layer_support::{Kept, provider};
use opentelemetry::trace::{Status, TracerProvider as _};
use opentelemetry_sdk::trace::SpanData;
use spanbridge::layer::{ModelCall, SpanExt as _, TracedExt as _};
use tracing::{Instrument as _, info_span, instrument};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;

/// Gives the items, then ends; with `wait`, is pending once before each.
struct Items<T> {
    items: Vec<T>,
    wait: bool,
    waited: bool,
}

impl<T: Unpin> Stream for Items<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.waited = !self.waited;
        if self.wait && self.waited {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready((!self.items.is_empty()).then(|| self.items.remove(0)))
    }
}

fn items<T>(items: Vec<T>) -> Items<T> {
    Items {
        items,
        wait: true,
        waited: false,
    }
}

async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    std::future::poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx)).await
}

/// One subscriber for the process: spawned tasks have to see it.
fn kept() -> Kept {
    static KEPT: std::sync::OnceLock<Kept> = std::sync::OnceLock::new();
    KEPT.get_or_init(|| {
        let kept = Kept::default();
        let layer = spanbridge::layer().with_tracer(provider(&kept).tracer("test"));
        tracing::subscriber::set_global_default(Registry::default().with(layer)).unwrap();
        kept
    })
    .clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_lose_no_span_and_keep_their_parents() {
    #[instrument(fields(step_type = "tool_call", result))]
    async fn inner(task: u64, call: u64) {
        tokio::task::yield_now().await;
        tracing::Span::current().record("result", task * 100 + call);
        tracing::info!(call, "done");
    }
    let kept = kept();
    let tasks: Vec<_> = (0..64_u64)
        .map(|task| {
            let work = async move {
                let (one, two) = (inner(task, 1), inner(task, 2));
                tokio::join!(one, two);
                tokio::spawn(inner(task, 3).in_current_span()).await.unwrap();
            };
            tokio::spawn(work.instrument(info_span!("outer", step_type = "agent", task)))
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let spans = kept.spans();
    let outer: HashMap<_, _> = spans
        .iter()
        .filter(|span| span.name == "outer")
        .map(|span| (span.span_context.span_id(), span))
        .collect();
    let inner: Vec<_> = spans.iter().filter(|span| span.name == "inner").collect();
    assert_eq!((outer.len(), inner.len()), (64, 192));
    for span in inner {
        let parent = outer.get(&span.parent_span_id).expect("the parent has ended too");
        assert_eq!(parent.span_context.trace_id(), span.span_context.trace_id());
        assert_eq!(span.events.len(), 1);
        let of = |key: &str, list: &[opentelemetry::KeyValue]| list.iter().find(|pair| pair.key.as_str() == key).unwrap().value.clone();
        let (task, result) = (of("task", &parent.attributes), of("output.value", &span.attributes));
        assert_eq!(result.as_str().parse::<i64>().unwrap() / 100, task.as_str().parse::<i64>().unwrap());
    }
}

#[tokio::test]
async fn a_cancelled_future_closes_its_span_once() {
    let kept = kept();
    let call = async {
        std::future::pending::<()>().await;
    };
    let timed = tokio::time::timeout(
        Duration::from_millis(20),
        call.traced(info_span!("cancelled", step_type = "llm_call")),
    );
    assert!(timed.await.is_err());
    let span = kept.span("cancelled");
    assert!(matches!(span.0.status, Status::Error { .. }), "it did not succeed");
    assert!(span.0.end_time.duration_since(span.0.start_time).unwrap() >= Duration::from_millis(20));
}

/// A function that tells what it returns has not succeeded where it told nothing: a time limit, `select!`, a task that was aborted.
#[tokio::test]
async fn a_tool_whose_future_was_dropped_did_not_succeed() {
    #[instrument(ret, fields(step_type = "tool_call", tool_name = "slow"))]
    async fn slow(which: &str, takes: Duration) -> String {
        tokio::time::sleep(takes).await;
        "done".to_owned()
    }
    let kept = kept();
    let _ = slow("first", Duration::ZERO).await;
    let late = tokio::time::timeout(Duration::from_millis(5), slow("second", Duration::from_secs(60))).await;
    assert!(late.is_err());
    let of = |which: &str| {
        let input = format!("\"which\":\"{which}\"");
        let is_of = |span: &SpanData| span.attributes.iter().any(|pair| pair.value.as_str().contains(&input));
        kept.spans().into_iter().find(is_of).unwrap().status
    };
    assert_eq!(of("first"), Status::Unset);
    assert!(matches!(of("second"), Status::Error { .. }));
}

#[tokio::test]
async fn a_stream_keeps_its_span_open_until_it_ends() {
    let kept = kept();
    let mut text = String::new();
    let mut stream = items(vec!["Cold ", "in ", "Oslo"])
        .traced(info_span!("stream_ends", openinference.span.kind = "LLM"))
        .each(move |span, token: &&str| {
            text.push_str(token);
            span.set_output(&text);
        });
    assert_eq!(next(&mut stream).await, Some("Cold "));
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert!(!kept.spans().iter().any(|span| span.name == "stream_ends"));
    while next(&mut stream).await.is_some() {}
    let span = kept.span("stream_ends");
    assert_eq!(next(&mut stream).await, None);
    drop(stream);
    assert_eq!(kept.spans().iter().filter(|span| span.name == "stream_ends").count(), 1);
    assert_eq!(span.text("output.value"), "Cold in Oslo");
    let first: Vec<_> = span
        .0
        .events
        .iter()
        .filter(|event| event.name == "First Token Stream Event")
        .collect();
    assert_eq!(first.len(), 1);
    assert!(span.0.end_time.duration_since(first.first().unwrap().timestamp).unwrap() >= Duration::from_millis(10));
}

#[tokio::test]
async fn a_stream_that_fails_or_is_dropped_closes_its_span() {
    let kept = kept();
    let mut failing = items(vec![Ok(1), Err("connection reset"), Ok(2)])
        .traced(info_span!("stream_fails"))
        .try_each(|_, _| ());
    while next(&mut failing).await.is_some() {}
    let span = kept.span("stream_fails");
    assert_eq!(span.0.status, Status::error("connection reset"));

    let mut dropped = items(vec![1, 2]).traced(info_span!("stream_dropped"));
    next(&mut dropped).await;
    drop(dropped);
    assert_eq!(kept.span("stream_dropped").0.status, Status::Unset);
}

#[tokio::test]
async fn a_model_call_records_request_and_answer() {
    let kept = kept();
    let request = serde_json::json!({
        "model": "gpt-4o", "temperature": 0.5,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Oslo?"}],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}],
    });
    let response = serde_json::json!({
        "model": "gpt-4o-2024-08-06",
        "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Cold."}}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 23},
    });
    let call = ModelCall::of_request("openai", &request);
    let answer: Result<_, String> = call.finish(async { Ok(response) }).await;
    assert!(answer.is_ok());
    let span = kept.span("chat gpt-4o");
    assert_eq!(span.text("llm.input_messages.1.message.content"), "Oslo?");
    assert_eq!(span.text("llm.output_messages.0.message.content"), "Cold.");
    assert_eq!(span.text("llm.model_name"), "gpt-4o-2024-08-06");
    assert_eq!((span.int("llm.token_count.prompt"), span.int("llm.token_count.total")), (20, 23));
    assert_eq!(span.text("llm.finish_reason"), "stop");
    assert_eq!(span.text("llm.invocation_parameters"), r#"{"model":"gpt-4o","temperature":0.5}"#);
    assert!(span.text("llm.tools.0.tool.json_schema").contains("weather"));

    let failed: Result<(), _> = ModelCall::new("openai", "gpt-9").finish(async { Err("no such model") }).await;
    assert!(failed.is_err());
    assert_eq!(kept.span("chat gpt-9").0.status, Status::error("no such model"));
}
