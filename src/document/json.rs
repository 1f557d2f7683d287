//! JSON values of documents. They borrow texts and values from a run, so that these are written without copying.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Number, Value};

/// A text borrowed from a run, or owned.
pub(crate) type Text<'a> = Cow<'a, str>;

/// A text without surrounding whitespace.
pub(crate) fn trimmed(words: Text<'_>) -> Text<'_> {
    match words {
        Text::Borrowed(words) => words.trim().into(),
        Text::Owned(words) if words.trim().len() == words.len() => words.into(),
        Text::Owned(words) => words.trim().to_owned().into(),
    }
}

/// A JSON value.
#[derive(Debug, Clone, Default)]
pub enum Json<'a> {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, finite.
    Number(Number),
    /// A text.
    Text(Text<'a>),
    /// A list.
    List(Vec<Json<'a>>),
    /// An object.
    Object(Object<'a>),
    /// A list borrowed from a run.
    Values(&'a [Value]),
    /// A part of a list shared by several values of a document, so that it is in memory once.
    Shared(Arc<[Json<'a>]>, Range<usize>),
}

/// A JSON object: unique keys in insertion order.
#[derive(Debug, Clone, Default)]
pub struct Object<'a> {
    /// Its own fields; while `None`, the borrowed fields are the object's.
    own: Option<Fields<'a>>,
    /// The fields borrowed from a run.
    run: Option<&'a Map<String, Value>>,
}

/// Keys and values in order.
type Fields<'a> = Vec<(Text<'a>, Json<'a>)>;

impl<'a> Json<'a> {
    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The value of a text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Object<'a>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The object, mutably.
    pub fn as_object_mut(&mut self) -> Option<&mut Object<'a>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Whether it is `null`, an empty list or an empty object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::List(list) => list.is_empty(),
            Self::Values(list) => list.is_empty(),
            Self::Shared(..) => self.shared().is_empty(),
            Self::Object(object) => object.is_empty(),
            _ => false,
        }
    }

    /// Text unchanged, any other value as compact JSON.
    #[must_use]
    pub fn into_text(self) -> Text<'a> {
        match self {
            Self::Text(text) => text,
            other => other.compact().into(),
        }
    }

    /// The items of a shared list.
    pub(crate) fn shared(&self) -> &[Self] {
        match self {
            Self::Shared(list, part) => list.get(part.clone()).unwrap_or_default(),
            _ => &[],
        }
    }

    fn compact(&self) -> String {
        crate::document::text::compact(self)
    }

    /// Appends to a list; any other value first becomes the first item of one.
    pub fn push(&mut self, item: impl Into<Self>) {
        let before = match std::mem::take(self) {
            Self::List(list) => list,
            Self::Values(list) => list.iter().map(Self::from).collect(),
            shared @ Self::Shared(..) => shared.shared().to_vec(),
            other => vec![other],
        };
        *self = Self::List(before);
        if let Self::List(list) = self {
            list.push(item.into());
        }
    }
}

impl std::fmt::Display for Json<'_> {
    /// Compact JSON.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.compact())
    }
}

impl<'a> Object<'a> {
    /// An empty object.
    #[must_use]
    pub const fn new() -> Self {
        Self { own: None, run: None }
    }

    /// The object with these fields, each key once.
    pub(crate) const fn of_fields(fields: Fields<'a>) -> Self {
        Self {
            own: Some(fields),
            run: None,
        }
    }

    /// An object borrowed from a run.
    pub(crate) const fn of_run(map: &'a Map<String, Value>) -> Self {
        Self { own: None, run: Some(map) }
    }

    /// An empty object with room for `keys` keys.
    #[must_use]
    pub fn with_capacity(keys: usize) -> Self {
        Self::of_fields(Vec::with_capacity(keys))
    }

    /// The number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.own {
            Some(list) => list.len(),
            None => self.run.map_or(0, Map::len),
        }
    }

    /// Whether it has no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it has this key.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        match &self.own {
            Some(list) => list.iter().any(|(have, _)| have == key),
            None => self.run.is_some_and(|map| map.contains_key(key)),
        }
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Cow<'_, Json<'a>>> {
        match &self.own {
            Some(list) => list.iter().find(|(have, _)| have == key).map(|(_, value)| Cow::Borrowed(value)),
            None => self.run?.get(key).map(|value| Cow::Owned(value.into())),
        }
    }

    /// The value of a key, mutably.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json<'a>> {
        self.own().iter_mut().find(|(have, _)| have == key).map(|(_, value)| value)
    }

    /// Sets a value; an existing key keeps its position.
    pub fn insert(&mut self, key: impl Into<Text<'a>>, value: impl Into<Json<'a>>) {
        let (key, value) = (key.into(), value.into());
        match self.get_mut(&key) {
            Some(place) => *place = value,
            None => self.own().push((key, value)),
        }
    }

    /// Adds a value under a new key.
    pub fn add(&mut self, key: impl Into<Text<'a>>, value: impl Into<Json<'a>>) {
        let key = key.into();
        debug_assert!(self.len() > 64 || !self.contains_key(&key), "{key:?} stands there");
        self.own().push((key, value.into()));
    }

    /// Adds a value under a new key, unless the value is empty.
    pub fn add_filled(&mut self, key: impl Into<Text<'a>>, value: impl Into<Json<'a>>) {
        let value = value.into();
        if !value.is_empty() {
            self.add(key, value);
        }
    }

    /// Sets a value unless it is empty; an existing key keeps its position.
    pub fn insert_filled(&mut self, key: impl Into<Text<'a>>, value: impl Into<Json<'a>>) {
        let value = value.into();
        if !value.is_empty() {
            self.insert(key, value);
        }
    }

    /// Adds a value unless the key exists.
    pub fn insert_new(&mut self, key: impl Into<Text<'a>>, value: impl Into<Json<'a>>) {
        let key = key.into();
        if !self.contains_key(&key) {
            self.own().push((key, value.into()));
        }
    }

    /// Appends to the list under a key, which is created if necessary.
    pub fn push(&mut self, key: impl Into<Text<'a>>, item: impl Into<Json<'a>>) {
        let (key, item) = (key.into(), item.into());
        match self.get_mut(&key) {
            Some(place) => place.push(item),
            None => self.own().push((key, Json::List(vec![item]))),
        }
    }

    /// Moves a key to the front, with its current value if it has one.
    pub fn lead(&mut self, key: impl Into<Text<'a>>, value: impl Into<Json<'a>>) {
        let key = key.into();
        let value = self.remove(&key).unwrap_or_else(|| value.into());
        self.own().insert(0, (key, value));
    }

    /// Removes a key; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Json<'a>> {
        if !self.contains_key(key) {
            return None;
        }
        let list = self.own();
        let place = list.iter().position(|(have, _)| have == key)?;
        Some(list.remove(place).1)
    }

    /// Removes a key; the last one takes its position.
    pub fn swap_remove(&mut self, key: &str) -> Option<Json<'a>> {
        if !self.contains_key(key) {
            return None;
        }
        let list = self.own();
        let place = list.iter().position(|(have, _)| have == key)?;
        Some(list.swap_remove(place).1)
    }

    /// Keeps the fields for which this is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &Json<'a>) -> bool) {
        self.own().retain(|(key, value)| keep(key, value));
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Cow<'_, Json<'a>>)> {
        let run = self.run.filter(|_| self.own.is_none());
        let own = self.own.iter().flatten().map(|(key, value)| (&**key, Cow::Borrowed(value)));
        let run = run
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.as_str(), Cow::Owned(value.into())));
        own.chain(run)
    }

    /// The fields as the object's own, copied from the run if necessary.
    fn own(&mut self) -> &mut Fields<'a> {
        let run = self.run;
        self.own.get_or_insert_with(|| {
            let fields = run.into_iter().flatten();
            fields.map(|(key, value)| (key.into(), value.into())).collect()
        })
    }
}

impl<'a> IntoIterator for Object<'a> {
    type Item = (Text<'a>, Json<'a>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(mut self) -> Self::IntoIter {
        std::mem::take(self.own()).into_iter()
    }
}

/// A repeated key keeps its position and takes the last value.
impl<'a> Extend<(Text<'a>, Json<'a>)> for Object<'a> {
    fn extend<I: IntoIterator<Item = (Text<'a>, Json<'a>)>>(&mut self, fields: I) {
        for (key, value) in fields {
            self.insert(key, value);
        }
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(bool) => serializer.serialize_bool(*bool),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(list) => serializer.collect_seq(list),
            Self::Object(object) => object.serialize(serializer),
            Self::Values(list) => serializer.collect_seq(*list),
            Self::Shared(..) => serializer.collect_seq(self.shared()),
        }
    }
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (&self.own, self.run) {
            (Some(list), _) => serializer.collect_map(list.iter().map(|(key, value)| (&**key, value))),
            (None, Some(map)) => serializer.collect_map(map),
            (None, None) => serializer.serialize_map(Some(0))?.end(),
        }
    }
}

impl<'de> Deserialize<'de> for Json<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

impl<'de> Deserialize<'de> for Object<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::from)
    }
}

/// Equal regardless of where values are stored; the order of keys does not matter.
impl PartialEq for Json<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Values(a), Self::Values(b)) => a == b,
            (Self::Shared(..), Self::List(list)) => self.shared() == list,
            (Self::List(list), Self::Shared(..)) => list == other.shared(),
            (Self::Shared(..), Self::Shared(..)) => self.shared() == other.shared(),
            (shared @ Self::Shared(..), Self::Values(values)) | (Self::Values(values), shared @ Self::Shared(..)) => {
                let list = shared.shared();
                list.len() == values.len() && list.iter().zip(*values).all(|(one, value)| one == value)
            }
            (Self::List(list), Self::Values(values)) | (Self::Values(values), Self::List(list)) => {
                list.len() == values.len() && list.iter().zip(*values).all(|(one, value)| one == value)
            }
            _ => false,
        }
    }
}

impl PartialEq<Value> for Json<'_> {
    fn eq(&self, other: &Value) -> bool {
        let other = Json::from(other);
        *self == other
    }
}

impl PartialEq for Object<'_> {
    fn eq(&self, other: &Self) -> bool {
        let has = |(key, value): (&str, Cow<'_, Json<'_>>)| other.get(key).is_some_and(|have| *have == *value);
        self.len() == other.len() && self.iter().all(has)
    }
}
