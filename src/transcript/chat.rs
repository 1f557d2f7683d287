//! Messages, tool calls, their results and the offered tools in the form that chat formats write.

use std::collections::hash_map::Entry;

use serde_json::Value;

use crate::dialect::messages;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::LossReason;
use crate::hash::HashMap;
use crate::operation::{Failure, Kind, Message, Part, Role, ToolDefinition};
use crate::run::{Run, Step};
use crate::transcript::calls;
use crate::transcript::calls::Results;
use crate::transcript::content;
use crate::transcript::{CallResult, ExchangeCall};

/// The tool that a call names, or a placeholder for formats that require a name.
pub(crate) fn name<'a>(run: &'a Run, asked: &ExchangeCall<'a>) -> &'a str {
    known_name(run, asked).unwrap_or("unknown")
}

/// The tool that a call names, or, if nothing else was recorded, that its result names.
pub(crate) fn known_name<'a>(run: &'a Run, asked: &ExchangeCall<'a>) -> Option<&'a str> {
    let tool = || asked.tool.and_then(|tool| tool.of(run));
    let own = asked.call.map(|call| call.name.as_str()).filter(|name| !name.is_empty());
    let of_result = || asked.results.iter().find_map(|given| given.entry?.tool_name.as_deref());
    own.or_else(|| tool().map(|tool| calls::tool_name(run, tool))).or_else(of_result)
}

/// The arguments of a call as an object. The flag says whether another value was wrapped in one.
pub(crate) fn arguments<'a>(run: &'a Run, asked: &ExchangeCall<'a>) -> (Object<'a>, bool) {
    let Some(call) = asked.call else {
        let input = asked.tool.and_then(|tool| content::input(run, tool.of(run)?));
        return match input.unwrap_or_default() {
            Json::Object(object) => (object, false),
            Json::Null => (Object::new(), false),
            other => (Object::from([("input", other)]), true),
        };
    };
    calls::arguments_object(call.arguments.as_ref())
}

/// A result as text, as the model received it, and why the tool failed. A failure without a result is `Error: ...`.
pub(crate) fn given<'a>(run: &'a Run, results: &Results<'a>, of: CallResult<'a>) -> (Text<'a>, Option<&'a Failure>) {
    let (text, failure) = result(run, results, of);
    let given = of.entry.and_then(|entry| entry.given.as_ref());
    (given.map_or(text, |given| shown(given).into_text()), failure)
}

/// Whether the text form of the result reduces an image, a sound or a file to a mark.
pub(crate) fn shows_media(run: &Run, results: &Results<'_>, of: CallResult<'_>) -> bool {
    let given = of.entry.and_then(|entry| entry.given.as_ref());
    let value = given.or_else(|| recorded(run, results, of));
    value.is_some_and(|value| messages::result_with_media(value).is_some())
}

/// Whether this holds for any result of a call.
pub(crate) fn any_shows_media(run: &Run, results: &Results<'_>, asked: &ExchangeCall<'_>) -> bool {
    asked.results.iter().any(|given| shows_media(run, results, *given))
}

/// The result as recorded: from the conversation, else from the tool's step.
pub(crate) fn recorded<'a>(run: &'a Run, results: &Results<'a>, of: CallResult<'a>) -> Option<&'a Value> {
    let of_entry = of.entry.map(|entry| &entry.result).filter(|value| !value.is_null());
    let of_tool = || {
        let step = of.tool?.of(run).filter(|step| step.operation.kind == Kind::Tool)?;
        results.get(step)
    };
    of_entry.or_else(of_tool)
}

/// A result with marked text for images, sounds and files, whose bytes are not readable text.
fn shown(value: &Value) -> Json<'_> {
    match messages::result_with_media(value) {
        Some(answer) => content(&answer).0.to_string().into(),
        None => value.into(),
    }
}

/// A result as text, and why the tool failed. A failure without a result is `Error: ...`.
pub(crate) fn result<'a>(run: &'a Run, results: &Results<'a>, given: CallResult<'a>) -> (Text<'a>, Option<&'a Failure>) {
    let (value, failure) = result_value(run, results, given);
    let text = if value.is_null() { Text::default() } else { value.into_text() };
    (text, failure)
}

/// A result of any JSON type, with marked text for images and other media, and why the tool failed. A failure without a result is
/// `Error: ...`.
pub(crate) fn result_value<'a>(run: &'a Run, results: &Results<'a>, given: CallResult<'a>) -> (Json<'a>, Option<&'a Failure>) {
    let step: Option<&'a Step> = given.tool.and_then(|tool| tool.of(run));
    let of_step = || step.and_then(|step| step.operation.failure.as_ref());
    let failure = given.entry.and_then(|entry| entry.failure.as_ref()).or_else(of_step);
    let value = match recorded(run, results, given) {
        Some(value) => shown(value),
        None => step.and_then(|step| content::output(results, step)).unwrap_or_default(),
    };
    let is_blank = match &value {
        Json::Text(text) => text.trim().is_empty(),
        // Null, and the empty object or list that some clients record with the error.
        other => other.is_empty(),
    };
    match failure.map(calls::error_text) {
        Some(error) if is_blank => (format!("Error: {error}").into(), failure),
        _ => (value, failure),
    }
}

/// Tools in OpenAI's function form.
#[derive(Debug, Default)]
pub(crate) struct OfferedTools<'a> {
    list: Vec<&'a ToolDefinition>,
    by_name: HashMap<&'a str, &'a ToolDefinition>,
}

impl<'a> OfferedTools<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds the tools offered to a model call. Returns the names of tools already listed with another definition.
    pub(crate) fn add(&mut self, definitions: &'a [ToolDefinition]) -> Vec<&'a str> {
        let mut differing = Vec::new();
        for definition in definitions.iter().filter(|definition| !definition.name.is_empty()) {
            match self.by_name.entry(&definition.name) {
                Entry::Vacant(place) => {
                    place.insert(definition);
                    self.list.push(definition);
                }
                Entry::Occupied(known) if **known.get() == *definition => {}
                Entry::Occupied(_) => differing.push(definition.name.as_str()),
            }
        }
        differing
    }

    /// A list with one object per tool; `null` if none was offered.
    pub(crate) fn list(&self) -> Json<'a> {
        if self.list.is_empty() {
            return Json::Null;
        }
        let tools = self.list.iter().map(|tool| {
            let mut function = Object::from([("name", (&tool.name).into())]);
            // Some templates fail without the key.
            function.add("description", tool.description.as_deref().unwrap_or_default());
            let parameters = match &tool.parameters {
                Some(schema @ Value::Object(_)) => Json::from(schema),
                // Templates and validators iterate over it.
                _ => Object::from([("type", "object".into()), ("properties", Object::new().into())]).into(),
            };
            function.add("parameters", parameters);
            Object::from([("type", "function".into()), ("function", function.into())])
        });
        tools.collect()
    }
}

/// A message's content as one text, with images and sounds as marked text, and the reason if that loses something.
pub(crate) fn content(message: &Message) -> (Text<'_>, Option<LossReason>) {
    if !message.has_media() {
        let of_result = message.result.as_deref().filter(|_| message.parts.is_empty());
        return (of_result.map_or_else(|| content::content(message), content::text), None);
    }
    let parts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.into()),
        Part::Reasoning { .. } => None,
        Part::Media(media) => Some(content::media_mark(media)),
        Part::Other(value) => part_words(message, value),
    });
    let text = parts.collect::<Vec<String>>().join("\n");
    let is_left_out = |part: &Part| matches!(part, Part::Other(value) if part_words(message, value).is_none());
    let reason = if message.parts.iter().any(is_left_out) {
        LossReason::NoPlace
    } else {
        LossReason::Coerced
    };
    (text.into(), Some(reason))
}

/// Marked text for a part that is neither text, reasoning nor media, but only in tool results. Elsewhere, a model trained on the text
/// would learn to write JSON of a client's own parts.
pub(crate) fn part_words(message: &Message, part: &Value) -> Option<String> {
    (message.role == Role::Tool).then(|| content::part_mark(part))
}
