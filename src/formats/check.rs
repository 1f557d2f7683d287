//! Whether documents keep the rules of their format, and which they break.
//!
//! A rule is one of the format's page or of the software that loads its documents; where the two differ, the stricter one holds,
//! since a document is to be read by both. What a violation says is meant for who writes the document: the place, and what has
//! to stand there.

use serde::de::Error as _;
use serde_json::Value;

use super::any::AnyFormat;
use super::back::DisassembleError;
use super::choice::Options;
use super::recognise::{documents, format_of};
use super::repeated_keys::RepeatedKeys;

pub use super::violations::{JsonPath, Violation, Violations};

/// What was checked.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// How many documents there are.
    pub documents: usize,
    /// The rules that they break.
    pub violations: Vec<Violation>,
}

/// Checks a text's documents: one document, several one after another (JSON lines), or a list of documents. Without a format
/// the first document tells it by its content.
///
/// # Errors
///
/// The text is no JSON, or its format is not clear.
pub fn check(format: Option<&AnyFormat>, text: &str, options: &Options) -> Result<Checked, DisassembleError> {
    let values: Vec<Value> = serde_json::Deserializer::from_str(text)
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(|source| DisassembleError::Json { source })?;
    let Some(first) = values.first() else {
        let source = serde_json::Error::custom("there is no document");
        return Err(DisassembleError::Json { source });
    };
    let format = match format {
        Some(format) => format,
        None => format_of(documents(first, String::new()).first().map_or(first, |(_, value)| value))?,
    };
    let mut found = Violations::default();
    let root = |line: usize| JsonPath::of_document((values.len() > 1).then_some(line + 1));
    for (line, keys) in serde_json::Deserializer::from_str(text).into_iter::<RepeatedKeys>().enumerate() {
        for path in keys.map(|keys| keys.0).unwrap_or_default() {
            found.add(
                root(line),
                format!("the key {path} stands twice in one object: readers keep one of the two; remove the other"),
            );
        }
    }
    let roots: Vec<JsonPath<'_>> = (0..values.len()).map(root).collect();
    let mut all: Vec<(JsonPath<'_>, &Value)> = Vec::new();
    for (value, root) in values.iter().zip(&roots) {
        let parts = documents(value, String::new());
        match parts.as_slice() {
            [(path, _)] if path.is_empty() => all.push((*root, value)),
            parts => all.extend(parts.iter().enumerate().map(|(index, (_, part))| (root.item(index), *part))),
        }
    }
    (format.check)(&all, options, &mut found);
    Ok(Checked {
        documents: all.len(),
        violations: found.into_list(),
    })
}
