//! Tool calls that one client writes as the Python `repr` of its own class.
//!
//! Seen in opentelemetry-instrumentation-openai-agents-v2 0.1.0:
//! `ResponseFunctionToolCall(arguments='{"city":"Paris"}', call_id='call_1', name='get_weather', type='function_call', ..)`.

use serde_json::Value;

use super::arguments;
use crate::operation::ToolCall;

/// Parses the call; `None` for any other text.
pub(super) fn tool_call(text: &str) -> Option<ToolCall> {
    let inside = text.trim().strip_prefix("ResponseFunctionToolCall(")?.strip_suffix(')')?;
    let name = argument(inside, "name")?;
    let arguments = argument(inside, "arguments").map(Value::String);
    Some(arguments::call(argument(inside, "call_id"), name, arguments.as_ref()))
}

/// The value of a keyword argument, with Python's escapes undone.
fn argument(inside: &str, name: &str) -> Option<String> {
    let marker = format!("{name}=");
    let mut from = 0;
    loop {
        let at = inside.get(from..)?.find(&marker)? + from;
        let preceded = inside
            .get(..at)
            .is_none_or(|before| before.is_empty() || before.ends_with(' ') || before.ends_with('('));
        let rest = inside.get(at + marker.len()..)?;
        if !preceded {
            from = at + marker.len();
            continue;
        }
        let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
        let mut out = String::new();
        let mut chars = rest.chars().skip(1);
        while let Some(char) = chars.next() {
            match char {
                '\\' => match chars.next()? {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    'r' => out.push('\r'),
                    other => out.push(other),
                },
                char if char == quote => return Some(out),
                char => out.push(char),
            }
        }
        return None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_quotes_and_escapes() {
        let call =
            tool_call(r#"ResponseFunctionToolCall(arguments='{"a":"it\'s"}', call_id='call_1', name='f', type='function_call', id=None)"#);
        let call = call.expect("a call");
        assert_eq!(call.name, "f");
        assert_eq!(call.arguments, Some(serde_json::json!({"a": "it's"})));
        assert!(tool_call("hello").is_none());
    }
}
