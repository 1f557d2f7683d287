//! Records that a reader does not know.

use std::collections::BTreeMap;

/// Records of types that a reader does not know, by type.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unknown(BTreeMap<String, usize>);

impl Unknown {
    pub(crate) fn count(&mut self, kind: &str) {
        *self.0.entry(kind.to_owned()).or_default() += 1;
    }

    /// The types with their counts; `None` without any.
    pub(crate) fn words(&self) -> Option<String> {
        let list: Vec<String> = self.0.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
        (!list.is_empty()).then(|| list.join(", "))
    }
}
