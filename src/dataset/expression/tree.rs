//! The parts of an expression, and its evaluation for a run.

use std::borrow::Cow;
use std::fmt;

use regex::Regex;

use super::field::{self, Field, NumberField, TextField, moment_text};
use super::quote::quoted;
use crate::run::{Run, RunStatus};
use crate::span::UnixNanos;

/// A condition on runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// All of these are true.
    All(Vec<Expression>),
    /// One of these is true.
    Any(Vec<Expression>),
    /// This is false.
    Not(Box<Expression>),
    /// The run has this field.
    Has(Field),
    /// The run's text is, or is not, this one.
    Text(TextField, Sameness, String),
    /// The run's text matches a pattern.
    Like(TextField, Pattern),
    /// The run's status is, or is not, this one.
    Status(Sameness, RunStatus),
    /// The run's number has this relation to another one.
    Number(NumberField, Relation, f64),
    /// The run's duration, in nanoseconds.
    Duration(Relation, u64),
    /// The run's start.
    Start(Relation, UnixNanos),
}

/// Equal or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sameness {
    /// `=`
    Equal,
    /// `!=`
    Different,
}

/// How a number compares to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `=`
    Equal,
    /// `!=`
    Different,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

/// A pattern for whole texts.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// `*` is any text, `?` is any character; case does not matter. `None` if it is too large.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let regex = crate::redact::glob(&format!("(?i){text}")).ok()?;
        let text = text.to_owned();
        Some(Self { text, regex })
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Facts about a run: all of a run that was read, some of a listed one. `None` means unknown.
pub trait Facts {
    /// How it ended.
    fn status(&self) -> Option<RunStatus>;
    /// The values of a field; empty if the run does not have it.
    fn texts(&self, field: &TextField) -> Option<Vec<Cow<'_, str>>>;
    /// The numbers of a field; empty if the run does not have it.
    fn numbers(&self, field: &NumberField) -> Option<Vec<f64>>;
    /// How long it took, in nanoseconds; empty while it is running.
    fn durations(&self) -> Option<Vec<u64>>;
    /// When it started.
    fn started_at(&self) -> Option<UnixNanos>;
}

impl Facts for Run {
    fn status(&self) -> Option<RunStatus> {
        Some(Run::status(self))
    }

    fn texts(&self, field: &TextField) -> Option<Vec<Cow<'_, str>>> {
        Some(field.values(self))
    }

    fn numbers(&self, field: &NumberField) -> Option<Vec<f64>> {
        Some(field.values(self))
    }

    fn durations(&self) -> Option<Vec<u64>> {
        Some(field::duration(self).into_iter().collect())
    }

    fn started_at(&self) -> Option<UnixNanos> {
        Some(self.started_at)
    }
}

impl Expression {
    /// Whether the expression is true for a run.
    #[must_use]
    pub fn matches(&self, run: &Run) -> bool {
        self.known(run) == Some(true)
    }

    /// Whether it is true, given the known facts about a run; `None` if these do not decide it.
    #[must_use]
    pub fn known(&self, of: &dyn Facts) -> Option<bool> {
        Some(match self {
            Self::All(all) => return decided(all, of, false),
            Self::Any(any) => return decided(any, of, true),
            Self::Not(one) => !one.known(of)?,
            Self::Has(field) => match field {
                Field::Status | Field::Start => true,
                Field::Text(field) => !of.texts(field)?.is_empty(),
                Field::Number(field) => !of.numbers(field)?.is_empty(),
                Field::Duration => !of.durations()?.is_empty(),
            },
            Self::Text(field, sameness, wanted) => sameness.matches(&of.texts(field)?, &Cow::Borrowed(wanted.as_str())),
            Self::Like(field, pattern) => of.texts(field)?.iter().any(|text| pattern.regex.is_match(text)),
            Self::Status(sameness, wanted) => sameness.matches(&[of.status()?], wanted),
            Self::Number(field, relation, wanted) => relation.matches(&of.numbers(field)?, wanted),
            Self::Duration(relation, wanted) => relation.matches(&of.durations()?, wanted),
            Self::Start(relation, wanted) => relation.matches(&[of.started_at()?], wanted),
        })
    }
}

/// `decisive` if one of these is; `None` if none is, but one is unknown; otherwise the opposite.
fn decided(list: &[Expression], of: &dyn Facts, decisive: bool) -> Option<bool> {
    let mut decision = Some(!decisive);
    for one in list {
        match one.known(of) {
            Some(known) if known == decisive => return Some(decisive),
            Some(_) => {}
            None => decision = None,
        }
    }
    decision
}

impl Sameness {
    fn matches<T: PartialEq>(self, said: &[T], wanted: &T) -> bool {
        match self {
            Self::Equal => said.contains(wanted),
            Self::Different => !said.is_empty() && !said.contains(wanted),
        }
    }
}

impl Relation {
    fn matches<T: PartialOrd>(self, said: &[T], wanted: &T) -> bool {
        match self {
            Self::Equal => said.contains(wanted),
            Self::Different => !said.is_empty() && !said.contains(wanted),
            Self::Less => said.iter().any(|value| value < wanted),
            Self::AtMost => said.iter().any(|value| value <= wanted),
            Self::More => said.iter().any(|value| value > wanted),
            Self::AtLeast => said.iter().any(|value| value >= wanted),
        }
    }
}

impl fmt::Display for Sameness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::Different => "!=",
        })
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::Different => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
        })
    }
}

/// Writes the expression in a form that parses again; relative times become absolute.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(list) => joined(f, list, " and "),
            Self::Any(list) => joined(f, list, " or "),
            Self::Not(one) => {
                f.write_str("not ")?;
                operand(f, one)
            }
            Self::Has(field) => write!(f, "has({field})"),
            Self::Text(field, sameness, value) => write!(f, "{field} {sameness} {}", quoted(value)),
            Self::Like(field, pattern) => write!(f, "{field} ~ {}", quoted(&pattern.text)),
            Self::Status(sameness, status) => write!(f, "status {sameness} {}", status.name()),
            Self::Number(field, relation, value) => write!(f, "{field} {relation} {value}"),
            Self::Duration(relation, nanos) => write!(f, "duration {relation} {}", field::duration_text(*nanos)),
            Self::Start(relation, at) => write!(f, "start {relation} {}", moment_text(*at)),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, list: &[Expression], between: &str) -> fmt::Result {
    for (at, one) in list.iter().enumerate() {
        if at > 0 {
            f.write_str(between)?;
        }
        operand(f, one)?;
    }
    Ok(())
}

fn operand(f: &mut fmt::Formatter<'_>, one: &Expression) -> fmt::Result {
    match one {
        Expression::All(_) | Expression::Any(_) => write!(f, "({one})"),
        _ => write!(f, "{one}"),
    }
}
