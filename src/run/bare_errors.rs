//! Stage "bare errors": takes the steps and adds missing error texts. Failed tools whose error is only a code (`TOOL_ERROR`) get the
//! text of their result, which is what the model received; failed model calls without a text get that of the failure around them
//! (Mastra's call ends with the reason `error`; its agent has the text).
//!
//! This runs after the tools have their results and before the entries, which copy a tool's failure.

use std::borrow::Cow;

use serde_json::Value;

use super::id::{IdVec, StepId};
use super::model::Step;
use crate::operation::{Failure, Kind};

/// A longer text is the output of a failed program, not the reason.
const MAX_REASON_LEN: usize = 2000;

/// Maximum number of operations above a call examined.
const MAX_ANCESTORS: usize = 32;

pub(super) fn fill(steps: &mut IdVec<StepId, Step>) {
    let silent = |step: &Step| {
        let failure = step.operation.failure.as_ref().filter(|_| step.operation.kind == Kind::Llm);
        failure.is_some_and(|failure| failure.message.is_none() && failure.error_type.is_none())
    };
    let calls: Vec<StepId> = steps.enumerate().filter(|(_, step)| silent(step)).map(|(at, _)| at).collect();
    for at in calls {
        let around = words_around(steps, at);
        if let (Some(words), Some(failure)) = (around, steps.get_mut(at).and_then(|step| step.operation.failure.as_mut())) {
            failure.message = Some(words);
        }
    }
    for step in steps.iter_mut().filter(|step| step.operation.kind == Kind::Tool) {
        let operation = &mut *step.operation;
        let result = operation.tool.as_ref().and_then(|tool| tool.result.as_ref());
        let (Some(failure), Some(result)) = (&mut operation.failure, result) else {
            continue;
        };
        let is_code = |text: &String| !text.contains(char::is_whitespace) && !text.eq_ignore_ascii_case("error");
        if !failure.message.as_ref().is_none_or(is_code) {
            continue;
        }
        let code = failure.error_type.as_ref().or(failure.message.as_ref());
        if let Some(words) = words(result, code.is_some()) {
            let words = words.into_owned();
            let code = failure.message.replace(words);
            failure.error_type = failure.error_type.take().or(code);
        }
    }
}

/// Why the nearest operation around this one failed.
fn words_around(steps: &IdVec<StepId, Step>, at: StepId) -> Option<String> {
    let mut above = steps.get(at)?.parent;
    for _ in 0..MAX_ANCESTORS {
        let step = steps.get(above?)?;
        if let Some(words) = step.operation.failure.as_ref().and_then(|failure| failure.message.clone()) {
            return Some(words);
        }
        above = step.parent;
    }
    None
}

/// The text in a result that describes the error. `is_error`: a result that is plain text may be the description.
fn words(result: &Value, is_error: bool) -> Option<Cow<'_, str>> {
    let said = match result {
        Value::String(text) if text.len() <= MAX_REASON_LEN && text.trim_start().starts_with(['{', '[']) => {
            return match serde_json::from_str::<Value>(text) {
                Ok(value) => Some(words(&value, is_error)?.into_owned().into()),
                Err(_) => is_error.then_some(text.into()),
            };
        }
        Value::String(text) if is_error => text.as_str(),
        Value::Object(members) => {
            let recorded = ["error", "error_message", "message"].into_iter().find_map(|key| members.get(key));
            match recorded {
                Some(Value::Object(inner)) => inner.get("message")?.as_str()?,
                Some(recorded) => recorded.as_str()?,
                // An MCP result.
                None if members.get("isError") == Some(&Value::Bool(true)) => return texts(members.get("content")?),
                None => return None,
            }
        }
        Value::Array(_) if is_error => return texts(result),
        _ => return None,
    };
    of_reasonable_length(said).map(Cow::Borrowed)
}

/// The texts of a list of content blocks.
fn texts(blocks: &Value) -> Option<Cow<'_, str>> {
    let blocks = blocks.as_array()?;
    let text = |block: &'_ Value| Some(block.get("text")?.as_str()?.to_owned());
    let texts: Vec<String> = blocks.iter().map(text).collect::<Option<_>>()?;
    of_reasonable_length(&texts.join("\n")).map(|text| text.to_owned().into())
}

fn of_reasonable_length(text: &str) -> Option<&str> {
    let text = text.trim();
    let text = text.strip_prefix("Error: ").unwrap_or(text);
    (!text.is_empty() && text.len() <= MAX_REASON_LEN).then_some(text)
}

impl Failure {
    /// Whether this is the failure of another, reduced to its code.
    pub(super) fn is_code_of(&self, other: &Self) -> bool {
        self.message.is_some() && self.message == other.error_type
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::operation::ToolUse;
    use crate::run::id::Id as _;
    use crate::run::testing::step;
    use crate::span::UnixNanos;

    #[test]
    fn a_code_gives_way_to_the_words_of_the_result() {
        let cases = [
            (
                Some("TOOL_ERROR"),
                json!("no such pier: 4"),
                Some("no such pier: 4"),
                Some("TOOL_ERROR"),
            ),
            (
                Some("TOOL_ERROR"),
                json!("Error: no such pier"),
                Some("no such pier"),
                Some("TOOL_ERROR"),
            ),
            (
                Some("E1"),
                json!({"error": {"message": "no such pier"}}),
                Some("no such pier"),
                Some("E1"),
            ),
            (
                None,
                json!({"isError": true, "content": [{"type": "text", "text": "no pier"}]}),
                Some("no pier"),
                None,
            ),
            // What a tool gave before it failed is no error.
            (None, json!("5 m"), None, None),
            (Some("E1"), json!(r#"{"error": "no such pier"}"#), Some("no such pier"), Some("E1")),
            (Some("E1"), json!({"depth": 5}), Some("E1"), None),
            (
                Some("the line broke"),
                json!({"error": "no such pier"}),
                Some("the line broke"),
                None,
            ),
            (Some("E1"), json!("x".repeat(MAX_REASON_LEN + 1)), Some("E1"), None),
        ];
        for (code, result, message, error_type) in cases {
            let mut step = step(String::new(), Kind::Tool, "", UnixNanos(0), UnixNanos(9));
            step.operation.failure = Some(Failure {
                message: code.map(str::to_owned),
                ..Failure::default()
            });
            step.operation.tool = Some(Box::new(ToolUse {
                result: Some(result.clone()),
                ..ToolUse::default()
            }));
            let mut steps: IdVec<StepId, Step> = std::iter::once(step).collect();
            fill(&mut steps);
            let failure = steps.first().and_then(|step| step.operation.failure.clone()).unwrap_or_default();
            assert_eq!(
                (failure.message.as_deref(), failure.error_type.as_deref()),
                (message, error_type),
                "{result}"
            );
        }
    }
    #[test]
    fn a_call_without_words_has_those_of_what_failed_around_it() {
        let failed = |kind, parent: Option<usize>, message: Option<&str>| {
            let mut step = step(String::new(), kind, "", UnixNanos(0), UnixNanos(9));
            step.parent = parent.map(StepId::new);
            step.operation.failure = Some(Failure {
                message: message.map(str::to_owned),
                ..Failure::default()
            });
            step
        };
        let wrapper = Step {
            parent: Some(StepId::new(0)),
            ..step(String::new(), Kind::Chain, "", UnixNanos(0), UnixNanos(9))
        };
        let agent = failed(Kind::Agent, None, Some("the line broke"));
        let mut steps: IdVec<StepId, Step> = [agent, wrapper, failed(Kind::Llm, Some(1), None)].into_iter().collect();
        fill(&mut steps);
        let last = steps.last().and_then(|step| step.operation.failure.as_ref()?.message.as_deref());
        assert_eq!(last, Some("the line broke"));
    }
}
