//! What a tool was called with: the tool's own span says so, else the model call that asked for it.

use serde_json::Value;

use crate::operation::{Failure, ToolCall};
use crate::run::{EntryKind, Run, Step};

/// The call that asked for this tool, as the model's output holds it.
pub(crate) fn asked<'a>(run: &'a Run, step: &Step) -> Option<&'a ToolCall> {
    let caller = run.steps.get(step.dispatched_by?)?;
    let messages = caller.operation.output_messages.as_deref()?;
    messages.iter().flat_map(|message| &message.tool_calls).nth(step.call_index?)
}

/// The tool's name; the operation's where nobody names the tool.
pub(crate) fn tool_name<'a>(run: &'a Run, step: &'a Step) -> &'a str {
    let own = step.operation.tool.as_ref().and_then(|tool| tool.name.as_deref());
    own.filter(|name| !name.trim().is_empty())
        .or_else(|| asked(run, step).map(|call| call.name.as_str()))
        .filter(|name| !name.trim().is_empty())
        .unwrap_or(&step.operation.name)
}

/// The id that the model gave the call.
pub(crate) fn call_id<'a>(run: &'a Run, step: &'a Step) -> Option<&'a str> {
    let own = step.operation.tool.as_ref().and_then(|tool| tool.call_id.as_deref());
    own.or_else(|| asked(run, step).and_then(|call| call.id.as_deref()))
}

/// What the tool was called with, of any JSON type.
pub(crate) fn arguments<'a>(run: &'a Run, step: &'a Step) -> Option<&'a Value> {
    let own = step.operation.tool.as_ref().and_then(|tool| tool.arguments.as_ref());
    own.or_else(|| asked(run, step).and_then(|call| call.arguments.as_ref()))
        .or(step.operation.input.as_ref())
}

/// What the tool gave back, of any JSON type: the span says so, else the messages.
pub(crate) fn result<'a>(run: &'a Run, step: &'a Step) -> Option<&'a Value> {
    let own = step.operation.tool.as_ref().and_then(|tool| tool.result.as_ref());
    own.or(step.operation.output.as_ref()).or_else(|| {
        let entries = &run.scopes.get(step.scope)?.conversation;
        entries.iter().rev().find_map(|entry| match &entry.kind {
            EntryKind::Result(told) => {
                let tool = run.steps.get(told.tool?)?;
                (tool.span_id == step.span_id && tool.id == step.id && !told.result.is_null()).then_some(&told.result)
            }
            _ => None,
        })
    })
}

/// The failure in words, never blank.
pub(crate) fn error_text(failure: &Failure) -> String {
    let said = |text: &Option<String>| text.as_deref().filter(|text| !text.trim().is_empty()).map(str::to_owned);
    said(&failure.message)
        .or_else(|| said(&failure.error_type))
        .unwrap_or_else(|| "error".to_owned())
}
