//! Rules that documents break, with places.

use std::fmt;

use serde_json::Value;

/// A rule broken by a document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The place as a JSON path: `$.steps[3].timestamp`, preceded by the document's number if the text has several.
    pub path: String,
    /// What is wrong and what is required.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// Rules broken by documents, in the order they were found.
#[derive(Debug, Default)]
pub struct Violations {
    kept: Vec<Violation>,
    more: usize,
}

impl Violations {
    /// Maximum number kept; others are only counted, because a document may break a rule at every byte.
    pub const KEPT: usize = 10_000;

    /// Adds a violation.
    pub fn add(&mut self, place: JsonPath<'_>, message: impl Into<String>) {
        if self.kept.len() == Self::KEPT {
            self.more += 1;
            return;
        }
        self.kept.push(Violation {
            path: place.to_string(),
            message: message.into(),
        });
    }

    /// The list of violations, and the number of further ones.
    pub(crate) fn into_list(self) -> (Vec<Violation>, usize) {
        (self.kept, self.more)
    }

    /// The number of violations so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept.len() + self.more
    }

    /// Whether there are no violations so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}

/// The place of a value in a document, displayed as a JSON path: `$.steps[3].timestamp`.
#[derive(Debug, Clone, Copy)]
pub struct JsonPath<'p> {
    above: Option<&'p Self>,
    step: Step<'p>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'p> {
    /// The number of a document among several.
    Document(Option<usize>),
    Key(&'p str),
    Item(usize),
}

impl<'p> JsonPath<'p> {
    /// The whole document.
    #[must_use]
    pub fn of_document(number: Option<usize>) -> Self {
        Self {
            above: None,
            step: Step::Document(number),
        }
    }

    /// A member of the object here.
    #[must_use]
    pub fn key(&'p self, key: &'p str) -> Self {
        Self {
            above: Some(self),
            step: Step::Key(key),
        }
    }

    /// An item of the list here.
    #[must_use]
    pub fn item(&'p self, index: usize) -> Self {
        Self {
            above: Some(self),
            step: Step::Item(index),
        }
    }
}

impl fmt::Display for JsonPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(above) = self.above {
            above.fmt(f)?;
        }
        match self.step {
            Step::Document(None) => f.write_str("$"),
            Step::Document(Some(number)) => write!(f, "document {number}: $"),
            Step::Item(index) => write!(f, "[{index}]"),
            Step::Key(key) if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') => {
                write!(f, ".{key}")
            }
            Step::Key(key) => write!(f, "[{}]", Value::from(key)),
        }
    }
}
