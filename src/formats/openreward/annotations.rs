//! Puts evaluations, guardrails and operations without a block into the metadata of nearby blocks.

use super::facts;
use super::list::{BlockDraft, List};
use super::write::BlockWriter;
use crate::blocks::document::SubType;
use crate::document::json::{Json, Object};
use crate::document::loss::LossReason;
use crate::hash::HashMap;
use crate::operation::Kind;
use crate::run::{Id, ScopeId, Step, StepId};
use crate::span::UnixNanos;
use crate::transcript::content;
use crate::transcript::fact_groups::FactGroup as _;

impl<'a> BlockWriter<'a, '_> {
    /// Writes evaluations, guardrails and operations without a block to the blocks of this list. The outermost list also takes
    /// those without a stream.
    pub(super) fn annotate_list(&mut self, list: &mut List<'a>, outermost: bool) {
        let (run, plan) = (self.run, self.plan);
        let all = || run.steps.ids().collect();
        let own = || plan.steps_of(&list.streams);
        let steps: Vec<(StepId, ScopeId)> = if outermost { all() } else { own() }
            .into_iter()
            .filter_map(|index| {
                let scope = run.steps.get(index)?.scope;
                Some((index, plan.hosts.get(scope).copied().unwrap_or(ScopeId::FIRST)))
            })
            .filter(|(_, stream)| list.streams.contains(stream) || (outermost && !self.written.contains(stream)))
            .collect();
        self.whole_run(list, outermost);
        self.judgements(list, &steps);
        let (authors, messages) = (Authors::of(list), StreamMessages::of(list, |_| true));
        for (index, stream) in steps {
            let Some(step) = run.steps.get(index) else { continue };
            if self.covered.contains(&index) || matches!(step.operation.kind, Kind::Plain) {
                continue;
            }
            if let Some(call) = authors.last(index).filter(|_| step.operation.kind == Kind::Tool) {
                self.annotate_call(list, index, call);
                continue;
            }
            // Facts of an operation inside a tool go to the tool's block.
            let near = match step.inside_tool {
                Some(tool) => authors.last(tool),
                None => messages.at(stream, step.end_or_start()).or(list.last_message),
            };
            let Some(place) = near.filter(|place| list.block(*place).is_some()) else {
                // A model call that only its agent's span contains belongs to that span.
                let owner = step.parent.filter(|_| step.operation.kind == Kind::Llm);
                let span = step.span_id.or_else(|| self.span(owner?));
                self.lose(span, described(step), LossReason::NoPlace);
                continue;
            };
            let _ = self.covered.insert(index);
            let facts_of_step = self.around(step);
            let Some(block) = list.block(place) else { continue };
            if step.operation.kind == Kind::Guardrail {
                block.push_extra("guardrails", facts_of_step);
            } else {
                block.push("around", facts_of_step);
            }
        }
    }

    /// Covers the root, whose facts are written with the run's.
    fn whole_run(&mut self, list: &List<'_>, outermost: bool) {
        let Some((index, step)) = self.run.root.and_then(|root| Some((root, self.run.steps.get(root)?))) else {
            return;
        };
        if outermost && list.drafts.len() > list.start && facts::represents_run(step.operation.kind) {
            let _ = self.covered.insert(index);
            self.unwritten(step);
        }
    }

    /// Reports facts of an agent or a chain that are in no block.
    pub(super) fn unwritten(&mut self, step: &Step) {
        if let Some(what) = self.words.unwritten(&step.operation) {
            self.lose(step.span_id, format!("{}: {what}", described(step)), LossReason::NoPlace);
        }
    }

    /// Writes evaluations of a block's own operation first, then those by evaluators, then those of agents and chains.
    fn judgements(&mut self, list: &mut List<'a>, steps: &[(StepId, ScopeId)]) {
        let run = self.run;
        let around = EvaluationTargets::of(list);
        let rank = |step: &Step| match step.operation.kind {
            Kind::Evaluator => 1,
            Kind::Agent | Kind::Chain => 2,
            _ => 0,
        };
        for now in 0..=2 {
            for (index, stream) in steps {
                if let Some(step) = run.steps.get(*index).filter(|step| rank(step) == now) {
                    self.judge(list, &around, *index, step, *stream);
                }
            }
        }
    }

    /// Summarizes an operation without its own block. Anything that repeats the conversation is left out and reported.
    fn around(&mut self, step: &'a Step) -> Object<'a> {
        let operation = &step.operation;
        let mut map = Object::new();
        map.insert("kind", operation.kind.name());
        map.insert("name", operation.name.as_str());
        map.extend(facts::origin(self.run, step));
        map.extend(facts::details(self.run, step));
        map.extend(facts::error(operation));
        map.insert_filled("model_call", facts::model_call(operation));
        map.insert_filled("tools", facts::tools(&operation.tool_definitions));
        let repeats = matches!(
            operation.kind,
            Kind::Agent | Kind::Chain | Kind::Llm | Kind::Detail | Kind::Embedding
        );
        let mut about = facts::about(operation);
        if !repeats {
            let (input, output) = (
                Json::from(content::whole_input(operation)),
                Json::from(content::whole_output(operation)),
            );
            facts::take_repeated(&mut about, &operation.name, &input, &output);
            map.insert_filled("facts", about);
            map.insert_filled("input", input);
            map.insert_filled("output", output);
            return map;
        }
        map.insert_filled("facts", about);
        // The messages of a model call are in the conversation.
        let is_unwritten = || operation.kind != Kind::Llm && self.words.unwritten(operation).is_some();
        if matches!(operation.kind, Kind::Agent | Kind::Chain) {
            self.unwritten(step);
        } else if operation.input.is_some() || operation.output.is_some() || is_unwritten() {
            let what = format!("{}: its input and output", described(step));
            self.lose(step.span_id, what, LossReason::NoPlace);
        }
        map
    }

    /// Writes scores and rewards on the block that they evaluate.
    fn judge(&mut self, list: &mut List<'a>, around: &EvaluationTargets, index: StepId, step: &'a Step, stream: ScopeId) {
        let operation = &step.operation;
        let training = facts::training(&operation.training);
        let reward = facts::number(operation.training.reward);
        if operation.evaluations.is_empty() && reward.is_null() && training.is_empty() {
            return;
        }
        let Some(place) = around.judged(index, step, stream) else {
            self.lose(step.span_id, "a judgement: no block to put it on", LossReason::NoPlace);
            return;
        };
        let judge = (operation.kind == Kind::Evaluator).then(|| self.around(step));
        let Some(block) = list.block(place) else { return };
        let score = operation.evaluations.iter().find_map(|evaluation| evaluation.score);
        let reward = if reward.is_null() { facts::number(score) } else { reward };
        let extra = block.extra.as_ref().and_then(Json::as_object);
        let has = |key: &str| extra.is_some_and(|extra| extra.contains_key(key));
        let whole = self.run.root == Some(index) && facts::represents_run(operation.kind);
        let (rewarded, trained) = (has("reward"), has("training"));
        if !reward.is_null() && !rewarded {
            block.annotate_extra("reward", reward.clone());
        }
        // Those of the whole run are written with the run.
        if !training.is_empty() && !whole {
            if trained {
                block.push_extra("trainings", training);
            } else {
                block.annotate_extra("training", training);
            }
        }
        for evaluation in &operation.evaluations {
            let mut evaluation_facts = evaluation.filled_facts();
            evaluation_facts.insert_filled("span_id", step.span_id.map(|span| span.to_string()));
            block.push_extra("evaluations", evaluation_facts);
        }
        if rewarded && !reward.is_null() {
            block.push_extra("rewards", reward);
        }
        if let Some(judge) = judge {
            block.push("around", judge);
            let _ = self.covered.insert(index);
        }
    }
}

/// The blocks of the current run, by the step that produced them.
struct Authors(HashMap<StepId, Vec<(usize, SubType)>>);

impl Authors {
    fn of(list: &List<'_>) -> Self {
        let mut map: HashMap<StepId, Vec<(usize, SubType)>> = HashMap::default();
        for (place, draft) in list.of_run() {
            if let Some(author) = draft.author {
                map.entry(author).or_default().push((place, draft.sub_type));
            }
        }
        Self(map)
    }

    fn last(&self, step: StepId) -> Option<usize> {
        self.0.get(&step)?.last().map(|(place, _)| *place)
    }

    /// The block that a step's evaluation belongs to.
    fn judged(&self, step: StepId) -> Option<usize> {
        let own = self.0.get(&step)?;
        own.iter()
            .rfind(|(_, sub_type)| matches!(sub_type, SubType::ToolResult | SubType::Message))
            .or_else(|| own.first())
            .map(|(place, _)| *place)
    }
}

/// The messages of each stream of the current run.
struct StreamMessages(HashMap<ScopeId, Stream>);

/// Messages by time, each with the highest index up to that time; and the first message.
struct Stream {
    by_time: Vec<(UnixNanos, usize)>,
    first: usize,
}

impl StreamMessages {
    fn of(list: &List<'_>, is_meant: impl Fn(&BlockDraft<'_>) -> bool) -> Self {
        let mut streams: HashMap<ScopeId, Stream> = HashMap::default();
        let meant = |draft: &BlockDraft<'_>| draft.sub_type == SubType::Message && is_meant(draft);
        for (place, draft) in list.of_run().filter(|(_, draft)| meant(draft)) {
            let stream = streams.entry(draft.stream).or_insert_with(|| Stream {
                by_time: Vec::new(),
                first: place,
            });
            stream.by_time.push((draft.at, place));
        }
        for stream in streams.values_mut() {
            stream.by_time.sort_unstable();
            let mut last = 0;
            for (_, place) in &mut stream.by_time {
                last = last.max(*place);
                *place = last;
            }
        }
        Self(streams)
    }

    /// The latest message of the stream at that time.
    fn before(&self, stream: ScopeId, at: UnixNanos) -> Option<usize> {
        let by_time = &self.0.get(&stream)?.by_time;
        let until = by_time.partition_point(|(time, _)| *time <= at);
        by_time.get(until.checked_sub(1)?).map(|(_, place)| *place)
    }

    /// The latest message of the stream at that time, else the first one after it.
    fn at(&self, stream: ScopeId, at: UnixNanos) -> Option<usize> {
        self.before(stream, at).or_else(|| Some(self.0.get(&stream)?.first))
    }
}

/// Finds the blocks for evaluations.
struct EvaluationTargets {
    authors: Authors,
    messages: StreamMessages,
    answers: StreamMessages,
    last_message: Option<usize>,
}

impl EvaluationTargets {
    fn of(list: &List<'_>) -> Self {
        let is_answer = |draft: &BlockDraft<'_>| {
            let payload = draft.block.payload.as_object();
            payload
                .and_then(|payload| payload.get("role"))
                .is_some_and(|role| role.as_str() == Some("assistant"))
        };
        Self {
            authors: Authors::of(list),
            messages: StreamMessages::of(list, |_| true),
            answers: StreamMessages::of(list, is_answer),
            last_message: list.last_message,
        }
    }

    /// The block for a step's evaluation: the step's own, its parent's, else the latest answer.
    fn judged(&self, index: StepId, step: &Step, stream: ScopeId) -> Option<usize> {
        let whole = matches!(step.operation.kind, Kind::Agent | Kind::Chain);
        let until = if whole { UnixNanos(u64::MAX) } else { step.end_or_start() };
        self.authors
            .judged(index)
            .or_else(|| step.parent.and_then(|parent| self.authors.judged(parent)))
            .or_else(|| self.answers.before(stream, until))
            .or_else(|| self.messages.at(stream, until))
            .or(self.last_message)
    }
}

fn described(step: &Step) -> String {
    format!("{} {}", step.operation.kind.name(), step.operation.name)
}
