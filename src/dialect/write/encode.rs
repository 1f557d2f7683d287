//! A fact as the value of an attribute: the inverse of the codecs.

use serde_json::Value;

use super::fact::Fact;
use super::{gen_ai, openinference};
use crate::dialect::rule::{Codec, InverseRule};
use crate::span::AnyValue;

/// What is written.
#[derive(Debug)]
pub(super) enum Encoded {
    /// One value.
    One(AnyValue),
    /// One text that holds JSON.
    JsonText(String),
    /// Several keys below a prefix: what follows the prefix, and the value.
    Many(Vec<(String, AnyValue)>),
}

/// The fact as this rule's codec writes it; `None` if reading would not give it back.
pub(super) fn encode(rule: &InverseRule, fact: &Fact<'_>) -> Option<Encoded> {
    if let Fact::Value(Value::String(text)) = fact
        && text.is_empty()
        && !rule.field.keeps_empty()
    {
        // An attribute without text says nothing; the whole output, which may hold the empty result, comes later.
        return None;
    }
    Some(match (rule.codec, *fact) {
        (Codec::Text, Fact::Text(text)) => Encoded::One(text.into()),
        (Codec::Text, Fact::Value(Value::String(text))) => Encoded::One(text.as_str().into()),
        (Codec::Texts, Fact::Text(text)) => Encoded::One(AnyValue::Array(vec![text.into()])),
        (Codec::Texts, Fact::Texts(list)) => Encoded::One(AnyValue::Array(list.iter().map(|text| text.as_str().into()).collect())),
        (Codec::Int, Fact::Count(count) | Fact::Entries(count)) => Encoded::One(AnyValue::Int(i64::try_from(count).ok()?)),
        (Codec::Int, Fact::Int(number)) => Encoded::One(AnyValue::Int(number)),
        (Codec::Float, Fact::Number(number)) => Encoded::One(AnyValue::Double(number)),
        (Codec::Bool, Fact::Flag(flag)) => Encoded::One(AnyValue::Bool(flag)),
        (Codec::Json | Codec::ByMime, Fact::JsonText(text)) => Encoded::JsonText(text.to_owned()),
        (Codec::Json, Fact::Value(value)) => json(value),
        (Codec::ByMime, Fact::Value(value)) => by_mime(value),
        (Codec::Json, Fact::Map(map)) => Encoded::JsonText(serde_json::to_string(map).ok()?),
        (Codec::Json, Fact::System(message)) => Encoded::JsonText(gen_ai::system(message).to_string()),
        (Codec::Json, Fact::Messages(list)) => Encoded::JsonText(gen_ai::messages(list).to_string()),
        (Codec::Json, Fact::WithSystem(list)) => Encoded::JsonText(gen_ai::messages(gen_ai::after_system(list)).to_string()),
        (Codec::Json, Fact::Documents(list)) => Encoded::JsonText(gen_ai::documents(list).to_string()),
        (Codec::Json, Fact::Tools(list)) => Encoded::JsonText(gen_ai::tools(list).to_string()),
        (Codec::Flat, Fact::Messages(list) | Fact::WithSystem(list)) => Encoded::Many(openinference::messages(0, list)),
        (Codec::Flat, Fact::Documents(list)) if !list.is_empty() => Encoded::Many(openinference::documents(0, list)),
        (Codec::Flat, Fact::Tools(list)) => Encoded::Many(openinference::tools(0, list)),
        (Codec::Flat, Fact::Texts(list)) => Encoded::Many(openinference::embedded_texts(list)),
        (Codec::Flat, Fact::Evaluations(list)) => Encoded::Many(openinference::evaluations(list)),
        _ => return None,
    })
}

/// A value whose text is read as JSON where it looks like JSON.
fn json(value: &Value) -> Encoded {
    match value {
        Value::String(text) if looks_like_json(text) => Encoded::JsonText(value.to_string()),
        Value::String(text) => Encoded::One(text.as_str().into()),
        Value::Array(_) | Value::Object(_) => Encoded::JsonText(value.to_string()),
        scalar => Encoded::One(AnyValue::from_json(scalar)),
    }
}

/// A value whose sibling says whether it is JSON.
fn by_mime(value: &Value) -> Encoded {
    match value {
        Value::String(text) if !looks_like_json(text) => Encoded::One(text.as_str().into()),
        other => Encoded::JsonText(other.to_string()),
    }
}

fn looks_like_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[', '"'])
}
