//! A form: its name, and its table.

use std::fmt;
use std::sync::OnceLock;

use super::check::checked;
use super::source::Source;
use super::table::{Rule, START, Table, parsed};

/// A form.
#[derive(Debug)]
pub(crate) struct Form {
    /// The name of its file.
    pub(crate) name: String,
    /// The table, for a built-in form without its rules: most files need the rules of one form, and the conditions of all.
    pub(super) head: Table,
    /// The whole table of a built-in form, read when the form is first used.
    pub(super) whole: Option<Whole>,
}

/// The text of a built-in table, and the table.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) text: &'static str,
    pub(super) table: OnceLock<Option<Box<Table>>>,
}

/// Why a table cannot be used.
#[derive(Debug)]
pub(crate) struct FormError(String);

impl FormError {
    pub(super) fn new(form: &str, problem: &str) -> Self {
        Self(format!("{form}: {problem}"))
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FormError {}

impl Form {
    /// Reads and checks a table.
    pub(crate) fn of(name: &str, text: &str) -> Result<Self, FormError> {
        Ok(Self {
            name: name.to_owned(),
            head: checked(text).map_err(|problem| FormError::new(name, &problem))?,
            whole: None,
        })
    }

    /// A built-in form, whose rules are read when they are first used. They are the end of its text.
    pub(super) fn built_in(name: &str, text: &'static str) -> Result<Self, FormError> {
        let head = text.split_once("\nrules:").map_or(text, |(head, _)| head);
        Ok(Self {
            name: name.to_owned(),
            head: parsed(head).map_err(|problem| FormError::new(name, &problem))?,
            whole: Some(Whole {
                text,
                table: OnceLock::new(),
            }),
        })
    }

    /// The table with its rules.
    pub(super) fn table(&self) -> &Table {
        let whole = self.whole.as_ref().and_then(|whole| {
            let read = || checked(whole.text).ok().map(Box::new);
            whole.table.get_or_init(read).as_deref()
        });
        whole.unwrap_or(&self.head)
    }

    /// Whether a file of this form is one conversation.
    pub(crate) fn is_log(&self) -> bool {
        self.head.log
    }

    /// Whether a file of this form is text, whose lines are the items.
    pub(super) fn has_lines(&self) -> bool {
        self.head.lines
    }

    /// Whether the value at `at` is one item.
    pub(super) fn is_whole(&self) -> bool {
        self.head.whole
    }

    /// One line about the files that this form reads.
    pub(crate) fn reads(&self) -> &str {
        &self.head.reads
    }

    /// The rules that read the object around the items, if it is one item.
    pub(super) fn whole_rules(&self) -> impl Iterator<Item = &Rule> {
        let mut sets = vec![START];
        let mut next = 0;
        while let Some(set) = sets.get(next).filter(|_| self.head.whole) {
            let below = self.table().rules.get(*set).into_iter().flatten().flat_map(|rule| &rule.below);
            let same: Vec<&str> = below.filter(|(source, _)| source.is_whole()).map(|(_, set)| set.as_str()).collect();
            for set in same {
                if !sets.contains(&set) {
                    sets.push(set);
                }
            }
            next += 1;
        }
        sets.truncate(next);
        sets.into_iter().flat_map(|set| self.table().rules.get(set).into_iter().flatten())
    }

    /// The members of an item that a rule reads.
    pub(super) fn members<'r>(&'r self, rule: &'r Rule) -> impl Iterator<Item = &'r str> {
        let ignored = self.table().ignored.iter().map(String::as_str);
        rule.sources().flat_map(Source::members).chain(rule.conditions()).chain(ignored)
    }
}
