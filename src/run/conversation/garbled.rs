//! Answers whose calls a client recorded wrongly: from a stream it may join parallel calls into one, or omit their arguments. The
//! history in a later input is better evidence.

use serde_json::Value;

use crate::operation::ToolCall;
use crate::run::arguments::same_value;

/// Whether the calls of an answer are a garbled recording of those in a history.
pub(super) fn is_left_of<'a>(recorded: impl Iterator<Item = &'a ToolCall> + Clone, noted: &[ToolCall]) -> bool {
    let joined = recorded.clone().find_map(joined);
    if let Some(joined) = joined {
        let noted: Vec<&Value> = noted.iter().filter_map(|call| call.arguments.as_ref()).collect();
        return joined.len() == noted.len() && joined.iter().zip(&noted).all(|(one, other)| same_value(one, other));
    }
    let is_named_alike = || recorded.clone().map(|call| &call.name).eq(noted.iter().map(|call| &call.name));
    let is_other_id = |(one, other): (&ToolCall, &ToolCall)| one.id.is_some() && other.id.is_some() && one.id != other.id;
    recorded.clone().next().is_some()
        && recorded.clone().all(|call| !has_arguments(call))
        && noted.iter().any(has_arguments)
        && is_named_alike()
        && !recorded.zip(noted).any(is_other_id)
}

/// The arguments of several calls, if one call has them concatenated.
fn joined(call: &ToolCall) -> Option<Vec<Value>> {
    let text = call
        .arguments_text
        .as_deref()
        .filter(|text| text.contains("}{") || text.contains("} {"))?;
    let values: Vec<Value> = serde_json::Deserializer::from_str(text)
        .into_iter()
        .collect::<Result<_, _>>()
        .ok()?;
    (values.len() > 1 && values.iter().all(Value::is_object)).then_some(values)
}

/// Whether the arguments of a call are still those of several, because no history shows which are its own.
pub(super) fn is_joined(call: &ToolCall) -> bool {
    matches!(call.arguments, Some(Value::String(_))) && joined(call).is_some()
}

/// Whether a call was recorded with arguments: an empty object may be only the start of a stream.
pub(super) fn has_arguments(call: &ToolCall) -> bool {
    match &call.arguments {
        None | Some(Value::Null) => false,
        Some(Value::Object(map)) => !map.is_empty(),
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, arguments: Value) -> ToolCall {
        ToolCall {
            name: name.to_owned(),
            arguments: Some(arguments),
            ..ToolCall::default()
        }
    }

    #[test]
    fn what_a_stream_left() {
        let noted = [call("look", json!({"at": 1})), call("hear", json!({"at": 2}))];
        let left = |recorded: &[ToolCall]| is_left_of(recorded.iter(), &noted);
        let joined = |text: &str| ToolCall {
            arguments_text: Some(text.to_owned()),
            ..call("hear", json!({"at": 1}))
        };
        assert!(left(&[joined("{\"at\": 1}{\"at\": 2}")]));
        assert!(!left(&[joined("{\"at\": 1}{\"at\": 3}")]), "other arguments");
        assert!(is_joined(&ToolCall {
            arguments: Some("{\"at\": 1}{\"at\": 2}".into()),
            ..joined("{\"at\": 1}{\"at\": 2}")
        }));
        assert!(left(&[call("look", json!({})), call("hear", json!({}))]));
        assert!(!left(&[call("look", json!({}))]), "other calls");
        assert!(!left(&[call("look", json!({"at": 1}))]));
    }
}
