//! Checks documents against the rules of their format.
//!
//! A rule is one of the format's page or of the software that loads its documents; where the two differ, the stricter one
//! applies, since a document is to be read by both. A violation is written for the author of the document: the place, and what
//! has to be there.

use serde::de::Error as _;
use serde_json::Value;

use super::any::AnyFormat;
use super::back::DisassembleError;
use super::recognise::{documents, format_of};
use crate::document::choice::Options;
use crate::document::parsed_size::DocumentSizes;
use crate::document::repeated_keys::RepeatedKeys;

pub use crate::document::violations::{JsonPath, Violation, Violations};

/// What was checked.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Checked {
    /// How many documents there are.
    pub documents: usize,
    /// The rules that they break, [`Violations::KEPT`] at most.
    pub violations: Vec<Violation>,
    /// How many more there are.
    pub more: usize,
}

/// Checks a text's documents: one document, several one after another (JSON lines), or a list of documents. Without a format
/// the first document determines it by its content.
///
/// # Errors
///
/// The text is no JSON, or its format is not clear.
pub fn check(format: Option<&AnyFormat>, text: &str, options: &Options) -> Result<Checked, DisassembleError> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let (mut checker, mut begin) = (None, 0);
    while let Some(value) = values.next() {
        let value = value.map_err(|source| DisassembleError::Json { source })?;
        let end = values.byte_offset();
        let checker = match &mut checker {
            Some(checker) => checker,
            none => {
                let format = match format {
                    Some(format) => format,
                    None => format_of(documents(&value, String::new()).first().map_or(&value, |(_, value)| value))?,
                };
                let has_several = text.get(end..).is_some_and(|rest| !rest.trim_ascii_start().is_empty());
                none.insert(Checker::new(format, options, has_several))
            }
        };
        checker.add(text.get(begin..end).unwrap_or_default(), value);
        begin = end;
    }
    let Some(checker) = checker else {
        let source = serde_json::Error::custom("there is no document");
        return Err(DisassembleError::Json { source });
    };
    Ok(checker.finish())
}

/// Bytes of memory that checking a text takes at most: known before it is parsed.
#[must_use]
pub fn memory_of_check(format: Option<&AnyFormat>, text: &[u8]) -> usize {
    let sizes = DocumentSizes::of(text);
    // Not known before the first document is parsed, it may be of a format whose documents are checked together.
    let parsed = match format {
        Some(format) if !format.checked_together => sizes.parsed,
        _ if sizes.count <= 1 => sizes.parsed,
        Some(_) => sizes.all.bytes(),
        None => sizes.parsed.saturating_mul(2),
    };
    text.len().saturating_add(parsed).saturating_add(parsed / 2)
}

/// What is known of the documents before.
struct Checker<'a> {
    format: &'a AnyFormat,
    options: &'a Options,
    has_several: bool,
    /// How many values came.
    lines: usize,
    /// Those that are checked together with what comes after them.
    kept: Vec<Value>,
    documents: usize,
    found: Violations,
}

impl<'a> Checker<'a> {
    fn new(format: &'a AnyFormat, options: &'a Options, has_several: bool) -> Self {
        Self {
            format,
            options,
            has_several,
            lines: 0,
            kept: Vec::new(),
            documents: 0,
            found: Violations::default(),
        }
    }

    fn root(&self, line: usize) -> JsonPath<'static> {
        JsonPath::of_document(self.has_several.then_some(line + 1))
    }

    fn add(&mut self, text: &str, value: Value) {
        let root = self.root(self.lines);
        self.lines += 1;
        let repeated = serde_json::from_str::<RepeatedKeys>(text).unwrap_or_default();
        for path in repeated.paths {
            self.found.add(
                root,
                format!("the key {path} occurs twice in one object: readers keep one of the two; remove the other"),
            );
        }
        if repeated.more > 0 {
            self.found
                .add(root, format!("{} more keys occur twice in one object", repeated.more));
        }
        if self.format.checked_together {
            self.kept.push(value);
        } else {
            self.check(&[(root, &value)]);
        }
    }

    fn check(&mut self, values: &[(JsonPath<'_>, &Value)]) {
        let mut all: Vec<(JsonPath<'_>, &Value)> = Vec::new();
        for (root, value) in values {
            let parts = documents(value, String::new());
            match parts.as_slice() {
                [(path, _)] if path.is_empty() => all.push((*root, value)),
                parts => all.extend(parts.iter().enumerate().map(|(index, (_, part))| (root.item(index), *part))),
            }
        }
        self.documents += all.len();
        (self.format.check)(&all, self.options, &mut self.found);
    }

    fn finish(mut self) -> Checked {
        let kept = std::mem::take(&mut self.kept);
        let all: Vec<_> = kept.iter().enumerate().map(|(line, value)| (self.root(line), value)).collect();
        if !all.is_empty() {
            self.check(&all);
        }
        let (violations, more) = self.found.into_list();
        Checked {
            documents: self.documents,
            violations,
            more,
        }
    }
}
