//! The page's rules for a list of blocks. They are the same that a block has to keep that is written over HTTP.

use serde_json::Value;

use crate::blocks::limits::Limits;
use crate::blocks::rules::{self, Code};
use crate::document::choice::Options;
use crate::document::shape::Shape::{Maybe, Text};
use crate::document::shape::shown;
use crate::document::violations::{JsonPath, Violations};

/// The table's columns.
const COLUMNS: [&str; 11] = [
    "id",
    "trace_id",
    "block_type",
    "sub_type",
    "payload",
    "parent_block_id",
    "metadata",
    "raw",
    "extra",
    "created_at",
    "updated_at",
];

pub(super) fn check(place: JsonPath<'_>, document: &Value, options: &Options, found: &mut Violations) {
    let wrapped = place.key("blocks");
    let (place, list) = match document {
        Value::Object(map) => (wrapped, map.get("blocks").and_then(Value::as_array)),
        other => (place, other.as_array()),
    };
    let Some(blocks) = list.filter(|list| !list.is_empty()) else {
        let message = format!(
            "expected a list of at least one block, or {{\"blocks\": [...]}}, found {}",
            shown(document)
        );
        found.add(place, message);
        return;
    };
    for (index, block) in blocks.iter().enumerate() {
        let others = block.as_object().into_iter().flat_map(|block| block.keys());
        for key in others.filter(|key| !COLUMNS.contains(&key.as_str())) {
            found.add(
                place.item(index).key(key),
                "the table has no column of this name: put it into `extra`",
            );
        }
        for name in ["created_at", "updated_at"] {
            if let Some(value) = block.get(name) {
                Maybe(&Text).check(value, place.item(index).key(name), found);
            }
        }
    }
    for (index, refusal) in rules::check_all(blocks, &Limits::from_options(options)) {
        let block = place.item(index);
        let detail = |name: &str| refusal.details.get(name).unwrap_or(&Value::Null);
        let (field, mend) = match refusal.code {
            Code::DuplicateCallId => ("payload.call_id", "; every call of a trace needs an id of its own".to_owned()),
            Code::DuplicateResultSeq => (
                "payload.seq",
                "; number the results of a call 0, 1, 2, or leave `seq` out".to_owned(),
            ),
            Code::PayloadTooLarge => {
                let (limit, actual) = (detail("limit_bytes"), detail("actual_bytes"));
                let field = detail("field").as_str().unwrap_or_default();
                (
                    field,
                    format!(": {actual} bytes stand there, {limit} are allowed; split it, or raise the limit"),
                )
            }
            Code::Validation | Code::ParentSubtypeMismatch => (detail("field").as_str().unwrap_or_default(), String::new()),
        };
        let message = format!("{}{mend}", refusal.message);
        let payload = block.key("payload");
        match field.strip_prefix("payload.") {
            Some(inner) => found.add(payload.key(inner), message),
            None if refusal.code == Code::PayloadTooLarge => found.add(payload.key(field), message),
            None if matches!(field, "" | "block") => found.add(block, message),
            None => found.add(block.key(field), message),
        }
    }
}
