//! Labels and scores of people, sent to a backend's own API.

use std::sync::Arc;

use serde_json::{Value, json};
use spanbridge::forward::{DestinationText, ScoreApi, ScoresText};
use spanbridge::span::{Scope, Span};

use super::sink::{Answer, Sink};
use super::support::{Bridge, spans, to, until};

/// A span and a judgement of it, as the pages store one.
fn judged() -> Vec<Span> {
    let mut spans = spans(0, 0..2);
    let [step, judgement] = spans.as_mut_slice() else {
        panic!("two spans")
    };
    judgement.parent = Some(step.span_id);
    judgement.scope = Arc::new(Scope {
        name: "spanbridge.evaluations".to_owned(),
        ..Scope::default()
    });
    for (key, value) in [
        ("openinference.span.kind", "EVALUATOR"),
        ("evaluations.0.evaluation.name", "helpful"),
        ("evaluations.0.evaluation.label", "good"),
        ("metadata", r#"{"annotator": "Ada", "annotated_at": "2026-11-30T10:00:00Z"}"#),
    ] {
        judgement.attributes.push(key, value);
    }
    spans
}

#[tokio::test(flavor = "multi_thread")]
async fn judgements_follow_their_spans_to_the_api_for_scores() {
    let directory = tempfile::tempdir().unwrap();
    let backend = Sink::start(|_| Answer::ok()).await;
    // It is not ready for the first judgement.
    let tries = std::sync::atomic::AtomicUsize::new(0);
    let api = Sink::start(move |_| match tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
        0 => Answer::status(503),
        _ => Answer::ok(),
    })
    .await;
    let destination = DestinationText {
        scores: Some(ScoresText {
            api: ScoreApi::Phoenix,
            url: Some(api.url()),
        }),
        ..to(&backend.url())
    };
    let bridge = Bridge::start(directory.path(), &[destination]).await;
    let spans = judged();
    bridge.send_spans(&spans).await;
    until("the judgement is there", || async { api.came().len() == 2 }).await;
    let came = api.came();
    assert_eq!(came[1].path, "/v1/span_annotations");
    let body: Value = serde_json::from_slice(&came[1].body).unwrap();
    let wanted = json!({
        "span_id": spans[0].span_id.to_string(), "name": "helpful", "annotator_kind": "HUMAN", "identifier": "Ada",
        "result": {"label": "good", "score": null, "explanation": null},
    });
    assert_eq!(body, json!({"data": [wanted]}));
    assert!(backend.spans().len() >= 2);
    bridge.stop().await;
}
