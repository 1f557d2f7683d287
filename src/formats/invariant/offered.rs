//! `tools` events: the analyzer's form of the offered tools.

use serde_json::{Map, Value};

use crate::document::records::{records, variants};
use crate::document::shape::Shape::{Any, Deferred, Either, List, MapOf, Maybe, Object, Of, OneOf, Open, Text};
use crate::document::shape::shown;
use crate::document::violations::{JsonPath, Violations};

records! {
    TOOLS "a list of offered tools" {
        need tools: List(&Of(&TOOL));
    }
    TOOL "an offered tool" {
        need name: Text;
        may description: Any;
        need inputSchema: Open(&INPUT);
        may metadata: Open(&METADATA);
    }
    METADATA "metadata" {
        may server: Maybe(&Text);
    }
    INPUT "an input schema" {
        may properties: Deferred(&Object, &MapOf(&OneOf(&SCHEMA)));
        may required: List(&Any);
    }
}

variants! {
    /// The schema of a parameter; without a type it is text.
    SCHEMA "a schema" {
        may type: Either(&[Text, List(&Text)]);
        may description: Maybe(&Text);
    } of {
        (type = "object" | "dict") => INPUT;
        (type = "array" | "list") "a schema" { may items: OneOf(&SCHEMA); }
        (type in SCALARS) "a schema" { may enum: Maybe(&List(&Text)); }
        (has type) "a schema" { need type: List(&Text); }
        (other) "a schema" {}
    }
}

const SCALARS: &[&str] = &["string", "number", "integer", "boolean", "int", "long", "float", "bool", "str"];
const TYPES: [&str; 6] = ["object", "array", "string", "number", "integer", "boolean"];

/// Maximum depth to which a schema is read.
const MAX_DEPTH: usize = 100;

pub(super) fn check(place: JsonPath<'_>, event: &Map<String, Value>, found: &mut Violations) {
    let all = place.key("tools");
    let Some(tools) = event.get("tools").and_then(Value::as_array) else {
        let message = "expected the list of offered tools: [{\"name\", \"description\", \"inputSchema\"}]";
        found.add(all, message);
        return;
    };
    for (index, tool) in tools.iter().enumerate() {
        let place = all.item(index);
        if !Of(&TOOL).check(tool, place, found) {
            continue;
        }
        if let Some(input) = tool.get("inputSchema").and_then(Value::as_object) {
            properties(place.key("inputSchema"), input, 0, found);
        }
    }
}

fn properties(place: JsonPath<'_>, schema: &Map<String, Value>, depth: usize, found: &mut Violations) {
    let all = place.key("properties");
    for (name, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        one(all.key(name), inner, depth, found);
    }
}

fn one(place: JsonPath<'_>, schema: &Value, depth: usize, found: &mut Violations) {
    if depth > MAX_DEPTH || !Of(&SCHEMA.common).check(schema, place, found) {
        return;
    }
    let Some(schema) = schema.as_object() else { return };
    let kind = schema.get("type").map_or(Some("string"), Value::as_str);
    match kind {
        Some("object" | "dict") => {
            INPUT.check(schema, place, found);
            properties(place, schema, depth + 1, found);
        }
        Some("array" | "list") => {
            if let Some(items) = schema.get("items") {
                one(place.key("items"), items, depth + 1, found);
            }
        }
        Some(kind) if SCALARS.contains(&kind) => {
            if let Some(words) = schema.get("enum") {
                Maybe(&List(&Text)).check(words, place.key("enum"), found);
            }
        }
        Some(kind) => found.add(
            place.key("type"),
            format!(
                "expected one of {}, found {kind:?}: the analyzer reads no other types",
                TYPES.join(", ")
            ),
        ),
        None => several(place.key("type"), schema, found),
    }
}

/// Checks a list of types; null among them makes the parameter optional.
fn several(place: JsonPath<'_>, schema: &Map<String, Value>, found: &mut Violations) {
    let kinds = schema.get("type").and_then(Value::as_array).into_iter().flatten();
    for (index, kind) in kinds.enumerate() {
        let is_known = kind.as_str().is_some_and(|kind| kind.contains("null") || TYPES.contains(&kind));
        if !is_known {
            let message = format!("expected one of {} or null, found {}", TYPES.join(", "), shown(kind));
            found.add(place.item(index), message);
        }
    }
}
