//! Errors in an expression, with their place.

use std::fmt;
use std::ops::Range;

use super::field;

/// A text that is not a valid expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    text: String,
    place: Range<usize>,
    fault: Fault,
}

/// The fault.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The text is empty.
    Empty,
    /// Something else is expected here.
    Expected {
        /// What is expected.
        wanted: &'static str,
    },
    /// The syntax of another language.
    Meant {
        /// The equivalent here.
        meant: &'static str,
    },
    /// A character that is not part of any token.
    Letter {
        /// The character.
        letter: char,
    },
    /// A quote is not closed.
    OpenQuote,
    /// A quote inside a word.
    QuoteInWord,
    /// A bracket is not closed.
    OpenBracket,
    /// The field does not exist.
    Field {
        /// The name.
        name: String,
    },
    /// The operator does not apply to the field.
    Operator {
        /// The field.
        field: String,
        /// The operators that apply.
        operators: &'static str,
    },
    /// The value does not suit the field.
    Value {
        /// The field.
        field: String,
        /// The expected kind of value.
        wanted: String,
    },
    /// Brackets or `not` are nested too deeply.
    Depth {
        /// The maximum depth.
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

    /// The byte range of the fault in the text; empty at the end.
    #[must_use]
    pub fn place(&self) -> Range<usize> {
        self.place.clone()
    }

    /// The fault.
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

/// Shows the fault, the text with a mark below the place, and, for an unknown field, the known ones.
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
