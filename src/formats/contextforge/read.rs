//! How steps are read and written: the body by `step_type`, the page's aliases.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::document::{ALIASES, Body, Step};
use crate::document::json::Object;

impl Serialize for Step<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            step_id: &'a str,
            step_type: &'a str,
            timestamp: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            parent_step_id: Option<&'a str>,
            #[serde(flatten)]
            body: &'a Body<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            metadata: Option<&'a Object<'a>>,
        }
        Written {
            step_id: &self.step_id,
            step_type: self.body.step_type(),
            timestamp: &self.timestamp,
            parent_step_id: self.parent_step_id.as_deref(),
            body: &self.body,
            metadata: self.metadata.as_ref(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Step<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = Map::deserialize(deserializer)?;
        for (alias, field) in ALIASES {
            if !map.contains_key(field)
                && let Some(value) = map.shift_remove(alias)
            {
                map.insert(field.to_owned(), value);
            }
        }
        let word: String = take(&mut map, "step_type")?;
        let step_id = take(&mut map, "step_id")?;
        let timestamp = take(&mut map, "timestamp")?;
        let parent_step_id = take(&mut map, "parent_step_id")?;
        let metadata = take(&mut map, "metadata")?;
        let body = match known_type(&word) {
            "user_input" => Body::UserInput(rest(map)?),
            "llm_call" => Body::LlmCall(rest(map)?),
            "tool_call" => Body::ToolCall(rest(map)?),
            "retrieval" => Body::Retrieval(rest(map)?),
            "memory_read" => Body::MemoryRead(rest(map)?),
            "memory_write" => Body::MemoryWrite(rest(map)?),
            "state_change" => Body::StateChange(rest(map)?),
            "interrupt" => Body::Interrupt(rest(map)?),
            "final_output" => Body::FinalOutput(rest(map)?),
            _ => Body::Unknown {
                step_type: word.into(),
                fields: map.into(),
            },
        };
        Ok(Self {
            step_id,
            timestamp,
            parent_step_id,
            body,
            metadata,
        })
    }
}

/// The page's word for a `step_type` in any case, or for an OpenInference kind; any other word gives "".
pub(super) fn known_type(word: &str) -> &'static str {
    match word.to_ascii_lowercase().as_str() {
        "user_input" => "user_input",
        "llm_call" | "llm" => "llm_call",
        "tool_call" | "tool" => "tool_call",
        "retrieval" | "retriever" | "reranker" => "retrieval",
        "memory_read" => "memory_read",
        "memory_write" => "memory_write",
        "state_change" => "state_change",
        "interrupt" => "interrupt",
        "final_output" => "final_output",
        _ => "",
    }
}

fn take<T: DeserializeOwned, E: serde::de::Error>(map: &mut Map<String, Value>, key: &str) -> Result<T, E> {
    let value = map.shift_remove(key).unwrap_or(Value::Null);
    serde_json::from_value(value).map_err(|error| E::custom(format_args!("{key}: {error}")))
}

fn rest<T: DeserializeOwned, E: serde::de::Error>(map: Map<String, Value>) -> Result<T, E> {
    serde_json::from_value(Value::Object(map)).map_err(E::custom)
}
