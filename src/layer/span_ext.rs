//! Typed recording of what fields cannot express: [`SpanExt`].

use opentelemetry::{Array, Key, KeyValue, StringValue, Value};
use serde::Serialize;
use serde_json::Value as Json;
use tracing::Span;

use super::record::Record;
use super::write::{OpenInferenceWriter, plain};
use super::{access, visit};
use crate::dialect::messages::{self, Direction};
use crate::operation::{Cost, Document, Kind, Message, TokenCount, ToolDefinition};

/// An attribute value: any integer or float, a boolean or text.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldValue(pub(super) Value);

macro_rules! from_numbers {
    ($($from:ty => $by:path as $wide:ty),* $(,)?) => {$(
        impl From<$from> for FieldValue {
            fn from(value: $from) -> Self {
                #[allow(clippy::cast_lossless, reason = "isize and usize have no lossless form; the others cost nothing")]
                Self($by(value as $wide))
            }
        }
    )*};
}

from_numbers!(
    i8 => visit::integer as i128, i16 => visit::integer as i128, i32 => visit::integer as i128,
    i64 => visit::integer as i128, i128 => visit::integer as i128, isize => visit::integer as i128,
    u8 => visit::integer as u128, u16 => visit::integer as u128, u32 => visit::integer as u128,
    u64 => visit::integer as u128, u128 => visit::integer as u128, usize => visit::integer as u128,
    f32 => Value::F64 as f64, f64 => Value::F64 as f64,
);

impl From<bool> for FieldValue {
    fn from(value: bool) -> Self {
        Self(Value::Bool(value))
    }
}

impl From<&str> for FieldValue {
    fn from(value: &str) -> Self {
        Self(value.to_owned().into())
    }
}

impl From<String> for FieldValue {
    fn from(value: String) -> Self {
        Self(value.into())
    }
}

impl From<&String> for FieldValue {
    fn from(value: &String) -> Self {
        Self(value.clone().into())
    }
}

/// Records an agent's activity on a `tracing::Span`.
///
/// Nothing needs to be declared in the span's macro. On a disabled span, or one that no [`Layer`](super::Layer) sees, the methods do
/// nothing. `Serialize` values are accepted as they are: a request in OpenAI's, Anthropic's or Gemini's shape, your own structs, or
/// `serde_json::Value`. [`Message`] expresses what these shapes cannot.
///
/// ```
/// use serde_json::json;
/// use spanbridge::layer::SpanExt as _;
/// use spanbridge::operation::{Kind, TokenCount};
///
/// let span = tracing::info_span!("plan");
/// span.set_kind(Kind::Llm)
///     .set_model("gpt-4o", Some("openai"))
///     .set_input_messages(&json!([{"role": "user", "content": "Weather in Oslo?"}]))
///     .set_output_messages(&json!({"role": "assistant", "content": "-3 °C"}))
///     .set_usage(TokenCount { input: Some(12), output: Some(5), ..TokenCount::default() });
/// ```
pub trait SpanExt: sealed::Sealed {
    /// Sets a value under any key, declared or not. The last one wins.
    fn set_field(&self, key: impl Into<Key>, value: impl Into<FieldValue>) -> &Self;
    /// Like `Span::record`, but keeps a field that the span does not declare, which `Span::record` would drop silently. Debug builds report
    /// such a field once per callsite.
    fn record_field(&self, key: &'static str, value: impl Into<FieldValue>) -> &Self;
    /// Sets the kind of operation.
    fn set_kind(&self, kind: Kind) -> &Self;
    /// Sets the model and its provider.
    fn set_model(&self, name: &str, provider: Option<&str>) -> &Self;
    /// Sets request parameters such as the temperature.
    fn set_parameters(&self, parameters: &(impl Serialize + ?Sized)) -> &Self;
    /// Sets the reason why the model stopped.
    fn set_finish_reason(&self, reason: &str) -> &Self;
    /// Appends an input message of the model.
    fn add_input_message(&self, message: &Message) -> &Self;
    /// Appends an output message of the model.
    fn add_output_message(&self, message: &Message) -> &Self;
    /// Sets the input messages, in any shape that `spanbridge` reads.
    fn set_input_messages(&self, messages: &(impl Serialize + ?Sized)) -> &Self;
    /// Sets the output messages, in any shape that `spanbridge` reads, including a provider's whole response.
    fn set_output_messages(&self, messages: &(impl Serialize + ?Sized)) -> &Self;
    /// Sets the tools offered to the model.
    fn set_tools(&self, tools: &[ToolDefinition]) -> &Self;
    /// Sets the token usage of this call.
    fn set_usage(&self, usage: TokenCount) -> &Self;
    /// Sets the cost of this call, in US dollars.
    fn set_cost(&self, cost: Cost) -> &Self;
    /// Sets the input as a whole: text unchanged, other values as JSON.
    fn set_input(&self, input: &(impl Serialize + ?Sized)) -> &Self;
    /// Sets the output as a whole: text unchanged, other values as JSON.
    fn set_output(&self, output: &(impl Serialize + ?Sized)) -> &Self;
    /// Marks the span as a tool call: the tool's name, the call id given by the model, and the arguments.
    fn set_tool_call(&self, name: &str, call_id: Option<&str>, arguments: &(impl Serialize + ?Sized)) -> &Self;
    /// Sets the result of the tool.
    fn set_tool_result(&self, result: &(impl Serialize + ?Sized)) -> &Self;
    /// Sets the MCP server that offers the tool.
    fn set_mcp_server(&self, server: &str) -> &Self;
    /// Appends a document found by a search.
    fn add_document(&self, document: &Document) -> &Self;
    /// Sets the prompt's template, version and variables.
    fn set_prompt(&self, template: &str, version: Option<&str>, variables: &(impl Serialize + ?Sized)) -> &Self;
    /// Sets the session or conversation.
    fn set_session(&self, id: &str) -> &Self;
    /// Sets the user.
    fn set_user(&self, id: &str) -> &Self;
    /// Sets the agent's name.
    fn set_agent(&self, name: &str) -> &Self;
    /// Sets any further metadata, as an object.
    fn set_metadata(&self, metadata: &(impl Serialize + ?Sized)) -> &Self;
    /// Sets tags.
    fn set_tags<'a>(&self, tags: impl IntoIterator<Item = &'a str>) -> &Self;
    /// Records a failure: the status and an exception event with the error's causes.
    fn set_error(&self, error: &(dyn std::error::Error + 'static)) -> &Self;
    /// Records a failure: the status and an exception event.
    fn set_failure(&self, error_type: &str, message: &str) -> &Self;
    /// Marks the arrival of a stream's first token. Later calls have no effect.
    fn mark_first_token(&self) -> &Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for tracing::Span {}
}

/// Serializes a value to JSON. If that fails, the result is a note.
pub(super) fn json(value: &(impl Serialize + ?Sized)) -> Json {
    serde_json::to_value(value).unwrap_or_else(|error| Json::String(format!("not serializable: {error}")))
}

fn put(record: &mut Record, key: &'static str, value: impl Into<Value>) {
    record.put(key.into(), value.into());
}

pub(super) fn put_whole(record: &mut Record, name: &'static str, mime: &'static str, value: &Json) {
    if !value.is_string() {
        put(record, mime, "application/json");
    }
    put(record, name, plain(value));
}

fn add_messages(record: &mut Record, output: bool, list: &[Message]) {
    let more = record.more();
    let (prefix, count) = if output {
        ("llm.output_messages", &mut more.outputs)
    } else {
        ("llm.input_messages", &mut more.inputs)
    };
    OpenInferenceWriter::new(&mut more.attributes).messages(prefix, *count, list);
    *count += list.len();
}

pub(super) fn put_messages(record: &mut Record, direction: Direction, value: &Json) {
    let output = direction == Direction::Output;
    let prefix = if output { "llm.output_messages." } else { "llm.input_messages." };
    if let Some(more) = record.more.as_deref_mut() {
        more.forget(prefix);
        *(if output { &mut more.outputs } else { &mut more.inputs }) = 0;
    }
    match messages::read(value, direction) {
        Some(list) => add_messages(record, output, &list),
        None if output => put_whole(record, "output.value", "output.mime_type", value),
        None => put_whole(record, "input.value", "input.mime_type", value),
    }
}

pub(super) fn put_usage(record: &mut Record, usage: TokenCount) {
    let counts = [
        ("llm.token_count.prompt", usage.input),
        ("llm.token_count.completion", usage.output),
        ("llm.token_count.total", usage.sum()),
        ("llm.token_count.prompt_details.cache_read", usage.cache_read),
        ("llm.token_count.prompt_details.cache_write", usage.cache_write),
        ("llm.token_count.completion_details.reasoning", usage.reasoning),
    ];
    for (key, count) in counts {
        if let Some(count) = count {
            put(record, key, visit::integer(count));
        }
    }
}

/// Warns once per callsite and field that `Span::record` would have dropped a field.
#[cfg(debug_assertions)]
fn report_undeclared(record: &Record, key: &'static str) {
    use std::collections::HashSet;
    use std::sync::{Mutex, OnceLock};
    static SAID: OnceLock<Mutex<HashSet<(tracing::callsite::Identifier, &'static str)>>> = OnceLock::new();
    let metadata = record.plan.metadata;
    let said = SAID.get_or_init(Mutex::default).lock();
    if said.is_ok_and(|mut said| said.insert((metadata.callsite(), key))) {
        tracing::warn!(
            target: "spanbridge",
            span = metadata.name(),
            field = key,
            file = metadata.file().unwrap_or_default(),
            line = metadata.line().unwrap_or_default(),
            "the span does not declare this field: `Span::record` drops it, `record_field` keeps it"
        );
    }
}

impl SpanExt for Span {
    fn set_field(&self, key: impl Into<Key>, value: impl Into<FieldValue>) -> &Self {
        let (key, value) = (key.into(), value.into().0);
        access::with(self, |record| record.put(key, value));
        self
    }

    fn record_field(&self, key: &'static str, value: impl Into<FieldValue>) -> &Self {
        let value = value.into().0;
        let undeclared = access::with(self, |record| {
            let undeclared = !record.plan.fields.iter().any(|field| field.name == key);
            record.put(Key::from_static_str(key), value);
            undeclared.then_some(record.plan)
        });
        #[cfg(debug_assertions)]
        if let Some(plan) = undeclared.flatten() {
            report_undeclared(&Record::new(plan), key);
        }
        #[cfg(not(debug_assertions))]
        let _ = undeclared;
        self
    }

    fn set_kind(&self, kind: Kind) -> &Self {
        access::with(self, |record| record.more().kind = Some(kind));
        self
    }

    fn set_model(&self, name: &str, provider: Option<&str>) -> &Self {
        access::with(self, |record| {
            put(record, "llm.model_name", name.to_owned());
            if let Some(provider) = provider {
                put(record, "llm.provider", provider.to_owned());
            }
        });
        self
    }

    fn set_parameters(&self, parameters: &(impl Serialize + ?Sized)) -> &Self {
        let text = plain(&json(parameters));
        access::with(self, |record| put(record, "llm.invocation_parameters", text));
        self
    }

    fn set_finish_reason(&self, reason: &str) -> &Self {
        access::with(self, |record| put(record, "llm.finish_reason", reason.to_owned()));
        self
    }

    fn add_input_message(&self, message: &Message) -> &Self {
        access::with(self, |record| add_messages(record, false, std::slice::from_ref(message)));
        self
    }

    fn add_output_message(&self, message: &Message) -> &Self {
        access::with(self, |record| add_messages(record, true, std::slice::from_ref(message)));
        self
    }

    fn set_input_messages(&self, messages: &(impl Serialize + ?Sized)) -> &Self {
        if !self.is_disabled() {
            let messages = json(messages);
            access::with(self, |record| put_messages(record, Direction::Input, &messages));
        }
        self
    }

    fn set_output_messages(&self, messages: &(impl Serialize + ?Sized)) -> &Self {
        if !self.is_disabled() {
            let messages = json(messages);
            access::with(self, |record| put_messages(record, Direction::Output, &messages));
        }
        self
    }

    fn set_tools(&self, tools: &[ToolDefinition]) -> &Self {
        access::with(self, |record| {
            let more = record.more();
            OpenInferenceWriter::new(&mut more.attributes).tools(more.tools, tools);
            more.tools += tools.len();
        });
        self
    }

    fn set_usage(&self, usage: TokenCount) -> &Self {
        access::with(self, |record| put_usage(record, usage));
        self
    }

    fn set_cost(&self, cost: Cost) -> &Self {
        access::with(self, |record| {
            for (key, money) in [
                ("llm.cost.total", cost.total),
                ("llm.cost.prompt", cost.input),
                ("llm.cost.completion", cost.output),
            ] {
                if let Some(money) = money {
                    put(record, key, money);
                }
            }
        });
        self
    }

    fn set_input(&self, input: &(impl Serialize + ?Sized)) -> &Self {
        if !self.is_disabled() {
            let input = json(input);
            access::with(self, |record| put_whole(record, "input.value", "input.mime_type", &input));
        }
        self
    }

    fn set_output(&self, output: &(impl Serialize + ?Sized)) -> &Self {
        if !self.is_disabled() {
            let output = json(output);
            access::with(self, |record| put_whole(record, "output.value", "output.mime_type", &output));
        }
        self
    }

    fn set_tool_call(&self, name: &str, call_id: Option<&str>, arguments: &(impl Serialize + ?Sized)) -> &Self {
        if self.is_disabled() {
            return self;
        }
        let arguments = json(arguments);
        access::with(self, |record| {
            record.more().kind = Some(Kind::Tool);
            put(record, "tool.name", name.to_owned());
            if let Some(id) = call_id {
                put(record, "tool_call.id", id.to_owned());
            }
            put_whole(record, "input.value", "input.mime_type", &arguments);
        });
        self
    }

    fn set_tool_result(&self, result: &(impl Serialize + ?Sized)) -> &Self {
        self.set_output(result)
    }

    fn set_mcp_server(&self, server: &str) -> &Self {
        access::with(self, |record| put(record, "spanbridge.mcp_server", server.to_owned()));
        self
    }

    fn add_document(&self, document: &Document) -> &Self {
        access::with(self, |record| {
            let more = record.more();
            OpenInferenceWriter::new(&mut more.attributes).documents("retrieval.documents", more.documents, std::slice::from_ref(document));
            more.documents += 1;
        });
        self
    }

    fn set_prompt(&self, template: &str, version: Option<&str>, variables: &(impl Serialize + ?Sized)) -> &Self {
        let variables = plain(&json(variables));
        access::with(self, |record| {
            put(record, "llm.prompt_template.template", template.to_owned());
            if let Some(version) = version {
                put(record, "llm.prompt_template.version", version.to_owned());
            }
            put(record, "llm.prompt_template.variables", variables);
        });
        self
    }

    fn set_session(&self, id: &str) -> &Self {
        access::with(self, |record| put(record, "session.id", id.to_owned()));
        self
    }

    fn set_user(&self, id: &str) -> &Self {
        access::with(self, |record| put(record, "user.id", id.to_owned()));
        self
    }

    fn set_agent(&self, name: &str) -> &Self {
        access::with(self, |record| put(record, "agent.name", name.to_owned()));
        self
    }

    fn set_metadata(&self, metadata: &(impl Serialize + ?Sized)) -> &Self {
        let text = plain(&json(metadata));
        access::with(self, |record| put(record, "metadata", text));
        self
    }

    fn set_tags<'a>(&self, tags: impl IntoIterator<Item = &'a str>) -> &Self {
        let tags = tags.into_iter().map(|tag| StringValue::from(tag.to_owned())).collect();
        access::with(self, |record| put(record, "tag.tags", Value::Array(Array::String(tags))));
        self
    }

    fn set_error(&self, error: &(dyn std::error::Error + 'static)) -> &Self {
        let (message, causes) = (error.to_string(), visit::causes(error));
        access::with(self, |record| record.exception(None, message, causes));
        self
    }

    fn set_failure(&self, error_type: &str, message: &str) -> &Self {
        access::with(self, |record| {
            record.exception(Some(error_type.to_owned()), message.to_owned(), None);
        });
        self
    }

    fn mark_first_token(&self) -> &Self {
        access::with(self, |record| {
            if !std::mem::replace(&mut record.more().first_token, true) {
                record.event("First Token Stream Event", Vec::<KeyValue>::new());
            }
        });
        self
    }
}
