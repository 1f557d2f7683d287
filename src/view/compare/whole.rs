//! Comparison of whole runs.

use serde::Serialize;

use crate::run::{Run, Utterance};
use crate::transcript::content as io;
use crate::view::step;
use crate::view::totals::{Cost, Totals};

/// Facts of a whole run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Whole {
    /// The trace, in hexadecimal digits.
    pub(crate) trace_id: String,
    /// `ok`, `error`, `cancelled` or `running`.
    pub(crate) status: &'static str,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// The version of the agent, or of the service that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// The question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<String>,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<String>,
    /// Numbers.
    #[serde(flatten)]
    pub(crate) numbers: Numbers,
}

/// What a run or step took. Unrecorded values are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Took {
    /// Input tokens of models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input_tokens: Option<u64>,
    /// Output tokens of models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_tokens: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<f64>,
    /// Whether part of it was computed from the user's prices.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cost_computed: bool,
    /// From start to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_nanos: Option<u64>,
}

/// Sums over a run. Unrecorded values are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Numbers {
    /// Calls of language models.
    pub(crate) model_calls: u64,
    /// Executions of tools.
    pub(crate) tool_calls: u64,
    /// Operations that failed.
    pub(crate) failures: u64,
    /// Tokens, cost and duration.
    #[serde(flatten)]
    pub(crate) took: Took,
    /// The run's reward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reward: Option<f64>,
}

impl Took {
    /// The cost.
    pub(crate) fn cost(&self) -> Option<Cost> {
        Cost::of(self.cost_usd, self.cost_computed)
    }
}

impl Whole {
    pub(crate) fn of(run: &Run) -> Self {
        let said = |said: &Option<Utterance>| said.as_ref().map(|said| io::text(&said.content).into_owned());
        let totals = Totals::of(run);
        Self {
            trace_id: run.trace_id.to_string(),
            status: run.status().name(),
            agent: run.agent.name.clone(),
            version: run.agent.version.clone(),
            question: said(&run.question),
            answer: said(&run.answer),
            numbers: Numbers {
                model_calls: totals.model_calls,
                tool_calls: totals.tool_calls,
                failures: totals.failures,
                took: Took {
                    input_tokens: totals.tokens.input,
                    output_tokens: totals.tokens.output,
                    cost_usd: totals.cost.map(|cost| cost.dollars),
                    cost_computed: totals.cost.is_some_and(|cost| cost.is_computed),
                    duration_nanos: run
                        .ended_at
                        .filter(|_| step::has_times(run))
                        .map(|end| end.0.saturating_sub(run.started_at.0)),
                },
                reward: run.reward(),
            },
        }
    }
}
