//! Reads scorers: what they run is not part of the agent's work, and evaluations get their names.

use serde_json::Value;

use super::frames::Frame;
use crate::formats::back::{At, Result, TraceBuilder, time};
use crate::operation::{Evaluation, Kind, Operation};
use crate::span::UnixNanos;

/// A scorer.
struct Judge {
    name: String,
    /// Its span; steps of older logs have no ids.
    id: Option<String>,
    start: Option<UnixNanos>,
    /// The indices of its operation and its frame, if it runs something.
    made: Option<(usize, usize)>,
}

/// The scorers of a sample.
#[derive(Default)]
pub(super) struct Judges(Vec<Judge>);

impl Judges {
    /// Begins a scorer with its span or step; returns its index.
    pub(super) fn begin(&mut self, at: &At<'_>, id: Option<&str>, name: &str) -> Result<usize> {
        self.0.push(Judge {
            name: name.to_owned(),
            id: id.map(str::to_owned),
            start: at.text_of("timestamp")?.and_then(time),
            made: None,
        });
        Ok(self.0.len() - 1)
    }

    pub(super) fn name(&self, judge: Option<usize>) -> Option<&str> {
        let name = self.0.get(judge?).map(|judge| judge.name.as_str());
        name.filter(|name| !name.is_empty())
    }

    /// The index of the scorer's frame, which is created for the first thing that it runs.
    pub(super) fn frame(&mut self, judge: usize, at: &At<'_>, frames: &mut Vec<Frame>, builder: &mut TraceBuilder) -> Option<usize> {
        let judge = self.0.get_mut(judge)?;
        if let Some((_, frame)) = judge.made {
            return Some(frame);
        }
        let id = match &judge.id {
            Some(id) => builder.id_at(Some(id), at),
            None => builder.id(None, &format!("{} judged", at.own)),
        };
        let operation = Operation::named(Kind::Evaluator, judge.name.clone());
        let place = builder.add(id, 0, operation);
        builder.times(place, judge.start, None);
        frames.push(Frame::of(place));
        judge.made = Some((place, frames.len() - 1));
        Some(frames.len() - 1)
    }

    /// Ends a scorer. `id`: its span, if it has one.
    pub(super) fn end(&self, judge: Option<usize>, id: Option<&str>, at: &At<'_>, builder: &mut TraceBuilder) -> Result<()> {
        let ended = judge.and_then(|judge| self.0.get(judge)).filter(|judge| judge.id.as_deref() == id);
        if let Some((place, _)) = ended.and_then(|judge| judge.made) {
            let end = at.text_of("timestamp")?.and_then(time);
            if let Some(draft) = builder.drafts.get_mut(place) {
                draft.end = end;
            }
        }
        Ok(())
    }
}

/// An evaluation; `None` if its value is neither a number nor a word.
pub(super) fn judgement(name: Option<&str>, score: &Value) -> Option<Evaluation> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let value = score.get("value")?;
    let label = text(score.pointer("/metadata/label"));
    Some(Evaluation {
        name: name.map(str::to_owned),
        score: match value {
            Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
            other => other.as_f64(),
        },
        label: match value {
            Value::String(word) => Some(word.clone()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Number(_) => label,
            _ => return None,
        },
        explanation: text(score.get("explanation")),
        annotator_kind: text(score.pointer("/metadata/annotator_kind")),
    })
}
