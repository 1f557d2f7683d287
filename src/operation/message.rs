//! Messages between people, agents, models and tools.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::tool_call_id::ToolCallId;

/// The speaker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The system prompt.
    System,
    /// OpenAI's newer name for the system prompt.
    Developer,
    /// The user, or whoever acts as one.
    #[default]
    User,
    /// The model.
    Assistant,
    /// A tool's answer.
    Tool,
    /// A role that no dialect knows.
    Other(String),
}

impl Role {
    /// The name in OpenAI's chat shape.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Other(word) => word,
        }
    }

    /// The role for a client's word, in upper or lower case.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        const KNOWN: &[(&str, Role)] = &[
            ("user", Role::User),
            ("assistant", Role::Assistant),
            ("system", Role::System),
            ("tool", Role::Tool),
            ("developer", Role::Developer),
            ("human", Role::User),
            ("ai", Role::Assistant),
            ("model", Role::Assistant),
            ("function", Role::Tool),
            // Pi's.
            ("toolResult", Role::Tool),
        ];
        let known = KNOWN.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        known.map_or_else(|| Self::Other(word.to_owned()), |(_, role)| role.clone())
    }

    /// The role for a client's recorded value, which may be the name of an enum's member (`MessageRole.USER`).
    #[must_use]
    pub fn from_recorded(text: &str) -> Self {
        Self::from_word(text.rsplit('.').next().unwrap_or(text))
    }
}

/// A model's request to run a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolCall {
    /// The call's id, which several clients omit. In the conversations of a run every call has one.
    pub id: Option<ToolCallId>,
    /// The tool's name.
    pub name: String,
    /// Parsed arguments, or the text itself if it is not JSON; `None` if the client recorded none.
    pub arguments: Option<Value>,
    /// The arguments as the model wrote them, if recorded as text.
    pub arguments_text: Option<String>,
    /// The tool's answer, if the provider ran the tool during the model's answer (a web search, a code interpreter, an MCP
    /// server that the provider calls).
    pub answered: Option<Box<Message>>,
}

impl ToolCall {
    /// The id that the client recorded for the call.
    #[must_use]
    pub fn recorded_id(&self) -> Option<&str> {
        self.id.as_ref().filter(|id| !id.is_derived()).map(ToolCallId::as_str)
    }

    /// The arguments as JSON text: as sent if known, else compact JSON; `{}` if none were recorded.
    #[must_use]
    pub fn arguments_json(&self) -> String {
        match (&self.arguments_text, &self.arguments) {
            (Some(text), _) if serde_json::from_str::<Value>(text).is_ok() => text.clone(),
            (_, Some(value)) => value.to_string(),
            (_, None) => "{}".to_owned(),
        }
    }

    /// The arguments as an object; any other value is wrapped as `{"input": value}`. The flag says whether it was.
    #[must_use]
    pub fn arguments_object(&self) -> (Map<String, Value>, bool) {
        arguments_object(self.arguments.as_ref())
    }
}

/// Arguments as compact text: text unchanged, anything else as JSON.
#[must_use]
pub fn arguments_text(arguments: &Value) -> String {
    arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned)
}

/// Arguments as an object; any other value is wrapped as `{"input": value}`. The flag says whether it was.
#[must_use]
pub fn arguments_object(arguments: Option<&Value>) -> (Map<String, Value>, bool) {
    match arguments {
        Some(Value::Object(map)) => (map.clone(), false),
        None | Some(Value::Null) => (Map::new(), false),
        Some(Value::String(text)) if text.is_empty() => (Map::new(), false),
        Some(other) => (Map::from_iter([("input".to_owned(), other.clone())]), true),
    }
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Text.
    Text(String),
    /// The model's reasoning.
    Reasoning {
        /// The reasoning text; `None` if the provider gives only a signature or encrypted data.
        text: Option<String>,
        /// Signature, encrypted content and the like.
        opaque: Map<String, Value>,
    },
    /// An image, a sound, a file.
    Media(Box<Media>),
    /// Anything else, as recorded.
    Other(Value),
}

impl Part {
    /// Reasoning that is only text.
    #[must_use]
    pub fn thought(text: impl Into<String>) -> Self {
        Self::Reasoning {
            text: Some(text.into()),
            opaque: Map::new(),
        }
    }
}

impl From<Media> for Part {
    fn from(media: Media) -> Self {
        Self::Media(Box::new(media))
    }
}

/// An image, a sound, a file in a message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Media {
    /// `image`, `audio`, `video`, `document`, `file`.
    pub modality: String,
    /// For example `image/png`.
    pub mime_type: Option<String>,
    /// Its location; may be a `data:` URL.
    pub uri: Option<String>,
    /// Its bytes in base64.
    pub base64: Option<String>,
    /// The part as recorded.
    pub raw: Value,
}

impl Media {
    /// A URL: the recorded one, else a `data:` URL of the bytes.
    #[must_use]
    pub fn url(&self) -> Option<String> {
        self.uri.clone().or_else(|| {
            let data = self.base64.as_ref()?;
            Some(format!(
                "data:{};base64,{data}",
                self.mime_type.as_deref().unwrap_or("application/octet-stream")
            ))
        })
    }
}

/// Texts joined, with a separator between two that no whitespace divides.
pub(crate) fn joined<'t>(texts: impl IntoIterator<Item = &'t str>, between: &str) -> String {
    let mut joined = String::new();
    for text in texts {
        if !joined.is_empty() && !joined.ends_with(char::is_whitespace) && !text.starts_with(char::is_whitespace) {
            joined.push_str(between);
        }
        joined.push_str(text);
    }
    joined
}

/// One message of a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Message {
    /// The speaker.
    pub role: Role,
    /// The content, in order.
    pub parts: Vec<Part>,
    /// The message's tool calls.
    pub tool_calls: Vec<ToolCall>,
    /// In a tool's answer: the id of the answered call.
    pub tool_call_id: Option<String>,
    /// Name of the speaker or of the tool.
    pub name: Option<String>,
    /// In a tool's answer: the value, if recorded as one and not as text.
    pub result: Option<Box<Value>>,
    /// In a tool's answer: whether the client marks the tool as failed.
    pub is_error: bool,
    /// Why the model stopped, if recorded in the message.
    pub finish_reason: Option<String>,
    /// In a model's answer: the choice that it belongs to, as numbered by the provider; 0 if there is only one.
    pub choice: u64,
}

impl Message {
    /// A message with one text.
    #[must_use]
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            parts: vec![Part::Text(text.into())],
            ..Self::default()
        }
    }

    /// The text parts, joined.
    #[must_use]
    pub fn content(&self) -> String {
        self.joined_text().into_owned()
    }

    /// All text parts as one text. Adjacent prompts, and blocks of a result, stay on separate lines.
    pub(crate) fn joined_text(&self) -> Cow<'_, str> {
        let mut texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let first = texts.next().unwrap_or_default();
        match texts.next() {
            None => first.into(),
            Some(second) => {
                // Prompts are paragraphs, and a tool's blocks are separate results.
                let between = match self.role {
                    Role::System | Role::Developer => "\n\n",
                    Role::Tool => "\n",
                    _ => "",
                };
                joined([first, second].into_iter().chain(texts), between).into()
            }
        }
    }

    /// Approximate size in memory, in bytes.
    pub(crate) fn size(&self) -> usize {
        /// The size of a value without its text.
        const VALUE: usize = 80;
        fn of_value(value: &Value) -> usize {
            let inside = match value {
                Value::String(text) => text.len(),
                Value::Array(items) => items.iter().map(of_value).sum(),
                Value::Object(map) => of_map(map),
                Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            };
            inside.saturating_add(VALUE)
        }
        fn of_map(map: &Map<String, Value>) -> usize {
            map.iter().map(|(key, value)| key.len().saturating_add(of_value(value))).sum()
        }
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.len(),
            Part::Reasoning { text: thought, opaque } => text(thought).saturating_add(of_map(opaque)),
            Part::Media(media) => [text(&media.uri), text(&media.base64), of_value(&media.raw)].iter().sum(),
            Part::Other(value) => of_value(value),
        });
        let calls = self.tool_calls.iter().map(|call| {
            let arguments = call.arguments.as_ref().map_or(0, of_value);
            let answer = call.answered.as_deref().map_or(0, Self::size);
            [call.name.len(), arguments, text(&call.arguments_text), answer, VALUE].iter().sum()
        });
        let result = self.result.as_deref().map_or(0, of_value);
        parts.chain(calls).chain([result, 3 * VALUE]).fold(0, usize::saturating_add)
    }

    /// Whether a text part contains more than whitespace.
    #[must_use]
    pub fn has_words(&self) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, Part::Text(text) if !text.trim().is_empty()))
    }

    /// Whether a part contains reasoning text.
    #[must_use]
    pub fn has_thoughts(&self) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, Part::Reasoning { text: Some(text), .. } if !text.trim().is_empty()))
    }

    /// The reasoning text, joined by line breaks; `None` if there is none.
    #[must_use]
    pub fn reasoning(&self) -> Option<String> {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Reasoning { text: Some(text), .. } if !text.trim().is_empty() => Some(text.as_str()),
                _ => None,
            })
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// Whether it has neither content nor tool calls.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.tool_calls.is_empty()
            && self.result.is_none()
            && self.parts.iter().all(|part| match part {
                Part::Text(text) => text.trim().is_empty(),
                Part::Reasoning { text, opaque } => text.as_deref().unwrap_or("").trim().is_empty() && opaque.is_empty(),
                _ => false,
            })
    }

    /// Whether it calls a tool that the provider did not run itself, so that the model waits for the answer.
    #[must_use]
    pub fn asks_for_tools(&self) -> bool {
        self.tool_calls.iter().any(|call| call.answered.is_none())
    }

    /// Whether a part is neither text nor reasoning.
    #[must_use]
    pub fn has_media(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Media(_) | Part::Other(_)))
    }

    /// Its images, sounds and files.
    pub(crate) fn media(&self) -> impl Iterator<Item = &Media> {
        self.parts.iter().filter_map(|part| match part {
            Part::Media(media) => Some(&**media),
            _ => None,
        })
    }

    /// Whether a tool's answer has no content.
    #[must_use]
    pub fn is_without_result(&self) -> bool {
        self.parts.is_empty() && self.result.is_none()
    }

    /// The value of a tool's answer: the recorded value, else the text, or the list of parts if it has media.
    #[must_use]
    pub fn result_value(&self) -> Value {
        self.result.as_deref().cloned().unwrap_or_else(|| {
            if self.has_media() {
                self.chat_content()
            } else {
                Value::String(self.content())
            }
        })
    }

    /// The message in OpenAI's chat shape, with reasoning next to the content.
    #[must_use]
    pub fn to_chat(&self) -> Value {
        let mut out = Map::new();
        let _ = out.insert("role".into(), self.role.name().into());
        if let Some(name) = &self.name {
            let _ = out.insert("name".into(), name.as_str().into());
        }
        if let Some(id) = &self.tool_call_id {
            let _ = out.insert("tool_call_id".into(), id.as_str().into());
        }
        let _ = out.insert("content".into(), self.chat_content());
        if let Some(reasoning) = self.reasoning() {
            let _ = out.insert("reasoning".into(), reasoning.into());
        }
        if !self.tool_calls.is_empty() {
            let calls: Vec<Value> = self
                .tool_calls
                .iter()
                .map(|call| {
                    let mut object = Map::new();
                    if let Some(id) = &call.id {
                        let _ = object.insert("id".into(), id.as_str().into());
                    }
                    let _ = object.insert("type".into(), "function".into());
                    let _ = object.insert(
                        "function".into(),
                        serde_json::json!({"name": call.name, "arguments": call.arguments_json()}),
                    );
                    Value::Object(object)
                })
                .collect();
            let _ = out.insert("tool_calls".into(), calls.into());
        }
        Value::Object(out)
    }

    /// Content in OpenAI's chat shape: text, null, or a list of parts if it has more than text.
    #[must_use]
    pub fn chat_content(&self) -> Value {
        if self.has_media() {
            let parts: Vec<Value> = self
                .parts
                .iter()
                .filter_map(|part| match part {
                    Part::Text(text) => Some(serde_json::json!({"type": "text", "text": text})),
                    Part::Media(media) if media.modality == "image" => Some(media.url().map_or_else(
                        || media.raw.clone(),
                        |url| serde_json::json!({"type": "image_url", "image_url": {"url": url}}),
                    )),
                    Part::Media(media) => Some(media.raw.clone()),
                    Part::Other(value) => Some(value.clone()),
                    Part::Reasoning { .. } => None,
                })
                .collect();
            return Value::Array(parts);
        }
        if self.role == Role::Tool
            && let Some(result) = self.result.as_deref()
        {
            return match result {
                Value::String(text) => Value::String(text.clone()),
                other => Value::String(other.to_string()),
            };
        }
        if self.parts.iter().any(|part| matches!(part, Part::Text(_))) {
            Value::String(self.content())
        } else {
            Value::Null
        }
    }
}
