//! Writes rewards and evaluations as events of the environment, and the end of the episode.

use super::events::{Events, TimedEvent, described, time};
use super::facts;
use super::table::ENVIRONMENT;
use super::turns::Turns;
use crate::document::json::{Json, Object};
use crate::document::loss::LossReason;
use crate::operation::Kind;
use crate::run::{Run, Step, StepId};
use crate::transcript::fact_groups::FactGroup as _;

impl<'a> Events<'a> {
    /// Adds rewards and evaluations: to the session if they are the root's, else as an event of the environment.
    pub(super) fn judge(&mut self, run: &'a Run, turns: &Turns, index: StepId, step: &'a Step, turn: usize) {
        let operation = &step.operation;
        let training = &operation.training;
        let whole = run.root == Some(index);
        if training.reward.is_some_and(|reward| !reward.is_finite()) {
            self.lose(step, "reward is not a finite number", LossReason::Coerced);
        }
        let is_feedback = facts::is_feedback(operation) && !whole;
        let rewarded = training.reward.is_some() || training.terminated.is_some() || training.truncated.is_some();
        if whole && rewarded {
            let feedback = facts::filled([
                ("type", "outcome_reward".into()),
                ("total_reward", facts::number(training.reward)),
                ("terminated", training.terminated.into()),
                ("truncated", training.truncated.into()),
            ]);
            self.session.push(feedback.into());
        } else if rewarded && !is_feedback {
            let mut metadata = Object::new();
            metadata.insert("kind", "reward");
            self.reward(turns, step, turn, "environment", training.reward, metadata);
        }
        let mut judge = Object::new();
        if operation.kind == Kind::Evaluator {
            judge = described(run, step);
            facts::in_and_out(&mut judge, operation);
        }
        for evaluation in &operation.evaluations {
            let judgement = evaluation.filled_facts();
            if whole {
                let mut entry = Object::new();
                entry.insert("type", "evaluation");
                entry.extend(judgement);
                self.session.push(entry.into());
                continue;
            }
            let mut metadata = Object::new();
            metadata.insert("kind", "evaluation");
            metadata.insert("evaluation", judgement);
            metadata.extend(judge.clone());
            // Write the evaluator's words only once.
            let _ = (judge.swap_remove("input"), judge.swap_remove("output"));
            let name = evaluation.name.as_deref().unwrap_or(&operation.name);
            self.reward(turns, step, turn, &format!("evaluator:{name}"), evaluation.score, metadata);
        }
    }

    fn reward(&mut self, turns: &Turns, step: &'a Step, turn: usize, name: &str, reward: Option<f64>, mut metadata: Object<'a>) {
        metadata.insert_filled("judged_span_id", step.span_id.map(|span| span.to_string()));
        let at = step.end_or_start();
        let event = ENVIRONMENT.complete([
            ("system_instance_id", turns.system(step, name).into()),
            ("time_record", time(at)),
            ("metadata", metadata.into()),
            ("reward", reward.filter(|reward| reward.is_finite()).unwrap_or(0.0).into()),
        ]);
        self.push(turn, at, Some(at), event);
    }

    /// Ends the episode with the last score of a finished run, unless spans record otherwise or another event ended it.
    pub(super) fn end_of_episode(&mut self, first: usize, run: &Run) {
        let records = |ended: bool| run.steps.iter().any(|step| step.operation.training.terminated == Some(ended));
        let elsewhere = |step: &Step| {
            facts::is_feedback(&step.operation)
                && (step.operation.kind == Kind::Guardrail || step.operation.training.terminated == Some(true))
        };
        let cut = |step: &Step| step.operation.training.truncated == Some(true) && !facts::is_feedback(&step.operation);
        let is_known = records(false) || run.steps.iter().any(|step| step.operation.training.truncated.is_some());
        let ended = records(true) || (!is_known && run.ended_at.is_some());
        let terminated = ended && !run.steps.iter().any(elsewhere);
        let truncated = run.steps.iter().any(cut);
        if !terminated && !truncated {
            return;
        }
        let score = |happened: &TimedEvent| {
            let metadata = happened.event.get("metadata").filter(|_| happened.event.contains_key("reward"));
            let kind = metadata.as_ref().and_then(|metadata| metadata.as_object()?.get("kind"));
            matches!(kind.as_deref().and_then(Json::as_str), Some("reward" | "evaluation" | "evaluator"))
        };
        let last = self
            .happened
            .iter_mut()
            .skip(first)
            .filter(|happened| score(happened))
            .max_by_key(|happened| happened.at);
        if let Some(happened) = last {
            happened.event.insert("terminated", terminated);
            happened.event.insert("truncated", truncated);
        }
    }
}
