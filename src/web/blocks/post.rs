//! The content of a request that writes blocks.

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::formats::DocumentSizes;
use crate::formats::openreward::written::BLOCK;
use crate::otlp::{decode, encode};
use crate::redact::Rules;
use crate::span::{Signal, Span, SpanId};

use super::super::reply::Problem;
use super::name::Name;

/// Memory for reading and storing blocks: their text in the request, separately, as stored, in the span, in the message to
/// the store and in the answer; what the rules need to know of each; and the largest as a value.
#[must_use]
pub(crate) fn cost_of_blocks(text: &[u8]) -> usize {
    const COPIES: usize = 6;
    const FACTS: usize = 2_500;
    let text = text.trim_ascii_start();
    let sizes = DocumentSizes::of(text.strip_prefix(b"[").unwrap_or(text));
    let texts = text.len().saturating_mul(COPIES);
    texts.saturating_add(sizes.count.saturating_mul(FACTS)).saturating_add(sizes.parsed)
}

/// Blocks that a client sent.
#[derive(Debug)]
pub(in crate::web) struct Posted {
    /// The text of each.
    pub(super) blocks: Vec<String>,
    /// Whether they were sent as a list.
    pub(super) as_list: bool,
    /// Total size of the texts.
    pub(super) bytes: usize,
    /// Holds the reservation for all of this, even if the client is gone.
    _body: Bytes,
}

impl Posted {
    /// Number of blocks.
    pub(in crate::web) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Reads the body of a request: one block, or a list of blocks.
    pub(in crate::web) fn read(body: Bytes, trace: &Name, rules: Option<&Rules>) -> Result<Self, Problem> {
        let text = std::str::from_utf8(&body).map_err(|_| Problem::invalid("the body is not UTF-8"))?;
        let as_list = text.trim_start().starts_with('[');
        let no_json = |error: serde_json::Error| Problem::invalid(format!("the body is not JSON: {error}"));
        let texts: Vec<&RawValue> = if as_list {
            serde_json::from_str(text).map_err(no_json)?
        } else {
            vec![serde_json::from_str(text).map_err(no_json)?]
        };
        let mut texts: Vec<String> = texts.into_iter().map(|text| text.get().to_owned()).collect();
        if texts.is_empty() {
            return Err(Problem::of_field("block", "the list has no block: send at least one"));
        }
        if let Some(rules) = rules {
            texts = redacted(texts, trace, rules)?;
        }
        let bytes = texts.iter().map(String::len).sum();
        Ok(Self {
            blocks: texts,
            as_list,
            bytes,
            _body: body,
        })
    }
}

/// Redacts the texts. The rules for blocks apply to what will be stored, so redaction comes first.
fn redacted(texts: Vec<String>, trace: &Name, rules: &Rules) -> Result<Vec<String>, Problem> {
    /// Used only within this request.
    const TRACE: &str = "spanbridge.openreward.trace";
    let Some(any) = SpanId::from_bytes(&[1; 8]) else {
        return Ok(texts);
    };
    let of = |key: &str, text: &str| {
        let mut span = Span::new(trace.id, any, "");
        span.attributes.push(key, text);
        span
    };
    let mut spans = vec![of(TRACE, &trace.text)];
    spans.extend(texts.iter().map(|text| of(BLOCK, text)));
    let message = encode::traces(&spans);
    drop(spans);
    let applied = rules.apply(&message, Signal::Traces);
    let Some(message) = applied.map_err(|fault| Problem::internal(fault.to_string()))? else {
        return Ok(texts);
    };
    let decoded = decode::traces(&message)
        .map_err(|error| Problem::internal(error.to_string()))?
        .items;
    let mut found = decoded.into_iter();
    let named = found.next();
    if named.as_ref().and_then(|span| span.attributes.text(TRACE)) != Some(trace.text.as_str()) {
        let message = "a redaction rule matches the trace id; use another id";
        return Err(Problem::of_field("trace_id", message));
    }
    let count = texts.len();
    let texts: Option<Vec<String>> = found.map(|span| span.attributes.text(BLOCK).map(str::to_owned)).collect();
    texts.filter(|texts| texts.len() == count).ok_or_else(|| {
        let message = format!("a redaction rule removes the attribute {BLOCK}, which contains a block");
        Problem::of_field("block", message)
    })
}
