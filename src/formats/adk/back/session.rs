//! Converts a session of ADK (`adk run --save_session`, the download of its web page) to an eval set, as ADK itself does.
//!
//! | session | eval set |
//! |---|---|
//! | `id` | `eval_set_id`, `eval_id` |
//! | events of one `invocation_id` | an invocation, which begins at the first one's time |
//! | the user's words at its beginning | `user_content` |
//! | other events with content, tokens or an error | `invocation_events`, unchanged |
//! | the last words of an agent | `final_response` |
//! | `app_name`, `user_id` | `session_input` |
//! | `state` | `final_session_state` |
//!
//! Other events are left out: they only change the state, or are pieces of a streamed answer that is also recorded whole.

use serde_json::{Map, Value, json};

use super::super::check::snake;
use crate::formats::back::{At, Result};

/// Converts a session; also returns the number of events left out.
pub(super) fn set(at: &At<'_>) -> Result<(Value, usize)> {
    let whole = snake(at.value, 0);
    let session = at.below("", &whole);
    let id = session.need("id")?.text()?;
    let mut left_out = 0;
    let mut invocations: Vec<(Value, Vec<Value>)> = Vec::new();
    for event in session.need("events")?.items()? {
        event.object()?;
        if !says_something(event.value) {
            left_out += 1;
            continue;
        }
        let own = event.value.get("invocation_id").cloned().unwrap_or_default();
        match invocations.last_mut() {
            Some((id, events)) if *id == own => events.push(event.value.clone()),
            _ => invocations.push((own, vec![event.value.clone()])),
        }
    }
    let conversation: Vec<Value> = invocations.into_iter().map(|(id, events)| invocation(id, events)).collect();
    let mut case = json!({
        "eval_id": id,
        "conversation": conversation,
        "session_input": {"app_name": session.need("app_name")?.text()?, "user_id": session.need("user_id")?.text()?, "state": {}},
    });
    if let (Some(case), Some(state)) = (case.as_object_mut(), session.some("state")) {
        case.insert("final_session_state".to_owned(), state.value.clone());
    }
    Ok((json!({"eval_set_id": id, "eval_cases": [case]}), left_out))
}

/// Whether an event is more than a change of state or a piece of a streamed answer, which is also recorded whole.
fn says_something(event: &Value) -> bool {
    let has = |key: &str| event.get(key).is_some_and(|value| !value.is_null());
    let has_parts = event
        .pointer("/content/parts")
        .and_then(Value::as_array)
        .is_some_and(|parts| !parts.is_empty());
    let is_partial = event.get("partial") == Some(&Value::Bool(true));
    !is_partial && (has_parts || has("usage_metadata") || has("error_code") || has("error_message"))
}

fn invocation(id: Value, mut events: Vec<Value>) -> Value {
    let started = events.first().and_then(|event| event.get("timestamp")).cloned();
    let is_asked = |event: &Value| is_persons(event) && !has_part(event, "function_response");
    let asked = match events.first() {
        Some(first) if is_asked(first) => events.remove(0).get("content").cloned(),
        _ => None,
    };
    let is_answer = |event: &&Value| !is_persons(event) && has_part(event, "text") && !has_part(event, "function_call");
    let answer = events.iter().rev().find(is_answer).and_then(|event| event.get("content")).cloned();
    let mut out = Map::new();
    out.extend(Some(id).filter(Value::is_string).map(|id| ("invocation_id".to_owned(), id)));
    out.insert(
        "user_content".to_owned(),
        asked.unwrap_or_else(|| json!({"role": "user", "parts": []})),
    );
    out.extend(answer.map(|answer| ("final_response".to_owned(), answer)));
    out.insert("intermediate_data".to_owned(), json!({ "invocation_events": events }));
    out.extend(started.map(|started| ("creation_timestamp".to_owned(), started)));
    out.into()
}

fn is_persons(event: &Value) -> bool {
    event.get("author").and_then(Value::as_str) == Some("user")
}

fn has_part(event: &Value, key: &str) -> bool {
    let parts = event.pointer("/content/parts").and_then(Value::as_array);
    parts.is_some_and(|parts| parts.iter().any(|part| part.get(key).is_some_and(|value| !value.is_null())))
}
