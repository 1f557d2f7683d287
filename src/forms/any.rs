//! The kinds of forms: messages, exported spans and databases.

use super::database::databases;
use super::form::{Form, FormError};
use super::recognise::Forms;
use super::spans::{self, SpanForm};
use super::tables::{SPANS, TABLES};

/// A table of messages and logs, or of exported spans.
#[derive(Debug)]
pub(crate) enum AnyForm {
    /// A table for messages, rows, requests and logs. They become rows of chat messages.
    Rows(Box<Form>),
    /// A table for the spans that a backend exports.
    Spans(Box<SpanForm>),
}

impl AnyForm {
    /// Reads and checks a table. A table with `span` describes exported spans.
    pub(crate) fn of(name: &str, text: &str) -> Result<Self, FormError> {
        if text.lines().any(|line| line.starts_with("span:")) {
            return SpanForm::of(name, text).map(|form| Self::Spans(Box::new(form)));
        }
        Form::of(name, text).map(|form| Self::Rows(Box::new(form)))
    }

    /// Reports how this form reads each item of a text, one line per item.
    pub(crate) fn try_text(&self, text: &str, say: &mut dyn FnMut(String)) {
        match self {
            Self::Rows(form) => form.try_text(text, say),
            Self::Spans(form) => form.try_text(text, say),
        }
    }
}

/// What a form produces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Messages,
    Spans,
    Database,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Spans => "spans",
            Self::Database => "database",
        }
    }
}

/// The YAML text of a form.
pub(crate) fn table_of(name: &str) -> Option<&'static str> {
    let mut tables = TABLES.iter().chain(SPANS);
    tables.find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names that [`table_of`] knows.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().chain(SPANS).map(|(name, _)| *name)
}

/// All forms: the name if there is one, a one-line description, and the kind.
pub(crate) fn listed() -> Vec<(Option<&'static str>, &'static str, Kind)> {
    let rows = Forms::built_in()
        .iter()
        .map(|form| (Some(form.name.as_str()), form.reads(), Kind::Messages));
    let spans = spans::forms()
        .iter()
        .map(|form| (Some(form.name.as_str()), form.reads.as_str(), Kind::Spans));
    let databases = databases().iter().map(|form| (None, form.reads.as_str(), Kind::Database));
    rows.chain(spans).chain(databases).collect()
}
