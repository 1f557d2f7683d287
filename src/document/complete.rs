//! Completes records by their tables: with every field, or with required fields and those that have a value.

use serde_json::{Map, Value};

use crate::document::json::{Json, Object};
use crate::document::shape::{Field, Record, Shape};
use crate::document::source::Otherwise;

impl Record {
    /// These fields, in this order; optional ones only with a value.
    pub(crate) fn given<'a, const N: usize>(&self, own: [(&'static str, Json<'a>); N]) -> Object<'a> {
        let mut out = Object::with_capacity(N);
        for (name, value) in own {
            let field = self.fields.iter().find(|field| field.name == name);
            debug_assert!(field.is_some(), "{name} is a field of {}", self.what);
            if !value.is_empty() || field.is_none_or(Field::is_always_written) {
                out.add(name, value);
            }
        }
        out
    }

    /// The fields of an object in the order of the table.
    pub(crate) fn in_order<'a>(&self, mut object: Object<'a>) -> Object<'a> {
        let mut out = Object::with_capacity(object.len());
        for field in self.fields {
            if let Some(value) = object.remove(field.name) {
                out.add(field.name, value);
            }
        }
        debug_assert!(object.is_empty(), "all are fields of {}", self.what);
        out
    }

    /// All fields in order: `own` ones, which must be in this order, and a placeholder for each other one.
    pub(crate) fn complete<'a, const N: usize>(&self, own: [(&str, Json<'a>); N]) -> Object<'a> {
        let mut own = own.into_iter().peekable();
        let mut out = Object::with_capacity(self.fields.len());
        for field in self.fields {
            let value = own.next_if(|(name, _)| *name == field.name).map(|(_, value)| value);
            out.add(field.name, value.unwrap_or_else(|| field.absent()));
        }
        debug_assert!(own.next().is_none(), "each is a field, in the order of the table");
        out
    }
}

impl Field {
    fn is_always_written(&self) -> bool {
        self.is_needed || self.otherwise != Otherwise::Nothing
    }

    /// The placeholder for a missing value.
    fn absent<'a>(&self) -> Json<'a> {
        match self.otherwise {
            Otherwise::Text(text) => text.into(),
            _ => self.shape.absent(),
        }
    }
}

impl Shape {
    fn absent<'a>(self) -> Json<'a> {
        match self {
            Self::Any | Self::Null | Self::Maybe(_) => Json::Null,
            Self::Text | Self::Time | Self::Word(_) => "".into(),
            Self::Flag => false.into(),
            Self::Number => 0.0.into(),
            Self::Int | Self::StrictInt | Self::Count => 0_u64.into(),
            Self::Object | Self::MapOf(_) | Self::Open(_) | Self::OneOf(_) => Object::new().into(),
            Self::List(_) => Json::List(Vec::new()),
            Self::Of(record) => record.complete([]).into(),
            Self::Either(shapes) => shapes.first().map_or(Json::Null, |shape| shape.absent()),
            Self::Deferred(_, later) => later.absent(),
        }
    }

    /// A value with exactly the fields of its records, in order.
    pub(crate) fn completed(self, value: &Value) -> Value {
        match (self, value) {
            (Self::Maybe(shape) | Self::Deferred(_, shape), _) if !value.is_null() => shape.completed(value),
            (Self::List(shape), Value::Array(items)) => items.iter().map(|item| shape.completed(item)).collect(),
            (Self::Of(record), Value::Object(object)) => completed(record, object),
            (Self::OneOf(variants), Value::Object(object)) => match variants.kind(object) {
                Some(record) => completed(record, object),
                None => value.clone(),
            },
            // As a float, like the packages write it.
            (Self::Number, Value::Number(number)) => number.as_f64().into(),
            _ => value.clone(),
        }
    }
}

fn completed(record: &Record, object: &Map<String, Value>) -> Value {
    let value = |field: &Field| match object.get(field.name) {
        Some(value) if field.shape.fits(value) => field.shape.completed(value),
        _ => field.absent().into(),
    };
    let members = record.fields.iter().map(|field| (field.name.to_owned(), value(field)));
    Value::Object(members.collect())
}
