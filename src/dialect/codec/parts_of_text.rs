//! Extracts values from parts of a text: names from span names, ids and words.

use serde_json::Value;

use crate::dialect::raw::Raw;
use crate::dialect::{mend, python, words};
use crate::span::AnyValue;

/// The span name without the event, `tool.lookup-2` of `tool.lookup.start-2`, or only the tool's name.
pub(super) fn event_span(name: &str, is_tool: bool) -> Option<String> {
    let (target, number) = name.rsplit_once('-')?;
    let (of, event) = target.rsplit_once('.')?;
    let is_one = !event.is_empty() && !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    match is_tool {
        _ if !is_one => None,
        true => Some(of.strip_prefix("tool.").unwrap_or(of).to_owned()),
        false => Some(format!("{of}-{number}")),
    }
}

/// The last part of a name in snake case, along with the one before if the last part only says that something runs (`tool.call`).
pub(super) fn snake_case(text: &str) -> String {
    const RUNS: [&str; 7] = ["call", "run", "use", "invoke", "invocation", "execution", "request"];
    let name = text.trim().trim_matches('"');
    let mut parts = name.rsplit(['.', ':', '/']);
    let last = words::of(parts.next().unwrap_or(name)).replace('.', "_");
    match parts.next() {
        Some(before) if !before.is_empty() && RUNS.contains(&last.as_str()) => format!("{}_{last}", words::of(before).replace('.', "_")),
        _ => last,
    }
}

/// The arguments of CrewAI's tools as written by Monocle: a list of one text, `input: {'city': 'Oslo'}`.
pub(super) fn printed_input<'a>(raw: &Raw<'a>) -> Option<&'a str> {
    let text = match raw {
        Raw::Value(_, AnyValue::Array(items)) => match items.as_slice() {
            [AnyValue::String(text)] => text,
            _ => return None,
        },
        Raw::Value(_, AnyValue::String(text)) => text,
        _ => return None,
    };
    text.strip_prefix("input: ")
}

/// Strips the mark before a text: Agenta's type mark, or Qwen Code's line that says what the text is.
pub(super) fn without_mark(text: &str) -> &str {
    const LINES: [&str; 3] = ["[USER PROMPT", "[TOOL INPUT", "[TOOL RESULT"];
    let behind_line = || {
        let (line, rest) = text.split_once('\n')?;
        let mark = line.strip_suffix(']')?;
        LINES
            .iter()
            .any(|known| {
                mark.strip_prefix(known)
                    .is_some_and(|name| name.is_empty() || name.starts_with(": "))
            })
            .then_some(rest)
    };
    text.strip_prefix("@ag.type=json:").or_else(behind_line).unwrap_or(text)
}

/// Words before and after the tool's name in a span name.
const BEFORE_TOOL: &[&str] = &[
    "execute_tool",
    "execute tool",
    "running tool",
    "run_tool",
    "call_tool",
    "tool_call",
    "tool call",
    "invoke_tool",
    "use_tool",
    "tools",
    "tool",
    "functions",
    "function",
];
const BEHIND_TOOL: &[&str] = &["tool", "tool_call", "run", "call", "execute", "invoke"];

pub(super) fn name_of_tool(name: &str) -> &str {
    let name = name.trim();
    let is_end = |char: char| matches!(char, '.' | ':' | '/' | ' ' | '-');
    let begins = |word: &&str| name.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
    for word in BEFORE_TOOL.iter().filter(|word| begins(word)) {
        if let Some(rest) = name.get(word.len()..).filter(|rest| rest.starts_with(is_end)) {
            let rest = rest.trim_start_matches(is_end);
            if !rest.is_empty() {
                return rest;
            }
        }
    }
    match name.rsplit_once(is_end) {
        Some((head, last)) if !head.is_empty() && BEHIND_TOOL.iter().any(|word| word.eq_ignore_ascii_case(last)) => head,
        _ => name,
    }
}

/// Parses an answer in which tool calls follow the text into one message; `None` if there are no calls.
pub(super) fn words_then_calls(text: &str) -> Option<Value> {
    let (words, calls) = text.rsplit_once("Tool calls: ")?;
    let calls = python::read(calls).filter(Value::is_array)?;
    Some(serde_json::json!({"role": "assistant", "content": words.trim_end(), "tool_calls": calls}))
}

pub(super) fn model_of_id(id: &str) -> &str {
    let model = id.split_once('/').map_or(id, |(_, model)| model);
    let interface = [":completions", ":responses"].iter().find_map(|end| model.strip_suffix(end));
    interface.unwrap_or(model)
}

/// Whether a text is a JSON object or a dict printed by Python.
pub(super) fn has_object(text: &str) -> bool {
    let is_object = || mend::parse(text).is_some_and(|value| value.is_object());
    text.trim_start().starts_with('{') && (python::printed(text).is_some() || is_object())
}
