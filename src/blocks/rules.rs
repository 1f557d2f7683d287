//! The page's block rules, as pure checks of a new block, given the existing blocks.
//!
//! Rule numbers are those of the page's list. R5 (blocks never change) and R25 (no truncation) need no check, because blocks
//! cannot be changed or cut. R28 to R30 are implemented by [`stitch`](super::stitch).

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::document::SubType;
use super::limits::{Limits, size};
use crate::hash::{HashMap, HashSet};

/// The existing blocks.
pub trait Known {
    /// The block with this id, in any trace.
    fn block(&self, id: &str) -> Option<KnownBlock>;
    /// Whether the trace has a TOOL_CALL with this call id.
    fn has_call(&self, trace: &str, call_id: &str) -> bool;
    /// Whether the trace has a TOOL_RESULT with this call id and sequence number.
    fn has_result(&self, trace: &str, call_id: &str, seq: u64) -> bool;
}

/// The facts about a block that the rules need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownBlock {
    /// Its sub type.
    pub sub_type: SubType,
    /// Its trace.
    pub trace_id: String,
    /// The call that it makes or answers.
    pub call_id: Option<String>,
}

/// A block that satisfies the rules, as far as later checks need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Its id, if the client sends one.
    pub id: Option<String>,
    /// The facts that later checks need.
    pub known: KnownBlock,
    /// A result's sequence number.
    pub seq: Option<u64>,
}

/// A refusal's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Code {
    /// Missing fields, wrong parent, invalid role.
    Validation,
    /// A limit is exceeded.
    PayloadTooLarge,
    /// The parent's sub type is not allowed.
    ParentSubtypeMismatch,
    /// The trace has this call already.
    DuplicateCallId,
    /// The trace has this result already.
    DuplicateResultSeq,
}

impl Code {
    /// The code in a response.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Validation => "VALIDATION",
            Self::PayloadTooLarge => "PAYLOAD_TOO_LARGE",
            Self::ParentSubtypeMismatch => "PARENT_SUBTYPE_MISMATCH",
            Self::DuplicateCallId => "DUPLICATE_CALL_ID",
            Self::DuplicateResultSeq => "DUPLICATE_RESULT_SEQ",
        }
    }

    /// The HTTP status for it.
    #[must_use]
    pub fn http_status(self) -> u16 {
        match self {
            Self::Validation => 422,
            Self::PayloadTooLarge => 413,
            Self::ParentSubtypeMismatch | Self::DuplicateCallId | Self::DuplicateResultSeq => 409,
        }
    }
}

/// Why a block is refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The code.
    pub code: Code,
    /// The message.
    pub message: String,
    /// The field and the values involved.
    pub details: Map<String, Value>,
}

impl Refusal {
    fn new(code: Code, message: impl Into<String>, details: Value) -> Self {
        Self {
            code,
            message: message.into(),
            details: match details {
                Value::Object(map) => map,
                _ => Map::new(),
            },
        }
    }

    fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self::new(Code::Validation, message, json!({ "field": field }))
    }

    /// The body of the response.
    #[must_use]
    pub fn body(&self) -> Value {
        json!({"error": {
            "code": self.code,
            "http_status": self.code.http_status(),
            "message": self.message,
            "details": self.details,
        }})
    }
}

/// Checks one new block of the trace.
///
/// # Errors
///
/// The first rule that the block breaks.
pub fn check(block: &Value, trace_id: &str, known: &dyn Known, limits: &Limits) -> Result<Accepted, Refusal> {
    let Some(fields) = block.as_object() else {
        return Err(Refusal::invalid("block", "a block is an object"));
    };
    let word = |name: &str| fields.get(name).and_then(Value::as_str);
    let Some(sub_type) = word("sub_type").and_then(SubType::from_name) else {
        return Err(Refusal::invalid(
            "sub_type",
            "sub_type must be MESSAGE, TOOL_CALL, TOOL_RESULT or THINK",
        )); // R2
    };
    if word("block_type") != Some(sub_type.block_type()) {
        let message = format!("block_type of {} must be {}", sub_type.name(), sub_type.block_type());
        return Err(Refusal::invalid("block_type", message)); // R1, R3
    }
    let trace = match fields.get("trace_id") {
        None | Some(Value::Null) => trace_id,
        Some(Value::String(id)) if id.starts_with("tr_") => id,
        Some(_) => return Err(Refusal::invalid("trace_id", "trace_id must begin with tr_")), // R4
    };
    if trace != trace_id {
        return Err(Refusal::invalid("trace_id", "the block belongs to another trace"));
    }
    let id = match fields.get("id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) if id.starts_with("tb_") && id.len() > 3 => Some(id.clone()),
        Some(_) => return Err(Refusal::invalid("id", "id must begin with tb_")), // R4
    };
    if id.as_deref().is_some_and(|id| known.block(id).is_some()) {
        return Err(Refusal::invalid(
            "id",
            "a block with this id exists, and blocks never change: give every block an id of its own",
        )); // R5
    }
    for name in ["metadata", "extra"] {
        if fields.get(name).is_some_and(|value| !value.is_null() && !value.is_object()) {
            return Err(Refusal::invalid(name, format!("{name} must be an object")));
        }
    }
    let Some(payload) = fields.get("payload").and_then(Value::as_object) else {
        return Err(Refusal::invalid("payload", "payload must be an object")); // R26
    };
    let parent = parent(fields, sub_type, trace_id, known)?;
    let limit = |field: &str, label: &str, most: usize| -> Result<(), Refusal> {
        let actual = payload.get(field).map_or(0, |value| size(&value.into()));
        if actual <= most {
            return Ok(());
        }
        let details = json!({
            "sub_type": sub_type.name(), "field": field, "limit_bytes": most, "actual_bytes": actual,
            "trace_id": trace_id, "parent_block_id": fields.get("parent_block_id").unwrap_or(&Value::Null),
        });
        let message = format!("{label} exceeds {} limit", human(most));
        Err(Refusal::new(Code::PayloadTooLarge, message, details)) // R24
    };
    let mut call_id = None;
    let mut seq = None;
    match sub_type {
        SubType::Message => {
            message(payload)?;
            limit("content", "message content", limits.message)?; // R14
        }
        SubType::Think => {
            if payload
                .get("text")
                .and_then(Value::as_str)
                .is_none_or(|text| text.trim().is_empty())
            {
                return Err(Refusal::invalid("payload.text", "text must not be empty"));
            }
            limit("text", "think text", limits.think)?; // R18
        }
        SubType::ToolCall => {
            limit("arguments", "tool_call arguments", limits.arguments)?; // R17
            let id = call(payload)?;
            if known.has_call(trace_id, &id) {
                let details = json!({"trace_id": trace_id, "call_id": id});
                return Err(Refusal::new(
                    Code::DuplicateCallId,
                    "the trace has a tool_call with this call_id",
                    details,
                )); // R22
            }
            call_id = Some(id);
        }
        SubType::ToolResult => {
            let field = match (payload.contains_key("output"), payload.contains_key("delta")) {
                (true, false) => "output",
                (false, true) => "delta",
                _ => return Err(Refusal::invalid("payload", "write exactly one of output and delta")), // R19
            };
            limit(field, &format!("tool_result {field}"), limits.result)?; // R21
            seq = sequence(payload)?;
            let of_parent = parent.and_then(|parent| parent.call_id).unwrap_or_default();
            if payload.get("call_id").and_then(Value::as_str) != Some(of_parent.as_str()) {
                return Err(Refusal::invalid("payload.call_id", "call_id must be the parent's"));
            }
            if seq.is_some_and(|seq| known.has_result(trace_id, &of_parent, seq)) {
                let details = json!({"trace_id": trace_id, "call_id": of_parent, "seq": seq});
                let message = "the trace has a tool_result with this call_id and seq";
                return Err(Refusal::new(Code::DuplicateResultSeq, message, details)); // R23
            }
            call_id = Some(of_parent);
        }
    }
    Ok(Accepted {
        id,
        known: KnownBlock {
            sub_type,
            trace_id: trace_id.to_owned(),
            call_id,
        },
        seq,
    })
}

/// R6 to R11 and R27: an absent, forbidden, unknown or foreign parent is invalid; one of the wrong sub type is a conflict.
fn parent(fields: &Map<String, Value>, sub_type: SubType, trace_id: &str, known: &dyn Known) -> Result<Option<KnownBlock>, Refusal> {
    let given = match fields.get("parent_block_id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id.as_str()),
        Some(_) => return Err(Refusal::invalid("parent_block_id", "parent_block_id must be text")),
    };
    let details = json!({"field": "parent_block_id", "sub_type": sub_type.name(), "parent_block_id": given});
    let invalid = |message: String| Err(Refusal::new(Code::Validation, message, details.clone()));
    let (want, id) = match (sub_type.parent(), given) {
        (None, None) => return Ok(None),
        (None, Some(_)) => return invalid("a MESSAGE has no parent: leave parent_block_id out".to_owned()), // R6
        (Some(want), None) => return invalid(format!("a {} needs a {} as parent", sub_type.name(), want.name())), // R10
        (Some(want), Some(id)) => (want, id),
    };
    let Some(parent) = known.block(id) else {
        return invalid("the parent does not exist: write it first, or correct the id".to_owned()); // R10
    };
    if parent.trace_id != trace_id {
        return invalid("the parent belongs to another trace: name a block of this trace".to_owned()); // R11
    }
    if parent.sub_type != want {
        let message = format!("the parent of a {} must be a {}: name the id of one", sub_type.name(), want.name());
        return Err(Refusal::new(Code::ParentSubtypeMismatch, message, details)); // R7, R8, R9, R27
    }
    Ok(Some(parent))
}

fn message(payload: &Map<String, Value>) -> Result<(), Refusal> {
    if !matches!(payload.get("role").and_then(Value::as_str), Some("system" | "user" | "assistant")) {
        return Err(Refusal::invalid("payload.role", "role must be system, user or assistant")); // R12
    }
    let empty = match payload.get("content") {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        Some(Value::Object(map)) => map.is_empty(),
        Some(_) => false,
    };
    if empty {
        return Err(Refusal::invalid("payload.content", "content must not be empty")); // R13
    }
    Ok(())
}

fn call(payload: &Map<String, Value>) -> Result<String, Refusal> {
    if payload
        .get("name")
        .and_then(Value::as_str)
        .is_none_or(|name| name.trim().is_empty())
    {
        return Err(Refusal::invalid("payload.name", "name must be text that is not blank")); // R15
    }
    let arguments = match payload.get("arguments") {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or(Value::Null),
        Some(value) => value.clone(),
        None => Value::Null,
    };
    if !arguments.is_object() {
        return Err(Refusal::invalid("payload.arguments", "arguments must be a JSON object")); // R16
    }
    match payload.get("call_id").and_then(Value::as_str) {
        Some(id) if !id.is_empty() => Ok(id.to_owned()),
        _ => Err(Refusal::invalid("payload.call_id", "call_id must be text")),
    }
}

fn sequence(payload: &Map<String, Value>) -> Result<Option<u64>, Refusal> {
    match payload.get("seq") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_u64()
            .map(Some)
            .ok_or_else(|| Refusal::invalid("payload.seq", "seq must be an integer of at least 0")), // R20
    }
}

/// `2MB`, `64KB`, or the number of bytes.
fn human(bytes: usize) -> String {
    const KIB: usize = 1024;
    if bytes >= KIB * KIB && bytes.is_multiple_of(KIB * KIB) {
        format!("{}MB", bytes / (KIB * KIB))
    } else if bytes >= KIB && bytes.is_multiple_of(KIB) {
        format!("{}KB", bytes / KIB)
    } else {
        format!("{bytes} bytes")
    }
}

/// Accepted blocks in memory.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    blocks: HashMap<String, KnownBlock>,
    calls: HashSet<(String, String)>,
    results: HashSet<(String, String, u64)>,
}

impl Seen {
    /// Adds an accepted block.
    pub fn insert(&mut self, accepted: Accepted) {
        let Accepted { id, known, seq } = accepted;
        if let Some(call_id) = &known.call_id {
            let trace = known.trace_id.clone();
            match (known.sub_type, seq) {
                (SubType::ToolCall, _) => {
                    let _ = self.calls.insert((trace, call_id.clone()));
                }
                (SubType::ToolResult, Some(seq)) => {
                    let _ = self.results.insert((trace, call_id.clone(), seq));
                }
                _ => {}
            }
        }
        if let Some(id) = id {
            let _ = self.blocks.insert(id, known);
        }
    }
}

impl Known for Seen {
    fn block(&self, id: &str) -> Option<KnownBlock> {
        self.blocks.get(id).cloned()
    }

    fn has_call(&self, trace: &str, call_id: &str) -> bool {
        self.calls.contains(&(trace.to_owned(), call_id.to_owned()))
    }

    fn has_result(&self, trace: &str, call_id: &str, seq: u64) -> bool {
        self.results.contains(&(trace.to_owned(), call_id.to_owned(), seq))
    }
}

/// Every block that breaks a rule, with its index. Each block may name its own trace.
#[must_use]
pub fn check_all(blocks: &[Value], limits: &Limits) -> Vec<(usize, Refusal)> {
    let mut seen = Seen::default();
    let mut refused = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let trace = block.get("trace_id").and_then(Value::as_str).unwrap_or_default();
        match check(block, trace, &seen, limits) {
            Ok(accepted) => seen.insert(accepted),
            Err(refusal) => refused.push((index, refusal)),
        }
    }
    refused
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
