//! Normalizes values that clients spell differently.

use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::Offset;
use serde_json::{Map, Value};

use super::mend::{Ends, Mended};
use crate::hash::Members as _;
use crate::span::UnixNanos;

/// Parses an integer in decimal text, including `12.0`.
pub(super) fn integer(text: &str) -> Option<Value> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && number.fract() == 0.0 && number.abs() < 9e15)?;
    #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
    Some((number as i64).into())
}

/// Parses a finite number in decimal text.
pub(super) fn float(text: &str) -> Option<Value> {
    text.trim()
        .parse::<f64>()
        .ok()
        .and_then(serde_json::Number::from_f64)
        .map(Value::Number)
}

/// Parses JSON text of an object, list or string, mending it if necessary; any other text is unchanged.
pub(super) fn open_json(text: &str) -> Value {
    open_json_noting(text, Ends::Cut, &mut Mended::default())
}

/// Like [`open_json`]; `mended` receives the text's faults.
pub(super) fn open_json_noting(text: &str, ends: Ends, mended: &mut Mended) -> Value {
    let opened = super::rare_marks::may_be_json(text)
        .then(|| super::mend::parse_noting(text, ends, mended))
        .flatten();
    match opened {
        // JSON text that was quoted once more.
        Some(Value::String(inner)) if inner.trim_start().starts_with(['{', '[']) => {
            super::mend::parse_noting(&inner, ends, mended).unwrap_or(Value::String(inner))
        }
        Some(value) => value,
        None => Value::String(text.to_owned()),
    }
}

/// Normalizes why a model stopped to one word; `None` for "unknown".
pub(super) fn finish_reason(word: &str) -> Option<String> {
    // Of several, as one text or as a list in JSON or Python, take the first, which belongs to the first answer.
    let first = word.trim().trim_start_matches(['[', '(']).split(',').next().unwrap_or_default();
    let is_around = |char: char| char.is_whitespace() || matches!(char, '"' | '\'' | ']' | ')');
    let lower = first.trim_matches(is_around).to_ascii_lowercase();
    let last = lower.rsplit('.').next().unwrap_or(&lower);
    if is_unknown(last) {
        return None;
    }
    Some(match last {
        "" => return None,
        "tool_calls" | "tool-calls" | "tool_use" | "tool_call" | "function_call" | "tool_execution" | "tooluse" | "toolcalls" => {
            "tool_call".to_owned()
        }
        "end_turn" | "stop" | "stop_sequence" | "completed" => "stop".to_owned(),
        "max_tokens" | "length" | "max_output_tokens" => "length".to_owned(),
        "content_filter" | "content-filter" | "safety" | "refusal" => "content_filter".to_owned(),
        other => other.to_owned(),
    })
}

/// Whether a value is a JSON Schema of arguments, or a bare map of their schemas.
pub(super) fn is_schema(value: &Value) -> bool {
    let typed = |member: &Value| member.as_object().is_some_and(|member| member.has("type"));
    value.member("properties").is_some_and(Value::is_object)
        || value.member("type").is_some_and(|kind| kind == "object")
        || value.as_object().is_some_and(|map| !map.is_empty() && map.values().all(typed))
}

/// Parses an ISO 8601 time. Without an offset it counts as UTC; a date without a time is rejected.
pub(super) fn iso_time(text: &str) -> Option<UnixNanos> {
    const PARSER: DateTimeParser = DateTimeParser::new();
    let text = text.trim();
    let clock = text.get(DATE..)?;
    let moment = if clock.contains(['Z', 'z', '+', '-', '[']) {
        PARSER.parse_timestamp(text).ok()?
    } else if clock.is_empty() {
        return None;
    } else {
        Offset::UTC.to_timestamp(PARSER.parse_datetime(text).ok()?).ok()?
    };
    u64::try_from(moment.as_nanosecond()).ok().map(UnixNanos)
}

/// Length of `2026-01-01`.
const DATE: usize = 10;

/// Whether a text is some language's word for null.
pub(super) fn is_nothing(text: &str) -> bool {
    matches!(text.trim().trim_matches('"'), "null" | "None" | "undefined" | "nil")
}

/// Whether a text says that a value was not given, as clients and forms do: `not specified`, `<not set>`, `N/A`.
pub(super) fn is_unstated(text: &str) -> bool {
    const WORDS: [&str; 8] = [
        "not specified",
        "not provided",
        "not available",
        "not given",
        "not set",
        "unspecified",
        "n/a",
        "not applicable",
    ];
    let is_around = |letter: char| letter.is_whitespace() || matches!(letter, '<' | '>' | '[' | ']' | '(' | ')' | '"' | '\'');
    let words = text.trim_matches(is_around);
    let same = |word: &&str| {
        words.len() == word.len()
            && words.bytes().zip(word.bytes()).all(|(have, want)| match want {
                b' ' => matches!(have, b' ' | b'_' | b'-'),
                want => have.eq_ignore_ascii_case(&want),
            })
    };
    WORDS.iter().any(same)
}

/// Whether a text is a client's placeholder for an unknown name, id or reason.
pub(super) fn is_unknown(text: &str) -> bool {
    let words = text.trim_matches(|letter: char| letter.is_whitespace() || matches!(letter, '<' | '>' | '"'));
    ["unknown", "none", "null", "undefined", "nil"]
        .iter()
        .any(|word| words.eq_ignore_ascii_case(word))
        || is_unstated(text)
}

/// Reads arguments with their types next to their values (Google GenAI): `{"n": {"type": "int", "value": 4}}`.
fn typed_arguments(map: &Map<String, Value>) -> Option<Value> {
    let value = |member: &Value| {
        let member = member.as_object()?;
        let value = member.member("value")?;
        if member.keys().any(|key| key != "value" && key != "type") {
            return None;
        }
        Some(match (value, member.member("type").and_then(Value::as_str)) {
            (Value::String(_), Some("str" | "string")) => value.clone(),
            (Value::String(text), _) => super::mend::parse(text)
                .or_else(|| super::python::literal(text))
                .unwrap_or_else(|| value.clone()),
            _ => value.clone(),
        })
    };
    let is_typed = |member: &Value| member.member("type").is_some();
    if !map.values().any(is_typed) {
        return None;
    }
    let members: Option<Map<String, Value>> = map.iter().map(|(name, member)| Some((name.clone(), value(member)?))).collect();
    members.filter(|members| !members.is_empty()).map(Value::Object)
}

/// Whether arguments have names of Python types in place of their values, which were not recorded.
fn are_types_alone(map: &Map<String, Value>) -> bool {
    let is_type = |word: &str| matches!(word, "str" | "int" | "float" | "bool" | "list" | "dict" | "tuple" | "NoneType");
    let is_alone = |member: &Value| match member {
        Value::Object(member) if member.len() == 1 => member.member("type").and_then(Value::as_str).is_some_and(is_type),
        _ => false,
    };
    !map.is_empty() && map.values().all(is_alone)
}

/// Groups `code.function.parameters.NAME.type` and `.value` (opentelemetry-instrumentation-google-genai 1.0) by name.
fn parameters_of_code(map: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut out = Map::new();
    for (key, value) in map {
        let (name, member) = key.strip_prefix("code.function.parameters.")?.rsplit_once('.')?;
        let parameter = out.entry(name).or_insert_with(|| Value::Object(Map::new()));
        let _ = parameter.as_object_mut()?.insert(member.to_owned(), value.clone());
    }
    Some(out)
}

/// Removes a client's wrapping from a tool's arguments; also returns the call's id if the wrapping has it.
pub(super) fn arguments(value: Value) -> (Value, Option<String>) {
    let value = super::messages::parse_deep(value);
    let value = match &value {
        Value::String(text) => super::python::literal(text).unwrap_or(value),
        _ => value,
    };
    let Value::Object(map) = &value else { return (value, None) };
    if let Some(arguments) = parameters_of_code(map).as_ref().and_then(typed_arguments) {
        return (arguments, None);
    }
    if let Some(arguments) = typed_arguments(map) {
        return (arguments, None);
    }
    if are_types_alone(map) {
        return (Value::Null, None);
    }
    // A whole tool call: {name, args, id, type: tool_call}, {callId, name, args}.
    let is_call = map.member("name").is_some_and(Value::is_string) && map.len() <= 6;
    if is_call
        && (map.has("callId")
            || map
                .member("type")
                .and_then(Value::as_str)
                .is_some_and(|kind| kind == "tool_call" || kind == "function"))
        && let Some(inner) = map.member("args").or_else(|| map.member("arguments"))
    {
        let id = ["callId", "id", "call_id"]
            .into_iter()
            .find_map(|key| map.member(key))
            .and_then(Value::as_str)
            .map(str::to_owned);
        return (super::messages::parse_deep(inner.clone()), id);
    }
    if let Some(inputs @ Value::Object(_)) = map.member("inputs")
        && (map.has("input_str") || map.has("kwargs"))
    {
        let id = map
            .member("kwargs")
            .and_then(|kwargs| kwargs.member("tool_call_id"))
            .and_then(Value::as_str)
            .map(str::to_owned);
        return (inputs.clone(), id);
    }
    if let Some(Value::Object(kwargs)) = map.member("kwargs") {
        let known = map
            .keys()
            .all(|key| matches!(key.as_str(), "kwargs" | "args" | "sanitize_inputs_outputs" | "self"));
        // The input of a tool executor: {tool_name, args, kwargs} (Dapr Agents).
        let names_tool = || {
            let is_list = map.member("args").is_some_and(Value::is_array);
            map.len() == 3 && is_list && map.member("tool_name").is_some_and(Value::is_string)
        };
        if known || names_tool() {
            let id = kwargs.member("tool_call_id").and_then(Value::as_str).map(str::to_owned);
            let positional = map
                .member("args")
                .filter(|args| args.as_array().is_some_and(|args| !args.is_empty()));
            if let Some(args) = positional.filter(|_| !kwargs.is_empty()) {
                let both = [("args", args.clone()), ("kwargs", Value::Object(kwargs.clone()))];
                return (
                    Value::Object(both.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()),
                    id,
                );
            }
            if !kwargs.is_empty() {
                return (Value::Object(kwargs.clone()), id);
            }
            return match map.member("args").and_then(Value::as_array).map(Vec::as_slice) {
                Some([only @ Value::Object(_)]) => (only.clone(), id),
                Some([]) | None => (Value::Object(Map::new()), id),
                Some(list) => (Value::Array(list.to_vec()), id),
            };
        }
    }
    (without_switches(value), None)
}

/// Removes parameters of the tool's own class from its arguments: `{"args": {}, "city": "Paris", "sanitize_inputs_outputs": true}`
/// (smolagents).
fn without_switches(mut value: Value) -> Value {
    if let Value::Object(map) = &mut value
        && map.remove("sanitize_inputs_outputs").is_some()
    {
        let is_empty = |value: &Value| match value {
            Value::Object(map) => map.is_empty(),
            Value::Array(list) => list.is_empty(),
            _ => false,
        };
        map.retain(|key, value| !(matches!(key.as_str(), "args" | "kwargs") && is_empty(value)));
    }
    value
}

pub(super) use crate::withheld::is_withheld;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(iso_time("2026-01-01T10:00:00.050Z"), Some(UnixNanos(1_767_261_600_050_000_000)));
        assert_eq!(iso_time("2026-01-01T12:00:00+02:00"), Some(UnixNanos(1_767_261_600_000_000_000)));
        for same in [
            "2026-01-01T10:00:00Z",
            "2026-01-01 10:00:00",
            "2026-01-01T10:00",
            " 2026-01-01T10:00:00.000000+00:00 ",
            "2026-01-01T12:00:00+0200",
            "2026-01-01T12:00:00+02",
            "2026-01-01T04:30:00-05:30",
            "2026-01-01t10:00:00.000000000z",
        ] {
            assert_eq!(iso_time(same), Some(UnixNanos(1_767_261_600_000_000_000)), "{same}");
        }
        for none in [
            "yesterday",
            "",
            "2026-01-01",
            "2026-02-31T10:00:00Z",
            "2025-02-29T10:00:00Z",
            "2026-13-01T10:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T9223372036854775807:00:00Z",
            "9223372036854775807-01-01T00:00:00Z",
            "2026-01-01T10:60:00Z",
            "2026-01-01T10:00:00+99:00",
            "2026-01-01T10:00:00[Europe/Paris]",
            "1969-12-31T23:59:59Z",
            "9999-01-01T00:00:00Z",
            "2026-01-0\u{e9}T10:00:00Z",
        ] {
            assert_eq!(iso_time(none), None, "{none}");
        }
    }

    #[test]
    fn wrapped_arguments_open() {
        let wrapped = serde_json::json!({"args": [], "sanitize_inputs_outputs": true, "kwargs": {"city": "Paris"}});
        assert_eq!(arguments(wrapped).0, serde_json::json!({"city": "Paris"}));
        assert_eq!(
            arguments("{'city': 'Paris', 'n': None, 'x': [1, 2.5, True]}".into()).0,
            serde_json::json!({"city": "Paris", "n": null, "x": [1, 2.5, true]})
        );
        assert_eq!(arguments("Paris".into()).0, Value::from("Paris"));
    }

    #[test]
    fn words() {
        assert_eq!(finish_reason("FinishReason.STOP").as_deref(), Some("stop"));
    }
}
