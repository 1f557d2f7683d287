//! Rules about several fields or items, shared by formats.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::document::violations::{JsonPath, Violations};

/// Checks that every item, called `word`, has a unique id under this key.
pub(crate) fn own_ids(place: JsonPath<'_>, items: &[Value], key: &str, word: &'static str, found: &mut Violations) {
    let ids = items
        .iter()
        .enumerate()
        .filter_map(|(at, item)| Some((at, item.get(key)?.as_str()?)));
    Items { place, word }.unique(key, ids, found);
}

/// The items of a list. `word`: the name for one of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Items<'p> {
    pub(crate) place: JsonPath<'p>,
    pub(crate) word: &'static str,
}

impl Items<'_> {
    /// Checks that each id is used once; each is passed with its item's index.
    pub(crate) fn unique<'v>(self, key: &str, ids: impl IntoIterator<Item = (usize, &'v str)>, found: &mut Violations) {
        let mut known = HashSet::new();
        for (index, id) in ids.into_iter().filter(|(_, id)| !known.insert(*id)) {
            let word = self.word;
            found.add(
                self.place.item(index).key(key),
                format!("a {word} before has the id {id:?}: every {word} needs an id of its own"),
            );
        }
    }

    /// Checks that parents are ids of items, without cycles. `unknown` is the message for a parent that is not an item.
    pub(crate) fn tree<'v>(
        self,
        key: &str,
        ids: impl IntoIterator<Item = (usize, &'v str)>,
        parents: impl IntoIterator<Item = Option<&'v str>>,
        unknown: &str,
        found: &mut Violations,
    ) {
        let places: HashMap<&str, usize> = ids.into_iter().map(|(index, id)| (id, index)).collect();
        let mut above = Vec::new();
        for (index, parent) in parents.into_iter().enumerate() {
            let known = parent.map(|parent| places.get(parent).copied());
            if known == Some(None) {
                found.add(self.place.item(index).key(key), unknown);
            }
            above.push(known.flatten());
        }
        for index in cycles(&above) {
            found.add(
                self.place.item(index).key(key),
                format!("the {} is its own ancestor: parents must not go round", self.word),
            );
        }
    }

    /// Checks that no value is before one of an earlier item. `early` is the message for one that is.
    pub(crate) fn ascending<T: PartialOrd>(
        self,
        key: &str,
        values: impl IntoIterator<Item = Option<T>>,
        early: &str,
        found: &mut Violations,
    ) {
        let mut last: Option<T> = None;
        for (index, value) in values.into_iter().enumerate().filter_map(|(index, value)| Some((index, value?))) {
            if last.as_ref().is_some_and(|last| value < *last) {
                found.add(self.place.item(index).key(key), early);
            } else {
                last = Some(value);
            }
        }
    }
}

/// Checks that the second value, at this place, is not before the first. `early` is the message if it is.
pub(crate) fn not_before<T: PartialOrd>(place: JsonPath<'_>, (start, end): (Option<T>, Option<T>), early: &str, found: &mut Violations) {
    if start.zip(end).is_some_and(|(start, end)| end < start) {
        found.add(place, early);
    }
}

/// `8-4-4-4-12` lowercase hexadecimal digits, version 4, variant 10.
pub(crate) fn is_uuid_v4(id: &str) -> bool {
    let is_hex = |letter: u8| letter.is_ascii_digit() || (b'a'..=b'f').contains(&letter);
    id.len() == 36
        && id.bytes().enumerate().all(|(at, letter)| match at {
            8 | 13 | 18 | 23 => letter == b'-',
            14 => letter == b'4',
            19 => matches!(letter, b'8' | b'9' | b'a' | b'b'),
            _ => is_hex(letter),
        })
}

/// One item of each cycle, given the index of each item's parent.
fn cycles(parents: &[Option<usize>]) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Unvisited,
        /// On the path that begins at this item.
        OnPath(usize),
        Visited,
    }
    let mut seen = vec![Seen::Unvisited; parents.len()];
    let mut found = Vec::new();
    for begin in 0..parents.len() {
        let mut way = Vec::new();
        let mut next = Some(begin);
        while let Some(at) = next {
            match seen.get(at).copied().unwrap_or(Seen::Visited) {
                Seen::Unvisited => {}
                Seen::OnPath(of) if of == begin => {
                    found.push(at);
                    break;
                }
                _ => break,
            }
            if let Some(slot) = seen.get_mut(at) {
                *slot = Seen::OnPath(begin);
            }
            way.push(at);
            next = parents.get(at).copied().flatten();
        }
        for at in way {
            if let Some(slot) = seen.get_mut(at) {
                *slot = Seen::Visited;
            }
        }
    }
    found
}
