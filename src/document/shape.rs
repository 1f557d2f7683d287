//! The types of documents as data: the values of a field, the fields of an object. [`check`](crate::formats::check) compares
//! documents with them, and [`schema`](super::schema) writes them as JSON Schema.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::document::json::Json;
pub(crate) use crate::document::shown::{kind_of, shown};
use crate::document::source::{Otherwise, Part, Source};
use crate::document::violations::{JsonPath, Violations};
use crate::operation;

/// The allowed type of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Any value, including null.
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
    /// Checked against the first of these here. The format checks it against the second itself, after other rules or with its own
    /// messages.
    Deferred(&'static Shape, &'static Shape),
}

/// An object whose fields depend on its kind.
#[derive(Debug)]
pub(crate) struct Variants {
    /// The fields of every kind.
    pub(crate) common: Record,
    /// An object has the first kind whose tag it has.
    pub(crate) of: &'static [(Tag, &'static Record)],
}

/// The criterion for the kind of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tag {
    /// The field is one of these words.
    Is(&'static str, &'static [&'static str]),
    /// The object has the field.
    Has(&'static str),
    /// The object has no tag of earlier kinds.
    Other,
}

/// An object with known fields.
#[derive(Debug)]
pub(crate) struct Record {
    /// With its article: `a step`.
    pub(crate) what: &'static str,
    pub(crate) fields: &'static [Field],
    /// What happens to other fields, if they are not allowed.
    pub(crate) others: Option<&'static str>,
}

/// A field of an object, with everything that a format defines for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) is_needed: bool,
    pub(crate) shape: Shape,
    /// The sources of its value: the first that has one is used.
    pub(crate) sources: [Option<Source>; 3],
    /// The default without a value.
    pub(crate) otherwise: Otherwise,
    /// Whether the default is made up, which is a loss.
    pub(crate) is_made_up: bool,
}

/// A required field.
pub(crate) const fn need(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        is_needed: true,
        shape,
        sources: [None; 3],
        otherwise: Otherwise::Nothing,
        is_made_up: false,
    }
}

/// An optional field.
pub(crate) const fn may(name: &'static str, shape: Shape) -> Field {
    Field {
        is_needed: false,
        ..need(name, shape)
    }
}

impl Field {
    /// Adds a field of the operation as source.
    pub(crate) const fn from(self, field: operation::Field) -> Self {
        self.source(Source::Field(field))
    }

    /// Adds the sum of two fields of the operation as source.
    pub(crate) const fn sum(self, one: operation::Field, other: operation::Field) -> Self {
        self.source(Source::Sum(one, other))
    }

    /// Adds a count minus the part that another field counts as source.
    pub(crate) const fn less(self, whole: operation::Field, part: operation::Field) -> Self {
        self.source(Source::Less(whole, part))
    }

    /// Adds a value computed from the operation as source.
    pub(crate) const fn of(self, part: Part) -> Self {
        self.source(Source::Of(part))
    }

    const fn source(mut self, source: Source) -> Self {
        let [first, second, third] = &mut self.sources;
        if first.is_none() {
            *first = Some(source);
        } else if second.is_none() {
            *second = Some(source);
        } else {
            *third = Some(source);
        }
        self
    }

    /// Sets the default without a value, which means the same to all readers as its absence.
    pub(crate) const fn usually(mut self, otherwise: Otherwise) -> Self {
        self.otherwise = otherwise;
        self
    }

    /// Sets a made-up default without a value, which is a loss.
    pub(crate) const fn made_up(mut self, otherwise: Otherwise) -> Self {
        self.is_made_up = true;
        self.usually(otherwise)
    }

    /// The two counts of a field that is their difference.
    pub(crate) fn counted_beside(&self) -> Option<(operation::Field, operation::Field)> {
        self.sources.into_iter().flatten().find_map(|source| match source {
            Source::Less(whole, part) => Some((whole, part)),
            _ => None,
        })
    }

    /// Whether a value is only a placeholder.
    pub(crate) fn is_filler(&self, value: &Value) -> bool {
        self.otherwise == Otherwise::Unknown && value.as_str() == Some(Otherwise::UNKNOWN)
    }
}

/// The text about other fields, if any.
pub(crate) const fn first(texts: &[&'static str]) -> Option<&'static str> {
    texts.first().copied()
}

impl Shape {
    /// Whether the value's JSON type fits, regardless of its content.
    pub(crate) fn fits(self, value: &Value) -> bool {
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

    /// Whether the type of a value to write fits, regardless of its content.
    pub(crate) fn takes(self, value: &Json<'_>) -> bool {
        match self {
            Self::Any => true,
            Self::Null => value.is_null(),
            Self::Text | Self::Time | Self::Word(_) => matches!(value, Json::Text(_)),
            Self::Flag => matches!(value, Json::Bool(_)),
            Self::Number | Self::Int | Self::StrictInt | Self::Count => matches!(value, Json::Number(_)),
            Self::Object | Self::MapOf(_) | Self::Of(_) | Self::Open(_) | Self::OneOf(_) => matches!(value, Json::Object(_)),
            Self::List(_) => matches!(value, Json::List(_) | Json::Values(_) | Json::Shared(..)),
            Self::Maybe(shape) => value.is_null() || shape.takes(value),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.takes(value)),
            Self::Deferred(now, _) => now.takes(value),
        }
    }

    /// The record of a nested object whose fields belong to the same operation.
    pub(crate) fn record(self) -> Option<&'static Record> {
        match self {
            Self::Maybe(shape) => shape.record(),
            Self::Of(record) => Some(record),
            _ => None,
        }
    }

    /// Whether a value and all its content have this shape.
    pub(crate) fn holds(self, value: &Value) -> bool {
        self.check(value, JsonPath::of_document(None), &mut Violations::default())
    }

    /// A description for people.
    pub(crate) fn words(self) -> String {
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

    /// Adds violations for parts of a value without this shape. Returns whether there were none.
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
    /// Adds violations for fields that are missing, have another shape, or are unknown.
    pub(crate) fn check(&self, object: &Map<String, Value>, place: JsonPath<'_>, found: &mut Violations) {
        self.check_fields(object, place, found);
        self.check_names(&[], object, place, found);
    }

    fn check_fields(&self, object: &Map<String, Value>, place: JsonPath<'_>, found: &mut Violations) {
        for Field {
            name, is_needed, shape, ..
        } in self.fields
        {
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

    /// Whether it has a field with this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    /// The field that is read into this field of an operation.
    pub(crate) fn field_of(&self, of: operation::Field) -> Option<&Field> {
        let is_from = |field: &&Field| field.sources.into_iter().flatten().any(|source| source.reads() == Some(of));
        self.fields.iter().find(is_from)
    }
}

impl Variants {
    /// The kind of an object, if it has a tag.
    pub(crate) fn kind(&self, object: &Map<String, Value>) -> Option<&'static Record> {
        self.of.iter().find(|(tag, _)| tag.is_on(object)).map(|(_, record)| *record)
    }

    /// Adds violations for fields that are missing, have another shape, or are unknown, but not for an object without a kind.
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
    /// Whether an object has this tag.
    pub(crate) fn is_on(self, object: &Map<String, Value>) -> bool {
        match self {
            Self::Is(field, words) => object.get(field).and_then(Value::as_str).is_some_and(|word| words.contains(&word)),
            Self::Has(field) => object.contains_key(field),
            Self::Other => true,
        }
    }

    /// Whether no object can have both, since they are different words of one field.
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

/// The instant of a zoned time that a span may have: from 1970 to 2554.
pub(crate) fn time(value: &Value) -> Option<Timestamp> {
    let time: Timestamp = value.as_str()?.trim().parse().ok()?;
    u64::try_from(time.as_nanosecond()).is_ok().then_some(time)
}
