//! Ids that are not hexadecimal, which some programs write into files: each becomes an id that is derived from its text.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The same message with derived ids, and how many of its ids were none; `None` if all are hexadecimal digits, or it is no JSON. Base64,
/// which a plain protobuf printer writes, counts as text, too.
#[must_use]
pub(crate) fn with_derived_ids(text: &[u8]) -> Option<(String, usize)> {
    let mut message: Value = serde_json::from_slice(text).ok()?;
    let mut derived = 0;
    for (groups, scopes, items) in [
        ("resourceSpans", "scopeSpans", "spans"),
        ("resourceLogs", "scopeLogs", "logRecords"),
    ] {
        for scope in each(&mut message, groups).flat_map(|group| each(group, scopes)) {
            for item in each(scope, items) {
                derived += mend(item);
                each(item, "links").for_each(|link| derived += mend(link));
            }
        }
    }
    (derived > 0).then(|| (message.to_string(), derived))
}

fn each<'a>(value: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    value.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

fn mend(item: &mut Value) -> usize {
    let mut derived = 0;
    for (key, digits) in [("traceId", 32), ("spanId", 16), ("parentSpanId", 16)] {
        let Some(Value::String(id)) = item.get_mut(key) else { continue };
        let is_hex = id.len() == digits && id.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !is_hex && !id.is_empty() {
            *id = self::derived(id, digits);
            derived += 1;
        }
    }
    derived
}

/// So many hexadecimal digits that are derived from a text.
pub(super) fn derived(text: &str, digits: usize) -> String {
    let hash: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    hash.get(..digits).unwrap_or_default().to_owned()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
mod tests {
    use super::*;
    use crate::span::json::traces;

    #[test]
    fn one_text_is_one_id() {
        let message = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[
            {"traceId":"exported-trace","spanId":"agent-1","parentSpanId":"","name":"a"},
            {"traceId":"exported-trace","spanId":"0123456789abcdef","parentSpanId":"agent-1","name":"b"}]}]}]}"#;
        assert_eq!(traces(message.as_bytes()).unwrap().items.len(), 0);
        let (text, derived) = with_derived_ids(message.as_bytes()).unwrap();
        assert_eq!(derived, 4);
        let spans = traces(text.as_bytes()).unwrap().items;
        assert_eq!((spans[0].trace_id, Some(spans[0].span_id)), (spans[1].trace_id, spans[1].parent));
        assert_eq!((spans[0].parent, spans[1].span_id.to_string().as_str()), (None, "0123456789abcdef"));
        assert!(with_derived_ids(text.as_bytes()).is_none());
    }
}
