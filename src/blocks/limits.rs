//! The byte limits, and texts split to fit them. Nothing is dropped: a split text continues in the next block.

use crate::document::choice::Options;
use crate::document::json::Json;

/// The maximum sizes of a block's values, in bytes, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// `content` of a MESSAGE (`LIMIT_MSG_BYTES`).
    pub message: usize,
    /// `text` of a THINK (`LIMIT_THINK_BYTES`).
    pub think: usize,
    /// `arguments` of a TOOL_CALL (`LIMIT_TOOL_ARGS_BYTES`).
    pub arguments: usize,
    /// `output` or `delta` of a TOOL_RESULT (`LIMIT_TOOL_RESULT_BYTES`).
    pub result: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 65_536,
            think: 32_768,
            arguments: 262_144,
            result: 2_097_152,
        }
    }
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self {
        message: usize::MAX,
        think: usize::MAX,
        arguments: usize::MAX,
        result: usize::MAX,
    };

    /// The limits set by the caller: `openreward.limit_msg_bytes`, `.limit_think_bytes`, `.limit_tool_args_bytes`,
    /// `.limit_tool_result_bytes`. Command line and server also read them from environment variables, `LIMIT_MSG_BYTES` and so
    /// on.
    #[must_use]
    pub fn from_options(options: &Options) -> Self {
        let number = |name: &str, default: usize| {
            options
                .get(name)
                .and_then(|text| text.trim().parse().ok())
                .filter(|number| *number > 0)
                .unwrap_or(default)
        };
        let Self {
            message,
            think,
            arguments,
            result,
        } = Self::default();
        Self {
            message: number("openreward.limit_msg_bytes", message),
            think: number("openreward.limit_think_bytes", think),
            arguments: number("openreward.limit_tool_args_bytes", arguments),
            result: number("openreward.limit_tool_result_bytes", result),
        }
    }
}

/// The size of a value in bytes: of a text in UTF-8, of anything else as compact JSON.
#[must_use]
pub fn size(value: &Json<'_>) -> usize {
    match value {
        Json::Text(text) => text.len(),
        other => {
            let mut bytes = Count(0);
            // Counting cannot fail, and a value's keys are texts.
            let _ = serde_json::to_writer(&mut bytes, other);
            bytes.0
        }
    }
}

/// The size of a value, if above the limit.
pub(crate) fn above(value: &Json<'_>, limit: usize) -> Option<usize> {
    // Counting means serializing, and nearly every value is far below its limit.
    if at_most(value) <= limit {
        return None;
    }
    Some(size(value)).filter(|bytes| *bytes > limit)
}

/// An upper bound of [`size`].
fn at_most(value: &Json<'_>) -> usize {
    // With quotes and a comma or colon; a control character takes six bytes.
    let quoted = |text: &str| text.len().saturating_mul(6).saturating_add(3);
    match value {
        Json::Text(text) => quoted(text),
        Json::Null | Json::Bool(_) => 6,
        Json::Number(_) => 32,
        Json::Shared(..) => value.shared().iter().fold(3, |sum, item| sum.saturating_add(at_most(item))),
        Json::List(list) => list.iter().fold(3, |sum, item| sum.saturating_add(at_most(item))),
        Json::Values(list) => list.iter().fold(3, |sum, item| sum.saturating_add(at_most(&item.into()))),
        Json::Object(object) => object
            .iter()
            .fold(3, |sum, (key, item)| sum.saturating_add(quoted(key)).saturating_add(at_most(&item))),
    }
}

/// Counts the bytes written.
struct Count(usize);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The text in pieces of at most `limit` bytes, cut between characters. A limit below the size of one character yields
/// pieces of one character.
#[must_use]
pub fn pieces(text: &str, limit: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > limit {
        let mut cut = rest.floor_char_boundary(limit);
        if cut == 0 {
            cut = rest.chars().next().map_or(rest.len(), char::len_utf8);
        }
        let Some((piece, after)) = rest.split_at_checked(cut) else { break };
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(rest);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_between_characters() {
        assert_eq!(pieces("aéé", 3), ["aé", "é"]);
        assert_eq!(pieces("ééé", 3), ["é", "é", "é"]);
        assert_eq!(pieces("👋👋", 1), ["👋", "👋"]);
        assert_eq!(pieces("abc", 3), ["abc"]);
        assert_eq!(pieces("abcd", 3), ["abc", "d"]);
        assert_eq!(pieces("", 3), [""]);
    }

    #[test]
    fn what_is_above_a_limit_counts_its_bytes() {
        let values = [
            serde_json::json!("\u{1}\u{1}words"),
            serde_json::json!({"\u{1}": ["\u{1}", -1.0e-300, null, true, u64::MAX, i64::MIN], "b": {"c": [], "d": {}}}),
            serde_json::json!([[[[false]]], "é", ""]),
        ];
        for value in &values {
            let value = Json::from(value);
            let bytes = size(&value);
            assert!(at_most(&value) >= bytes, "{value}");
            assert_eq!(above(&value, bytes), None, "{value}");
            assert_eq!(above(&value, bytes - 1), Some(bytes), "{value}");
        }
    }

    #[test]
    fn options_override() {
        let mut options = Options::default();
        let _ = options.0.insert("openreward.limit_msg_bytes".into(), "10".into());
        let _ = options.0.insert("openreward.limit_think_bytes".into(), "none".into());
        let limits = Limits::from_options(&options);
        assert_eq!((limits.message, limits.think), (10, 32_768));
    }
}
