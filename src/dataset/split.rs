//! Sides of a data set, by a hash: `train:0.9,test:0.1`.
//!
//! A run's side depends only on its key and the ratios, not on the machine, the order or other runs. Runs with the same key are on the
//! same side. In Python:
//!
//! ```python
//! import hashlib
//! place = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") * 10**9 >> 64
//! # train:0.9,test:0.1: below 900_000_000 it is train
//! ```
//!
//! The first 8 bytes of the key's SHA-256 are a fraction of 2⁶⁴. The sides follow one another in the order they are named, each as long
//! as its ratio, and the fraction falls into one of them. If a ratio grows at the expense of its neighbour, no other runs move.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::run::Run;
use crate::transcript::content;

/// The unit of ratios: 1.0 in billionths.
const WHOLE: u64 = 1_000_000_000;

/// Sides with their ratios.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split(Vec<Side>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Side {
    name: String,
    /// In parts of [`WHOLE`].
    ratio: u64,
}

/// The key that keeps runs together: its hash determines their side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SplitBy {
    /// The session id, or the trace id of a run without one.
    #[default]
    Session,
    /// The trace id.
    Trace,
    /// The run's question without surrounding whitespace, or the trace id of a run without one.
    Question,
}

/// Errors in the definition of sides.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// A side has the wrong form.
    #[error("expected NAME:RATIO for each side, for example train:0.9,test:0.1")]
    Form,
    /// A name is not a valid file name.
    #[error("the name `{name}` may have letters, digits, - and _ only")]
    Name {
        /// The name.
        name: String,
    },
    /// Two sides have the same name.
    #[error("`{name}` is named twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// A ratio is not a number between 0 and 1.
    #[error("the ratio of {name} must be a number above 0 and at most 1, with 9 decimals at most")]
    Ratio {
        /// The name of the side.
        name: String,
    },
    /// The ratios do not add up to 1.
    #[error("the ratios add up to {sum}, not to 1")]
    Sum {
        /// Their sum.
        sum: String,
    },
}

impl Split {
    /// The names of the sides, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|side| side.name.as_str())
    }

    /// The ratios as decimals, by name, in order.
    pub fn ratios(&self) -> impl Iterator<Item = (&str, String)> {
        self.0.iter().map(|side| (side.name.as_str(), decimal(side.ratio)))
    }

    /// The side of this key, as index in the list of names.
    #[must_use]
    pub fn side(&self, key: &str) -> usize {
        let digest = Sha256::digest(key.as_bytes());
        let start = digest.first_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let place = (u128::from(start) * u128::from(WHOLE)) >> 64;
        let mut end = 0;
        let ends = self.0.iter().map(|side| {
            end += u128::from(side.ratio);
            end
        });
        ends.take_while(|end| *end <= place).count()
    }
}

impl SplitBy {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Trace => "trace",
            Self::Question => "question",
        }
    }

    /// The key of a run.
    #[must_use]
    pub fn key(self, run: &Run) -> String {
        let said = match self {
            Self::Session => run.session_id.clone(),
            Self::Trace => None,
            Self::Question => run.question.as_ref().map(|said| content::text(&said.content).trim().to_owned()),
        };
        said.filter(|key| !key.is_empty()).unwrap_or_else(|| run.trace_id.to_string())
    }
}

impl FromStr for Split {
    type Err = SplitError;

    fn from_str(text: &str) -> Result<Self, SplitError> {
        let mut sides: Vec<Side> = Vec::new();
        for side in text.split(',') {
            let (name, ratio) = side.split_once(':').ok_or(SplitError::Form)?;
            let (name, ratio) = (name.trim().to_owned(), ratio.trim());
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
            if name.is_empty() || !name.chars().all(is_plain) {
                return Err(SplitError::Name { name });
            }
            // File systems may not distinguish upper and lower case.
            if sides.iter().any(|have| have.name.eq_ignore_ascii_case(&name)) {
                return Err(SplitError::Twice { name });
            }
            match billionths(ratio).filter(|ratio| (1..=WHOLE).contains(ratio)) {
                Some(ratio) => sides.push(Side { name, ratio }),
                None => return Err(SplitError::Ratio { name }),
            }
        }
        match sides.iter().map(|side| side.ratio).sum::<u64>() {
            WHOLE => Ok(Self(sides)),
            sum => Err(SplitError::Sum { sum: decimal(sum) }),
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sides: Vec<String> = self.ratios().map(|(name, ratio)| format!("{name}:{ratio}")).collect();
        f.write_str(&sides.join(","))
    }
}

/// A decimal number in billionths, exactly.
fn billionths(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > 9 || whole.len() > 9 || (whole.is_empty() && decimals.is_empty()) {
        return None;
    }
    format!("{whole}{decimals:0<9}").parse().ok()
}

fn decimal(billionths: u64) -> String {
    let text = format!("{}.{:09}", billionths / WHOLE, billionths % WHOLE);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
