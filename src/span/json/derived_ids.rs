//! Ids that are not hexadecimal, as some programs write them into files. Base64, from plain protobuf printers, is decoded to the same id;
//! from any other text a new id is derived.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::fields::base64_bytes;

/// How many ids were not hexadecimal.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Mended {
    /// Derived from text that is not an id.
    pub(crate) derived: usize,
    /// Converted from base64.
    pub(crate) base64: usize,
}

/// Rewrites the message with hexadecimal ids; `None` if all are, or if it is not JSON.
#[must_use]
pub(crate) fn with_derived_ids(text: &[u8]) -> Option<(String, Mended)> {
    let mut message: Value = serde_json::from_slice(text).ok()?;
    let mut mended = Mended::default();
    // Tempo's API and OTLP before 1.0 use other names for these lists.
    for (groups, scopes, items) in [
        ("resourceSpans", "scopeSpans", "spans"),
        ("batches", "scopeSpans", "spans"),
        ("resourceSpans", "instrumentationLibrarySpans", "spans"),
        ("batches", "instrumentationLibrarySpans", "spans"),
        ("resourceLogs", "scopeLogs", "logRecords"),
    ] {
        for scope in each(&mut message, groups).flat_map(|group| each(group, scopes)) {
            for item in each(scope, items) {
                mend(item, &mut mended);
                each(item, "links").for_each(|link| mend(link, &mut mended));
            }
        }
    }
    (mended != Mended::default()).then(|| (message.to_string(), mended))
}

fn each<'a>(value: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    value.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

fn mend(item: &mut Value, mended: &mut Mended) {
    for (key, digits) in [("traceId", 32), ("spanId", 16), ("parentSpanId", 16)] {
        let Some(Value::String(id)) = item.get_mut(key) else { continue };
        let is_hex = id.len() == digits && id.bytes().all(|digit| digit.is_ascii_hexdigit());
        if is_hex || id.is_empty() {
            continue;
        }
        match base64_bytes(id).filter(|bytes| bytes.len() * 2 == digits) {
            Some(bytes) => {
                *id = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                mended.base64 += 1;
            }
            None => {
                *id = derived(id, digits);
                mended.derived += 1;
            }
        }
    }
}

/// Derives this many hexadecimal digits from a text.
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
        let (text, mended) = with_derived_ids(message.as_bytes()).unwrap();
        assert_eq!((mended.derived, mended.base64), (4, 0));
        let spans = traces(text.as_bytes()).unwrap().items;
        assert_eq!((spans[0].trace_id, Some(spans[0].span_id)), (spans[1].trace_id, spans[1].parent));
        assert_eq!((spans[0].parent, spans[1].span_id.to_string().as_str()), (None, "0123456789abcdef"));
        assert!(with_derived_ids(text.as_bytes()).is_none());
    }

    #[test]
    fn base64_is_the_id_itself() {
        for (groups, scopes) in [("resourceSpans", "scopeSpans"), ("batches", "instrumentationLibrarySpans")] {
            let message = format!(
                r#"{{"{groups}":[{{"{scopes}":[{{"spans":[
                {{"traceId":"AQEBAQEBAQEBAQEBAQEBAQ==","spanId":"AQEBAQEBAQE=","parentSpanId":"AQEBAQEBAQI=","name":"a"}}]}}]}}]}}"#
            );
            let (text, mended) = with_derived_ids(message.as_bytes()).unwrap();
            assert_eq!((mended.derived, mended.base64), (0, 3));
            let spans = traces(text.as_bytes()).unwrap().items;
            assert_eq!(spans[0].trace_id.to_string(), "01".repeat(16));
            assert_eq!(spans[0].parent.unwrap().to_string(), "0101010101010102");
        }
    }
}
