//! Several answers to one request.

use serde_json::{Map, Value};

use crate::operation::{Message, Role};

const COUNTS: [&str; 6] = [
    "n",
    "candidate_count",
    "candidateCount",
    "num_generations",
    "numGenerations",
    "num_return_sequences",
];

/// The number of answers requested.
fn asked_for(parameters: &Map<String, Value>) -> Option<u64> {
    let largest = |map: &Map<String, Value>| {
        let counts = map.iter().filter(|(name, _)| COUNTS.contains(&name.as_str()));
        let number = |count: &Value| count.as_u64().or_else(|| count.as_str()?.parse().ok());
        counts.filter_map(|(_, count)| number(count)).max()
    };
    let inner = parameters.values().filter_map(Value::as_object).filter_map(largest).max();
    largest(parameters).max(inner)
}

/// Whether more than one answer was requested.
pub(super) fn are_asked_for(parameters: &Map<String, Value>) -> bool {
    asked_for(parameters).is_some_and(|count| count > 1)
}

/// Whether each of a model's messages is a separate answer: their number equals that of requested answers, finish reasons (`reasons`) or
/// choices in the response's body, or they are texts with differing finish reasons. Pieces of one answer share one.
pub(super) fn are_apart(list: &[Message], parameters: &Map<String, Value>, reasons: usize, body: Option<&Value>) -> bool {
    let is_answer = |message: &Message| message.role == Role::Assistant && (message.has_words() || !message.tool_calls.is_empty());
    if list.len() < 2 || !list.iter().all(is_answer) {
        return false;
    }
    let in_body = || body?.get("choices")?.as_array().map(Vec::len);
    if reasons == list.len() || in_body() == Some(list.len()) {
        return true;
    }
    let is_as_asked = are_asked_for(parameters) && asked_for(parameters) == u64::try_from(list.len()).ok();
    let mut reasons = list.iter().map(|message| message.finish_reason.as_deref());
    let is_end = |reason: &Option<&str>| matches!(reason, Some("stop" | "length" | "max_tokens" | "content_filter"));
    let are_ended = list.iter().all(|message| message.tool_calls.is_empty()) && reasons.clone().all(|reason| is_end(&reason));
    let first = reasons.next();
    is_as_asked || are_ended && reasons.any(|reason| Some(reason) != first)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(words: &str, reason: &str) -> Message {
        Message {
            finish_reason: Some(reason.to_owned()),
            ..Message::text(Role::Assistant, words)
        }
    }

    #[test]
    fn choices_are_as_many_as_asked_for_or_end_differently() {
        let none = Map::new();
        let are_apart = |list: &[Message], parameters: &Map<String, Value>| are_apart(list, parameters, 1, None);
        assert!(are_apart(&[said("A", "stop"), said("B", "length")], &none));
        assert!(!are_apart(&[said("A", "stop"), said("B", "stop")], &none), "may be pieces of one");
        let alike = [said("A", "stop"), said("B", "stop")];
        assert!(super::are_apart(&alike, &none, 2, None));
        assert!(super::are_apart(&alike, &none, 0, Some(&json!({"choices": [{}, {}]}))));
        let two = json!({"n": "2"}).as_object().cloned().unwrap_or_default();
        assert!(are_apart(&[said("A", "stop"), said("B", "stop")], &two));
        assert!(!are_apart(&[said("A", "stop")], &two));
    }
}
