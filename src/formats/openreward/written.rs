//! Blocks that clients write one by one, stored as spans.
//!
//! Each block is a span of its trace: it has the block's JSON text in one attribute, starts and ends at the block's
//! `created_at`, and its parent is the parent block's span. A list of such spans is converted to the spans of the whole
//! conversation before a run is built from it (`as_conversations`), so a written trace looks in every format like an imported
//! document with the same blocks.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::OpenReward;
use crate::blocks::document::{Block, SubType};
use crate::blocks::limits::Limits;
use crate::blocks::rules::{self, Accepted, KnownBlock, Seen};
use crate::blocks::stitch::{Stitched, stitch};
use crate::document::json::Object;
use crate::formats::back::trace_id;
use crate::formats::disassemble::disassemble_by;
use crate::formats::format::Format as _;
use crate::formats::registry::by_id;
use crate::hash::{HashMap, HashSet};
use crate::span::{Scope, Span, SpanId, TraceId, UnixNanos};

/// The instrumentation scope of spans that are blocks.
pub(crate) const SCOPE: &str = "spanbridge.openreward";

/// The attribute with a block's JSON text.
pub(crate) const BLOCK: &str = "spanbridge.openreward.block";

/// The OTLP trace id for a trace name: the 32 hexadecimal digits after `tr_`, else a hash.
#[must_use]
pub fn trace_id_of(trace: &str) -> TraceId {
    let recorded = trace.strip_prefix("tr_").and_then(TraceId::from_hex);
    recorded.unwrap_or_else(|| trace_id(OpenReward::ID, trace))
}

/// The block's JSON text, if the span is one.
#[must_use]
pub fn text_of(span: &Span) -> Option<&str> {
    // Check the name of the scope first: it is a single comparison for all other spans.
    (span.scope.name == SCOPE).then(|| span.attributes.text(BLOCK)).flatten()
}

/// The scope that spans of blocks share.
#[must_use]
pub fn scope() -> Arc<Scope> {
    Arc::new(Scope {
        name: SCOPE.to_owned(),
        ..Scope::default()
    })
}

/// The span for a block with this JSON text, inserted at this time.
#[must_use]
pub fn span_of(trace_id: TraceId, block: &Facts<'_>, created: UnixNanos, text: String, scope: &Arc<Scope>) -> Span {
    let role = block.role().filter(|role| matches!(role.as_str(), "system" | "user" | "assistant"));
    let name = match (block.sub_type.as_ref(), role) {
        ("MESSAGE", Some(role)) => format!("MESSAGE {role}"),
        (sub_type, _) => sub_type.to_owned(),
    };
    let mut span = Span::new(trace_id, span_id(trace_id, &block.id), name);
    span.parent = block.parent_block_id.as_deref().map(|parent| span_id(trace_id, parent));
    (span.start, span.end) = (created, created);
    span.scope = Arc::clone(scope);
    span.attributes.push(BLOCK, text);
    span
}

fn span_id(trace_id: TraceId, block: &str) -> SpanId {
    let mut seed = format!("{trace_id}:{block}");
    loop {
        let digest = Sha256::digest(seed.as_bytes());
        if let Some(id) = SpanId::from_bytes(digest.get(..8).unwrap_or_default()) {
            return id;
        }
        seed.push('+');
    }
}

/// An id for a block that has none, inserted at this time. Times are unique within a trace, so these ids are, too.
#[must_use]
pub fn block_id(trace: &str, created: UnixNanos) -> String {
    let digest = Sha256::digest(format!("{trace}:{}", created.0).as_bytes());
    format!("tb_{}", crate::span::hex(digest.get(..16).unwrap_or_default()))
}

/// The fields of a block that determine order and parent, and that the rules need.
#[derive(Debug, Clone, Deserialize)]
pub struct Facts<'a> {
    /// The block's id.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The trace's name, as the client sent it.
    #[serde(borrow)]
    pub trace_id: Cow<'a, str>,
    /// Its sub type.
    #[serde(borrow)]
    pub sub_type: Cow<'a, str>,
    /// The parent block.
    #[serde(borrow, default)]
    pub parent_block_id: Option<Cow<'a, str>>,
    /// Insertion time, as text.
    #[serde(borrow, default)]
    created_at: Option<Cow<'a, str>>,
    #[serde(borrow)]
    payload: Payload<'a>,
}

/// Blocks of some sub types may have any value under these names.
#[derive(Debug, Clone, Deserialize)]
struct Payload<'a> {
    #[serde(borrow, default)]
    call_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    seq: Option<&'a RawValue>,
    #[serde(borrow, default)]
    role: Option<&'a RawValue>,
}

/// The value, if it has this type.
fn value_of<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

impl<'a> Facts<'a> {
    /// The facts of a stored block; `None` if the text is not a block.
    #[must_use]
    pub fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    fn role(&self) -> Option<String> {
        value_of(self.payload.role)
    }

    /// Only results have a sequence number.
    fn seq(&self) -> Option<u64> {
        let is_result = self.sub_type == SubType::ToolResult.name();
        value_of(self.payload.seq.filter(|_| is_result))
    }

    /// What the rules need to know about it; `None` for an unknown sub type.
    #[must_use]
    pub fn accepted(&self) -> Option<Accepted> {
        let sub_type = SubType::from_name(&self.sub_type)?;
        let has_call = matches!(sub_type, SubType::ToolCall | SubType::ToolResult);
        Some(Accepted {
            id: Some(self.id.to_string()),
            known: KnownBlock {
                sub_type,
                trace_id: self.trace_id.to_string(),
                call_id: value_of(self.payload.call_id.filter(|_| has_call)),
            },
            seq: self.seq(),
        })
    }
}

/// A block as the client sent it: its fields with their JSON text, so that they are stored unchanged.
#[derive(Debug)]
pub struct Sent<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Sent<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Sent<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a block, which is an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
                let mut places: HashMap<Cow<'de, str>, usize> = HashMap::default();
                while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &RawValue>()? {
                    // If two fields have the same name the last wins, as in the value that the rules checked.
                    match places.get(&key).and_then(|place| fields.get_mut(*place)) {
                        Some(field) => field.1 = value,
                        None => {
                            let _ = places.insert(key.clone(), fields.len());
                            fields.push((key, value));
                        }
                    }
                }
                Ok(Sent(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The table's columns in order; the server sets those with a value.
const COLUMNS: [&str; 9] = [
    "id",
    "trace_id",
    "block_type",
    "sub_type",
    "payload",
    "parent_block_id",
    "metadata",
    "raw",
    "extra",
];

impl Sent<'_> {
    /// The JSON text to store: the client's values as sent, with ids and times set by the server.
    #[must_use]
    pub fn stored(&self, id: &str, trace: &str, created: UnixNanos) -> String {
        let time = Value::from(created.rfc3339_micros()).to_string();
        let own = |name: &str| match name {
            "id" => Some(Value::from(id).to_string()),
            "trace_id" => Some(Value::from(trace).to_string()),
            _ => None,
        };
        let mut text = String::with_capacity(256 + self.0.iter().map(|(_, value)| value.get().len() + 32).sum::<usize>());
        text.push('{');
        let mut field = |name: &str, value: &str| {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&Value::from(name).to_string());
            text.push(':');
            text.push_str(value);
        };
        for name in COLUMNS {
            match (own(name), self.0.iter().find(|(key, _)| key == name)) {
                (Some(value), _) => field(name, &value),
                (None, Some((_, value))) => field(name, value.get()),
                (None, None) => {}
            }
        }
        let is_set = |name: &str| COLUMNS.contains(&name) || matches!(name, "created_at" | "updated_at");
        for (name, value) in self.0.iter().filter(|(name, _)| !is_set(name)) {
            field(name, value.get());
        }
        field("created_at", &time);
        field("updated_at", &time);
        text.push('}');
        text
    }
}

/// Written blocks of one trace in insertion order, without duplicates.
#[must_use]
pub fn in_order(mut blocks: Vec<(UnixNanos, String)>) -> Vec<String> {
    blocks.sort_by_key(|(created, _)| *created);
    let mut known: HashSet<String> = HashSet::default();
    blocks.retain(|(_, text)| Facts::of(text).is_some_and(|facts| known.insert(facts.id.into_owned())));
    blocks.into_iter().map(|(_, text)| text).collect()
}

/// The response of `blocks.stitched` for stored blocks.
#[must_use]
pub fn stitched(blocks: &[String]) -> String {
    let facts: Vec<(Facts<'_>, &str)> = blocks.iter().filter_map(|text| Some((Facts::of(text)?, text.as_str()))).collect();
    let texts: HashMap<&str, &str> = facts.iter().map(|(facts, text)| (facts.id.as_ref(), *text)).collect();
    // Order and parent depend on these fields only.
    let light = |facts: &Facts<'_>| {
        let mut payload = Object::new();
        if let Some(seq) = facts.seq() {
            payload.insert("seq", seq);
        }
        Block {
            id: Some(facts.id.to_string().into()),
            block_type: String::new().into(),
            sub_type: facts.sub_type.to_string().into(),
            payload: payload.into(),
            parent_block_id: facts.parent_block_id.as_ref().map(|parent| Some(parent.to_string().into())),
            created_at: facts.created_at.as_ref().map(|time| time.to_string().into()),
            ..Block::default()
        }
    };
    let light: Vec<Block<'_>> = facts.iter().map(|(facts, _)| light(facts)).collect();
    let Stitched { messages, orphans } = stitch(&light);
    let text = |block: &Block<'_>| block.id.as_deref().and_then(|id| texts.get(id)).copied().unwrap_or("{}");
    let list = |blocks: &[Block<'_>]| joined(blocks.iter().map(|block| text(block).to_owned()));
    let call = |block: &Block<'_>, results: &[Block<'_>]| with(text(block), &[("tool_results", list(results))]);
    let messages = messages.iter().map(|message| {
        let calls = message.tool_calls.iter().map(|below| call(&below.block, &below.tool_results));
        with(
            text(&message.block),
            &[("thinks", list(&message.thinks)), ("tool_calls", joined(calls))],
        )
    });
    format!(
        "{{\"messages\":{},\"orphans\":{{\"tool_calls\":{},\"tool_results\":{}}}}}",
        joined(messages),
        list(&orphans.tool_calls),
        list(&orphans.tool_results)
    )
}

/// A JSON list of these JSON texts.
fn joined(texts: impl IntoIterator<Item = String>) -> String {
    let texts: Vec<String> = texts.into_iter().collect();
    format!("[{}]", texts.join(","))
}

/// Appends fields to the JSON text of an object.
fn with(object: &str, fields: &[(&str, String)]) -> String {
    let mut text = object.strip_suffix('}').unwrap_or(object).to_owned();
    for (name, value) in fields {
        let comma = if text.len() > 1 { "," } else { "" };
        text.push_str(&format!("{comma}\"{name}\":{value}"));
    }
    text.push('}');
    text
}

/// Replaces spans that are blocks by the spans of their conversation. Blocks that cannot be read as a conversation, because
/// some are missing, are kept.
#[must_use]
pub(crate) fn as_conversations(spans: Vec<Span>) -> Vec<Span> {
    let Some(format) = by_id(OpenReward::ID) else { return spans };
    if !spans.iter().any(|span| text_of(span).is_some()) {
        return spans;
    }
    let mut kept = Vec::with_capacity(spans.len());
    let mut written: Vec<(TraceId, Vec<Span>)> = Vec::new();
    let mut places: HashMap<TraceId, usize> = HashMap::default();
    for span in spans {
        if text_of(&span).is_none() {
            kept.push(span);
            continue;
        }
        let place = *places.entry(span.trace_id).or_insert_with(|| {
            written.push((span.trace_id, Vec::new()));
            written.len() - 1
        });
        if let Some((_, list)) = written.get_mut(place) {
            list.push(span);
        }
    }
    for (trace_id, mut list) in written {
        list.sort_by_key(|span| (span.start, span.end));
        let mut seen = Seen::default();
        let mut document = Vec::new();
        let mut left = Vec::new();
        for span in list {
            // The limits in force when the block was written are no longer known.
            let value = text_of(&span).and_then(|text| serde_json::from_str::<Value>(text).ok());
            let checked = value.as_ref().and_then(|value| {
                let trace = value.get("trace_id")?.as_str()?;
                rules::check(value, trace, &seen, &Limits::NONE).ok()
            });
            match (checked, value) {
                (Some(accepted), Some(value)) => {
                    seen.insert(accepted);
                    document.push((value, span));
                }
                _ => left.push(span),
            }
        }
        let (values, raw): (Vec<Value>, Vec<Span>) = document.into_iter().unzip();
        let disassembled = disassemble_by(format, super::back::read_checked, &Value::from(values));
        match disassembled {
            Ok(disassembled) if disassembled.spans.iter().all(|span| span.trace_id == trace_id) => kept.extend(disassembled.spans),
            _ => kept.extend(raw),
        }
        kept.extend(left);
    }
    kept
}

#[cfg(test)]
#[path = "written_tests.rs"]
mod tests;
