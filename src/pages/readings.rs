//! Filters that are written as text, and their errors.

use crate::dataset::Expression;
use crate::store;

/// An invalid filter.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The parameter.
    pub(crate) of: &'static str,
    /// What is wrong with it, on separate lines.
    pub(crate) why: String,
}

/// The parsed text filters.
#[derive(Debug)]
pub(super) struct Readings {
    /// The moment of `since`.
    pub(super) since: Option<u64>,
    /// The moment of `until`.
    pub(super) until: Option<u64>,
    /// The expression of `where`.
    pub(super) expression: Option<Expression>,
}

impl Readings {
    /// Parses the parameters `since`, `until` and `where`, or returns the first error.
    pub(super) fn of(since: &str, until: &str, expression: &str) -> Result<Self, Fault> {
        let moment = |of: &'static str, text: &str| match text {
            "" => Ok(None),
            text => store::moment(text).map(Some).map_err(|why| Fault {
                of,
                why: format!("{of}={text}: {why}"),
            }),
        };
        let expression = match expression {
            "" => None,
            text => Some(Expression::parse(text, &|text| store::moment(text)).map_err(|fault| Fault {
                of: "where",
                why: fault.to_string(),
            })?),
        };
        Ok(Self {
            since: moment("since", since)?,
            until: moment("until", until)?,
            expression,
        })
    }
}
