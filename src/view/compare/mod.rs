//! Compares two runs: which steps they share, and how these differ. Used by the command line and the pages.
//!
//! Times always differ, so they do not make a step different; they are shown next to it.

mod align;
mod prompt;
mod set;
mod whole;
mod words;

use std::borrow::Cow;

use serde::Serialize;

use prompt::{Changes, Prompt};
pub(crate) use prompt::{PromptChange, prompt_changes};
pub(crate) use set::{Calls, Key, Members, RunPair, SetComparison, Sums, sets};
pub(crate) use whole::{Numbers, Took, Whole};
use words::differences;
pub(crate) use words::{Effort, Piece, Side};

use super::outline;
use super::totals;
use super::{errors, step};
use crate::run::{Run, Step};

/// Two runs, step by step.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Comparison {
    /// Facts of the first run.
    pub(crate) left: Whole,
    /// Facts of the second run.
    pub(crate) right: Whole,
    /// How the questions differ; `None`: they are equal, or both runs have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<Vec<Piece>>,
    /// How the answers differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<Vec<Piece>>,
    /// How the system prompts, tools and parameters of model calls differ, each change once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) prompts: Vec<PromptChange>,
    /// The steps of both, in the order of the first run, with those only in the second at their place.
    pub(crate) steps: Vec<Pair>,
}

/// How a step changes from the first run to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    /// It is in both and equal.
    Same,
    /// It is in both but differs.
    Changed,
    /// Only the first run has it.
    OnlyLeft,
    /// Only the second run has it.
    OnlyRight,
}

/// A step of one run, or a pair of matching steps.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Pair {
    /// How the two differ.
    pub(crate) change: Change,
    /// The step of the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<StepSide>,
    /// The step of the second run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) right: Option<StepSide>,
    /// Indexes into [`Comparison::prompts`] of the changes between two model calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) prompts: Vec<usize>,
    /// What differs, as text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) differences: Vec<Difference>,
}

impl Comparison {
    /// Prompt changes between the two model calls of a pair.
    pub(crate) fn changes_of<'c>(&'c self, pair: &'c Pair) -> impl Iterator<Item = &'c PromptChange> {
        pair.prompts.iter().filter_map(|place| self.prompts.get(*place))
    }
}

/// A text of a step that differs.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Difference {
    /// `input`, `messages`, `output`, `error` or `model`. `messages`: the new part of a model call's prompt.
    pub(crate) of: &'static str,
    /// The parts of both texts.
    pub(crate) words: Vec<Piece>,
}

/// A step of one of the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct StepSide {
    /// Its id, as in documents and `show --json`.
    pub(crate) id: String,
    /// The kind of operation.
    pub(crate) kind: &'static str,
    /// Name of the tool, agent or model, else of the span.
    pub(crate) name: String,
    /// 0 at the top.
    pub(crate) depth: usize,
    /// Tokens, cost and duration.
    #[serde(flatten)]
    pub(crate) took: Took,
    /// Whether it failed.
    pub(crate) failed: bool,
}

/// A step with the texts that are compared.
struct ComparedStep<'a> {
    side: StepSide,
    input: Option<Cow<'a, str>>,
    output: Option<Cow<'a, str>>,
    error: Option<Cow<'a, str>>,
    model: Option<&'a str>,
    prompt: Option<Prompt<'a>>,
}

/// The steps of a run, without people's annotations afterwards.
fn compared_steps(run: &Run) -> Vec<ComparedStep<'_>> {
    let rows = outline::rows(run).into_iter();
    let has_times = step::has_times(run);
    let mut prompts = prompt::of_calls(run);
    rows.filter_map(|row| Some((row, run.steps.get(row.step)?)))
        .map(|(row, step)| of_step(run, step, row.depth, has_times, prompts.remove(&row.step)))
        .collect()
}

fn of_step<'a>(run: &'a Run, step: &'a Step, depth: usize, has_times: bool, prompt: Option<Prompt<'a>>) -> ComparedStep<'a> {
    use crate::operation::Kind;
    let (operation, cost) = (&step.operation, totals::cost(step));
    // Different models in the same place are one changed step.
    let model = matches!(operation.kind, Kind::Llm | Kind::Embedding | Kind::Rerank).then(|| operation.model.name());
    ComparedStep {
        side: StepSide {
            id: step.id.clone(),
            kind: operation.kind.name(),
            name: step::name(run, step).to_owned(),
            depth,
            took: Took {
                input_tokens: operation.usage.input,
                output_tokens: operation.usage.output,
                cost_usd: cost.map(|cost| cost.dollars),
                cost_computed: cost.is_some_and(|cost| cost.is_computed),
                duration_nanos: step::nanos(step).filter(|_| has_times),
            },
            failed: operation.failure.is_some(),
        },
        input: step::arguments(run, step),
        output: step::said(operation),
        error: operation.failure.as_ref().map(errors::words),
        model: model.flatten(),
        prompt,
    }
}

impl ComparedStep<'_> {
    /// What must be equal for two steps to match: models may differ.
    fn key(&self) -> (&'static str, &str) {
        let name = if self.model.is_some() { "" } else { self.side.name.as_str() };
        (self.side.kind, name)
    }
}

fn differ(of: &'static str, left: Option<&str>, right: Option<&str>, effort: &mut Effort<'_>) -> Option<Difference> {
    let words = differences(left.unwrap_or_default(), right.unwrap_or_default(), effort)?;
    Some(Difference { of, words })
}

/// Compares two runs. Work and memory are linear in the runs.
pub(crate) fn runs(left: &Run, right: &Run, effort: &mut Effort<'_>) -> Comparison {
    let (whole_left, whole_right) = (Whole::of(left), Whole::of(right));
    let mut words = |one: &Option<String>, other: &Option<String>| {
        differences(one.as_deref().unwrap_or_default(), other.as_deref().unwrap_or_default(), effort)
    };
    let question = words(&whole_left.question, &whole_right.question);
    let answer = words(&whole_left.answer, &whole_right.answer);
    let (left_steps, right_steps) = (compared_steps(left), compared_steps(right));
    let keys = |reported: &[ComparedStep<'_>]| -> Vec<(&'static str, String)> {
        let keys = reported.iter().map(|reported| (reported.key().0, reported.key().1.to_owned()));
        keys.collect()
    };
    let aligned = align::align(&keys(&left_steps), &keys(&right_steps));
    let mut changes = Changes::default();
    let steps = aligned.into_iter().filter_map(|(one, other)| {
        let one = one.and_then(|one| left_steps.get(one));
        let other = other.and_then(|other| right_steps.get(other));
        let (change, prompts, differences) = match (one, other) {
            (None, None) => return None,
            (Some(_), None) => (Change::OnlyLeft, Vec::new(), Vec::new()),
            (None, Some(_)) => (Change::OnlyRight, Vec::new(), Vec::new()),
            (Some(one), Some(other)) => {
                let both = one.prompt.as_ref().zip(other.prompt.as_ref());
                let (prompts, messages) = both.map(|(one, other)| changes.between(one, other, effort)).unwrap_or_default();
                let found = [
                    differ("model", one.model, other.model, effort),
                    differ("input", one.input.as_deref(), other.input.as_deref(), effort),
                    messages.map(|words| Difference { of: "messages", words }),
                    differ("output", one.output.as_deref(), other.output.as_deref(), effort),
                    differ("error", one.error.as_deref(), other.error.as_deref(), effort),
                ];
                let found: Vec<Difference> = found.into_iter().flatten().collect();
                let is_same = found.is_empty() && prompts.is_empty();
                (if is_same { Change::Same } else { Change::Changed }, prompts, found)
            }
        };
        Some(Pair {
            change,
            left: one.map(|reported| reported.side.clone()),
            right: other.map(|reported| reported.side.clone()),
            prompts,
            differences,
        })
    });
    let steps = steps.collect();
    Comparison {
        left: whole_left,
        right: whole_right,
        question,
        answer,
        prompts: changes.found,
        steps,
    }
}
