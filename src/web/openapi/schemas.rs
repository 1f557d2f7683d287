//! JSON Schemas of the API's requests and answers.

use serde_json::{Map, Value, json};

pub(super) fn any() -> Value {
    true.into()
}

pub(super) fn object() -> Value {
    json!({"type": "object"})
}

/// Submitted documents.
pub(super) fn documents() -> Value {
    json!({"type": ["object", "array"]})
}

pub(super) fn text() -> Value {
    json!({"type": "string"})
}

fn count() -> Value {
    json!({"type": "integer"})
}

fn or_null(kind: &str) -> Value {
    json!({"type": [kind, "null"]})
}

fn list_of(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

/// An object whose properties in `required` are required.
fn record(required: Value, optional: Value) -> Value {
    let (Value::Object(mut properties), Value::Object(optional)) = (required, optional) else {
        return object();
    };
    let names: Vec<String> = properties.keys().cloned().collect();
    properties.extend(optional);
    json!({"type": "object", "required": names, "properties": properties})
}

/// A reference to one of [`all`].
pub(super) fn named(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

pub(super) fn blocks() -> Value {
    list_of(&named("Block"))
}

pub(super) fn written_blocks() -> Value {
    json!({"oneOf": [named("Block"), blocks()]})
}

pub(super) fn new_blocks() -> Value {
    json!({"oneOf": [named("NewBlock"), {"type": "array", "minItems": 1, "items": named("NewBlock")}]})
}

pub(super) fn all() -> Map<String, Value> {
    let of = [
        ("Error", error()),
        ("TracePage", trace_page()),
        (
            "SessionPage",
            record(json!({"sessions": list_of(&object())}), json!({"next": or_null("string")})),
        ),
        ("Imported", imported()),
        ("NewBlock", new_block()),
        ("Block", block()),
        ("Stitched", stitched()),
        ("NewEvaluation", new_evaluation()),
        ("Evaluation", evaluation()),
        ("Deleted", deleted()),
    ];
    of.map(|(name, schema)| (name.to_owned(), schema)).into_iter().collect()
}

fn error() -> Value {
    let of = json!({"code": text(), "http_status": count(), "message": text(), "details": object()});
    record(json!({"error": record(of, json!({}))}), json!({}))
}

fn trace_page() -> Value {
    let trace = record(json!({"trace_id": text()}), json!({}));
    record(
        json!({"traces": list_of(&trace)}),
        json!({
            "next": or_null("string"),
            "lost_records": {
                "type": "integer",
                "description": "Acknowledged records of the store that are lost, until an operator acknowledges the loss; absent if there are none.",
            },
            "deleted_traces": {
                "type": "integer",
                "description": "Traces of the session that is asked for that were deleted on request; absent if there are none.",
            },
        }),
    )
}

fn imported() -> Value {
    let spans = record(json!({"stored": count(), "duplicates": count()}), json!({}));
    record(
        json!({"documents": count(), "traces": list_of(&text()), "spans": spans, "notes": list_of(&object())}),
        json!({}),
    )
}

fn deleted() -> Value {
    record(
        json!({
            "traces": count(),
            "spans": count(),
            "log_records": count(),
            "bytes": {"type": "integer", "description": "Of messages, before compression."},
            "dry_run": {"type": "boolean", "description": "Nothing was deleted."},
        }),
        json!({}),
    )
}

fn of_blocks() -> Value {
    json!({
        "block_type": {"enum": ["MESSAGE", "ACT", "OBSERVE"]},
        "sub_type": {"enum": ["MESSAGE", "TOOL_CALL", "TOOL_RESULT", "THINK"]},
        "payload": object(),
    })
}

fn of_some_blocks() -> Value {
    json!({"parent_block_id": or_null("string"), "metadata": or_null("object"), "raw": true, "extra": or_null("object")})
}

/// The properties of both objects.
fn both(mut first: Value, second: Value) -> Value {
    if let (Value::Object(first), Value::Object(second)) = (&mut first, second) {
        first.extend(second);
    }
    first
}

fn new_block() -> Value {
    let ids = json!({
        "id": {"type": ["string", "null"], "pattern": "^tb_.+"},
        "trace_id": {"type": ["string", "null"], "pattern": "^tr_"},
    });
    record(of_blocks(), both(ids, of_some_blocks()))
}

fn block() -> Value {
    let ids = json!({"id": text(), "trace_id": text(), "created_at": text(), "updated_at": text()});
    record(both(ids, of_blocks()), of_some_blocks())
}

fn stitched() -> Value {
    let with = |properties: Value| json!({"allOf": [named("Block"), record(properties, json!({}))]});
    let call = with(json!({"tool_results": blocks()}));
    let message = with(json!({"thinks": blocks(), "tool_calls": list_of(&call)}));
    let orphans = record(json!({"tool_calls": blocks(), "tool_results": blocks()}), json!({}));
    record(json!({"messages": list_of(&message), "orphans": orphans}), json!({}))
}

fn new_evaluation() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "description": "At least one of score, label and explanation is there, unless it withdraws. Of one name, span and person the last one counts.",
        "properties": {
            "span_id": {
                "type": "string",
                "pattern": "^[0-9a-fA-F]{16}$",
                "description": "The span that is judged; without it the run.",
            },
            "name": {
                "type": "string",
                "maxLength": 200,
                "description": "What is judged, for example `helpfulness`; without it `feedback`.",
            },
            "score": {"type": "number", "description": "How good."},
            "label": {"type": "string", "maxLength": 200, "description": "For example `good`."},
            "explanation": {"type": "string", "description": "Why, or any note; 64 KiB at most."},
            "annotator": {
                "type": "string",
                "maxLength": 200,
                "description": "Who judges. Where tokens are required, the token's name replaces it.",
            },
            "withdraw": {"type": "boolean", "description": "Takes back what the same person judged before by this name."},
        },
    })
}

fn evaluation() -> Value {
    record(
        json!({
            "trace_id": text(),
            "span_id": {"type": "string", "description": "The new span."},
            "evaluates": {"type": "string", "description": "The span that is judged."},
            "annotator": or_null("string"),
            "annotated_at": {"type": "string", "format": "date-time"},
        }),
        json!({}),
    )
}
