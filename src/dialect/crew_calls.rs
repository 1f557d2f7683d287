//! Tool arguments in CrewAI's tool usage: the model's text, and the call parsed from it.

use serde_json::{Map, Value};

use super::{mend, python};

/// The arguments in `{"tool_string": "Thought: ..", "tool": "CrewStructuredTool(..)", "calling": "tool_name='f' arguments={..}"}`: those of
/// the parsed call, else those in the model's text.
pub(super) fn arguments(value: &Value) -> Option<Value> {
    let map = value.as_object()?;
    let is_usage = map.contains_key("tool_string") && map.keys().all(|key| matches!(key.as_str(), "tool_string" | "tool" | "calling"));
    if !is_usage {
        return None;
    }
    of_calling(map).or_else(|| of_words(map))
}

fn of_calling(map: &Map<String, Value>) -> Option<Value> {
    let calling = match map.get("calling")? {
        Value::String(text) => python::read(text)?,
        other => other.clone(),
    };
    match calling.get("arguments")? {
        // The tool has no arguments.
        Value::Null => Some(Value::Object(Map::new())),
        object @ Value::Object(_) => Some(object.clone()),
        _ => None,
    }
}

/// Reads the last line with `Action Input: {..}`.
fn of_words(map: &Map<String, Value>) -> Option<Value> {
    let (_, input) = map.get("tool_string")?.as_str()?.rsplit_once("Action Input:")?;
    let input = input.split("\nObservation").next().unwrap_or(input).trim();
    mend::parse(input).filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_call_counts_then_the_words() {
        let usage = json!({
            "tool_string": "Thought: I look.\nAction: f\nAction Input: {\"city\": \"Oslo\"}\n",
            "tool": "CrewStructuredTool(name='f', description='x')",
            "calling": "tool_name='f' arguments={'city': 'Oslo', 'days': 3, 'all': True}"
        });
        assert_eq!(arguments(&usage), Some(json!({"city": "Oslo", "days": 3, "all": true})));
        let words = json!({"tool_string": "Action: f\nAction Input: {\"city\": \"Oslo\"}\nObservation: x", "calling": "?"});
        assert_eq!(arguments(&words), Some(json!({"city": "Oslo"})));
        assert_eq!(arguments(&json!({"tool_string": "a", "other": 1})), None);
    }
}
