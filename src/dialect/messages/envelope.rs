//! Wrappers that frameworks put around the input and output of a whole run; everything else in them is not content.

use serde_json::{Map, Value};

use super::direction::Direction;
use crate::hash::Members as _;

/// Members of OpenLLMetry's wrapper around a LangChain run, `{"inputs": .., "tags": .., "kwargs": ..}`.
const OF_CALLBACK: [&str; 5] = ["inputs", "outputs", "tags", "metadata", "kwargs"];
/// Members of the arguments of ADK's runner, along with the new message.
const OF_RUNNER: [&str; 7] = [
    "new_message",
    "user_id",
    "session_id",
    "invocation_id",
    "state_delta",
    "run_config",
    "app_name",
];

/// The wrapped value, if the object is such a wrapper.
pub(crate) fn inside(map: &Map<String, Value>, direction: Direction) -> Option<&Value> {
    let is_made_of = |names: &[&str]| map.keys().all(|key| names.contains(&key.as_str()));
    let side = match direction {
        Direction::Input => "inputs",
        Direction::Output => "outputs",
    };
    if let Some(inner) = map.get(side).filter(|inner| !inner.is_null())
        && is_made_of(&OF_CALLBACK)
    {
        return Some(inner);
    }
    map.member("new_message")
        .filter(|message| direction == Direction::Input && message.is_object() && is_made_of(&OF_RUNNER))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn inner(value: &Value, direction: Direction) -> Option<Value> {
        inside(value.as_object()?, direction).cloned()
    }

    #[test]
    fn a_wrapping_has_nothing_else_in_it() {
        let asked =
            json!({"inputs": {"messages": [{"role": "user", "content": "Hey"}]}, "tags": [], "metadata": {}, "kwargs": {"name": "a"}});
        assert_eq!(
            inner(&asked, Direction::Input),
            Some(json!({"messages": [{"role": "user", "content": "Hey"}]}))
        );
        assert_eq!(inner(&asked, Direction::Output), None);
        assert_eq!(inner(&json!({"outputs": "Hi", "kwargs": {}}), Direction::Output), Some(json!("Hi")));
        assert_eq!(inner(&json!({"inputs": "Hi", "city": "Oslo"}), Direction::Input), None);
        let run = json!({"user_id": "u", "session_id": "s", "new_message": {"parts": [{"text": "Hey"}], "role": "user"}});
        assert_eq!(
            inner(&run, Direction::Input),
            Some(json!({"parts": [{"text": "Hey"}], "role": "user"}))
        );
    }
}
