//! What the structs of documents write, and what the tables behind `check` and the schemas have, are the same fields.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

use serde_json::Value;
use spanbridge::formats::{AnyFormat, FORMATS, Layout, Options, Values};

use crate::support::cases;

/// The schemas of a value, with references and alternatives opened.
fn opened<'s>(root: &'s Value, schemas: &[&'s Value]) -> Vec<&'s Value> {
    let mut waiting = schemas.to_vec();
    let mut out = Vec::new();
    while let Some(schema) = waiting.pop() {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            waiting.extend(root.pointer(name.trim_start_matches('#')));
        } else if let Some(Value::Array(any)) = schema.get("anyOf") {
            waiting.extend(any);
        } else {
            out.push(schema);
        }
    }
    out
}

/// Whether a value of this schema may be an object.
fn takes_objects(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
        None => schema.get("const").is_none() && schema.get("enum").is_none(),
    }
}

/// Notes the fields that no schema of their object has. An object whose keys are data may have any: its schema has no `properties`,
/// or `additionalProperties`.
fn unlisted(root: &Value, schemas: &[&Value], value: &Value, at: &str, out: &mut BTreeSet<String>) {
    let schemas = opened(root, schemas);
    // A list without a schema of its items may have anything.
    if schemas.is_empty() {
        return;
    }
    match value {
        Value::Array(items) => {
            let of_items: Vec<&Value> = schemas.iter().filter_map(|schema| schema.get("items")).collect();
            items.iter().for_each(|item| unlisted(root, &of_items, item, at, out));
        }
        Value::Object(members) => {
            let objects: Vec<&Value> = schemas.into_iter().filter(|schema| takes_objects(schema)).collect();
            let is_open = objects.iter().any(|schema| match schema.get("additionalProperties") {
                Some(others) => *others == Value::Bool(true),
                None => schema.get("properties").is_none(),
            });
            for (key, member) in members {
                let of_member: Vec<&Value> = objects
                    .iter()
                    .filter_map(|schema| {
                        let named = schema.get("properties").and_then(|properties| properties.get(key));
                        named.or_else(|| schema.get("additionalProperties").filter(|others| others.is_object()))
                    })
                    .collect();
                let place = format!("{at}.{key}");
                if !of_member.is_empty() {
                    unlisted(root, &of_member, member, &place, out);
                } else if !is_open {
                    out.insert(place);
                }
            }
        }
        _ => {}
    }
}

/// The case's options, and each word of each choice: other words write other fields.
fn choices(format: &AnyFormat, options: &Options) -> Vec<Options> {
    let words = format.options.iter().flat_map(|choice| match choice.values {
        Values::Words(words) => words.iter().map(|word| (choice.name.to_owned(), (*word).to_owned())).collect(),
        _ => Vec::new(),
    });
    let others = words.map(|word| options.clone().with(Options::of([word]).unwrap()));
    std::iter::once(options.clone()).chain(others).collect()
}

#[test]
fn every_field_that_is_written_is_in_its_schema() {
    let schemas: Vec<(&str, Value)> = FORMATS.iter().filter_map(|format| Some((format.id, format.schema()?))).collect();
    assert_eq!(schemas.len(), FORMATS.len());
    let (mut missing, mut read) = (BTreeSet::new(), 0);
    for case in cases(30, |name| name.starts_with("made-")) {
        for run in case.runs().iter().filter(|run| run.has_agent_work()) {
            for (format, (id, schema)) in FORMATS.iter().zip(&schemas) {
                for options in choices(format, &case.options) {
                    for assembled in format.assemble(std::slice::from_ref(run), &options, Layout::Compact) {
                        let document: Value = serde_json::from_str(&assembled.document).unwrap();
                        unlisted(schema, &[schema], &document, id, &mut missing);
                        read += 1;
                    }
                }
            }
        }
    }
    assert!(read > 1_000, "{read} documents");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_field_that_no_schema_has_is_found() {
    let root = serde_json::json!({"type": "object",
        "properties": {"a": {"$ref": "#/$defs/b"}, "open": {"type": ["object", "null"]},
            "half": {"type": "object", "properties": {"f": {}}, "additionalProperties": true}},
        "$defs": {"b": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "object", "properties": {"c": {}}}}]}}});
    let mut missing = BTreeSet::new();
    let document = serde_json::json!({"a": [{"c": {"any": 1}, "d": 1}], "open": {"any": 1}, "half": {"any": 1}, "e": 1});
    unlisted(&root, &[&root], &document, "x", &mut missing);
    assert_eq!(missing.into_iter().collect::<Vec<_>>(), ["x.a.d", "x.e"]);
}

/// The mapping on a format's page follows from its tables.
#[test]
fn pages_have_the_mapping_of_the_tables() {
    for format in FORMATS {
        let path = format!("{}/src/formats/{}/mapping.md", env!("CARGO_MANIFEST_DIR"), format.id);
        let mapping = format.mapping();
        if std::env::var_os("UPDATE").is_some_and(|value| value == "1") && !mapping.is_empty() {
            std::fs::write(&path, &mapping).unwrap();
        }
        let page = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(page, mapping, "{path}: run `UPDATE=1 cargo test --test documents schemas::`");
    }
}
