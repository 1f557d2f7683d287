//! What reading session files leaves to report.

use std::collections::BTreeMap;

/// One thing that the spans of a session do not have, or have approximately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    /// The file, or the session.
    pub(crate) place: String,
    /// What, in words.
    pub(crate) detail: String,
}

/// Records of types that a reader does not know, by type.
#[derive(Debug, Clone, Default)]
pub(super) struct Unknown(BTreeMap<String, usize>);

impl Unknown {
    pub(super) fn count(&mut self, kind: &str) {
        *self.0.entry(kind.to_owned()).or_default() += 1;
    }

    /// The types with their counts; `None` without any.
    pub(super) fn words(&self) -> Option<String> {
        let list: Vec<String> = self.0.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
        (!list.is_empty()).then(|| list.join(", "))
    }
}
