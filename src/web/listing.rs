//! Lists of traces with what the agent did in each.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::documents::{Prices, Vocabulary, awaits_root};
use crate::formats;
use crate::hash::{Distinct, Keyed};
use crate::operation::Kind;
use crate::run::{Observed, Run};
use crate::span::UnixNanos;
use crate::store::{self, Error, Filter, Read, Stored, TraceRow};
use crate::transcript::content;
use crate::view::text::one_line;
use crate::view::totals::Cost;
use crate::view::totals::{self, Totals};
use crate::view::{errors, step};

/// The program's version, and a number that rises when a summary of the same version changes.
const COMPUTED_BY: &str = concat!(env!("CARGO_PKG_VERSION"), "+7");

/// One trace in a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Listed {
    /// The trace, in hexadecimal digits.
    pub trace_id: String,
    /// Name of its first span without a parent.
    pub root: Option<String>,
    /// `service.name`.
    pub service: Option<String>,
    /// The session that its spans name.
    pub session: Option<String>,
    /// Earliest start, nanoseconds since 1970.
    pub start_unix_nano: u64,
    /// Latest end, nanoseconds since 1970; 0 if none has one.
    pub end_unix_nano: u64,
    /// How many spans came.
    pub spans: u64,
    /// How many log records came.
    pub logs: u64,
    /// How many spans failed.
    pub failed_spans: u64,
    /// Bytes in the log.
    pub bytes: u64,
    /// Grows whenever something of the trace comes.
    pub revision: u64,
    /// What the agent did.
    #[serde(flatten)]
    pub summary: Summary,
}

impl Listed {
    /// Bytes of the names in it, which may be long.
    pub(crate) fn names(&self) -> usize {
        let Self {
            root,
            service,
            session,
            summary,
            ..
        } = self;
        let Summary {
            agent,
            model,
            name,
            answer,
            question,
            version,
            error,
            failed,
            ..
        } = summary;
        let one = [root, service, session, agent, model, name, answer, question, version, error];
        let one = one.into_iter().flatten();
        let failed = failed.iter().flat_map(|failed| [&failed.name, &failed.message]);
        let scores = summary
            .scores
            .iter()
            .flat_map(|score| [&score.name, &score.label, &score.annotator])
            .flatten();
        one.chain(&summary.agents)
            .chain(&summary.models)
            .chain(scores)
            .chain(failed)
            .map(String::len)
            .sum()
    }
}

/// What the agent did, from its run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// Whether the trace contains any operation of an agent.
    pub agent_work: bool,
    /// The root agent's name, cut to [`Summary::NAME`] bytes.
    pub agent: Option<String>,
    /// The model that most calls went to, cut to [`Summary::NAME`] bytes.
    pub model: Option<String>,
    /// `ok`, `error`, `cancelled` or `running`; `too_large`: the trace takes more memory than reading may, so nothing of this is known.
    pub status: String,
    /// Calls of language models.
    pub model_calls: u64,
    /// Executions of tools.
    pub tool_calls: u64,
    /// Tokens that went into models; `None`: no call records them.
    pub input_tokens: Option<u64>,
    /// Tokens that came out; `None`: no call records them.
    pub output_tokens: Option<u64>,
    /// US dollars; `None`: no span records it.
    pub cost_usd: Option<f64>,
    /// Whether a part of it is computed by the user's prices.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cost_computed: bool,
    /// What the document or the client that it came from calls it, where that is no trace id.
    pub name: Option<String>,
    /// The run's reward; `None`: no span records one.
    pub reward: Option<f64>,
    /// What was answered last, cut as the question is.
    pub answer: Option<String>,
    /// The judgements of the run and its operations, [`Summary::SCORES`] at most.
    pub scores: Vec<Score>,
    /// The names of all agents that did something, [`Summary::NAMES`] at most.
    pub agents: Vec<String>,
    /// The names of all models that were asked for or answered, [`Summary::NAMES`] at most.
    pub models: Vec<String>,
    /// The agent's version, else the service's, cut to [`Summary::NAME`] bytes.
    pub version: Option<String>,
    /// Why the run failed, else why the first of its operations did that failed; cut as the question is.
    pub error: Option<String>,
    /// The failures of its operations, equal ones once, [`Summary::FAILED`] at most.
    pub failed: Vec<FailedAs>,
    /// What was asked first, cut to [`Summary::WORDS`] columns on one line.
    pub question: Option<String>,
    /// How many operations failed.
    pub failures: u64,
    /// How many oddities of the data were found.
    pub findings: u64,
    /// How many spans are annotations: judgements by people, which are not among [`Listed::spans`].
    pub annotations: u64,
    /// The program that computed this: another one may see more.
    pub computed_by: String,
}

/// A judgement of a run or of one of its operations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Score {
    /// What was judged.
    pub name: Option<String>,
    /// How good.
    pub score: Option<f64>,
    /// For example `pass`.
    pub label: Option<String>,
    /// The person who judged when the run was over; empty where nobody is named, `None` for judgements of programs.
    pub annotator: Option<String>,
}

impl Score {
    /// `feedback=good`, `help=0.25`; `feedback` of a note alone.
    pub(crate) fn words(&self) -> String {
        let name = self.name.as_deref().unwrap_or("not named");
        let value = self.label.clone().or_else(|| self.score.map(|score| score.to_string()));
        value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"))
    }
}

/// How operations failed, without what differs from one to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct FailedAs {
    /// The error's class or code.
    pub error_type: Option<String>,
    /// The kind of the operation.
    pub kind: String,
    /// The tool, the model or the agent.
    pub name: String,
    /// Its words with `#` for numbers, cut as the question is.
    pub message: String,
    /// How many operations of the run.
    pub count: u64,
}

impl Summary {
    /// Of a trace that takes more memory than reading may.
    pub(crate) fn too_large() -> Self {
        Self {
            status: "too_large".to_owned(),
            ..Self::default()
        }
    }

    /// What it cost.
    pub(crate) fn cost(&self) -> Option<Cost> {
        Cost::of(self.cost_usd, self.cost_computed)
    }

    /// Whether a person judged the run or a step of it.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.scores.iter().any(|score| score.annotator.is_some())
    }

    /// So many agents and so many models are named. Longer names than [`Summary::NAME`] are left out: lists hold many runs.
    pub const NAMES: usize = 64;
    /// Questions and answers are cut to so many columns.
    pub const WORDS: usize = 200;
    /// So many judgements are listed.
    pub const SCORES: usize = 16;
    /// So many ways to fail are listed.
    pub const FAILED: usize = 8;
    /// The longest name of an agent or a model in the lists of them, in bytes.
    pub const NAME: usize = 256;

    /// Reads a run.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let count = |kind: Kind| run.steps.iter().filter(|step| step.operation.kind == kind).count() as u64;
        let calls = || {
            run.steps
                .iter()
                .filter(|step| step.operation.kind == Kind::Llm)
                .map(|step| &*step.operation)
        };
        let agents = run.metered_agents();
        let metered = || calls().chain(agents.iter().copied());
        let mut models: Keyed<&str, usize> = Keyed::default();
        for model in calls().filter_map(|call| call.model.name()) {
            *models.get_or_insert_with(&model, || 0) += 1;
        }
        // The first of those with most calls.
        let model = models.into_list().into_iter().rev().max_by_key(|(_, count)| *count);
        let totals = Totals::of(run);
        Self {
            agent_work: run.has_agent_work(),
            agent: run.agent.name.as_deref().map(name),
            model: model.map(|(model, _)| name(model)),
            status: run.status().name().to_owned(),
            model_calls: count(Kind::Llm),
            tool_calls: count(Kind::Tool),
            input_tokens: metered().filter_map(|call| call.usage.input).reduce(u64::saturating_add),
            output_tokens: metered().filter_map(|call| call.usage.output).reduce(u64::saturating_add),
            cost_usd: totals.cost.map(|cost| cost.dollars),
            cost_computed: totals.cost.is_some_and(|cost| cost.is_computed),
            name: formats::name_of(run).map(|name| one_line(name, Self::WORDS)),
            reward: run.reward(),
            answer: run.answer.as_ref().map(|said| words(&said.content)),
            scores: scores(run),
            agents: distinct({
                let of_scopes = run.scopes.iter().filter_map(|scope| scope.agent.as_deref());
                let of_work = totals::by_agent(run).into_iter().filter_map(|group| group.name);
                run.agent.name.as_deref().into_iter().chain(of_scopes).chain(of_work)
            }),
            models: distinct(run.steps.iter().flat_map(|step| {
                let model = &step.operation.model;
                [model.requested.as_deref(), model.response.as_deref()].into_iter().flatten()
            })),
            question: run.question.as_ref().map(|said| words(&said.content)),
            version: run.agent.version.as_deref().map(name),
            error: error(run),
            failed: failed(run),
            failures: totals.failures,
            findings: run.findings.len() as u64,
            annotations: run.annotations.len() as u64,
            computed_by: String::new(),
        }
    }
}

fn name(name: &str) -> String {
    name.get(..name.floor_char_boundary(Summary::NAME)).unwrap_or_default().to_owned()
}

fn words(said: &Value) -> String {
    one_line(&content::text(said), Summary::WORDS)
}

/// Why a run failed, else why its first operation did that failed.
fn error(run: &Run) -> Option<String> {
    let of_steps = || run.steps.iter().find_map(|step| step.operation.failure.as_ref());
    let failure = run.failure.as_ref().map(|failed| &failed.failure).or_else(of_steps)?;
    Some(one_line(&errors::words(failure), Summary::WORDS))
}

/// The failures of operations, equal ones once, in the order in which they came first.
fn failed(run: &Run) -> Vec<FailedAs> {
    let mut counts: Keyed<FailedAs, u64> = Keyed::default();
    for step in &run.steps {
        let Some(failure) = &step.operation.failure else { continue };
        let as_this = FailedAs {
            error_type: failure.error_type.as_deref().map(|kind| one_line(kind, Summary::WORDS)),
            kind: step.operation.kind.name().to_owned(),
            name: one_line(step::name(run, step), Summary::WORDS),
            message: errors::without_numbers(&one_line(&errors::words(failure), Summary::WORDS)),
            count: 0,
        };
        *counts.get_or_insert_with(&as_this, || 0) += 1;
    }
    let counts = counts.into_list().into_iter().take(Summary::FAILED);
    counts.map(|(failed, count)| FailedAs { count, ..failed }).collect()
}

/// The judgements, those of people first and the latest of them first.
fn scores(run: &Run) -> Vec<Score> {
    let of_people = run.annotations.iter().rev();
    let of_people = of_people.filter_map(|said| Some((said.counting()?, Some(said.annotator.clone().unwrap_or_default()))));
    let recorded = run.steps.iter().filter(|step| step.observed != Observed::Annotation);
    let recorded = recorded.flat_map(|step| &step.operation.evaluations).map(|judged| (judged, None));
    let short = |text: &Option<String>| text.as_deref().map(|text| one_line(text, Summary::WORDS));
    let scores = of_people.chain(recorded).take(Summary::SCORES).map(|(judged, annotator)| Score {
        name: short(&judged.name),
        score: judged.score.filter(|score| score.is_finite()),
        label: short(&judged.label),
        annotator: short(&annotator),
    });
    scores.collect()
}

/// Each name once, in order.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found: Distinct<&str> = Distinct::default();
    for name in names.filter(|name| name.len() <= Summary::NAME) {
        if found.len() == Summary::NAMES {
            break;
        }
        found.insert(&name);
    }
    found.into_list().map(str::to_owned).collect()
}

/// The traces that match a filter, with what the agent did in each. That is computed once a revision.
///
/// # Errors
///
/// The store cannot be read.
pub fn list(store: &dyn Read, vocabulary: &Vocabulary, filter: &Filter) -> Result<Vec<Listed>, Error> {
    let rows = store.list(filter)?;
    rows.into_iter().map(|row| listed(store, vocabulary, row)).collect()
}

/// The same without what the agent did.
///
/// # Errors
///
/// The store cannot be read.
pub fn bare(store: &dyn Read, filter: &Filter) -> Result<Vec<Listed>, Error> {
    let rows = store.list(filter)?.into_iter();
    Ok(rows.map(|row| with_summary(row, Summary::default())).collect())
}

fn listed(store: &dyn Read, vocabulary: &Vocabulary, row: TraceRow) -> Result<Listed, Error> {
    let summary = match kept(store, vocabulary, &row)? {
        Some(summary) => summary,
        None => computed(store, vocabulary, &row)?,
    };
    Ok(with_summary(row, summary))
}

/// What the agent did in a trace, computed now.
fn computed(store: &dyn Read, vocabulary: &Vocabulary, row: &TraceRow) -> Result<Summary, Error> {
    let stored = store.read_trace(row.trace_id)?.unwrap_or_default();
    Ok(summarised(store, vocabulary, row, stored))
}

/// The same of a trace that has been read. It is kept, unless time changes it.
pub(crate) fn summarised(store: &dyn Read, vocabulary: &Vocabulary, row: &TraceRow, stored: Stored) -> Summary {
    let is_damaged = !stored.damaged.is_empty();
    let runs = vocabulary.stored_runs(stored.spans, stored.logs, UnixNanos(store::now()));
    let computed_by = computed_by(vocabulary);
    let summary = runs.first().map(Summary::of).unwrap_or_default();
    let summary = Summary { computed_by, ..summary };
    // What time changes is not kept.
    if !is_damaged && !runs.first().is_some_and(awaits_root) {
        keep(store, row, &summary);
    }
    summary
}

/// Keeps a summary for the revision of its trace. Only a saving: what cannot be kept is computed again.
pub(crate) fn keep(store: &dyn Read, row: &TraceRow, summary: &Summary) {
    if let Ok(text) = serde_json::to_string(summary) {
        let _ = store.put_summary(row.trace_id, row.revision, &text);
    }
}

pub(crate) fn with_summary(row: TraceRow, summary: Summary) -> Listed {
    Listed {
        trace_id: row.trace_id.to_string(),
        root: row.root,
        service: row.service,
        session: row.session,
        start_unix_nano: row.start,
        end_unix_nano: row.end,
        spans: row.spans.saturating_sub(summary.annotations),
        logs: row.logs,
        failed_spans: row.errors,
        bytes: row.bytes,
        revision: row.revision,
        summary,
    }
}

/// The program that computes summaries, and the prices that it has.
pub(crate) fn computed_by(vocabulary: &Vocabulary) -> String {
    match vocabulary.prices() {
        none if *none == Prices::default() => COMPUTED_BY.to_owned(),
        prices => format!("{COMPUTED_BY}+{}", prices.mark()),
    }
}

pub(crate) fn kept(store: &dyn Read, vocabulary: &Vocabulary, row: &TraceRow) -> Result<Option<Summary>, Error> {
    let Some(text) = store.summary(row.trace_id, row.revision)? else {
        return Ok(None);
    };
    let summary: Option<Summary> = serde_json::from_str(&text).ok();
    Ok(summary.filter(|summary| summary.computed_by == computed_by(vocabulary)))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use crate::span::{AnyValue, Span, SpanId, TraceId};

    #[test]
    fn token_counts_that_no_model_has_do_not_overflow() {
        let call = |number: u8| {
            let id = SpanId::from_bytes(&[number; 8]).unwrap();
            let mut span = Span::new(TraceId::from_bytes(&[1; 16]).unwrap(), id, "chat");
            span.attributes.push("gen_ai.operation.name", "chat");
            span.attributes.push("gen_ai.usage.input_tokens", AnyValue::Int(i64::MAX));
            span
        };
        let spans = (1..=3).map(call).collect();
        let runs = Vocabulary::built_in().runs(spans, Vec::new());
        assert_eq!(Summary::of(runs.first().unwrap()).input_tokens, Some(u64::MAX));
        assert_eq!(Summary::of(runs.first().unwrap()).output_tokens, None, "nobody says");
    }
}
