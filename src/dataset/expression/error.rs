//! What is wrong with an expression, and where.

use std::fmt;
use std::ops::Range;

use super::field;

/// A text that is no expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    text: String,
    place: Range<usize>,
    fault: Fault,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing is there.
    Empty,
    /// Something else is expected there.
    Expected {
        /// What.
        wanted: &'static str,
    },
    /// Another language writes it so.
    Meant {
        /// The equivalent here.
        meant: &'static str,
    },
    /// No token has this letter.
    Letter {
        /// Which.
        letter: char,
    },
    /// A quote has no end.
    OpenQuote,
    /// A quote is within a word.
    QuoteInWord,
    /// A bracket has no end.
    OpenBracket,
    /// There is no such field.
    Field {
        /// The name.
        name: String,
    },
    /// The field is not compared so.
    Operator {
        /// The field.
        field: String,
        /// What it is compared by.
        operators: &'static str,
    },
    /// The value does not suit the field.
    Value {
        /// The field.
        field: String,
        /// What it is compared with.
        wanted: String,
    },
    /// Brackets or `not` are nested too deep.
    Depth {
        /// How deep they may.
        limit: usize,
    },
}

impl ExpressionError {
    pub(super) fn new(text: &str, place: Range<usize>, fault: Fault) -> Self {
        Self {
            text: text.to_owned(),
            place,
            fault,
        }
    }

    /// The bytes of the text that are at fault; empty at its end.
    #[must_use]
    pub fn place(&self) -> Range<usize> {
        self.place.clone()
    }

    /// What is wrong.
    #[must_use]
    pub fn fault(&self) -> &Fault {
        &self.fault
    }
}

impl std::error::Error for ExpressionError {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the expression is empty"),
            Self::Expected { wanted } => write!(f, "expected {wanted}"),
            Self::Meant { meant } => write!(f, "write `{meant}` here"),
            Self::Letter { letter } => write!(f, "`{letter}` is not an operator"),
            Self::OpenQuote => f.write_str("the quote is not closed"),
            Self::QuoteInWord => f.write_str("a quote within a word: put the whole text in quotes"),
            Self::OpenBracket => f.write_str("the bracket is not closed"),
            Self::Field { name } => match field::near(name) {
                Some(near) => write!(f, "there is no field `{name}`; did you mean `{near}`?"),
                None => write!(f, "there is no field `{name}`"),
            },
            Self::Operator { field, operators } => write!(f, "{field} is compared by {operators}"),
            Self::Value { field, wanted } => write!(f, "{field} is compared with {wanted}"),
            Self::Depth { limit } => write!(f, "more than {limit} nested brackets or nots"),
        }
    }
}

/// The fault, the text with a mark below the place, and for an unknown field the fields.
impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = |range: Range<usize>| self.text.get(range).unwrap_or_default().chars().count();
        let text: String = self
            .text
            .chars()
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .collect();
        let before = " ".repeat(letters(0..self.place.start));
        let mark = "^".repeat(letters(self.place.clone()).max(1));
        write!(f, "{}\n  {text}\n  {before}{mark}", self.fault)?;
        match self.fault {
            Fault::Field { .. } | Fault::Empty => write!(f, "\nThe fields are {}.", field::names().collect::<Vec<_>>().join(", ")),
            _ => Ok(()),
        }
    }
}
