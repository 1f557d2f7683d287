//! The arguments of a tool call: from the tool's own span, else the model call that asked for it.

use serde_json::Value;

use crate::document::json::{Object, Text};
use crate::document::text::compact;
use crate::hash::HashMap;
use crate::operation::{Failure, ToolCall};
use crate::run::{EntryKind, Run, Step};

/// The call that asked for this tool, as in the model's output.
pub(crate) fn asked<'a>(run: &'a Run, step: &Step) -> Option<&'a ToolCall> {
    let caller = run.steps.get(step.dispatched_by?)?;
    let messages = caller.operation.output_messages.as_deref()?;
    messages.iter().flat_map(|message| &message.tool_calls).nth(step.call_index?)
}

/// The tool's name, else the operation's.
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

/// The arguments of the tool, of any JSON type.
pub(crate) fn arguments<'a>(run: &'a Run, step: &'a Step) -> Option<&'a Value> {
    let own = step.operation.tool.as_ref().and_then(|tool| tool.arguments.as_ref());
    own.or_else(|| asked(run, step).and_then(|call| call.arguments.as_ref()))
        .or_else(|| step.operation.input.get())
}

/// Each tool's result in the conversations, by the tool's step id.
#[derive(Debug, Default)]
pub(crate) struct Results<'a>(HashMap<&'a str, &'a Value>);

impl<'a> Results<'a> {
    /// The last result of each tool in the conversation of its scope.
    pub(crate) fn of(run: &'a Run) -> Self {
        let mut by_tool = HashMap::default();
        for (scope, entry) in run
            .scopes
            .enumerate()
            .flat_map(|(at, scope)| scope.conversation.iter().map(move |entry| (at, entry)))
        {
            if let EntryKind::Result(result) = &entry.kind
                && !result.result.is_null()
                && let Some(tool) = result.tool.and_then(|tool| run.steps.get(tool)).filter(|tool| tool.scope == scope)
            {
                by_tool.insert(tool.id.as_str(), &result.result);
            }
        }
        Self(by_tool)
    }

    /// The tool's result, of any JSON type: from the span, else from the messages.
    pub(crate) fn get(&self, step: &'a Step) -> Option<&'a Value> {
        let own = step.operation.tool.as_ref().and_then(|tool| tool.result.as_ref());
        own.or_else(|| step.operation.output.get())
            .or_else(|| self.0.get(step.id.as_str()).copied())
    }
}

/// The failure as text, never blank.
pub(crate) fn error_text(failure: &Failure) -> &str {
    let mut texts = [&failure.message, &failure.error_type].into_iter().filter_map(Option::as_deref);
    texts.find(|text| !text.trim().is_empty()).unwrap_or("error")
}

/// Arguments as an object; any other value is wrapped as `{"input": value}`. The flag says whether it was.
pub(crate) fn arguments_object(arguments: Option<&Value>) -> (Object<'_>, bool) {
    match arguments {
        Some(Value::Object(map)) => (map.into(), false),
        None | Some(Value::Null) => (Object::new(), false),
        Some(Value::String(text)) if text.is_empty() => (Object::new(), false),
        Some(other) => (Object::from([("input", other.into())]), true),
    }
}

/// The arguments of a call as JSON text, like [`ToolCall::arguments_json`].
pub(crate) fn arguments_json(call: &ToolCall) -> Text<'_> {
    match (&call.arguments_text, &call.arguments) {
        (Some(text), _) if serde_json::from_str::<Value>(text).is_ok() => text.into(),
        (_, Some(value)) => compact(value).into(),
        (_, None) => "{}".into(),
    }
}
