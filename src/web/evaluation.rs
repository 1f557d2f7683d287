//! People's judgements of a run or a step: a note, a label, a score.
//!
//! A judgement is stored as a separate span below the judged one, with OpenInference's keys (`EVALUATOR`,
//! `evaluations.0.evaluation.*`), so every format shows it like judgements by programs. Both its times are the end of what
//! it judges: a note a week later does not make the run last a week. Its author and time are in its metadata, as `annotator`
//! and `annotated_at`. For each name, step and person the last one counts; one that withdraws removes it. The log keeps all.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use hyper::{Response, StatusCode};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use super::answer::Answer;
use super::reply::{Problem, json_reply};
use super::request::{Asked, Reading};
use super::service::Web;
use super::single;
use crate::dialect::write::{AttributeWriter, Vocabulary};
use crate::operation::{Evaluation, Kind, Operation};
use crate::otlp::encode;
use crate::run::annotations::{ANNOTATED_AT, ANNOTATOR, WITHDRAWN};
use crate::run::{Observed, Run, Step};
use crate::span::{ANNOTATION_SCOPE, Resource, Scope, Span, SpanId, TraceId};
use crate::store::{self, Unwanted};

/// Maximum characters of a name, a label and the author.
const SHORT: usize = 200;
/// Maximum bytes of a note.
const NOTE: usize = 64 << 10;
/// Maximum bytes of a body: a note with the escapes of JSON or of a form, and the rest.
pub(crate) const EVALUATION_BYTES: usize = 512 << 10;

/// A new judgement. It has at least one of score, label and explanation, unless it withdraws.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewEvaluation {
    /// The judged span, in hexadecimal digits; without it, the run.
    pub span_id: Option<String>,
    /// What is judged, for example `helpfulness`.
    pub name: Option<String>,
    /// How good.
    pub score: Option<f64>,
    /// For example `good`.
    pub label: Option<String>,
    /// Why, or any note.
    pub explanation: Option<String>,
    /// The author. If tokens are required, the token's name replaces it.
    pub annotator: Option<String>,
    /// Withdraws the same person's earlier judgement with this name.
    #[serde(default)]
    pub withdraw: bool,
}

/// An evaluation in its stored form.
#[derive(Debug)]
pub(crate) struct Judged {
    /// An `ExportTraceServiceRequest` with its span.
    pub message: Vec<u8>,
    answer: Value,
}

impl Judged {
    /// The response for a program.
    #[must_use]
    pub(crate) fn created(&self) -> Response<Body> {
        let mut response = json_reply(self.answer.to_string());
        *response.status_mut() = StatusCode::CREATED;
        response
    }

    /// The judged span.
    #[must_use]
    pub(crate) fn evaluates(&self) -> Option<&str> {
        self.answer.get("evaluates").and_then(Value::as_str)
    }
}

impl NewEvaluation {
    /// Parses the body of a request.
    pub(crate) fn from_json(body: &[u8]) -> Result<Self, Problem> {
        serde_json::from_slice(body).map_err(|error| Problem::invalid(format!("the body is not a valid evaluation: {error}")))
    }

    /// Reads the fields of a form, where empty means absent.
    pub(crate) fn from_form<'a>(fields: impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)>) -> Result<Self, Problem> {
        let mut said = Self::default();
        for (name, value) in fields {
            let text = value.trim().to_owned();
            let text = (!text.is_empty()).then_some(text);
            match &*name {
                "span_id" => said.span_id = text,
                "name" => said.name = text,
                // The pressed button takes precedence over a field with other text.
                "label" => said.label = said.label.or(text),
                "explanation" => said.explanation = text,
                "annotator" => said.annotator = text,
                "withdraw" => said.withdraw = text.is_some(),
                "score" => {
                    let number = |text: String| {
                        text.parse()
                            .map_err(|_| Problem::invalid(format!("the score {text} is not a number")))
                    };
                    said.score = text.map(number).transpose()?;
                }
                _ => {}
            }
        }
        Ok(said)
    }

    fn check(&self) -> Result<(), Problem> {
        let refuse = |field: &str, message: String| Err(Problem::of_field(field, message));
        let says = self.score.is_some() || self.label.is_some() || self.explanation.is_some();
        match (says, self.withdraw) {
            (false, false) => return refuse("score", "an evaluation has a score, a label or an explanation".to_owned()),
            (true, true) => return refuse("withdraw", "what withdraws has no score, label or explanation".to_owned()),
            _ => {}
        }
        if self.score.is_some_and(|score| !score.is_finite()) {
            return refuse("score", "the score is not a finite number".to_owned());
        }
        for (field, text) in [("name", &self.name), ("label", &self.label), ("annotator", &self.annotator)] {
            if text.as_ref().is_some_and(|text| text.chars().count() > SHORT) {
                return refuse(field, format!("{field} has more than {SHORT} characters"));
            }
        }
        if self.explanation.as_ref().is_some_and(|text| text.len() > NOTE) {
            return refuse("explanation", format!("explanation has more than {NOTE} bytes"));
        }
        Ok(())
    }
}

impl Web {
    /// Builds the span of an evaluation. `annotator`: the name of the request's token.
    ///
    /// # Errors
    ///
    /// The response that refuses it: it is empty, or there is no such trace or span.
    pub(crate) async fn evaluated(
        self: Arc<Self>,
        asked: Reading,
        trace: String,
        said: NewEvaluation,
        annotator: Option<String>,
    ) -> Result<Judged, Response<Body>> {
        let (sender, receiver) = oneshot::channel();
        let answer = self.read(asked.0, move |web, _: &Asked, answer: &mut Answer| {
            let said = NewEvaluation {
                annotator: annotator.or(said.annotator.clone()),
                ..said
            };
            said.check()?;
            let judged = judged(web, &trace, said, answer)?;
            let _ = sender.send(judged);
            Ok(())
        });
        let answer = answer.await;
        receiver.await.map_err(|_| answer)
    }
}

fn judged(web: &Web, trace: &str, said: NewEvaluation, answer: &mut Answer) -> Result<Judged, Problem> {
    let trace_id = single::trace_id(trace)?;
    let built = single::built(web, &single::row(web, trace_id)?, answer)?;
    let run = built.run.as_ref().ok_or_else(|| single::missing(web, &Unwanted::Trace(trace_id)))?;
    let (span, at) = annotation(run, &said)?;
    let answer = json!({
        "trace_id": trace_id.to_string(),
        "span_id": span.span_id.to_string(),
        "evaluates": span.parent.map(|parent| parent.to_string()),
        "annotator": said.annotator,
        "annotated_at": at,
    });
    Ok(Judged {
        message: encode::traces(&[span]),
        answer,
    })
}

/// The span of a judgement made now, and its time.
pub(crate) fn annotation(run: &Run, said: &NewEvaluation) -> Result<(Span, String), Problem> {
    let step = step(run, said.span_id.as_deref())?;
    let annotator = text(&said.annotator);
    if said.withdraw {
        let name = name(said);
        let mut earlier = run.annotations.iter().filter(|earlier| earlier.counts);
        if !earlier.any(|earlier| earlier.is_of(step.span_id, &name, annotator.as_deref())) {
            let by = annotator.map(|annotator| format!(" by {annotator}")).unwrap_or_default();
            return Err(Problem::not_found(format!("there is no judgement {name}{by} to withdraw")));
        }
    }
    // If the clock goes back, a correction must still come after what it corrects.
    let last = run.annotations.iter().filter_map(|earlier| earlier.at).max();
    let now = last.map_or(store::now(), |last| store::now().max(last.0.saturating_add(1)));
    let at = Timestamp::from_nanosecond(now.into()).map(|at| at.to_string()).unwrap_or_default();
    Ok((span(run.trace_id, step, said, &at)?, at))
}

fn text(text: &Option<String>) -> Option<String> {
    text.clone().filter(|text| !text.trim().is_empty())
}

fn name(said: &NewEvaluation) -> String {
    text(&said.name).unwrap_or_else(|| "feedback".to_owned())
}

/// The judged step: that of the span, else the run's first.
fn step<'a>(run: &'a Run, span_id: Option<&str>) -> Result<&'a Step, Problem> {
    let Some(text) = span_id else {
        let root = run.root.and_then(|root| run.steps.get(root)).filter(|step| step.span_id.is_some());
        let first = root.or_else(|| {
            run.steps
                .iter()
                .find(|step| step.span_id.is_some() && step.observed == Observed::Span)
        });
        return first.ok_or_else(|| Problem::not_found("the run has no span"));
    };
    let id = SpanId::from_hex(text)
        .ok_or_else(|| Problem::invalid(format!("{text} is not a span id: expected 16 hexadecimal digits, not all zero")))?;
    let found = run
        .steps
        .iter()
        .find(|step| step.span_id == Some(id) && step.observed == Observed::Span);
    found.ok_or_else(|| Problem::not_found(format!("there is no span {id} in this trace")))
}

fn span(trace_id: TraceId, step: &Step, said: &NewEvaluation, at: &str) -> Result<Span, Problem> {
    let name = name(said);
    let mut operation = Operation {
        kind: Kind::Evaluator,
        evaluations: vec![Evaluation {
            name: Some(name.clone()),
            score: said.score,
            label: text(&said.label),
            explanation: text(&said.explanation),
            annotator_kind: Some("HUMAN".to_owned()),
        }],
        ..Operation::default()
    };
    let about = [
        (ANNOTATOR, text(&said.annotator).map(Value::from)),
        (ANNOTATED_AT, Some(Value::from(at))),
        (WITHDRAWN, said.withdraw.then_some(Value::from(true))),
    ];
    let about = about.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    operation.metadata.extend(about);
    let mut hash = Sha256::new();
    hash.update(trace_id.to_string());
    hash.update(step.span_id.map(|id| id.to_string()).unwrap_or_default());
    hash.update(format!("{at}\n{:?}", operation.evaluations));
    let id = hash.finalize();
    let id = SpanId::from_bytes(id.get(..8).unwrap_or_default()).ok_or_else(|| Problem::internal("the evaluation has no id"))?;
    let end = step.ended_at.unwrap_or(step.started_at);
    Ok(Span {
        parent: step.span_id,
        start: end,
        end,
        attributes: AttributeWriter::new(Vocabulary::OpenInference).write(&operation),
        resource: Arc::new(Resource::default()),
        scope: Arc::new(Scope {
            name: ANNOTATION_SCOPE.to_owned(),
            ..Scope::default()
        }),
        ..Span::new(trace_id, id, name)
    })
}
