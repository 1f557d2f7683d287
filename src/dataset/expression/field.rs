//! The fields of a run that expressions can use.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;

use super::quote::quoted;
use crate::operation::Evaluation;
use crate::run::Run;
use crate::span::UnixNanos;
use crate::transcript::content;
use crate::view::totals::{self, Totals};

/// A fact that a run may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// How it ended.
    Status,
    /// A text.
    Text(TextField),
    /// A number.
    Number(NumberField),
    /// How long it took.
    Duration,
    /// When it started.
    Start,
}

/// Fields with text values, of which a run may have several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextField {
    /// The names of all agents that did any work.
    Agent,
    /// The names of all requested and answering models.
    Model,
    /// The names of all tools that ran.
    Tool,
    /// Tags.
    Tag,
    /// The resource's `service.name`.
    Service,
    /// The session.
    Session,
    /// The person.
    User,
    /// The trace id.
    Trace,
    /// The framework that the agent is built with.
    Framework,
    /// Why the run failed.
    Error,
    /// The agent's version, else the service's.
    Version,
    /// The first question.
    Question,
    /// The last answer.
    Answer,
    /// Who judged the run or a step of it afterwards; empty if not named.
    Annotator,
    /// The labels of judgements with this name.
    Label(String),
}

/// Fields with numbers, of which a run may have several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NumberField {
    /// Input tokens of models.
    TokensIn,
    /// Output tokens.
    TokensOut,
    /// Input and output tokens.
    TokensTotal,
    /// US dollars.
    Cost,
    /// The reward.
    Reward,
    /// The number of model calls.
    ModelCalls,
    /// The number of tool executions.
    ToolCalls,
    /// The number of failed operations.
    Failures,
    /// The scores of judgements with this name.
    Score(String),
}

/// The fields in the order of listing. `NAME` stands for the name of a judgement.
static FIELDS: [(&str, Field); 27] = [
    ("status", Field::Status),
    ("agent", Field::Text(TextField::Agent)),
    ("model", Field::Text(TextField::Model)),
    ("tool", Field::Text(TextField::Tool)),
    ("tag", Field::Text(TextField::Tag)),
    ("service", Field::Text(TextField::Service)),
    ("version", Field::Text(TextField::Version)),
    ("session", Field::Text(TextField::Session)),
    ("user", Field::Text(TextField::User)),
    ("trace", Field::Text(TextField::Trace)),
    ("framework", Field::Text(TextField::Framework)),
    ("error", Field::Text(TextField::Error)),
    ("question", Field::Text(TextField::Question)),
    ("answer", Field::Text(TextField::Answer)),
    ("annotator", Field::Text(TextField::Annotator)),
    ("label.NAME", Field::Text(TextField::Label(String::new()))),
    ("score.NAME", Field::Number(NumberField::Score(String::new()))),
    ("reward", Field::Number(NumberField::Reward)),
    ("tokens.in", Field::Number(NumberField::TokensIn)),
    ("tokens.out", Field::Number(NumberField::TokensOut)),
    ("tokens.total", Field::Number(NumberField::TokensTotal)),
    ("cost", Field::Number(NumberField::Cost)),
    ("model_calls", Field::Number(NumberField::ModelCalls)),
    ("tool_calls", Field::Number(NumberField::ToolCalls)),
    ("failures", Field::Number(NumberField::Failures)),
    ("duration", Field::Duration),
    ("start", Field::Start),
];

/// The names of the fields.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|(name, _)| *name)
}

impl Field {
    /// The field with this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        let family = |known: &str| Some(name.strip_prefix(known.strip_suffix("NAME")?)?.to_owned()).filter(|judged| !judged.is_empty());
        FIELDS.iter().find_map(|(known, field)| match (field, family(known)) {
            (Self::Text(TextField::Label(_)), Some(judged)) => Some(Self::Text(TextField::Label(judged))),
            (Self::Number(NumberField::Score(_)), Some(judged)) => Some(Self::Number(NumberField::Score(judged))),
            (field, None) if *known == name => Some(field.clone()),
            _ => None,
        })
    }
}

impl TextField {
    /// The values of a run.
    pub(super) fn values<'a>(&self, run: &'a Run) -> Vec<Cow<'a, str>> {
        let operations = || run.steps.iter().map(|step| &*step.operation);
        let one = |text: Option<&'a String>| text.map(|text| text.as_str().into()).into_iter().collect();
        match self {
            Self::Agent => {
                let of_scopes = run.scopes.iter().filter_map(|scope| scope.agent.as_deref());
                let of_work = totals::by_agent(run).into_iter().filter_map(|group| group.name);
                let names = run.agent.name.as_deref().into_iter().chain(of_scopes).chain(of_work);
                names.map(Into::into).collect()
            }
            Self::Model => operations()
                .flat_map(|operation| [operation.model.requested.as_deref(), operation.model.response.as_deref()])
                .flatten()
                .map(Into::into)
                .collect(),
            Self::Tool => operations()
                .filter_map(|operation| operation.tool.as_ref()?.name.as_deref())
                .map(Into::into)
                .collect(),
            Self::Tag => operations()
                .flat_map(|operation| &operation.tags)
                .map(|tag| tag.as_str().into())
                .collect(),
            Self::Service => {
                let name = run.resource.get("service.name").and_then(|name| name.as_str());
                name.map(Into::into).into_iter().collect()
            }
            Self::Session => one(run.session_id.as_ref()),
            Self::User => one(run.user_id.as_ref()),
            Self::Trace => vec![run.trace_id.to_string().into()],
            Self::Framework => one(run.agent.framework.as_ref()),
            Self::Error => run.failure.iter().map(|failed| failed.failure.text().into()).collect(),
            Self::Version => one(run.agent.version.as_ref()),
            Self::Question => run.question.iter().map(|said| content::text(&said.content)).collect(),
            Self::Answer => run.answer.iter().map(|said| content::text(&said.content)).collect(),
            Self::Annotator => {
                let judged = run.annotations.iter().filter(|said| said.counts);
                judged.map(|said| said.annotator.as_deref().unwrap_or_default().into()).collect()
            }
            Self::Label(name) => judgements(run, name)
                .filter_map(|judged| judged.label.as_deref())
                .map(Into::into)
                .collect(),
        }
    }
}

impl NumberField {
    /// The numbers of a run, without values that are not finite.
    pub(super) fn values(&self, run: &Run) -> Vec<f64> {
        let one = |number: Option<f64>| number.into_iter().collect();
        let count = |number: Option<u64>| number.map(|number| number as f64).into_iter().collect();
        let mut values: Vec<f64> = match self {
            Self::TokensIn => count(Totals::of(run).tokens.input),
            Self::TokensOut => count(Totals::of(run).tokens.output),
            Self::TokensTotal => count(totals::tokens(run)),
            Self::Cost => one(Totals::of(run).cost.map(|cost| cost.dollars)),
            Self::Reward => one(run.reward()),
            Self::ModelCalls => count(Some(Totals::of(run).model_calls)),
            Self::ToolCalls => count(Some(Totals::of(run).tool_calls)),
            Self::Failures => count(Some(Totals::of(run).failures)),
            Self::Score(name) => judgements(run, name).filter_map(|judged| judged.score).collect(),
        };
        values.retain(|value| value.is_finite());
        values
    }
}

fn judgements<'a>(run: &'a Run, name: &str) -> impl Iterator<Item = &'a Evaluation> {
    let all = run.steps.iter().flat_map(|step| &step.operation.evaluations);
    all.filter(move |judged| judged.name.as_deref() == Some(name))
}

/// How long a run took, in nanoseconds.
pub(super) fn duration(run: &Run) -> Option<u64> {
    run.ended_at.map(|end| end.0.saturating_sub(run.started_at.0))
}

const UNITS: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Nanoseconds in the largest unit that divides them.
pub(super) fn duration_text(nanos: u64) -> String {
    let unit = UNITS.iter().find(|(_, unit)| nanos.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{nanos}ns"), |(name, unit)| format!("{}{name}", nanos / unit))
}

/// `200ms`, `1.5s`; without a unit, seconds.
pub(super) fn duration_of(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let name = text.get(digits.len()..).filter(|name| !name.is_empty()).unwrap_or("s");
    let (_, unit) = UNITS.into_iter().find(|(known, _)| *known == name)?;
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.checked_mul(unit);
    }
    let nanos = digits.parse::<f64>().ok()? * unit as f64;
    (nanos >= 0.0 && nanos < u64::MAX as f64).then_some(nanos.round() as u64)
}

/// A time with nanosecond precision.
pub(crate) fn moment_text(at: UnixNanos) -> String {
    // Every number of nanoseconds is a valid time.
    Timestamp::from_nanosecond(i128::from(at.0)).map_or_else(|_| at.rfc3339(), |moment| moment.to_string())
}

/// The field that a misspelled name may mean.
pub(super) fn near(name: &str) -> Option<&'static str> {
    let family = name.split('.').next().unwrap_or_default();
    let is_kin = |known: &&str| known.split_once('.').is_some_and(|(head, _)| head == family);
    let distances = || names().map(|known| (strsim::damerau_levenshtein(known, name), known));
    let nearest = || distances().min().filter(|(distance, _)| *distance <= 2).map(|(_, known)| known);
    names().find(is_kin).or_else(nearest)
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (known, judged) = match self {
            Self::Text(TextField::Label(name)) => (Self::Text(TextField::Label(String::new())), Some(name)),
            Self::Number(NumberField::Score(name)) => (Self::Number(NumberField::Score(String::new())), Some(name)),
            other => (other.clone(), None),
        };
        let name = FIELDS.iter().find(|(_, field)| *field == known).map_or("", |(name, _)| name);
        match judged {
            Some(judged) => write!(f, "{}{}", name.trim_end_matches("NAME"), quoted(judged)),
            None => f.write_str(name),
        }
    }
}

impl fmt::Display for TextField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Field::Text(self.clone()).fmt(f)
    }
}

impl fmt::Display for NumberField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Field::Number(self.clone()).fmt(f)
    }
}
