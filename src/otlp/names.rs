//! The names of an item or its resource that a store indexes.

use std::borrow::Cow;
use std::sync::Arc;

use super::member::text_at;
use super::schema::Type;
use super::wire::{Cursor, Fault, Field};
use crate::withheld::is_withheld;

/// Names that a resource gives all its items.
#[derive(Debug, Clone, Default)]
pub struct Names {
    pub(super) service: Option<Arc<str>>,
    pub(super) session: Option<Arc<str>>,
}

/// The names of one item or resource, borrowed from the message.
#[derive(Debug, Default, Clone)]
pub(super) struct ItemNames<'a> {
    service: Option<&'a [u8]>,
    /// The rank of the key and the session's name.
    session: Option<(usize, Cow<'a, str>)>,
}

impl<'a> ItemNames<'a> {
    /// Validates an attribute and records the session or service it names.
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
        if let Some((rank, name)) = keys.session(key, text)
            && self.session.as_ref().is_none_or(|(have, _)| rank <= *have)
        {
            self.session = Some((rank, name));
        }
        Ok(())
    }

    pub(super) fn session(&self) -> Option<&Cow<'a, str>> {
        self.session.as_ref().map(|(_, name)| name)
    }

    pub(super) fn names(&self) -> Names {
        Names {
            service: self.service.map(|name| String::from_utf8_lossy(name).into()),
            session: self.session().map(|name| name.as_ref().into()),
        }
    }
}

/// The key of a validated attribute and its value, if that is text.
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

/// The attribute keys that name a session. `key#/a/b` refers to a JSON pointer into the key's JSON text.
pub(super) struct SessionKeys<'a> {
    /// Sorted by length, then best first, because every incoming attribute is looked up.
    keys: Vec<SessionKey<'a>>,
    /// For each length, how many keys are shorter.
    shorter: [usize; LENGTHS + 1],
}

struct SessionKey<'a> {
    /// Its position among all keys, best first.
    rank: usize,
    key: &'a [u8],
    pointer: Option<&'a str>,
}

/// Number of distinct lengths; longer keys share the last one.
const LENGTHS: usize = 64;

impl<'a> SessionKeys<'a> {
    /// Takes the keys, best first.
    pub(super) fn new(keys: &[&'a str]) -> Self {
        let ranked = keys.iter().enumerate().map(|(rank, text)| {
            let (key, pointer) = text.split_once('#').map_or((*text, None), |(key, pointer)| (key, Some(pointer)));
            SessionKey {
                rank,
                key: key.as_bytes(),
                pointer,
            }
        });
        let mut keys: Vec<SessionKey<'_>> = ranked.collect();
        keys.sort_by_key(|key| length(key.key));
        let mut shorter = [0; LENGTHS + 1];
        for (place, count) in shorter.iter_mut().enumerate() {
            *count = keys.partition_point(|key| length(key.key) < place);
        }
        Self { keys, shorter }
    }

    fn of_length(&self, key: &[u8]) -> &[SessionKey<'a>] {
        let length = length(key);
        match self.shorter.get(length..length + 2) {
            Some(&[begin, end]) => self.keys.get(begin..end).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The session named by a text under this key, with the key's rank.
    fn session<'t>(&self, key: &[u8], text: &'t [u8]) -> Option<(usize, Cow<'t, str>)> {
        let matching = self.of_length(key).iter().filter(|have| have.key == key);
        let mut named = matching.filter_map(|have| match have.pointer {
            Some(pointer) => Some((have.rank, text_at(text, pointer)?.into())),
            None => Some((have.rank, String::from_utf8_lossy(text))),
        });
        named.find(|(_, name)| !is_withheld(name) && !is_no_name(name))
    }
}

/// Whether a text is a client's placeholder for an unknown name.
fn is_no_name(text: &str) -> bool {
    let words = ["unknown", "none", "null", "undefined", "n/a"];
    let text = text.trim();
    words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn length(key: &[u8]) -> usize {
    key.len().min(LENGTHS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_by_the_best_key_of_any_length() {
        let long = "a".repeat(70);
        let other = "a".repeat(80);
        let list = ["ab", long.as_str(), "ab#/id", "cd"];
        let keys = SessionKeys::new(&list);
        let session = |key: &str, text: &'static str| keys.session(key.as_bytes(), text.as_bytes());
        assert_eq!(session("ab", "s1"), Some((0, "s1".into())));
        assert_eq!(session(&long, "s2"), Some((1, "s2".into())));
        assert_eq!(session("cd", "s3"), Some((3, "s3".into())));
        for key in [other.as_str(), "", "xy", "abc"] {
            assert_eq!(session(key, "s"), None, "{key}");
        }
        let keys = SessionKeys::new(&["ab#/id", "ab"]);
        assert_eq!(keys.session(b"ab", br#"{"id":"s4"}"#), Some((0, "s4".into())));
    }
}
