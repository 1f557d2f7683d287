//! Checks the protobuf wire format of OTLP without decoding, with the same verdicts as prost.

use std::fmt;
use std::ops::Range;

use super::schema::{Kind, Type};

/// Maximum nesting of messages, as in prost's decoder.
pub(super) const DEPTH_LIMIT: usize = 100;

/// Where and how bytes violate the wire format or a field's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Offset of the offending byte in the message.
    pub offset: usize,
    /// What is wrong.
    pub kind: FaultKind,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.kind)
    }
}

impl std::error::Error for Fault {}

/// How bytes violate the wire format or a field's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// A number exceeds 64 bits or does not end.
    Varint,
    /// A field number or wire type that does not exist.
    Key,
    /// A field's wire type differs from the protocol's.
    WireType {
        /// The field's number.
        field: u32,
    },
    /// The length of a field exceeds the remaining bytes.
    Truncated,
    /// Text is not UTF-8.
    Utf8,
    /// Messages nest too deeply.
    Depth,
    /// A group ends without having begun.
    Group,
    /// The message has 4 GiB or more.
    Length,
    /// Decoding the message would exceed the memory limit.
    Memory,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Varint => f.write_str("a number does not end"),
            Self::Key => f.write_str("no such field or wire type"),
            Self::WireType { field } => write!(f, "field {field} has another type than OTLP gives it"),
            Self::Truncated => f.write_str("the message is cut off: a field is longer than what is left"),
            Self::Utf8 => f.write_str("text is not UTF-8"),
            Self::Depth => write!(f, "nested deeper than {DEPTH_LIMIT} levels"),
            Self::Group => f.write_str("a group ends that did not begin"),
            Self::Length => f.write_str("the message has 4 GiB or more"),
            Self::Memory => f.write_str("what the message becomes takes more memory than it may"),
        }
    }
}

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Payload {
    /// A number of any wire type except length-delimited.
    Number(u64),
    /// The bytes of a length-delimited field.
    Bytes,
    /// A group; OTLP has none, so it is skipped as unknown.
    Group,
}

/// A field: its position and value.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) wire: u8,
    pub(super) payload: Payload,
    /// The whole field with its key.
    pub(super) whole: Range<usize>,
    /// The value alone.
    pub(super) value: Range<usize>,
}

pub(super) const VARINT: u8 = 0;
pub(super) const I64: u8 = 1;
pub(super) const LEN: u8 = 2;
const START_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
pub(super) const I32: u8 = 5;

/// Reads fields one by one. Offsets refer to the whole message.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    /// How many further levels of messages may follow.
    depth: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            end: bytes.len(),
            depth: DEPTH_LIMIT,
        }
    }

    /// A cursor over the fields of a nested message.
    pub(super) fn enter(&self, field: &Field) -> Result<Self, Fault> {
        let Some(depth) = self.depth.checked_sub(1) else {
            return Err(fault(field.whole.start, FaultKind::Depth));
        };
        Ok(Self {
            bytes: self.bytes,
            at: field.value.start,
            end: field.value.end,
            depth,
        })
    }

    pub(super) fn bytes(&self, range: &Range<usize>) -> &'a [u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    pub(super) fn text(&self, field: &Field) -> Result<&'a str, Fault> {
        simdutf8::compat::from_utf8(self.bytes(&field.value))
            .map_err(|error| fault(field.value.start + error.valid_up_to(), FaultKind::Utf8))
    }

    /// The key of an attribute and its value, if that is text. Reads and checks the form that encoders write in one pass; `None` for any
    /// other form, valid or not, which [`Cursor::check`] handles.
    pub(super) fn plain_attribute(&self, field: &Field) -> Option<(&'a [u8], Option<&'a [u8]>)> {
        // The attribute and its value take two levels.
        if self.depth < 2 || field.wire != LEN {
            return None;
        }
        let bytes = self.bytes(&field.value);
        // For a short attribute, one check covers both key and text.
        let whole = bytes.len() < SHORT && is_ascii(bytes);
        let [0x0a, rest @ ..] = bytes else { return None };
        let (key, rest) = delimited(rest)?;
        let [0x12, rest @ ..] = rest else { return None };
        let (value, []) = delimited(rest)? else { return None };
        if !whole && !is_utf8(key) {
            return None;
        }
        match value {
            [0x0a, rest @ ..] => match delimited(rest)? {
                (text, []) if whole || is_utf8(text) => Some((key, Some(text))),
                _ => None,
            },
            [0x10, 0 | 1] => Some((key, None)),
            [0x18, head @ .., last] if head.len() < 9 && *last < 0x80 && head.iter().all(|byte| *byte >= 0x80) => Some((key, None)),
            [0x21, number @ ..] if number.len() == 8 => Some((key, None)),
            _ => None,
        }
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, Fault> {
        match self.bytes.get(self.at) {
            Some(byte) if *byte < 0x80 && self.at < self.end => {
                self.at += 1;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Fault> {
        let start = self.at;
        let mut value = 0u64;
        for count in 0..10u32 {
            if self.at >= self.end {
                return Err(fault(start, FaultKind::Truncated));
            }
            let byte = self.bytes.get(self.at).copied().unwrap_or_default();
            self.at += 1;
            if count == 9 && byte >= 2 {
                return Err(fault(start, FaultKind::Varint));
            }
            value |= u64::from(byte & 0x7f) << (count * 7);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(fault(start, FaultKind::Varint))
    }

    #[inline]
    fn key(&mut self) -> Result<(u32, u8), Fault> {
        let start = self.at;
        let key = self.varint()?;
        let number = u32::try_from(key).map_err(|_| fault(start, FaultKind::Key))? >> 3;
        let wire = u8::try_from(key & 7).unwrap_or(u8::MAX);
        if number == 0 || wire > I32 {
            return Err(fault(start, FaultKind::Key));
        }
        Ok((number, wire))
    }

    fn fixed(&mut self, size: usize) -> Result<u64, Fault> {
        let value = self.take(self.at, size)?;
        let mut number = [0; 8];
        number.iter_mut().zip(self.bytes(&value)).for_each(|(to, from)| *to = *from);
        Ok(u64::from_le_bytes(number))
    }

    #[inline]
    fn take(&mut self, start: usize, length: usize) -> Result<Range<usize>, Fault> {
        let from = self.at;
        let to = from
            .checked_add(length)
            .filter(|to| *to <= self.end)
            .ok_or_else(|| fault(start, FaultKind::Truncated))?;
        self.at = to;
        Ok(from..to)
    }

    /// The next field; `None` at the end of the message.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Field>, Fault> {
        if self.at >= self.end {
            return Ok(None);
        }
        let start = self.at;
        let (number, wire) = self.key()?;
        let from = self.at;
        let (payload, value) = match wire {
            VARINT => (Payload::Number(self.varint()?), from..self.at),
            I64 => (Payload::Number(self.fixed(8)?), from..self.at),
            I32 => (Payload::Number(self.fixed(4)?), from..self.at),
            LEN => {
                let length = self.varint()?;
                let length = usize::try_from(length).map_err(|_| fault(start, FaultKind::Truncated))?;
                (Payload::Bytes, self.take(start, length)?)
            }
            START_GROUP => {
                self.skip_group(number, self.depth)?;
                (Payload::Group, from..self.at)
            }
            _ => return Err(fault(start, FaultKind::Group)),
        };
        Ok(Some(Field {
            number,
            wire,
            payload,
            whole: start..self.at,
            value,
        }))
    }

    /// Like prost, counts every skipped field as one level deeper than its parent.
    fn skip_group(&mut self, number: u32, depth: usize) -> Result<(), Fault> {
        if depth == 0 {
            return Err(fault(self.at, FaultKind::Depth));
        }
        loop {
            let start = self.at;
            let (inner, wire) = self.key()?;
            if wire == END_GROUP {
                return if inner == number {
                    Ok(())
                } else {
                    Err(fault(start, FaultKind::Group))
                };
            }
            if depth == 1 {
                return Err(fault(start, FaultKind::Depth));
            }
            match wire {
                VARINT => {
                    self.varint()?;
                }
                I64 => {
                    self.take(start, 8)?;
                }
                I32 => {
                    self.take(start, 4)?;
                }
                LEN => {
                    let length = self.varint()?;
                    let length = usize::try_from(length).map_err(|_| fault(start, FaultKind::Truncated))?;
                    self.take(start, length)?;
                }
                _ => self.skip_group(inner, depth - 1)?,
            }
        }
    }

    /// Checks a field of a message of this type, with everything inside it.
    #[inline]
    pub(super) fn check(&self, message: Type, field: &Field) -> Result<(), Fault> {
        let wrong = || Err(fault(field.whole.start, FaultKind::WireType { field: field.number }));
        match message.field(field.number) {
            Kind::Unknown if self.depth == 0 => Err(fault(field.whole.start, FaultKind::Depth)),
            Kind::Unknown => Ok(()),
            Kind::Varint if field.wire != VARINT => wrong(),
            Kind::Fixed64 if field.wire != I64 => wrong(),
            Kind::Fixed32 if field.wire != I32 => wrong(),
            Kind::Bytes | Kind::Text | Kind::Message(_) if field.wire != LEN => wrong(),
            Kind::Text => self.text(field).map(|_| ()),
            Kind::Message(Type::KeyValue) if self.plain_attribute(field).is_some() => Ok(()),
            Kind::Message(inner) => self.enter(field)?.check_all(inner),
            Kind::Varint | Kind::Fixed64 | Kind::Fixed32 | Kind::Bytes => Ok(()),
        }
    }

    /// Checks all remaining fields.
    pub(super) fn check_all(mut self, message: Type) -> Result<(), Fault> {
        while let Some(field) = self.next()? {
            self.check(message, &field)?;
        }
        Ok(())
    }
}

/// Splits off a length prefix of at most three bytes and its content; `None` if the bytes run out or the length is larger.
#[inline]
fn delimited(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = match bytes {
        [a, rest @ ..] if *a < 0x80 => (usize::from(*a), rest),
        [a, b, rest @ ..] if *b < 0x80 => (usize::from(*a & 0x7f) | usize::from(*b) << 7, rest),
        [a, b, c, rest @ ..] if *c < 0x80 => (usize::from(*a & 0x7f) | usize::from(*b & 0x7f) << 7 | usize::from(*c) << 14, rest),
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// Below this length, text is checked without SIMD detection of the processor.
const SHORT: usize = 128;

#[inline]
fn is_utf8(bytes: &[u8]) -> bool {
    // Keys and most values are short and ASCII.
    if bytes.len() < SHORT {
        is_ascii(bytes) || std::str::from_utf8(bytes).is_ok()
    } else {
        simdutf8::basic::from_utf8(bytes).is_ok()
    }
}

/// Like `[u8]::is_ascii`, which is tuned for long texts; this version has no branch per word.
#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks();
    let words = words.iter().fold(0, |all, word| all | u64::from_le_bytes(*word));
    let rest = rest.iter().fold(0, |all, byte| all | byte);
    (words | u64::from(rest)) & 0x8080_8080_8080_8080 == 0
}

pub(super) fn fault(offset: usize, kind: FaultKind) -> Fault {
    Fault { offset, kind }
}

/// Checks a whole message the way prost would decode it.
///
/// # Errors
///
/// The first place at which it breaks.
pub(super) fn check(bytes: &[u8], message: Type) -> Result<(), Fault> {
    Cursor::new(bytes).check_all(message)
}
