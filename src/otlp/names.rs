//! What an item or its resource is called: the names by which a store finds it.

use std::borrow::Cow;
use std::sync::Arc;

use super::schema::Type;
use super::wire::{Cursor, Fault, Field};

/// What a resource says of all its items.
#[derive(Debug, Clone, Default)]
pub struct Names {
    pub(super) service: Option<Arc<str>>,
    pub(super) session: Option<Arc<str>>,
}

/// What one item, or one resource, says: texts of the message.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Said<'a> {
    service: Option<&'a [u8]>,
    /// The rank of the key, and the session's name.
    session: Option<(usize, &'a [u8])>,
}

impl<'a> Said<'a> {
    /// Checks an attribute, and notes the session or the service that it names.
    #[inline]
    pub(super) fn attribute(&mut self, keys: &SessionKeys<'_>, around: &Cursor<'a>, field: &Field, of: Type) -> Result<(), Fault> {
        let (key, text) = match around.plain_attribute(field) {
            Some(plain) => plain,
            None => {
                around.check(of, field)?;
                key_and_text(around, field)?
            }
        };
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(());
        };
        if of == Type::Resource && key == b"service.name" {
            self.service = Some(text);
        }
        if let Some(rank) = keys.rank(key)
            && self.session.is_none_or(|(have, _)| rank <= have)
        {
            self.session = Some((rank, text));
        }
        Ok(())
    }

    pub(super) fn session(&self) -> Option<Cow<'a, str>> {
        self.session.map(|(_, name)| String::from_utf8_lossy(name))
    }

    pub(super) fn names(&self) -> Names {
        Names {
            service: self.service.map(|name| String::from_utf8_lossy(name).into()),
            session: self.session().map(Into::into),
        }
    }
}

/// The key of an attribute that was checked and, if its value is text, that text.
fn key_and_text<'a>(around: &Cursor<'a>, field: &Field) -> Result<(&'a [u8], Option<&'a [u8]>), Fault> {
    let mut pair = around.enter(field)?;
    let mut key: &[u8] = &[];
    let mut text = None;
    while let Some(field) = pair.next()? {
        match field.number {
            1 => key = pair.bytes(&field.value),
            2 => {
                let mut value = pair.enter(&field)?;
                while let Some(field) = value.next()? {
                    text = match field.number {
                        1 => Some(value.bytes(&field.value)),
                        _ => None,
                    };
                }
            }
            _ => {}
        }
    }
    Ok((key, text))
}

/// The attribute keys that name a session, best first.
pub(super) struct SessionKeys<'a> {
    keys: &'a [&'a str],
    /// One bit for each length that a key has: most attributes are told apart by it.
    lengths: u64,
}

impl<'a> SessionKeys<'a> {
    pub(super) fn new(keys: &'a [&'a str]) -> Self {
        let lengths = keys.iter().fold(0, |lengths, key| lengths | length_bit(key.as_bytes()));
        Self { keys, lengths }
    }

    fn rank(&self, key: &[u8]) -> Option<usize> {
        if self.lengths & length_bit(key) == 0 {
            return None;
        }
        self.keys.iter().position(|wanted| wanted.as_bytes() == key)
    }
}

/// Lengths of 63 and more share the last bit.
fn length_bit(key: &[u8]) -> u64 {
    1 << key.len().min(63)
}
