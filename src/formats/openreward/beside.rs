//! Judgements, guardrails and operations without a block: facts on the blocks around.

use std::collections::HashMap;

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
        let all = || (0..run.steps.len()).collect();
        let own = || plan.steps_of(&list.streams);
        let steps: Vec<(usize, usize)> = if outermost { all() } else { own() }
            .into_iter()
            .filter_map(|index| {
                let scope = run.steps.get(index)?.scope;
                Some((index, plan.hosts.get(scope).copied().unwrap_or(0)))
            })
            .filter(|(_, stream)| list.streams.contains(stream) || (outermost && !self.written.contains(stream)))
            .collect();
        self.whole_run(list, outermost);
        self.judgements(list, &steps);
        let authors = Authors::of(list);
        for (index, stream) in steps {
            let Some(step) = run.steps.get(index) else { continue };
            if self.told.contains(&index) || matches!(step.operation.kind, Kind::Plain) {
                continue;
            }
            // Inside a tool: the tool's own business, but its facts are kept.
            let near = match step.inside_tool {
                Some(tool) => authors.last(tool),
                None => list.message_at(stream, step.end_or_start()),
            };
            let Some(place) = near.filter(|place| list.block(*place).is_some()) else {
                self.lose(step.span_id, described(step), LossReason::NoPlace);
                continue;
            };
            let _ = self.told.insert(index);
            let told = self.around(step);
            let Some(block) = list.block(place) else { continue };
            if step.operation.kind == Kind::Guardrail {
                block.push_extra("guardrails", told);
            } else {
                block.push("around", told);
            }
        }
    }

    /// The root's facts stand with the run's.
    fn whole_run(&mut self, list: &List, outermost: bool) {
        let Some((index, step)) = self.run.root.and_then(|root| Some((root, self.run.steps.get(root)?))) else {
            return;
        };
        if outermost && list.drafts.len() > list.start && facts::stands_for_run(step.operation.kind) {
            let _ = self.told.insert(index);
            self.untold(step);
        }
    }

    /// What an agent or a chain says as a whole and no block does.
    fn untold(&mut self, step: &Step) {
        if let Some(what) = self.words.untold(&step.operation) {
            self.lose(step.span_id, format!("{}: {what}", described(step)), LossReason::NoPlace);
        }
    }

    /// What a block's own operation says of it comes first, then what others say, at last what is said of the whole.
    fn judgements(&mut self, list: &mut List, steps: &[(usize, usize)]) {
        let run = self.run;
        let authors = Authors::of(list);
        let rank = |step: &Step| match step.operation.kind {
            Kind::Evaluator => 1,
            Kind::Agent | Kind::Chain => 2,
            _ => 0,
        };
        for now in 0..=2 {
            for (index, stream) in steps {
                if let Some(step) = run.steps.get(*index).filter(|step| rank(step) == now) {
                    self.judge(list, &authors, *index, step, *stream);
                }
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
        facts::put_filled(&mut map, "tools", facts::tools(&operation.tool_definitions));
        facts::put_filled(&mut map, "facts", own_facts(operation));
        let repeats = matches!(
            operation.kind,
            Kind::Agent | Kind::Chain | Kind::Llm | Kind::Detail | Kind::Embedding
        );
        if !repeats {
            facts::put_filled(&mut map, "input", operation.input.clone().unwrap_or_default());
            facts::put_filled(&mut map, "output", operation.output.clone().unwrap_or_default());
        } else if matches!(operation.kind, Kind::Agent | Kind::Chain) {
            self.untold(step);
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
    fn judge(&mut self, list: &mut List, authors: &Authors, index: usize, step: &Step, stream: usize) {
        let operation = &step.operation;
        let training = facts::training(&operation.training);
        let reward = facts::number(operation.training.reward);
        if operation.evaluations.is_empty() && reward.is_null() && facts::is_empty(&training) {
            return;
        }
        let Some(place) = judged(list, authors, index, step, stream) else {
            self.lose(step.span_id, "a judgement: no block to put it on", LossReason::NoPlace);
            return;
        };
        let judge = (operation.kind == Kind::Evaluator).then(|| self.around(step));
        let Some(block) = list.block(place) else { return };
        let score = operation.evaluations.iter().find_map(|evaluation| evaluation.score);
        let reward = if reward.is_null() { facts::number(score) } else { reward };
        let has = |key: &str| block.extra.as_ref().is_some_and(|extra| extra.get(key).is_some());
        let whole = self.run.root == Some(index) && facts::stands_for_run(operation.kind);
        let (rewarded, trained) = (has("reward"), has("training"));
        if !reward.is_null() && !rewarded {
            block.annotate_extra("reward", reward.clone());
        }
        // The whole run's are told with the run.
        if !facts::is_empty(&training) && !whole {
            if trained {
                block.push_extra("trainings", training);
            } else {
                block.annotate_extra("training", training);
            }
        }
        for evaluation in &operation.evaluations {
            let mut told = facts::evaluation(evaluation);
            if let (Value::Object(map), Some(span)) = (&mut told, step.span_id) {
                facts::put(map, "span_id", span.to_string());
            }
            block.push_extra("evaluations", told);
        }
        if rewarded && !reward.is_null() {
            block.push_extra("rewards", reward);
        }
        if let Some(judge) = judge {
            block.push("around", judge);
            let _ = self.told.insert(index);
        }
    }
}

/// The blocks of the present run by the step that made them.
pub(super) struct Authors(HashMap<usize, Vec<(usize, SubType)>>);

impl Authors {
    pub(super) fn of(list: &List) -> Self {
        let mut map: HashMap<usize, Vec<(usize, SubType)>> = HashMap::new();
        for (place, draft) in list.of_run() {
            if let Some(author) = draft.author {
                map.entry(author).or_default().push((place, draft.sub_type));
            }
        }
        Self(map)
    }

    pub(super) fn first(&self, step: usize) -> Option<usize> {
        self.0.get(&step)?.first().map(|(place, _)| *place)
    }

    fn last(&self, step: usize) -> Option<usize> {
        self.0.get(&step)?.last().map(|(place, _)| *place)
    }

    /// The block of a step that a judgement of it goes to.
    fn judged(&self, step: usize) -> Option<usize> {
        let own = self.0.get(&step)?;
        own.iter()
            .rfind(|(_, sub_type)| matches!(sub_type, SubType::ToolResult | SubType::Message))
            .or_else(|| own.first())
            .map(|(place, _)| *place)
    }
}

/// The block that a step's judgement is about: its own, its parent's, else the latest answer.
fn judged(list: &List, authors: &Authors, index: usize, step: &Step, stream: usize) -> Option<usize> {
    let answers = || {
        list.of_run().filter(|(_, draft)| {
            draft.sub_type == SubType::Message
                && draft.stream == stream
                && draft.block.payload.get("role").and_then(Value::as_str) == Some("assistant")
        })
    };
    let whole = matches!(step.operation.kind, Kind::Agent | Kind::Chain);
    let until = if whole { UnixNanos(u64::MAX) } else { step.end_or_start() };
    authors
        .judged(index)
        .or_else(|| step.parent.and_then(|parent| authors.judged(parent)))
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
