//! The types of documents as data: the values of a field, the fields of an object. [`check`](crate::formats::check) compares
//! documents with them, and [`schema`](super::schema) writes them as JSON Schema.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::document::violations::{JsonPath, Violations};

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Any value, null too.
    Any,
    Null,
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
    /// An object with any keys, and values of one shape.
    MapOf(&'static Shape),
    /// A time in ISO 8601 with a zone.
    Time,
    Word(&'static [&'static str]),
    List(&'static Shape),
    Of(&'static Record),
    /// An object with these fields and any others: its keys are data.
    Open(&'static Record),
    /// The same or null.
    Maybe(&'static Shape),
    /// The first of these whose JSON type fits.
    Either(&'static [Shape]),
    /// An object of one of several kinds.
    OneOf(&'static Variants),
    /// Compared with the first of these at once. The format compares it with the second itself, after other rules or in words of its
    /// own.
    Deferred(&'static Shape, &'static Shape),
}

/// An object whose fields depend on its kind.
#[derive(Debug)]
pub(crate) struct Variants {
    /// The fields of every kind.
    pub(crate) common: Record,
    /// An object is of the first kind whose tag it has.
    pub(crate) of: &'static [(Tag, &'static Record)],
}

/// By what the kind of an object is known.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tag {
    /// The field is one of these words.
    Is(&'static str, &'static [&'static str]),
    /// The object has the field.
    Has(&'static str),
    /// It has no tag of the kinds before.
    Other,
}

/// An object with known fields.
#[derive(Debug)]
pub(crate) struct Record {
    /// With its article: `a step`.
    pub(crate) what: &'static str,
    pub(crate) fields: &'static [Field],
    /// What becomes of other fields, if they are not allowed.
    pub(crate) others: Option<&'static str>,
}

/// A field of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(super) name: &'static str,
    pub(super) is_needed: bool,
    pub(super) shape: Shape,
}

/// A required field.
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
            Self::Null => value.is_null(),
            Self::Text | Self::Time | Self::Word(_) => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Int => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            Self::StrictInt => value.is_i64() || value.is_u64() || is_large_integer(value),
            Self::Count => Self::Int.fits(value) && value.as_f64().is_some_and(|number| number >= 0.0),
            Self::Object | Self::MapOf(_) | Self::Of(_) | Self::Open(_) | Self::OneOf(_) => value.is_object(),
            Self::List(_) => value.is_array(),
            Self::Maybe(shape) => value.is_null() || shape.fits(value),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.fits(value)),
            Self::Deferred(now, _) => now.fits(value),
        }
    }

    /// In words.
    fn words(self) -> String {
        match self {
            Self::Any => "any value".to_owned(),
            Self::Null => "null".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Int | Self::StrictInt => "an integer".to_owned(),
            Self::Count => "an integer of at least 0".to_owned(),
            Self::Object | Self::MapOf(_) => "an object".to_owned(),
            Self::Time => "a time in ISO 8601 with a zone, such as 2026-01-01T10:00:00.000Z".to_owned(),
            Self::Word([word]) => format!("{word:?}"),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::List(_) => "a list".to_owned(),
            Self::Of(record) | Self::Open(record) | Self::OneOf(Variants { common: record, .. }) => format!("{} (an object)", record.what),
            Self::Maybe(shape) => format!("{} or null", shape.words()),
            Self::Either(shapes) => shapes.iter().map(|shape| shape.words()).collect::<Vec<_>>().join(" or "),
            Self::Deferred(now, _) => now.words(),
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
            Self::MapOf(shape) => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    shape.check(value, place.key(key), found);
                }
            }
            Self::Of(record) | Self::Open(record) => {
                if let Some(object) = value.as_object() {
                    record.check(object, place, found);
                }
            }
            Self::OneOf(variants) => {
                if let Some(object) = value.as_object() {
                    variants.check(object, place, found);
                }
            }
            Self::Deferred(now, _) => {
                now.check(value, place, found);
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
        self.check_fields(object, place, found);
        self.check_names(&[], object, place, found);
    }

    fn check_fields(&self, object: &Map<String, Value>, place: JsonPath<'_>, found: &mut Violations) {
        for Field { name, is_needed, shape } in self.fields {
            match object.get(*name) {
                Some(value) => {
                    shape.check(value, place.key(name), found);
                }
                None if *is_needed => found.add(place, format!("`{name}` is missing: {} needs it ({})", self.what, shape.words())),
                None => {}
            }
        }
    }

    fn check_names(&self, common: &[Field], object: &Map<String, Value>, place: JsonPath<'_>, found: &mut Violations) {
        let Some(others) = self.others else { return };
        let is_known = |key: &str| common.iter().chain(self.fields).any(|field| field.name == key);
        for key in object.keys().filter(|key| !is_known(key)) {
            found.add(place.key(key), format!("{} has no field of this name: {others}", self.what));
        }
    }

    /// Whether it has a field of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }
}

impl Variants {
    /// The kind of an object, unless it has no tag of any.
    pub(crate) fn kind(&self, object: &Map<String, Value>) -> Option<&'static Record> {
        self.of.iter().find(|(tag, _)| tag.is_on(object)).map(|(_, record)| *record)
    }

    /// Notes which fields are missing, of another shape, or not known. That an object is of no kind is not noted.
    pub(crate) fn check(&self, object: &Map<String, Value>, place: JsonPath<'_>, found: &mut Violations) {
        self.common.check_fields(object, place, found);
        if let Some(kind) = self.kind(object) {
            kind.check_fields(object, place, found);
            kind.check_names(self.common.fields, object, place, found);
        }
    }

    /// The words that tag an object.
    pub(crate) fn words(&self) -> impl Iterator<Item = &'static str> {
        let words = |(tag, _): &'static (Tag, &Record)| match tag {
            Tag::Is(_, words) => *words,
            Tag::Has(_) | Tag::Other => &[],
        };
        self.of.iter().flat_map(words).copied()
    }
}

impl Tag {
    /// Whether an object has it.
    pub(crate) fn is_on(self, object: &Map<String, Value>) -> bool {
        match self {
            Self::Is(field, words) => object.get(field).and_then(Value::as_str).is_some_and(|word| words.contains(&word)),
            Self::Has(field) => object.contains_key(field),
            Self::Other => true,
        }
    }

    /// Whether no object has both: they are different words of one field.
    pub(super) fn excludes(self, other: Self) -> bool {
        matches!((self, other), (Self::Is(field, _), Self::Is(of, _)) if field == of)
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

/// The first of these texts that came before, each with its place.
pub(crate) fn repeated<'a>(texts: impl IntoIterator<Item = (usize, &'a str)>) -> Vec<(usize, &'a str)> {
    let mut known = std::collections::HashSet::new();
    texts.into_iter().filter(|(_, text)| !known.insert(*text)).collect()
}

/// Every item that is called `what` has an id of its own under this key.
pub(crate) fn own_ids(place: JsonPath<'_>, items: &[Value], key: &str, what: &str, found: &mut Violations) {
    let ids = items
        .iter()
        .enumerate()
        .filter_map(|(at, item)| Some((at, item.get(key)?.as_str()?)));
    for (at, id) in repeated(ids) {
        found.add(
            place.item(at).key(key),
            format!("a {what} before has the id {id:?}: every {what} needs an id of its own"),
        );
    }
}

/// Which items are their own ancestors, by the place of each item's parent. One item of each cycle.
pub(crate) fn cycles(parents: &[Option<usize>]) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Unvisited,
        /// On the way that begins at this item.
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
