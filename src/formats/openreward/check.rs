//! The spec's rules for a list of blocks. Blocks written over HTTP follow the same rules.

use serde_json::Value;

use crate::blocks::limits::Limits;
use crate::blocks::rules::{self, Code};
use crate::document::choice::Options;
use crate::document::records::{records, variants};
use crate::document::shape::Shape::{self, Any, Count, Either, List, Maybe, Object, Of, OneOf, Text, Word};
use crate::document::shape::shown;
use crate::document::violations::{JsonPath, Violations};

/// A list of blocks in order, bare or in an object.
pub(super) const DOCUMENT: Shape = Either(&[List(&BLOCK), Of(&LIST)]);

const BLOCK: Shape = OneOf(&BLOCKS);

records! {
    LIST "a list of blocks" {
        need blocks: List(&BLOCK);
    }
}

variants! {
    /// The table's columns, and the payload of each sub type. [`rules`] requires the same fields, with the server's error texts.
    BLOCKS "a block", only NO_COLUMN {
        may id: Maybe(&Text);
        may trace_id: Maybe(&Text);
        need block_type: Text;
        need sub_type: Text;
        need payload: Object;
        may parent_block_id: Maybe(&Text);
        may metadata: Maybe(&Object);
        may raw: Any;
        may extra: Maybe(&Object);
        may created_at: Maybe(&Text);
        may updated_at: Maybe(&Text);
    } of {
        (sub_type = "MESSAGE") "a block", only NO_COLUMN { need payload: Of(&MESSAGE); }
        (sub_type = "THINK") "a block", only NO_COLUMN { need payload: Of(&THINK); need parent_block_id: Text; }
        (sub_type = "TOOL_CALL") "a block", only NO_COLUMN { need payload: Of(&CALL); need parent_block_id: Text; }
        (sub_type = "TOOL_RESULT") "a block", only NO_COLUMN { need payload: OneOf(&RESULT); need parent_block_id: Text; }
    }
    RESULT "the payload of a tool result" {
        need call_id: Text;
        may seq: Maybe(&Count);
    } of {
        (has output) "the payload of a tool result" { may output: Any; }
        (has delta) "the payload of a tool result" { may delta: Any; }
    }
}

const NO_COLUMN: &str = "put it into `extra`";

records! {
    MESSAGE "the payload of a message" {
        need role: Word(&["system", "user", "assistant"]);
        need content: Any;
    }
    THINK "the payload of a thought" {
        need text: Text;
    }
    CALL "the payload of a tool call" {
        need call_id: Text;
        need name: Text;
        need arguments: Either(&[Text, Object]);
    }
}

pub(super) fn check(place: JsonPath<'_>, document: &Value, options: &Options, found: &mut Violations) {
    let wrapped = place.key("blocks");
    let (place, list) = match document {
        Value::Object(map) => (wrapped, map.get("blocks").and_then(Value::as_array)),
        other => (place, other.as_array()),
    };
    let Some(blocks) = list.filter(|list| !list.is_empty()) else {
        let message = match list {
            Some(_) => "a document has at least one block, this list has none".to_owned(),
            None => format!("expected a list of blocks, or {{\"blocks\": [...]}}, found {}", shown(document)),
        };
        found.add(place, message);
        return;
    };
    for (index, block) in blocks.iter().enumerate() {
        let others = block.as_object().into_iter().flat_map(|block| block.keys());
        for key in others.filter(|key| !BLOCKS.common.has(key)) {
            let message = format!("the table has no column of this name: {NO_COLUMN}");
            found.add(place.item(index).key(key), message);
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
                    format!(": {actual} bytes are there, {limit} are allowed; split it, or raise the limit"),
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
