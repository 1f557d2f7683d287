//! Keeps content in the process: the `OPENINFERENCE_HIDE_*` variables, GenAI's content switch, and a hook.
//!
//! The rules see every attribute of a span and its events, whoever set it, before the SDK does. The `semconv/` tables tell which keys hold
//! content, so `gen_ai.input.messages` and rig's `gen_ai.prompt` are hidden along with OpenInference's keys.

use std::borrow::Cow;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use opentelemetry::trace::{Event, Link, Status};
use opentelemetry::{Array, KeyValue, StringValue, Value};

use super::env::Env;
use super::words::words;
use crate::operation::Content;

/// As in OpenInference, replaces a hidden value whose presence may be known.
const REDACTED: &str = "__REDACTED__";

/// Receives each attribute and returns it, changed or not. `None` drops it, and so does a panic. Text outside attributes has a key too:
/// `otel.name` (the span's name), `event.name` and `otel.status_description`.
pub type RedactionHook = Arc<dyn Fn(&str, Value) -> Option<Value> + Send + Sync>;

/// The content to hide. [`Privacy::default`] hides nothing.
///
/// | field | variable |
/// |---|---|
/// | `inputs`, `outputs` | `OPENINFERENCE_HIDE_INPUTS`, `..._OUTPUTS`; both if `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` is `false`, `NO_CONTENT` or `EVENT_ONLY` |
/// | `input_messages`, `output_messages` | `OPENINFERENCE_HIDE_INPUT_MESSAGES`, `..._OUTPUT_MESSAGES` |
/// | `input_text`, `output_text` | `OPENINFERENCE_HIDE_INPUT_TEXT`, `..._OUTPUT_TEXT` |
/// | `input_images` | `OPENINFERENCE_HIDE_INPUT_IMAGES` |
/// | `invocation_parameters` | `OPENINFERENCE_HIDE_LLM_INVOCATION_PARAMETERS` |
/// | `tools` | `OPENINFERENCE_HIDE_LLM_TOOLS` |
/// | `prompts`, `choices` | `OPENINFERENCE_HIDE_PROMPTS` (also `..._LLM_PROMPTS`), `OPENINFERENCE_HIDE_CHOICES` |
/// | `prompt_template` | `OPENINFERENCE_HIDE_LLM_PROMPT_TEMPLATE` |
/// | `embedding_vectors`, `embedding_text` | `OPENINFERENCE_HIDE_EMBEDDINGS_VECTORS` (also `..._EMBEDDING_VECTORS`), `OPENINFERENCE_HIDE_EMBEDDINGS_TEXT` |
/// | `base64_image_max_length` | `OPENINFERENCE_BASE64_IMAGE_MAX_LENGTH` |
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Privacy {
    /// All input of models, tools and agents.
    pub inputs: bool,
    /// All output of models, tools and agents.
    pub outputs: bool,
    /// Input messages of models.
    pub input_messages: bool,
    /// Output messages of models.
    pub output_messages: bool,
    /// Text in input messages; roles and tool calls stay.
    pub input_text: bool,
    /// Text in output messages; roles and tool calls stay.
    pub output_text: bool,
    /// Images in input messages.
    pub input_images: bool,
    /// Request parameters such as the temperature.
    pub invocation_parameters: bool,
    /// Tools offered to models.
    pub tools: bool,
    /// `llm.prompts.*`.
    pub prompts: bool,
    /// `llm.choices.*`.
    pub choices: bool,
    /// `llm.prompt_template.*`.
    pub prompt_template: bool,
    /// Embedding vectors.
    pub embedding_vectors: bool,
    /// Embedded texts.
    pub embedding_text: bool,
    /// Maximum length of an image's `data:` URL to keep, in bytes.
    pub base64_image_max_length: Option<usize>,
    /// Called for each remaining attribute.
    pub hook: Option<RedactionHook>,
    /// Maximum characters of a text, from `OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT` or `OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT`, which the SDK
    /// does not support. Only the environment sets it, never the program.
    value_length: Option<usize>,
}

impl fmt::Debug for Privacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Privacy")
            .field("inputs", &self.inputs)
            .field("outputs", &self.outputs)
            .field("hook", &self.hook.is_some())
            .finish_non_exhaustive()
    }
}

impl Privacy {
    /// The rules configured in the environment.
    #[must_use]
    pub fn from_env() -> Self {
        Self::of(&Env::process())
    }

    pub(super) fn of(env: &Env) -> Self {
        let hide = |names: &[&str]| names.iter().any(|name| env.flag(&format!("OPENINFERENCE_HIDE_{name}")));
        let captured = env.text("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT");
        let no_content = captured.is_some_and(|word| {
            ["false", "0", "no", "off", "no_content", "event_only"]
                .iter()
                .any(|off| word.eq_ignore_ascii_case(off))
        });
        Self {
            inputs: no_content || hide(&["INPUTS"]),
            outputs: no_content || hide(&["OUTPUTS"]),
            input_messages: hide(&["INPUT_MESSAGES"]),
            output_messages: hide(&["OUTPUT_MESSAGES"]),
            input_text: hide(&["INPUT_TEXT"]),
            output_text: hide(&["OUTPUT_TEXT"]),
            input_images: hide(&["INPUT_IMAGES"]),
            invocation_parameters: hide(&["LLM_INVOCATION_PARAMETERS"]),
            tools: hide(&["LLM_TOOLS"]),
            prompts: hide(&["PROMPTS", "LLM_PROMPTS"]),
            choices: hide(&["CHOICES"]),
            prompt_template: hide(&["LLM_PROMPT_TEMPLATE"]),
            embedding_vectors: hide(&["EMBEDDING_VECTORS", "EMBEDDINGS_VECTORS"]),
            embedding_text: hide(&["EMBEDDINGS_TEXT", "EMBEDDING_TEXT"]),
            base64_image_max_length: env.number("OPENINFERENCE_BASE64_IMAGE_MAX_LENGTH"),
            hook: None,
            value_length: ["OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"]
                .iter()
                .find_map(|name| env.number(name)),
        }
    }

    /// Takes over the limits that apply whatever the program hides.
    pub(super) fn limited_as(mut self, other: Option<&Self>) -> Self {
        self.value_length = other.and_then(|other| other.value_length);
        self
    }

    /// Adds a hook that receives each remaining attribute and returns it, changed or not; `None` drops it.
    ///
    /// ```
    /// let privacy = spanbridge::layer::Privacy::from_env()
    ///     .with_hook(|key, value| (key != "user.id").then_some(value));
    /// ```
    #[must_use]
    pub fn with_hook(mut self, hook: impl Fn(&str, Value) -> Option<Value> + Send + Sync + 'static) -> Self {
        self.hook = Some(Arc::new(hook));
        self
    }

    /// The rules for the hot path; `None` if nothing is hidden.
    pub(super) fn shared(self) -> Option<Arc<Self>> {
        let idle = !(self.inputs
            || self.outputs
            || self.input_messages
            || self.output_messages
            || self.input_text
            || self.output_text
            || self.input_images
            || self.invocation_parameters
            || self.tools
            || self.prompts
            || self.choices
            || self.prompt_template
            || self.embedding_vectors
            || self.embedding_text)
            && self.base64_image_max_length.is_none()
            && self.value_length.is_none()
            && self.hook.is_none();
        (!idle).then(|| Arc::new(self))
    }

    pub(super) fn attributes(&self, list: Vec<KeyValue>) -> Vec<KeyValue> {
        list.into_iter().filter_map(|pair| self.attribute(pair)).collect()
    }

    pub(super) fn events(&self, list: Vec<Event>) -> Vec<Event> {
        list.into_iter().map(|event| self.event(event)).collect()
    }

    /// An event's name may be the text of a log line, so the hook sees it as `event.name`.
    pub(super) fn event(&self, mut event: Event) -> Event {
        event.attributes = self.attributes(event.attributes);
        event.name = self.text("event.name", event.name);
        event
    }

    pub(super) fn links(&self, list: Vec<Link>) -> Vec<Link> {
        list.into_iter()
            .map(|mut link| {
                link.attributes = self.attributes(link.attributes);
                link
            })
            .collect()
    }

    /// The hook sees a span's name as `otel.name`.
    pub(super) fn name(&self, name: Cow<'static, str>) -> Cow<'static, str> {
        self.text("otel.name", name)
    }

    /// Passes on a text that must not be missing: if the hook drops it, it is redacted.
    fn text(&self, key: &str, text: Cow<'static, str>) -> Cow<'static, str> {
        let Some(hook) = &self.hook else { return text };
        match ask(hook, key, Value::String(StringValue::from(text.clone()))) {
            Some(Value::String(same)) if same.as_str() == text => text,
            Some(value) => value.to_string().into(),
            None => REDACTED.into(),
        }
    }

    pub(super) fn attribute(&self, pair: KeyValue) -> Option<KeyValue> {
        let mut pair = self.mask(pair)?;
        if let Some(hook) = &self.hook {
            pair.value = ask(hook, pair.key.as_str(), pair.value)?;
        }
        if let Some(longest) = self.value_length {
            pair.value = cut(pair.value, longest);
        }
        Some(pair)
    }

    pub(super) fn status(&self, status: Status) -> Status {
        match (status, &self.hook) {
            (Status::Error { description }, Some(hook)) if !description.is_empty() => {
                let description = Value::String(StringValue::from(description.into_owned()));
                let value = ask(hook, "otel.status_description", description);
                Status::error(value.map(|value| value.to_string()).unwrap_or_default())
            }
            (status, _) => status,
        }
    }

    fn mask(&self, pair: KeyValue) -> Option<KeyValue> {
        let redacted = |pair: KeyValue| Some(KeyValue::new(pair.key, REDACTED));
        let key = pair.key.as_str();
        match key {
            "input.value" if self.inputs => return redacted(pair),
            "output.value" if self.outputs => return redacted(pair),
            "input.mime_type" if self.inputs => return None,
            "output.mime_type" if self.outputs => return None,
            "llm.invocation_parameters" if self.invocation_parameters => return None,
            _ => {}
        }
        if let Some(rest) = key.strip_prefix("llm.input_messages") {
            if self.inputs || self.input_messages {
                return None;
            }
            if self.input_images && rest.contains("message_content.image") {
                return None;
            }
            if self.input_text && is_for_words(rest) {
                return redacted(pair);
            }
            if let (Some(longest), Value::String(url)) = (self.base64_image_max_length, &pair.value)
                && rest.ends_with("image.url")
                && url.as_str().starts_with("data:")
                && url.as_str().len() > longest
            {
                return redacted(pair);
            }
            return Some(pair);
        }
        if let Some(rest) = key.strip_prefix("llm.output_messages") {
            if self.outputs || self.output_messages {
                return None;
            }
            return if self.output_text && is_for_words(rest) {
                redacted(pair)
            } else {
                Some(pair)
            };
        }
        let hidden = self.tools && key.starts_with("llm.tools")
            || self.prompts && key.starts_with("llm.prompts")
            || self.choices && key.starts_with("llm.choices")
            || self.prompt_template && key.starts_with("llm.prompt_template")
            || self.embedding_vectors && key.starts_with("embedding.") && key.ends_with("embedding.vector")
            || self.embedding_text && key.starts_with("embedding.") && key.ends_with("embedding.text");
        if hidden {
            return None;
        }
        let hidden = match words().content(key) {
            // Keys of other dialects hold text and calls in one value, so no part of it can be kept.
            Some(Content::Input) => self.inputs || self.is_foreign(key) && (self.input_messages || self.input_text),
            Some(Content::Output) => self.outputs || self.is_foreign(key) && (self.output_messages || self.output_text),
            None => false,
        };
        (!hidden).then_some(pair)
    }

    fn is_foreign(&self, key: &str) -> bool {
        words().is_foreign(key)
    }
}

/// Given the rest of a message list's key, whether it holds the text of a message or all messages.
fn is_for_words(rest: &str) -> bool {
    // The last two are our own, for results that are not text.
    let members = ["message.content", "message_content.text", "message.result_json", "tool_call.answer"];
    rest.is_empty() || members.iter().any(|member| rest.ends_with(member))
}

fn cut(value: Value, longest: usize) -> Value {
    let text = |text: StringValue| match text.as_str().char_indices().nth(longest) {
        Some((end, _)) => StringValue::from(text.as_str().get(..end).unwrap_or_default().to_owned()),
        None => text,
    };
    match value {
        Value::String(long) => Value::String(text(long)),
        Value::Array(Array::String(list)) => Value::Array(Array::String(list.into_iter().map(text).collect())),
        other => other,
    }
}

/// A panicking hook hides the value: spans end in destructors, where a panic would abort the program.
fn ask(hook: &RedactionHook, key: &str, value: Value) -> Option<Value> {
    let call = AssertUnwindSafe(|| hook(key, value));
    std::panic::catch_unwind(call).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(names: &[(&str, &str)], pairs: &[(&'static str, &'static str)]) -> Vec<(String, String)> {
        let privacy = Privacy::of(&Env::of(names));
        let pairs = pairs.iter().map(|(key, value)| KeyValue::new(*key, *value)).collect();
        let kept = privacy.attributes(pairs).into_iter();
        kept.map(|pair| (pair.key.to_string(), pair.value.to_string())).collect()
    }

    #[test]
    fn content_is_kept_unless_a_variable_says_otherwise() {
        let pairs = [
            ("input.value", "question"),
            ("gen_ai.prompt", "question"),
            ("llm.input_messages.0.message.role", "user"),
            ("llm.input_messages.0.message.content", "question"),
            ("llm.model_name", "m"),
        ];
        assert_eq!(left(&[], &pairs).len(), 5);
        let text = left(&[("OPENINFERENCE_HIDE_INPUT_TEXT", "true")], &pairs);
        assert!(text.contains(&("llm.input_messages.0.message.content".into(), REDACTED.into())));
        assert!(text.contains(&("llm.input_messages.0.message.role".into(), "user".into())));
        assert!(!text.iter().any(|(key, _)| key == "gen_ai.prompt"));
        for key in [
            "llm.input_messages",
            "llm.input_messages.1.message.result_json",
            "llm.input_messages.1.message.tool_calls.0.tool_call.answer",
        ] {
            let words = left(&[("OPENINFERENCE_HIDE_INPUT_TEXT", "true")], &[(key, "secret")]);
            assert_eq!(words, [(key.to_owned(), REDACTED.to_owned())]);
        }
        let none = left(&[("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "False")], &pairs);
        assert_eq!(
            none,
            [
                ("input.value".to_owned(), REDACTED.to_owned()),
                ("llm.model_name".to_owned(), "m".to_owned())
            ]
        );
    }

    #[test]
    fn text_is_cut_at_a_character() {
        let limit = [("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "3")];
        assert_eq!(
            left(&limit, &[("a", "-3 °C"), ("b", "né!")]),
            [("a".to_owned(), "-3 ".to_owned()), ("b".to_owned(), "né!".to_owned())]
        );
        let privacy = Privacy::default().limited_as(Some(&Privacy::of(&Env::of(&limit))));
        let tags = Value::Array(Array::String(vec!["long".into(), "né".into()]));
        let tags = privacy.attribute(KeyValue::new("tag.tags", tags)).map(|pair| pair.value);
        assert_eq!(tags, Some(Value::Array(Array::String(vec!["lon".into(), "né".into()]))));
    }

    #[test]
    fn the_hook_sees_what_is_left() {
        let privacy = Privacy::default().with_hook(|key, value| match key {
            "user.id" => None,
            "otel.status_description" => Some("hidden".into()),
            "app.odd" => panic!("a hook with a bug"),
            _ => Some(value),
        });
        let privacy = privacy.shared().expect("a hook is a rule");
        assert!(privacy.attribute(KeyValue::new("user.id", "ada")).is_none());
        assert!(privacy.attribute(KeyValue::new("app.odd", 1)).is_none());
        assert_eq!(privacy.status(Status::error("key sk-1 is wrong")), Status::error("hidden"));
        assert!(Privacy::default().shared().is_none());
    }
}
