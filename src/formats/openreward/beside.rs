//! Judgements, guardrails and operations without a block: facts on the blocks around.

use serde_json::{Map, Value};

use super::document::SubType;
use super::facts;
use super::list::List;
use super::write::Writer;
use crate::formats::LossReason;
use crate::operation::{Kind, Operation};
use crate::run::Step;
use crate::span::UnixNanos;

impl Writer<'_> {
    /// Writes what hangs beside the blocks of this list; the outermost one also takes what has no stream of its own.
    pub(super) fn beside(&mut self, list: &mut List, outermost: bool) {
        let (run, plan) = (self.run, self.plan);
        for (index, step) in run.steps.iter().enumerate() {
            let stream = plan.hosts.get(step.scope).copied().unwrap_or(0);
            let homeless = outermost && !self.written.contains(&stream);
            if !homeless && !list.streams.contains(&stream) {
                continue;
            }
            self.judge(list, index, step, stream);
            if self.told.contains(&index) || matches!(step.operation.kind, Kind::Plain) {
                continue;
            }
            // Inside a tool: the tool's own business, but its facts are kept.
            let near = match step.inside_tool {
                Some(tool) => list.of_run().rfind(|(_, draft)| draft.author == Some(tool)).map(|(place, _)| place),
                None => list.message_at(stream, step.end_or_start()),
            };
            let Some(block) = near.and_then(|place| list.block(place)) else {
                self.lose(step.span_id, described(step), LossReason::NoPlace);
                continue;
            };
            let _ = self.told.insert(index);
            let told = self.around(step);
            if step.operation.kind == Kind::Guardrail {
                block.push_extra("guardrails", told);
            } else {
                block.push("around", told);
            }
        }
    }

    /// An operation without a block of its own, in short. What repeats the conversation is left out, and said so.
    fn around(&mut self, step: &Step) -> Value {
        let operation = &step.operation;
        let mut map = Map::new();
        facts::put(&mut map, "kind", operation.kind.name());
        facts::put(&mut map, "name", operation.name.as_str());
        map.extend(facts::origin(self.run, step));
        map.extend(facts::details(step));
        if let Some(failure) = &operation.failure {
            facts::put(&mut map, "error", failure.text());
            facts::put_filled(&mut map, "error_type", failure.error_type.clone().into());
        }
        let call = facts::model_call(operation);
        facts::put_filled(&mut map, "model_call", call);
        facts::put_filled(&mut map, "facts", own_facts(operation));
        let repeats = matches!(
            operation.kind,
            Kind::Agent | Kind::Chain | Kind::Llm | Kind::Detail | Kind::Embedding
        );
        if !repeats {
            facts::put_filled(&mut map, "input", operation.input.clone().unwrap_or_default());
            facts::put_filled(&mut map, "output", operation.output.clone().unwrap_or_default());
        } else if operation.input.is_some() || operation.output.is_some() {
            self.lose(
                step.span_id,
                format!("{}: its input and output", described(step)),
                LossReason::NoPlace,
            );
        }
        Value::Object(map)
    }

    /// Scores and rewards go to the block that they judge.
    fn judge(&mut self, list: &mut List, index: usize, step: &Step, stream: usize) {
        let operation = &step.operation;
        let training = facts::training(&operation.training);
        let reward = facts::number(operation.training.reward);
        if operation.evaluations.is_empty() && reward.is_null() && facts::is_empty(&training) {
            return;
        }
        let Some(place) = judged(list, index, step, stream) else {
            self.lose(step.span_id, "a judgement: no block to put it on", LossReason::NoPlace);
            return;
        };
        let Some(block) = list.block(place) else { return };
        let score = operation.evaluations.iter().find_map(|evaluation| evaluation.score);
        let reward = if reward.is_null() { facts::number(score) } else { reward };
        let taken = block.extra.as_ref().is_some_and(|extra| extra.get("reward").is_some());
        if !reward.is_null() && !taken {
            block.annotate_extra("reward", reward.clone());
        }
        if !facts::is_empty(&training) {
            block.annotate_extra("training", training);
        }
        for evaluation in &operation.evaluations {
            let mut told = facts::evaluation(evaluation);
            if let (Value::Object(map), Some(span)) = (&mut told, step.span_id) {
                facts::put(map, "span_id", span.to_string());
            }
            block.push_extra("evaluations", told);
        }
        if taken && !reward.is_null() {
            block.push_extra("rewards", reward);
        }
        if operation.kind == Kind::Evaluator {
            let _ = self.told.insert(index);
        }
    }
}

/// The block that a step's judgement is about: its own, its parent's, else the latest answer.
fn judged(list: &List, index: usize, step: &Step, stream: usize) -> Option<usize> {
    let own = |of: usize| {
        let drafts = || list.of_run().filter(|(_, draft)| draft.author == Some(of));
        drafts()
            .rfind(|(_, draft)| matches!(draft.sub_type, SubType::ToolResult | SubType::Message))
            .or_else(|| drafts().next())
            .map(|(place, _)| place)
    };
    let answers = || {
        list.of_run().filter(|(_, draft)| {
            draft.sub_type == SubType::Message
                && draft.stream == stream
                && draft.block.payload.get("role").and_then(Value::as_str) == Some("assistant")
        })
    };
    let whole = matches!(step.operation.kind, Kind::Agent | Kind::Chain);
    let until = if whole { UnixNanos(u64::MAX) } else { step.end_or_start() };
    own(index)
        .or_else(|| step.parent.and_then(own))
        .or_else(|| answers().rfind(|(_, draft)| draft.at <= until).map(|(place, _)| place))
        .or_else(|| list.message_at(stream, until))
}

fn described(step: &Step) -> String {
    format!("{} {}", step.operation.kind.name(), step.operation.name)
}

/// What a step is about, by kind.
fn own_facts(operation: &Operation) -> Value {
    let search = operation.search.as_ref();
    let state = operation.state.as_ref().map_or(Value::Null, |state| {
        facts::filled([
            ("key", state.key.clone().into()),
            ("old_value", state.old_value.clone().unwrap_or_default()),
            ("new_value", state.new_value.clone().unwrap_or_default()),
            ("reason", state.reason.clone().into()),
        ])
    });
    let interrupt = operation.interrupt.as_ref().map_or(Value::Null, |interrupt| {
        facts::filled([
            ("prompt", interrupt.prompt.clone().into()),
            ("response", interrupt.response.clone().unwrap_or_default()),
            ("wait_ms", interrupt.wait_ms.into()),
        ])
    });
    facts::filled([
        ("state", state),
        ("interrupt", interrupt),
        ("query", search.and_then(|search| search.query.clone()).unwrap_or_default()),
        (
            "documents",
            search
                .and_then(|search| search.documents.as_deref())
                .map(facts::documents)
                .unwrap_or_default(),
        ),
        ("embedded_texts", serde_json::json!(operation.embedded_texts)),
        ("vector_count", operation.vector_count.into()),
    ])
}
