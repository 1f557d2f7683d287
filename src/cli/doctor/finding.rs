//! Findings and how they are reported.

use serde::Serialize;

use crate::cli::out::{Style, harmless, styled};

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    /// All is well.
    Ok,
    /// It works, but may cause problems.
    Warning,
    /// It does not work, or data is lost.
    Wrong,
}

/// The result of looking at one thing.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    /// The check that made it.
    pub(super) check: &'static str,
    pub(super) status: Status,
    /// What was found.
    pub(super) what: String,
    #[serde(flatten)]
    pub(super) advice: Option<Advice>,
}

/// Advice about a finding.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Advice {
    /// Why it matters.
    pub(super) why: String,
    /// How to fix it: a command if possible.
    pub(super) mend: String,
}

/// The findings so far.
#[derive(Debug)]
pub(super) struct Findings {
    /// The check that is running.
    pub(super) check: &'static str,
    pub(super) list: Vec<Finding>,
}

impl Findings {
    pub(super) fn of(check: &'static str) -> Self {
        Self { check, list: Vec::new() }
    }

    pub(super) fn ok(&mut self, what: impl Into<String>) {
        self.add(Status::Ok, what.into(), None);
    }

    pub(super) fn warning(&mut self, what: impl Into<String>, why: impl Into<String>, mend: impl Into<String>) {
        let (why, mend) = (why.into(), mend.into());
        self.add(Status::Warning, what.into(), Some(Advice { why, mend }));
    }

    pub(super) fn wrong(&mut self, what: impl Into<String>, why: impl Into<String>, mend: impl Into<String>) {
        let (why, mend) = (why.into(), mend.into());
        self.add(Status::Wrong, what.into(), Some(Advice { why, mend }));
    }

    fn add(&mut self, status: Status, what: String, advice: Option<Advice>) {
        self.list.push(Finding {
            check: self.check,
            status,
            what,
            advice,
        });
    }
}

impl Finding {
    /// The finding for people, with advice below it.
    pub(super) fn lines(&self) -> Vec<String> {
        let (word, style) = match self.status {
            Status::Ok => ("ok     ", Style::Plain),
            Status::Warning => ("warning", Style::Busy),
            Status::Wrong => ("WRONG  ", Style::Bad),
        };
        let mut lines = vec![format!("{}  {}: {}", styled(word, style), self.check, on_one_line(&self.what))];
        if let Some(Advice { why, mend }) = &self.advice {
            lines.push(format!("         why: {}", on_one_line(why)));
            lines.push(format!("         do:  {}", on_one_line(mend)));
        }
        lines
    }
}

/// The text on one line without harmful characters: findings repeat names of files, variables and server responses.
fn on_one_line(text: &str) -> String {
    harmless(text).replace('\n', " ")
}

/// A size for people.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{} KiB", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{} MiB", bytes >> 20),
        _ => format!("{}.{} GiB", bytes >> 30, (bytes >> 20) % 1_024 * 10 / 1_024),
    }
}
