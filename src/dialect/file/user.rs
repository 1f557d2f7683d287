//! Rejects user registry files with ineffective content: unknown keys, or no rules.

use std::collections::BTreeMap;

use super::{EntryText, FileError, FileText, Source, yaml};

/// Top-level keys of a registry file. Rules are read from `attributes`, `events` and `spans`.
const TOP_KEYS: &[&str] = &[
    "file_format",
    "spanbridge",
    "attributes",
    "events",
    "spans",
    "attribute_groups",
    "entities",
    "imports",
    "metrics",
];

/// Keys of an attribute, event or span in a registry file that have nothing to do with rules.
const ENTRY_KEYS: &[&str] = &[
    "attributes",
    "body",
    "brief",
    "deprecated",
    "display_name",
    "entity_associations",
    "examples",
    "note",
    "requirement_level",
    "role",
    "kind",
    "stability",
    "value",
];

impl Source<'_> {
    /// Rejects content of a user's file that has no effect.
    pub(super) fn refuse_what_has_no_effect(&self) -> Result<(), FileError> {
        let file: BTreeMap<String, serde_json::Value> = yaml(self.text)?;
        let unknown = file.keys().find(|key| !TOP_KEYS.contains(&key.as_str()));
        if let Some(key) = unknown {
            let problem = format!("no such key of a registry file, which has {}", TOP_KEYS.join(", "));
            return Err(FileError::Rule {
                entry: key.clone(),
                problem,
            });
        }
        let FileText {
            attributes, events, spans, ..
        } = yaml(self.text)?;
        let entries: Vec<EntryText> = attributes.into_iter().chain(events).chain(spans).collect();
        for entry in &entries {
            if let Some(key) = entry.others.keys().find(|key| !ENTRY_KEYS.contains(&key.as_str())) {
                return Err(FileError::Rule {
                    entry: entry.name().to_owned(),
                    problem: format!("no such key: {key}; rules are in `annotations.spanbridge`"),
                });
            }
        }
        if self.entries(|_, _| Ok(()))?.is_empty() {
            let entries = entries.iter().map(|entry| entry.name().to_owned()).collect();
            return Err(FileError::NoRules { entries });
        }
        Ok(())
    }
}
