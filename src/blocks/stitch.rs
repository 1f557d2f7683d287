//! Stitches blocks into conversations, for the response of `blocks.stitched`.
//!
//! Messages are at the top, thoughts and tool calls under them, results under the calls. Siblings are ordered by
//! `payload.seq` (those without one last), then `created_at`, then `id`.

use std::collections::HashMap;

use super::document::{Block, SubType};
use crate::document::json::Json;
use serde::{Deserialize, Serialize};

/// The tree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stitched<'a> {
    /// The messages in order.
    pub messages: Vec<StitchedMessage<'a>>,
    /// Blocks whose parent is missing; empty if the rules hold.
    pub orphans: Orphans<'a>,
}

/// A message and the blocks under it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StitchedMessage<'a> {
    /// The message.
    #[serde(flatten)]
    pub block: Block<'a>,
    /// Thoughts.
    pub thinks: Vec<Block<'a>>,
    /// Tool calls.
    pub tool_calls: Vec<StitchedCall<'a>>,
}

/// A tool call and its results.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StitchedCall<'a> {
    /// The call.
    #[serde(flatten)]
    pub block: Block<'a>,
    /// Its results.
    pub tool_results: Vec<Block<'a>>,
}

/// Blocks outside the tree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Orphans<'a> {
    /// Calls whose message is missing.
    pub tool_calls: Vec<Block<'a>>,
    /// Results whose call is missing.
    pub tool_results: Vec<Block<'a>>,
}

/// Stitches blocks in insertion order.
#[must_use]
pub fn stitch<'a>(blocks: &[Block<'a>]) -> Stitched<'a> {
    let mut sorted: Vec<&Block<'a>> = blocks.iter().collect();
    // Stable: of two equal keys, the one inserted first stays first.
    sorted.sort_by_cached_key(|block| key(block));
    let mut under: HashMap<&str, Vec<&Block<'a>>> = HashMap::new();
    let mut messages = Vec::new();
    for block in &sorted {
        match (block.meaning(), block.parent()) {
            (Some(SubType::Message), _) => messages.push(*block),
            (_, Some(parent)) => under.entry(parent).or_default().push(block),
            _ => {}
        }
    }
    let children = |block: &Block<'a>, sub_type: SubType| -> Vec<Block<'a>> {
        block
            .id
            .as_deref()
            .and_then(|id| under.get(id))
            .into_iter()
            .flatten()
            .filter(|child| child.meaning() == Some(sub_type))
            .map(|child| (*child).clone())
            .collect()
    };
    let ids = |sub_type: SubType| -> std::collections::HashSet<&str> {
        blocks
            .iter()
            .filter(|block| block.meaning() == Some(sub_type))
            .filter_map(|block| block.id.as_deref())
            .collect()
    };
    let orphans = |sub_type: SubType| -> Vec<Block<'a>> {
        let parents = sub_type.parent().map(ids).unwrap_or_default();
        sorted
            .iter()
            .filter(|block| block.meaning() == Some(sub_type) && !block.parent().is_some_and(|id| parents.contains(id)))
            .map(|block| (*block).clone())
            .collect()
    };
    Stitched {
        messages: messages
            .into_iter()
            .map(|message| StitchedMessage {
                thinks: children(message, SubType::Think),
                tool_calls: children(message, SubType::ToolCall)
                    .into_iter()
                    .map(|call| StitchedCall {
                        tool_results: children(&call, SubType::ToolResult),
                        block: call,
                    })
                    .collect(),
                block: message.clone(),
            })
            .collect(),
        orphans: Orphans {
            tool_calls: orphans(SubType::ToolCall),
            tool_results: orphans(SubType::ToolResult),
        },
    }
}

/// Sequence number, time, id. Only results have a sequence number.
fn key(block: &Block<'_>) -> (bool, u64, String, String) {
    let seq = (block.meaning() == Some(SubType::ToolResult))
        .then(|| match block.payload.as_object()?.get("seq")?.into_owned() {
            Json::Number(seq) => seq.as_u64(),
            _ => None,
        })
        .flatten();
    let time = block
        .created_at
        .as_ref()
        .and_then(Json::as_str)
        .map_or_else(String::new, comparable);
    (
        seq.is_none(),
        seq.unwrap_or(0),
        time,
        block.id.as_deref().unwrap_or_default().to_owned(),
    )
}

/// A UTC time as text that sorts by time, since `...00Z`, `...00.000Z` and `...00.000001Z` have different widths.
fn comparable(time: &str) -> String {
    let bare = time.strip_suffix('Z').or_else(|| time.strip_suffix("+00:00")).unwrap_or(time);
    let (seconds, fraction) = bare.split_once('.').unwrap_or((bare, ""));
    format!("{seconds}.{fraction:0<9}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn block(value: Value) -> Block<'static> {
        serde_json::from_value(value).unwrap_or_default()
    }

    #[test]
    fn order_is_seq_then_time_then_id() {
        let at = |id: &str, sub_type: &str, parent: Value, payload: Value, time: &str| {
            block(
                json!({"id": id, "trace_id": "tr_1", "block_type": "X", "sub_type": sub_type, "payload": payload,
                "parent_block_id": parent, "created_at": time}),
            )
        };
        let tree = stitch(&[
            at("tb_b", "MESSAGE", Value::Null, json!({}), "2026-01-01T00:00:00.000001Z"),
            at("tb_a", "MESSAGE", Value::Null, json!({}), "2026-01-01T00:00:00.000Z"),
            at("tb_t", "THINK", json!("tb_a"), json!({}), "2026-01-01T00:00:01Z"),
            at("tb_c", "TOOL_CALL", json!("tb_a"), json!({"call_id": "c"}), "2026-01-01T00:00:01Z"),
            at("tb_3", "TOOL_RESULT", json!("tb_c"), json!({"output": 3}), "2026-01-01T00:00:00Z"),
            at(
                "tb_2",
                "TOOL_RESULT",
                json!("tb_c"),
                json!({"output": 2, "seq": 1}),
                "2026-01-01T00:00:00Z",
            ),
            at(
                "tb_1",
                "TOOL_RESULT",
                json!("tb_c"),
                json!({"output": 1, "seq": 0}),
                "2026-01-01T00:00:09Z",
            ),
            at(
                "tb_x",
                "TOOL_RESULT",
                json!("tb_nowhere"),
                json!({"output": 1}),
                "2026-01-01T00:00:09Z",
            ),
        ]);
        let ids: Vec<_> = tree.messages.iter().filter_map(|message| message.block.id.as_deref()).collect();
        assert_eq!(ids, ["tb_a", "tb_b"]);
        let results: Vec<_> = tree
            .messages
            .iter()
            .flat_map(|message| &message.tool_calls)
            .flat_map(|call| &call.tool_results)
            .filter_map(|result| result.id.as_deref())
            .collect();
        assert_eq!(results, ["tb_1", "tb_2", "tb_3"]);
        assert_eq!(tree.messages.iter().map(|message| message.thinks.len()).sum::<usize>(), 1);
        assert_eq!(tree.orphans.tool_results.len(), 1);
        assert!(tree.orphans.tool_calls.is_empty());
    }
}
