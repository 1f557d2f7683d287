//! Reads sets with the names used in agentevals' examples: `case_id` for `eval_id`, `agent_content` for `final_response`.

use serde_json::{Map, Value};

const RENAMED_KEYS: [(&str, &str); 2] = [("case_id", "eval_id"), ("agent_content", "final_response")];

/// The same set with ADK's names; `None` if it already uses them.
pub(super) fn as_adk(set: &Value) -> Option<Value> {
    let is_other = |case: &Value| case.get("case_id").is_some() && case.get("eval_id").or_else(|| case.get("evalId")).is_none();
    if !set.get("eval_cases")?.as_array()?.iter().any(is_other) {
        return None;
    }
    let mut set = set.clone();
    for case in set.get_mut("eval_cases").and_then(Value::as_array_mut).into_iter().flatten() {
        rename(case);
        let turns = case.get_mut("conversation").and_then(Value::as_array_mut);
        turns.into_iter().flatten().for_each(rename);
    }
    Some(set)
}

fn rename(value: &mut Value) {
    let Some(members) = value.as_object_mut() else { return };
    for (from, to) in RENAMED_KEYS {
        if members.contains_key(from) && !members.contains_key(to) {
            let name = |key: String| if key == from { to.to_owned() } else { key };
            *members = std::mem::take(members)
                .into_iter()
                .map(|(key, value)| (name(key), value))
                .collect::<Map<_, _>>();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_those_of_adk() {
        let set = json!({"eval_set_id": "s", "eval_cases": [{"case_id": "c", "conversation": [{"agent_content": {"parts": []}}]}]});
        let wanted = json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": [{"final_response": {"parts": []}}]}]});
        assert_eq!(as_adk(&set).as_ref(), Some(&wanted));
        assert_eq!(as_adk(&wanted), None);
    }
}
