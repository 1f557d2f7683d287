//! The types of documents as JSON Schema (draft 2020-12), from the tables that [`check`](crate::formats::check) compares them with.
//!
//! A schema says the same as those tables: the required and optional fields of an object, and their types. An object whose
//! keys are data has no `properties`, or has `additionalProperties`. One with `properties` alone may have further fields, which its
//! readers ignore; documents written here have none. Rules about several fields are not included. A schema is laxer in two ways:
//! JSON Schema does not distinguish 12 from 12.0, and validators need not check `format`.

use serde_json::{Map, Value, json};

use super::shape::{Field, Record, Shape, Tag, Variants};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of documents of this shape.
pub(crate) fn of(title: &str, shape: Shape) -> Value {
    let mut definitions = Definitions::default();
    let root = definitions.schema(shape);
    let mut schema = object([("$schema", DRAFT.into()), ("title", title.into())]);
    if let Value::Object(root) = root {
        schema.extend(root);
    }
    let all = definitions.all.into_iter().map(|(_, name, schema)| (name, schema));
    schema.extend([("$defs".to_owned(), all.collect::<Map<_, _>>().into())]);
    schema.into()
}

/// The schemas of records, each once, with its name under `$defs`.
#[derive(Default)]
struct Definitions {
    all: Vec<(Table, String, Value)>,
}

/// The source of a definition.
#[derive(Clone, Copy)]
enum Table {
    Record(&'static Record),
    Open(&'static Record),
    Variants(&'static Variants),
}

impl Table {
    fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Record(one), Self::Record(other)) | (Self::Open(one), Self::Open(other)) => std::ptr::eq(one, other),
            (Self::Variants(one), Self::Variants(other)) => std::ptr::eq(one, other),
            _ => false,
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Record(record) | Self::Open(record) => record.what,
            Self::Variants(variants) => variants.common.what,
        }
    }
}

impl Definitions {
    fn schema(&mut self, shape: Shape) -> Value {
        match shape {
            Shape::Any => json!({}),
            Shape::Null => json!({"type": "null"}),
            Shape::Text => json!({"type": "string"}),
            Shape::Flag => json!({"type": "boolean"}),
            Shape::Number => json!({"type": "number"}),
            Shape::Int | Shape::StrictInt => json!({"type": "integer"}),
            Shape::Count => json!({"type": "integer", "minimum": 0}),
            Shape::Object => json!({"type": "object"}),
            Shape::Time => json!({"type": "string", "format": "date-time"}),
            Shape::Word([word]) => json!({"const": word}),
            Shape::Word(words) => json!({"enum": words}),
            Shape::List(items) => json!({"type": "array", "items": self.schema(*items)}),
            Shape::MapOf(values) => json!({"type": "object", "additionalProperties": self.schema(*values)}),
            Shape::Of(record) => self.reference(Table::Record(record)),
            Shape::Open(record) => self.reference(Table::Open(record)),
            Shape::OneOf(variants) => self.reference(Table::Variants(variants)),
            Shape::Maybe(shape) => any_of(vec![self.schema(*shape), json!({"type": "null"})]),
            Shape::Either(shapes) => any_of(shapes.iter().map(|shape| self.schema(*shape)).collect()),
            Shape::Deferred(_, later) => self.schema(*later),
        }
    }

    /// A reference to the definition, which is registered before it is built, because a record may contain itself.
    fn reference(&mut self, table: Table) -> Value {
        let known = self.all.iter().find(|(known, ..)| known.is(table)).map(|(_, name, _)| name.clone());
        let name = known.unwrap_or_else(|| {
            let place = self.all.len();
            let name = self.name(table.what());
            self.all.push((table, name.clone(), Value::Null));
            let schema = match table {
                Table::Record(record) => self.record(&[], record, None).into(),
                Table::Open(record) => {
                    let mut schema = self.record(&[], record, None);
                    schema.extend(object([("additionalProperties", true.into())]));
                    schema.into()
                }
                Table::Variants(variants) => self.variants(variants),
            };
            if let Some((.., made)) = self.all.get_mut(place) {
                *made = schema;
            }
            name
        });
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// `a tool call`: `tool_call`, or `tool_call_2` if another record has this name.
    fn name(&self, what: &str) -> String {
        let words = ["a ", "an ", "the "]
            .iter()
            .find_map(|article| what.strip_prefix(article))
            .unwrap_or(what);
        let name: String = words
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' })
            .collect();
        let is_free = |name: &str| self.all.iter().all(|(_, taken, _)| taken != name);
        if is_free(&name) {
            return name;
        }
        (2..)
            .map(|number| format!("{name}_{number}"))
            .find(|name| is_free(name))
            .unwrap_or(name)
    }

    /// An object with these fields and those of the record. `tag`: the field that determines its kind, and its required value.
    fn record(&mut self, common: &[Field], record: &Record, tag: Option<(&str, Option<Value>)>) -> Map<String, Value> {
        let fields = || common.iter().chain(record.fields);
        let mut properties: Map<String, Value> = fields().map(|field| (field.name.to_owned(), self.schema(field.shape))).collect();
        if let Some((name, Some(schema))) = &tag {
            properties.extend([((*name).to_owned(), schema.clone())]);
        }
        let is_needed =
            |name: &str| fields().any(|field| field.is_needed && field.name == name) || tag.as_ref().is_some_and(|(tag, _)| *tag == name);
        let needed: Vec<Value> = properties
            .keys()
            .filter(|name| is_needed(name))
            .map(|name| name.as_str().into())
            .collect();
        let mut schema = object([("type", "object".into()), ("properties", properties.into())]);
        if !needed.is_empty() {
            schema.extend(object([("required", needed.into())]));
        }
        if record.others.is_some() {
            schema.extend(object([("additionalProperties", false.into())]));
        }
        schema
    }

    /// The kinds, each excluding the tags of earlier ones.
    fn variants(&mut self, variants: &Variants) -> Value {
        let kinds = variants.of.iter().enumerate().map(|(at, (tag, record))| {
            let needed = match *tag {
                Tag::Is(field, words) => Some((field, Some(self.schema(Shape::Word(words))))),
                Tag::Has(field) => Some((field, None)),
                Tag::Other => None,
            };
            let mut schema = self.record(variants.common.fields, record, needed);
            let before = variants.of.iter().take(at).filter(|(before, _)| !before.excludes(*tag));
            let before: Vec<Value> = before.filter_map(|(before, _)| self.condition(*before)).collect();
            if !before.is_empty() {
                schema.extend(object([("not", any_of(before))]));
            }
            Value::Object(schema)
        });
        any_of(kinds.collect())
    }

    /// The schema for an object with the tag.
    fn condition(&mut self, tag: Tag) -> Option<Value> {
        match tag {
            Tag::Is(field, words) => Some(json!({"properties": {field: self.schema(Shape::Word(words))}, "required": [field]})),
            Tag::Has(field) => Some(json!({"required": [field]})),
            Tag::Other => None,
        }
    }
}

/// One of these. Plain types are joined: `{"type": ["string", "null"]}`.
fn any_of(schemas: Vec<Value>) -> Value {
    let mut flat: Vec<Value> = Vec::new();
    for schema in schemas {
        match (only(&schema, "anyOf"), only(&schema, "type")) {
            (Some(Value::Array(inner)), _) => flat.extend(inner.iter().cloned()),
            (_, Some(Value::Array(types))) => flat.extend(types.iter().map(|name| json!({ "type": name }))),
            _ => flat.push(schema),
        }
    }
    let types: Option<Vec<&Value>> = flat.iter().map(|schema| only(schema, "type")).collect();
    match (flat.as_slice(), types) {
        ([schema], _) => schema.clone(),
        (_, Some(types)) => json!({ "type": types }),
        _ => json!({ "anyOf": flat }),
    }
}

/// The value of this keyword, if a schema has no other.
fn only<'a>(schema: &'a Value, keyword: &str) -> Option<&'a Value> {
    schema.as_object().filter(|schema| schema.len() == 1)?.get(keyword)
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::shape::Shape::{Count, Either, List, MapOf, Maybe, Of, OneOf, Text, Time, Word};
    use super::super::shape::{may, need};
    use super::*;

    static NODE: Record = Record {
        what: "a node",
        fields: &[
            need("name", Text),
            may("below", Maybe(&List(&Of(&NODE)))),
            may("size", Maybe(&Count)),
        ],
        others: Some("leave it out"),
    };

    static ANIMAL: Variants = Variants {
        common: Record {
            what: "an animal",
            fields: &[need("kind", Text)],
            others: None,
        },
        of: &[
            (
                Tag::Is("kind", &["bird"]),
                &Record {
                    what: "a bird",
                    fields: &[may("hatched", Time)],
                    others: None,
                },
            ),
            (
                Tag::Has("legs"),
                &Record {
                    what: "a walker",
                    fields: &[need("legs", Count)],
                    others: None,
                },
            ),
        ],
    };

    #[test]
    fn tables_become_schemas() {
        let node = json!({
            "$schema": DRAFT, "title": "nodes", "$ref": "#/$defs/node",
            "$defs": {"node": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "below": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/node"}}, {"type": "null"}]},
                    "size": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
                },
                "required": ["name"],
                "additionalProperties": false,
            }},
        });
        assert_eq!(of("nodes", Of(&NODE)), node);
        let bird = json!({"properties": {"kind": {"const": "bird"}}, "required": ["kind"]});
        let animal = json!({"anyOf": [
            {"type": "object", "properties": {"kind": {"const": "bird"}, "hatched": {"type": "string", "format": "date-time"}}, "required": ["kind"]},
            {"type": "object", "properties": {"kind": {"type": "string"}, "legs": {"type": "integer", "minimum": 0}}, "required": ["kind", "legs"],
             "not": bird},
        ]});
        assert_eq!(of("", OneOf(&ANIMAL)).pointer("/$defs/animal"), Some(&animal));
        for (shape, schema) in [
            (
                Maybe(&Either(&[Text, Shape::Number])),
                json!({"type": ["string", "number", "null"]}),
            ),
            (
                MapOf(&Word(&["a", "b"])),
                json!({"type": "object", "additionalProperties": {"enum": ["a", "b"]}}),
            ),
            (Shape::Deferred(&Shape::Object, &Word(&["a"])), json!({"const": "a"})),
        ] {
            let found = of("", shape);
            for (key, value) in schema.as_object().into_iter().flatten() {
                assert_eq!(found.get(key), Some(value), "{found}");
            }
        }
    }

    #[test]
    fn an_object_with_keys_of_data_says_so() {
        static METADATA: Record = Record {
            what: "metadata",
            fields: &[may("server", Text)],
            others: None,
        };
        let schema = json!({"type": "object", "properties": {"server": {"type": "string"}}, "additionalProperties": true});
        assert_eq!(of("", Shape::Open(&METADATA)).pointer("/$defs/metadata"), Some(&schema));
    }
}
