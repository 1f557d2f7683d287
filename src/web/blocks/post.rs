//! What a request to write blocks carries.

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::formats::openreward::written::BLOCK;
use crate::otlp::{decode, encode};
use crate::redact::Rules;
use crate::span::{Signal, Span, SpanId};

use super::super::reply::Problem;
use super::name::Name;

/// Blocks that a client sent.
#[derive(Debug)]
pub(in crate::web) struct Posted {
    /// Each as the rules see it, and its text.
    pub(super) blocks: Vec<(Value, String)>,
    /// Whether they were sent as a list.
    pub(super) as_list: bool,
    /// Bytes of all texts.
    pub(super) bytes: usize,
    /// Holds the memory that is reserved for all of this, also when the client is gone.
    _body: Bytes,
}

impl Posted {
    /// How many blocks there are.
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
            return Err(Problem::validation(
                "the list has no block: send at least one",
                one("field", "block"),
            ));
        }
        if let Some(rules) = rules {
            texts = redacted(texts, trace, rules)?;
        }
        let bytes = texts.iter().map(String::len).sum();
        let blocks = texts.into_iter().enumerate().map(|(index, text)| {
            let value = serde_json::from_str(&text).map_err(|error| match as_list {
                true => Problem::invalid(format!("block {index} cannot be read: {error}")),
                false => Problem::invalid(format!("the block cannot be read: {error}")),
            })?;
            Ok((value, text))
        });
        Ok(Self {
            blocks: blocks.collect::<Result<_, Problem>>()?,
            as_list,
            bytes,
            _body: body,
        })
    }
}

fn one(key: &str, value: &str) -> serde_json::Map<String, Value> {
    serde_json::Map::from_iter([(key.to_owned(), Value::from(value))])
}

/// The texts after redaction. The rules for blocks are applied to what will be stored, so redaction comes first.
fn redacted(texts: Vec<String>, trace: &Name, rules: &Rules) -> Result<Vec<String>, Problem> {
    /// Only within this request.
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
    let Ok(Some(message)) = rules.apply(&message, Signal::Traces) else {
        return Ok(texts);
    };
    let decoded = decode::traces(&message)
        .map_err(|error| Problem::internal(error.to_string()))?
        .items;
    let mut found = decoded.into_iter();
    let named = found.next();
    if named.as_ref().and_then(|span| span.attributes.text(TRACE)) != Some(trace.text.as_str()) {
        let message = "a redaction rule matches the trace id; use another id";
        return Err(Problem::validation(message, one("field", "trace_id")));
    }
    let count = texts.len();
    let texts: Option<Vec<String>> = found.map(|span| span.attributes.text(BLOCK).map(str::to_owned)).collect();
    texts.filter(|texts| texts.len() == count).ok_or_else(|| {
        let message = format!("a redaction rule removes the attribute {BLOCK}, which holds a block");
        Problem::validation(message, one("field", "block"))
    })
}
