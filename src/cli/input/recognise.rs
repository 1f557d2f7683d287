//! Recognises files by content.

use crate::otlp;
use crate::span::json::console;

/// Keys in each span as printed by the SDKs of Python and Go, and in `ResourceSpans` as printed by Java's logger.
const PRINTED: [&str; 3] = ["\"trace_id\": \"0x", "\"SpanContext\":", "\"scopeSpans\":"];

/// Whether the bytes are export requests in protobuf.
pub(super) fn is_protobuf(bytes: &[u8]) -> bool {
    otlp::signal::guess(bytes).is_some() || delimited(bytes).is_some()
}

/// A sequence of export requests, each preceded by its length; `None` if the bytes are anything else.
pub(super) fn delimited(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    by_varint(bytes).or_else(|| by_four_bytes(bytes))
}

/// The same with big-endian lengths of four bytes, as the Collector's file exporter writes with `format: proto`.
fn by_four_bytes(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut rest, mut messages) = (bytes, Vec::new());
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let message = after.get(..length)?;
        if message.first() != Some(&0x0a) {
            return None;
        }
        messages.push(message);
        rest = after.get(length..)?;
    }
    Some(messages).filter(|messages| rest.is_empty() && !messages.is_empty())
}

fn by_varint(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut rest, mut messages) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (mut length, mut shift) = (0_usize, 0_u32);
        loop {
            let (byte, after) = rest.split_first()?;
            rest = after;
            length |= usize::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let message = rest.get(..length)?;
        // A request begins with its first field. A single request whose first bytes look like a length would end elsewhere.
        if message.first() != Some(&0x0a) {
            return None;
        }
        messages.push(message);
        rest = rest.get(length..)?;
    }
    Some(messages).filter(|messages| !messages.is_empty() && bytes.first() != Some(&0x0a) || messages.len() > 1)
}

/// Whether a text may be a program's output that contains spans.
pub(super) fn may_be_printed(text: &[u8]) -> bool {
    console::may_have(text) || has_printed_json(text)
}

/// Whether a text may have spans printed as JSON between other lines.
pub(super) fn has_printed_json(text: &[u8]) -> bool {
    // Broken lines of OTLP/JSON are repaired elsewhere.
    let printed = PRINTED.get(..if begins_as_json(text) { 2 } else { 3 }).unwrap_or_default();
    printed.iter().any(|words| memchr::memmem::find(text, words.as_bytes()).is_some())
}

/// Whether a text begins like JSON.
pub(super) fn begins_as_json(text: &[u8]) -> bool {
    text.starts_with(b"{") || text.starts_with(b"[")
}
