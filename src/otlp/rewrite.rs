//! Changes attributes and texts of an export request in place in its bytes. Everything else keeps its bytes, even unknown fields.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::schema::{Kind, Type};
use super::wire::{self, Cursor, Fault, Field, LEN};
use crate::span::Signal;

/// The owner of an attribute or text. Redaction rules use these names in lower case as their `scope`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    /// A span: its attributes, name, trace state and status message.
    Span,
    /// The entity that produced the items.
    Resource,
    /// The instrumentation that created them: its attributes, name and version.
    Scope,
    /// An event of a span: its attributes and name.
    Event,
    /// A link of a span.
    Link,
    /// A log record, without its body.
    Log,
    /// A log record's body.
    Body,
    /// A metric: its name, its description, and the attributes of its data points.
    Metric,
}

/// What to do with an attribute or with an entry of a map inside one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// Keep it and visit the texts of its value.
    Keep,
    /// Remove it.
    Remove,
    /// Replace its value with this text.
    Replace(String),
}

/// Decides what to change.
pub trait Edit {
    /// Visits an attribute or an entry of a map inside one. `keys` is the path to it, its own key last. `value` is its text, or the bytes
    /// of its `AnyValue` if it is not text.
    fn entry(&mut self, owner: Owner, keys: &[&str], value: &[u8]) -> Entry;

    /// Visits a text below these keys, or one of the owner's own fields if there are none. `None` keeps the text.
    fn text(&mut self, owner: Owner, keys: &[&str], text: &str) -> Option<String>;
}

/// Applies the changes to a request; `None` if nothing changed.
///
/// # Errors
///
/// The bytes are not a request of this signal; the fault names the place.
pub fn rewrite(bytes: &[u8], signal: Signal, edit: &mut dyn Edit) -> Result<Option<Vec<u8>>, Fault> {
    let request = match signal {
        Signal::Traces => Type::TracesRequest,
        Signal::Logs => Type::LogsRequest,
        Signal::Metrics => Type::MetricsRequest,
    };
    wire::check(bytes, request)?;
    let mut rewriter = Rewriter { edit, keys: Vec::new() };
    rewriter.message(request, Cursor::new(bytes), 0..bytes.len(), None)
}

struct Rewriter<'a, 'e> {
    edit: &'e mut dyn Edit,
    keys: Vec<&'a str>,
}

/// A message being copied with some of its fields changed.
struct Patch<'a> {
    cursor: Cursor<'a>,
    copied: usize,
    end: usize,
    out: Option<Vec<u8>>,
}

impl<'a> Patch<'a> {
    fn new(cursor: &Cursor<'a>, range: Range<usize>) -> Self {
        Self {
            cursor: cursor.clone(),
            copied: range.start,
            end: range.end,
            out: None,
        }
    }

    fn remove(&mut self, field: &Field) -> &mut Vec<u8> {
        let out = self.out.get_or_insert_default();
        out.extend_from_slice(self.cursor.bytes(&(self.copied..field.whole.start)));
        self.copied = field.whole.end;
        out
    }

    fn replace(&mut self, field: &Field, value: &[u8]) {
        put(self.remove(field), field.number, value);
    }

    fn finish(self) -> Option<Vec<u8>> {
        let mut out = self.out?;
        out.extend_from_slice(self.cursor.bytes(&(self.copied..self.end)));
        Some(out)
    }
}

/// Appends a length-delimited field.
fn put(out: &mut Vec<u8>, number: u32, value: &[u8]) {
    prost::encoding::encode_varint(u64::from(number << 3 | u32::from(LEN)), out);
    prost::encoding::encode_varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

impl<'a> Rewriter<'a, '_> {
    fn message(&mut self, of: Type, mut cursor: Cursor<'a>, range: Range<usize>, owner: Option<Owner>) -> Result<Option<Vec<u8>>, Fault> {
        let owner = owner_of(of).or(owner);
        let mut patch = Patch::new(&cursor, range);
        while let Some(field) = cursor.next()? {
            match (of.field(field.number), owner) {
                (Kind::Message(Type::KeyValue), Some(owner)) => self.entry(owner, &cursor, &field, &mut patch)?,
                (Kind::Message(inner), _) => {
                    let body = of == Type::LogRecord && inner == Type::AnyValue;
                    let owner = if body { Some(Owner::Body) } else { owner };
                    if let Some(value) = self.message(inner, cursor.enter(&field)?, field.value.clone(), owner)? {
                        patch.replace(&field, &value);
                    }
                }
                (Kind::Text, Some(owner)) => {
                    if let Some(text) = self.edit.text(owner, &self.keys, cursor.text(&field)?) {
                        patch.replace(&field, text.as_bytes());
                    }
                }
                (Kind::Bytes, Some(owner)) if of == Type::AnyValue || !is_id(cursor.bytes(&field.value)) => {
                    if let Some(bytes) = self.bytes(owner, cursor.bytes(&field.value)) {
                        patch.replace(&field, &bytes);
                    }
                }
                _ => {}
            }
        }
        Ok(patch.finish())
    }

    /// Visits the valid UTF-8 parts of bytes as texts.
    fn bytes(&mut self, owner: Owner, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let mut changed = false;
        for chunk in bytes.utf8_chunks() {
            let text = Some(chunk.valid()).filter(|text| !text.is_empty());
            match text.and_then(|text| self.edit.text(owner, &self.keys, text)) {
                Some(text) => {
                    changed = true;
                    out.extend_from_slice(text.as_bytes());
                }
                None => out.extend_from_slice(chunk.valid().as_bytes()),
            }
            out.extend_from_slice(chunk.invalid());
        }
        changed.then_some(out)
    }

    fn entry(&mut self, owner: Owner, cursor: &Cursor<'a>, field: &Field, patch: &mut Patch<'a>) -> Result<(), Fault> {
        let inner = cursor.enter(field)?;
        let (key, value) = key_and_value(inner.clone())?;
        self.keys.push(key);
        let entry = self.edit.entry(owner, &self.keys, value);
        let changed = match entry {
            Entry::Remove => {
                patch.remove(field);
                Ok(None)
            }
            Entry::Replace(text) => Ok(Some(pair(key, &text))),
            Entry::Keep => self.values(inner, field.value.clone(), owner),
        };
        self.keys.pop();
        if let Some(changed) = changed? {
            patch.replace(field, &changed);
        }
        Ok(())
    }

    /// Visits the values of a pair and keeps its key.
    fn values(&mut self, mut cursor: Cursor<'a>, range: Range<usize>, owner: Owner) -> Result<Option<Vec<u8>>, Fault> {
        let mut patch = Patch::new(&cursor, range);
        while let Some(field) = cursor.next()? {
            if let Kind::Message(inner) = Type::KeyValue.field(field.number)
                && let Some(value) = self.message(inner, cursor.enter(&field)?, field.value.clone(), Some(owner))?
            {
                patch.replace(&field, &value);
            }
        }
        Ok(patch.finish())
    }
}

/// Whether bytes are empty or as long as an id. Any other length may be text.
fn is_id(bytes: &[u8]) -> bool {
    matches!(bytes.len(), 0 | 8 | 16)
}

/// The owner of a message's fields. Fields of an envelope (schema URLs) have none.
fn owner_of(of: Type) -> Option<Owner> {
    match of {
        Type::Span | Type::Status => Some(Owner::Span),
        Type::Resource => Some(Owner::Resource),
        Type::Scope => Some(Owner::Scope),
        Type::Event => Some(Owner::Event),
        Type::Link => Some(Owner::Link),
        Type::LogRecord => Some(Owner::Log),
        Type::Metric => Some(Owner::Metric),
        _ => None,
    }
}

/// The last key and the last value, as a decoder would read them; a text value comes without its envelope.
fn key_and_value<'a>(mut cursor: Cursor<'a>) -> Result<(&'a str, &'a [u8]), Fault> {
    let (mut key, mut value) = ("", &[][..]);
    while let Some(field) = cursor.next()? {
        match Type::KeyValue.field(field.number) {
            Kind::Text => key = cursor.text(&field)?,
            Kind::Message(inner) => {
                value = cursor.bytes(&field.value);
                let mut fields = cursor.enter(&field)?;
                while let Some(text) = fields.next()? {
                    if inner.field(text.number) == Kind::Text {
                        value = fields.bytes(&text.value);
                    }
                }
            }
            _ => {}
        }
    }
    Ok((key, value))
}

/// Encodes a `KeyValue` with a text value.
fn pair(key: &str, text: &str) -> Vec<u8> {
    let (mut value, mut pair) = (Vec::new(), Vec::new());
    put(&mut value, 1, text.as_bytes());
    put(&mut pair, 1, key.as_bytes());
    put(&mut pair, 2, &value);
    pair
}
