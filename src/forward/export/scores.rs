//! People's judgements, sent to a backend's API for scores.

use ::http::Method;
use ::http::header::{CONTENT_TYPE, HeaderValue};
use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::connection::{Connection, body};
use super::http::failure;
use super::outcome::Failure;
use crate::dialect::Registry;
use crate::forward::settings::ScoreApi;
use crate::otlp::decode;
use crate::run::Annotation;
use crate::run::annotations;
use crate::span::{ANNOTATION_SCOPE, Signal, Span, TraceId, hex};

/// One request to the API.
#[derive(Debug, PartialEq)]
struct Call {
    method: Method,
    path: String,
    body: Option<Value>,
}

/// Sends the judgements among the spans of a request, in the order in which they were made. Sending one again changes nothing.
///
/// # Errors
///
/// A judgement was not accepted.
pub(super) async fn send(api: ScoreApi, connection: &Connection, message: &[u8]) -> Result<(), Failure> {
    for call in calls(api, judgements(message)) {
        let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let content = call.body.as_ref().map_or_else(Bytes::new, |body| body.to_string().into());
        let mut request = connection.request(&call.path, &headers, content)?;
        *request.method_mut() = call.method;
        let response = connection.send(request).await?;
        let (status, head) = (response.status(), response.headers().clone());
        let (bytes, _) = body(response).await?;
        // A withdrawn score may never have existed.
        let is_gone = status.as_u16() == 404 && call.body.is_none();
        if !status.is_success() && !is_gone {
            let mut failure = failure(Signal::Traces, status, &head, &bytes, &connection.secrets());
            failure.reason = format!("{}: {}", call.path, failure.reason);
            return Err(failure);
        }
    }
    Ok(())
}

/// People's judgements, each with its trace.
fn judgements(message: &[u8]) -> Vec<(TraceId, Annotation)> {
    // Few requests have any; the others are not decoded.
    if memchr::memmem::find(message, ANNOTATION_SCOPE.as_bytes()).is_none() {
        return Vec::new();
    }
    let spans = decode::traces(message).map(|decoded| decoded.items).unwrap_or_default();
    let of_people = |span: &Span| {
        let is_one = span.scope.name == ANNOTATION_SCOPE;
        is_one.then(|| annotations::read(span, Registry::built_in())).flatten()
    };
    let mut all: Vec<_> = spans.iter().filter_map(|span| Some((span.trace_id, of_people(span)?))).collect();
    all.sort_by_key(|(_, judgement)| judgement.at);
    all
}

fn calls(api: ScoreApi, judgements: Vec<(TraceId, Annotation)>) -> Vec<Call> {
    let of = |(trace_id, judgement): (TraceId, Annotation)| match api {
        ScoreApi::Langfuse => langfuse(trace_id, &judgement),
        ScoreApi::Phoenix => phoenix(&judgement),
    };
    judgements.into_iter().filter_map(of).collect()
}

/// `POST /api/public/scores` of Langfuse. A score needs a value, so a note alone is not sent.
fn langfuse(trace_id: TraceId, judgement: &Annotation) -> Option<Call> {
    let evaluation = &judgement.evaluation;
    let id = id(trace_id, judgement);
    if judgement.withdraws {
        return Some(Call {
            method: Method::DELETE,
            path: format!("/api/public/scores/{id}"),
            body: None,
        });
    }
    let (kind, value) = match (evaluation.score, &evaluation.label) {
        (Some(score), _) => ("NUMERIC", Value::from(score)),
        (None, Some(label)) => ("CATEGORICAL", label.as_str().into()),
        (None, None) => return None,
    };
    let body = json!({
        "id": id,
        "traceId": trace_id.to_string(),
        "observationId": judgement.judged.map(|span| span.to_string()),
        "name": name(judgement),
        "value": value,
        "dataType": kind,
        "comment": evaluation.explanation,
        "metadata": {"label": evaluation.label, "annotator": judgement.annotator},
    });
    Some(Call {
        method: Method::POST,
        path: "/api/public/scores".to_owned(),
        body: Some(body),
    })
}

/// `POST /v1/span_annotations` of Phoenix, which keeps one for each name, span and identifier. Its API cannot withdraw one.
fn phoenix(judgement: &Annotation) -> Option<Call> {
    let span_id = judgement.judged.filter(|_| !judgement.withdraws)?;
    let evaluation = &judgement.evaluation;
    let annotation = json!({
        "span_id": span_id.to_string(),
        "name": name(judgement),
        "annotator_kind": "HUMAN",
        "identifier": judgement.annotator.as_deref().unwrap_or_default(),
        "result": {"label": evaluation.label, "score": evaluation.score, "explanation": evaluation.explanation},
    });
    Some(Call {
        method: Method::POST,
        path: "/v1/span_annotations".to_owned(),
        body: Some(json!({ "data": [annotation] })),
    })
}

fn name(judgement: &Annotation) -> &str {
    judgement.evaluation.name.as_deref().unwrap_or("feedback")
}

/// The same id for a judgement and its correction.
fn id(trace_id: TraceId, judgement: &Annotation) -> String {
    let of = (trace_id, judgement.judged, name(judgement), judgement.annotator.as_deref());
    hex(Sha256::digest(format!("{of:?}")).split_at(16).0)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use crate::operation::Evaluation;
    use crate::span::SpanId;

    fn judgement(score: Option<f64>, label: Option<&str>, withdraws: bool) -> (TraceId, Annotation) {
        let evaluation = Evaluation {
            name: Some("helpful".to_owned()),
            score,
            label: label.map(str::to_owned),
            explanation: Some("It answers.".to_owned()),
            annotator_kind: None,
        };
        let annotation = Annotation {
            span_id: SpanId::from_bytes(&[2; 8]).unwrap(),
            judged: SpanId::from_bytes(&[1; 8]),
            evaluation,
            annotator: Some("Ada".to_owned()),
            at: None,
            withdraws,
            counts: false,
        };
        (TraceId::from_bytes(&[3; 16]).unwrap(), annotation)
    }

    #[test]
    fn each_api_gets_judgements_in_its_form() {
        let judged = || {
            vec![
                judgement(Some(0.5), Some("good"), false),
                judgement(None, None, false),
                judgement(None, None, true),
            ]
        };
        let of_langfuse = calls(ScoreApi::Langfuse, judged());
        let [scored, withdrawn] = of_langfuse.as_slice() else {
            panic!("{of_langfuse:?}")
        };
        let body = scored.body.as_ref().unwrap();
        assert_eq!(
            body,
            &json!({
                "id": body["id"], "traceId": "03030303030303030303030303030303", "observationId": "0101010101010101", "name": "helpful",
                "value": 0.5, "dataType": "NUMERIC", "comment": "It answers.", "metadata": {"label": "good", "annotator": "Ada"},
            })
        );
        let path = format!("/api/public/scores/{}", body["id"].as_str().unwrap());
        assert_eq!((&withdrawn.method, &withdrawn.path), (&Method::DELETE, &path));
        let of_phoenix = calls(ScoreApi::Phoenix, judged());
        assert_eq!(of_phoenix.len(), 2, "a note alone is one too");
        assert_eq!(
            of_phoenix.first().and_then(|call| call.body.clone()),
            Some(json!({"data": [{
                "span_id": "0101010101010101", "name": "helpful", "annotator_kind": "HUMAN", "identifier": "Ada",
                "result": {"label": "good", "score": 0.5, "explanation": "It answers."},
            }]}))
        );
    }
}
