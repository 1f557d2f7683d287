//! Checks documents against the rules of their format.
//!
//! A rule comes from the format's documentation or from the software that loads its documents; where the two differ, the stricter one
//! applies, because both must be able to read the document. A violation is written for the document's author: the place, and what
//! must be there.

use serde::de::Error as _;
use serde_json::Value;

use super::any::AnyFormat;
use super::back::DisassembleError;
use super::recognise::{documents, format_of};
use crate::document::choice::Options;
use crate::document::parsed_size::DocumentSizes;
use crate::document::repeated_keys::RepeatedKeys;

pub use crate::document::violations::{JsonPath, Violation, Violations};

/// The result of a check.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Checked {
    /// Number of documents.
    pub documents: usize,
    /// The rules they break, at most [`Violations::KEPT`].
    pub violations: Vec<Violation>,
    /// Number of further violations.
    pub more: usize,
}

/// Checks the documents of a text: one document, several one after another (JSON lines), or a list. Without a format, the content of
/// the first document determines it.
///
/// # Errors
///
/// The text is not JSON, or its format is not clear.
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

/// Upper bound, in bytes, on the memory needed to check a text; computed without parsing it.
#[must_use]
pub fn memory_of_check(format: Option<&AnyFormat>, text: &[u8]) -> usize {
    let sizes = DocumentSizes::of(text);
    // Until the first document is parsed, it may be of a format whose documents are checked together.
    let parsed = match format {
        Some(format) if !format.checked_together => sizes.parsed,
        _ if sizes.count <= 1 => sizes.parsed,
        Some(_) => sizes.all.bytes(),
        None => sizes.parsed.saturating_mul(2),
    };
    text.len().saturating_add(parsed).saturating_add(parsed / 2)
}

/// State carried from one document to the next.
struct Checker<'a> {
    format: &'a AnyFormat,
    options: &'a Options,
    has_several: bool,
    /// Number of values so far.
    lines: usize,
    /// Documents to be checked together with later ones.
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
