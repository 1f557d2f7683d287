//! The page's aliases of fields: keys and words of OpenInference, which its ingestion accepts in place of the plain names.

use serde_json::Value;

use super::super::document::ALIASES;
use super::super::read::known_type;
use crate::formats::back::{At, NoteKind, Result, TraceBuilder};

/// The page's word for the type of a step; a word that it does not know stays as it is.
pub(super) fn step_type(at: &At<'_>) -> Result<String> {
    let found = match member(at, "step_type") {
        Some(found) => found,
        None => at.need("step_type")?,
    };
    Ok(plain(found.text()?).to_owned())
}

fn plain(word: &str) -> &str {
    match known_type(word) {
        "" => word,
        known => known,
    }
}

/// A member of a step by its plain name or its alias.
pub(super) fn member<'a>(at: &At<'a>, field: &str) -> Option<At<'a>> {
    let alias = || {
        ALIASES
            .iter()
            .find(|(_, plain)| *plain == field)
            .and_then(|(alias, _)| at.some(alias))
    };
    at.some(field).or_else(alias)
}

/// The document that must come out again has the plain names in place of aliases.
pub(super) fn rename(at: &At<'_>, builder: &mut TraceBuilder) {
    let uses_alias = ALIASES.iter().any(|(alias, _)| at.get(alias).is_some());
    let Some(step) = at.value.as_object().filter(|_| uses_alias) else {
        return;
    };
    let mut renamed = step.clone();
    for (alias, field) in ALIASES {
        if let Some(value) = renamed.shift_remove(alias) {
            let value = match value.as_str() {
                Some(word) if field == "step_type" => plain(word).into(),
                _ => value,
            };
            renamed.entry(field).or_insert(value);
        }
    }
    let detail = "keys of OpenInference were read as the fields that they replace";
    builder.note(&at.path, NoteKind::Coerced, detail);
    builder.mend(&at.pointer, Value::from(renamed));
}
