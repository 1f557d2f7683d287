//! Values offered by shell completion.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

use crate::document::choice::Values;
use crate::formats;

/// Parses with the function, and offers these values. Other values may be valid, too.
#[derive(Clone)]
pub(super) struct Offering<P> {
    parse: P,
    offered: Vec<PossibleValue>,
}

/// A parser with values to offer.
pub(super) fn offering<T, P: Fn(&str) -> Result<T, String>>(parse: P, offered: Vec<PossibleValue>) -> Offering<P> {
    Offering { parse, offered }
}

impl<T, P> TypedValueParser for Offering<P>
where
    T: Clone + Send + Sync + 'static,
    P: Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        // A function is itself a parser: its errors are reported in clap's form.
        self.parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.offered.iter().cloned()))
    }
}

/// The ids of the formats.
pub(super) fn formats() -> Vec<PossibleValue> {
    let formats = formats::all();
    formats.map(|format| PossibleValue::new(format.id).help(format.keeps)).collect()
}

/// The options of the formats: with each allowed value, else up to the value.
pub(super) fn options() -> Vec<PossibleValue> {
    let choices = formats::FORMATS.iter().flat_map(|format| format.options);
    let of = |choice: &formats::Choice| -> Vec<PossibleValue> {
        match choice.values {
            Values::Words(words) => {
                let words = words.iter().map(|word| format!("{}={word}", choice.name));
                words.map(PossibleValue::new).collect()
            }
            Values::Bytes | Values::Text(_) => vec![PossibleValue::new(format!("{}=", choice.name))],
        }
    };
    choices.flat_map(of).collect()
}
