//! The types of documents as data, for [`check`](crate::formats::check): what a field may hold, which fields an object has.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::document::violations::{JsonPath, Violations};

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Any value, null too.
    Any,
    Text,
    Flag,
    Number,
    /// A number without a fraction: 12 and 12.0.
    Int,
    /// An integer written without a fraction.
    StrictInt,
    /// An integer of at least 0.
    Count,
    /// An object with any keys.
    Object,
    /// A time in ISO 8601 with a zone.
    Time,
    Word(&'static [&'static str]),
    List(&'static Shape),
    Of(&'static Record),
    /// The same or null.
    Maybe(&'static Shape),
    /// The first of these whose JSON type fits.
    Either(&'static [Shape]),
}

/// An object with known fields.
#[derive(Debug)]
pub(crate) struct Record {
    /// With its article: `a step`.
    pub(crate) what: &'static str,
    pub(crate) fields: &'static [Field],
    /// What becomes of other fields, if they are not to stand there.
    pub(crate) others: Option<&'static str>,
}

/// A field of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    name: &'static str,
    is_needed: bool,
    shape: Shape,
}

/// A field that must stand there.
pub(crate) const fn need(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        is_needed: true,
        shape,
    }
}

/// A field that may be left out.
pub(crate) const fn may(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        is_needed: false,
        shape,
    }
}

impl Shape {
    /// Whether the value's JSON type fits; what is in it is not looked at.
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Text | Self::Time | Self::Word(_) => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Int => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            Self::StrictInt => value.is_i64() || value.is_u64() || is_large_integer(value),
            Self::Count => Self::Int.fits(value) && value.as_f64().is_some_and(|number| number >= 0.0),
            Self::Object | Self::Of(_) => value.is_object(),
            Self::List(_) => value.is_array(),
            Self::Maybe(shape) => value.is_null() || shape.fits(value),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.fits(value)),
        }
    }

    /// In words.
    fn words(self) -> String {
        match self {
            Self::Any => "any value".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Int | Self::StrictInt => "an integer".to_owned(),
            Self::Count => "an integer of at least 0".to_owned(),
            Self::Object => "an object".to_owned(),
            Self::Time => "a time in ISO 8601 with a zone, such as 2026-01-01T10:00:00.000Z".to_owned(),
            Self::Word([word]) => format!("{word:?}"),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::List(_) => "a list".to_owned(),
            Self::Of(record) => format!("{} (an object)", record.what),
            Self::Maybe(shape) => format!("{} or null", shape.words()),
            Self::Either(shapes) => shapes.iter().map(|shape| shape.words()).collect::<Vec<_>>().join(" or "),
        }
    }

    /// Notes where a value is not of this shape. Whether it is.
    pub(crate) fn check(self, value: &Value, place: JsonPath<'_>, found: &mut Violations) -> bool {
        let before = found.len();
        if !self.fits(value) {
            found.add(place, format!("expected {}, found {}", self.words(), shown(value)));
            return false;
        }
        match self {
            Self::Time if time(value).is_none() => {
                found.add(place, format!("expected {}, found {}", self.words(), shown(value)));
            }
            Self::Word(words) if !value.as_str().is_some_and(|word| words.contains(&word)) => {
                found.add(place, format!("expected {}, found {}", self.words(), shown(value)));
            }
            Self::List(shape) => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    shape.check(item, place.item(index), found);
                }
            }
            Self::Of(record) => {
                if let Some(object) = value.as_object() {
                    record.check(object, place, found);
                }
            }
            Self::Maybe(shape) if !value.is_null() => {
                shape.check(value, place, found);
            }
            Self::Either(shapes) => {
                if let Some(shape) = shapes.iter().find(|shape| shape.fits(value)) {
                    shape.check(value, place, found);
                }
            }
            _ => {}
        }
        found.len() == before
    }
}

impl Record {
    /// Notes which fields are missing, of another shape, or not known.
    pub(crate) fn check(&self, object: &Map<String, Value>, place: JsonPath<'_>, found: &mut Violations) {
        self.check_with(object, &[], place, found);
    }

    /// The same, with more fields.
    pub(crate) fn check_with(&self, object: &Map<String, Value>, more: &[Field], place: JsonPath<'_>, found: &mut Violations) {
        for Field { name, is_needed, shape } in self.fields.iter().chain(more) {
            match object.get(*name) {
                Some(value) => {
                    shape.check(value, place.key(name), found);
                }
                None if *is_needed => found.add(place, format!("`{name}` is missing: {} needs it ({})", self.what, shape.words())),
                None => {}
            }
        }
        let Some(others) = self.others else { return };
        let is_known = |key: &str| self.fields.iter().chain(more).any(|field| field.name == key);
        for key in object.keys().filter(|key| !is_known(key)) {
            found.add(place.key(key), format!("{} has no field of this name: {others}", self.what));
        }
    }
}

/// An integer beyond 64 bits, which is read as a double.
fn is_large_integer(value: &Value) -> bool {
    value
        .as_f64()
        .is_some_and(|number| number.fract() == 0.0 && number.abs() >= 9_007_199_254_740_992.0)
}

/// A value's type, for people.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A value for people: short texts and numbers as they are.
pub(crate) fn shown(value: &Value) -> String {
    const LONGEST: usize = 60;
    match value {
        Value::String(text) if text.chars().count() <= LONGEST => value.to_string(),
        Value::String(_) => "a longer text".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        other => kind_of(other).to_owned(),
    }
}

/// The instant of a zoned time that a span may have: from 1970 to 2554.
pub(crate) fn time(value: &Value) -> Option<Timestamp> {
    let time: Timestamp = value.as_str()?.trim().parse().ok()?;
    u64::try_from(time.as_nanosecond()).is_ok().then_some(time)
}

/// The first of these texts that stood before, each with its place.
pub(crate) fn repeated<'a>(texts: impl IntoIterator<Item = (usize, &'a str)>) -> Vec<(usize, &'a str)> {
    let mut known = std::collections::HashSet::new();
    texts.into_iter().filter(|(_, text)| !known.insert(*text)).collect()
}

/// Which items are their own ancestors, by the place of each item's parent. One item of each cycle.
pub(crate) fn cycles(parents: &[Option<usize>]) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        /// On the way that begins at this item.
        On(usize),
        Done,
    }
    let mut seen = vec![Seen::No; parents.len()];
    let mut found = Vec::new();
    for begin in 0..parents.len() {
        let mut way = Vec::new();
        let mut next = Some(begin);
        while let Some(at) = next {
            match seen.get(at).copied().unwrap_or(Seen::Done) {
                Seen::No => {}
                Seen::On(of) if of == begin => {
                    found.push(at);
                    break;
                }
                _ => break,
            }
            if let Some(slot) = seen.get_mut(at) {
                *slot = Seen::On(begin);
            }
            way.push(at);
            next = parents.get(at).copied().flatten();
        }
        for at in way {
            if let Some(slot) = seen.get_mut(at) {
                *slot = Seen::Done;
            }
        }
    }
    found
}
