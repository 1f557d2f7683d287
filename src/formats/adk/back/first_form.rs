//! Converts the form that ADK used before eval sets to an eval set, as ADK itself does.
//!
//! | first form | eval set |
//! |---|---|
//! | list of invocations | a set of one case |
//! | `name`, `data`, `initial_session` | a case: `eval_id`, `conversation`, `session_input` |
//! | `query`, `reference` | `user_content`, `final_response` |
//! | `expected_tool_use`: `tool_name`, `tool_input` | `tool_uses`: `name`, `args` |
//! | `expected_intermediate_agent_responses`: `author`, `text` | `intermediate_responses` |
//!
//! Other members are kept unchanged.

use serde_json::{Map, Value, json};

use crate::formats::back::{At, Result, trace_id};

/// Converts a list to a set.
pub(super) fn set(at: &At<'_>) -> Result<Value> {
    let items = at.items()?;
    let cases = if items.iter().any(|item| item.value.get("data").is_some()) {
        items.iter().map(case).collect::<Result<Vec<Value>>>()?
    } else {
        vec![json!({"eval_id": "eval_case", "conversation": conversation(at)?})]
    };
    // The form has no set id: ADK uses the name of the file.
    let id = trace_id("adk", &at.value.to_string()).to_string();
    Ok(json!({"eval_set_id": id, "eval_cases": cases}))
}

fn case(at: &At<'_>) -> Result<Value> {
    let mut rest = at.object()?.clone();
    let mut out = Map::new();
    out.insert("eval_id".to_owned(), at.need("name")?.text()?.into());
    out.insert("conversation".to_owned(), conversation(&at.need("data")?)?);
    rest.shift_remove("name");
    rest.shift_remove("data");
    let session = at.some("initial_session").and_then(|session| session.value.as_object());
    if let Some(session) = session.filter(|session| !session.is_empty()) {
        out.insert("session_input".to_owned(), session.clone().into());
        rest.shift_remove("initial_session");
    }
    out.extend(rest);
    Ok(out.into())
}

fn conversation(at: &At<'_>) -> Result<Value> {
    at.items()?.iter().map(invocation).collect()
}

fn invocation(at: &At<'_>) -> Result<Value> {
    let mut rest = at.object()?.clone();
    let mut out = Map::new();
    let mut content = |to: &str, role: &str, text: &str| {
        out.insert(to.to_owned(), json!({"role": role, "parts": [{"text": text}]}));
    };
    content("user_content", "user", at.need("query")?.text()?);
    if let Some(reference) = at.text_of("reference")? {
        content("final_response", "model", reference);
    }
    let mut between = Map::new();
    if let Some(uses) = at.some("expected_tool_use") {
        let uses = uses.items()?.iter().map(tool_use).collect::<Result<Vec<Value>>>()?;
        between.insert("tool_uses".to_owned(), uses.into());
    }
    if let Some(responses) = at.some("expected_intermediate_agent_responses") {
        let responses = responses.items()?.iter().map(response).collect::<Result<Vec<Value>>>()?;
        between.insert("intermediate_responses".to_owned(), responses.into());
    }
    if !between.is_empty() {
        out.insert("intermediate_data".to_owned(), between.into());
    }
    for key in ["query", "reference", "expected_tool_use", "expected_intermediate_agent_responses"] {
        rest.shift_remove(key);
    }
    out.extend(rest);
    Ok(out.into())
}

fn tool_use(at: &At<'_>) -> Result<Value> {
    let mut out = Map::new();
    for (key, value) in at.object()? {
        let key = match key.as_str() {
            "tool_name" => "name",
            "tool_input" => "args",
            other => other,
        };
        out.insert(key.to_owned(), value.clone());
    }
    Ok(out.into())
}

/// A pair of author and parts.
fn response(at: &At<'_>) -> Result<Value> {
    let text = at.need("text")?.text()?;
    Ok(json!([at.need("author")?.text()?, [{"text": text}]]))
}
