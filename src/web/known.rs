//! Evaluates expressions that select runs from what a list knows: a run is read only if that does not decide.

use std::borrow::Cow;

use super::listing::{Listed, Score, Summary};
use crate::dataset::Facts;
use crate::dataset::expression::{NumberField, TextField};
use crate::run::RunStatus;
use crate::span::UnixNanos;

impl Facts for Listed {
    fn status(&self) -> Option<RunStatus> {
        RunStatus::ALL.into_iter().find(|status| status.name() == self.summary.status)
    }

    fn texts(&self, field: &TextField) -> Option<Vec<Cow<'_, str>>> {
        let summary = self.read()?;
        // A list omits names that are too long, and has a maximum length.
        let are_all = |names: &[String]| (1..Summary::NAMES).contains(&names.len());
        match field {
            TextField::Agent => are_all(&summary.agents).then(|| Self::texts_of(summary.agents.iter().chain(&summary.agent))),
            TextField::Model => are_all(&summary.models).then(|| Self::texts_of(summary.models.iter())),
            TextField::Trace => Some(vec![self.trace_id.as_str().into()]),
            TextField::Version => Some(Self::texts_of(summary.version.iter())),
            // Listed texts are shortened, but their absence is certain.
            TextField::Question => summary.question.is_none().then(Vec::new),
            TextField::Answer => summary.answer.is_none().then(Vec::new),
            TextField::Error => (summary.status == "ok").then(Vec::new),
            TextField::Annotator => self
                .judgements()
                .map(|all| Self::texts_of(all.filter_map(|score| score.annotator.as_ref()))),
            TextField::Label(name) => {
                let labels = self.judgements()?.filter(|score| score.name.as_ref() == Some(name));
                Some(Self::texts_of(labels.filter_map(|score| score.label.as_ref())))
            }
            TextField::Tool | TextField::Tag | TextField::Service | TextField::Session | TextField::User | TextField::Framework => None,
        }
    }

    fn numbers(&self, field: &NumberField) -> Option<Vec<f64>> {
        let summary = self.read()?;
        let one = |number: Option<f64>| Some(number.into_iter().collect());
        match field {
            NumberField::Cost => one(summary.cost_usd),
            NumberField::Reward => one(summary.reward),
            NumberField::ModelCalls => one(Some(summary.model_calls as f64)),
            NumberField::ToolCalls => one(Some(summary.tool_calls as f64)),
            NumberField::Failures => one(Some(summary.failures as f64)),
            NumberField::Score(name) => {
                let scores = self.judgements()?.filter(|score| score.name.as_ref() == Some(name));
                Some(scores.filter_map(|score| score.score).collect())
            }
            // A list's sums cover fewer kinds of calls.
            NumberField::TokensIn | NumberField::TokensOut | NumberField::TokensTotal => None,
        }
    }

    fn durations(&self) -> Option<Vec<u64>> {
        None
    }

    fn started_at(&self) -> Option<UnixNanos> {
        None
    }
}

impl Listed {
    /// The summary, if the trace was read.
    fn read(&self) -> Option<&Summary> {
        Some(&self.summary).filter(|summary| !summary.status.is_empty() && summary.status != "too_large")
    }

    /// All judgements, if the list has all of them in full.
    fn judgements(&self) -> Option<impl Iterator<Item = &Score>> {
        let scores = &self.read()?.scores;
        let is_cut = |text: &Option<String>| text.as_ref().is_some_and(|text| text.ends_with('…'));
        let are_whole = scores.len() < Summary::SCORES && !scores.iter().any(|score| is_cut(&score.name) || is_cut(&score.label));
        are_whole.then(|| scores.iter())
    }

    fn texts_of<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<Cow<'a, str>> {
        texts.map(|text| text.as_str().into()).collect()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
mod tests;
