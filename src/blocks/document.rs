//! OpenReward's blocks, in its own terms.
//!
//! Absent and null fields are distinguished, so that a document is written exactly as it was read.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::document::json::{Json, Object, Text};

/// Blocks in insertion order: a JSON array, or `{"blocks": [...]}`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document<'a> {
    /// The blocks.
    pub blocks: Vec<Block<'a>>,
    /// Whether they are wrapped in an object instead of a bare array.
    pub wrapped: bool,
}

/// One immutable row of `trace_blocks`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Block<'a> {
    /// `tb_...`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Text<'a>>,
    /// `tr_...`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<Text<'a>>,
    /// `MESSAGE`, `ACT` or `OBSERVE`: the bucket for filters and lanes.
    pub block_type: Text<'a>,
    /// `MESSAGE`, `TOOL_CALL`, `TOOL_RESULT` or `THINK`: the meaning.
    pub sub_type: Text<'a>,
    /// The client's data; its shape depends on `sub_type`.
    pub payload: Json<'a>,
    /// The parent block; `Some(None)` is an explicit null.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub parent_block_id: Option<Option<Text<'a>>>,
    /// Annotations.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub metadata: Option<Json<'a>>,
    /// The provider's payload.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub raw: Option<Json<'a>>,
    /// The client's free space, for example `reward`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub extra: Option<Json<'a>>,
    /// When it was inserted.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub created_at: Option<Json<'a>>,
    /// When it was last updated.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub updated_at: Option<Json<'a>>,
    /// Columns missing from the page.
    #[serde(flatten)]
    pub other: Object<'a>,
}

/// The meaning of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubType {
    /// A message of the system, a user or an assistant.
    Message,
    /// A tool call.
    ToolCall,
    /// The result of a tool.
    ToolResult,
    /// A model's reasoning.
    Think,
}

impl SubType {
    /// The word in a document.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Message => "MESSAGE",
            Self::ToolCall => "TOOL_CALL",
            Self::ToolResult => "TOOL_RESULT",
            Self::Think => "THINK",
        }
    }

    /// The `block_type` for it.
    #[must_use]
    pub fn block_type(self) -> &'static str {
        match self {
            Self::Message => "MESSAGE",
            Self::ToolCall | Self::Think => "ACT",
            Self::ToolResult => "OBSERVE",
        }
    }

    /// The sub type with this word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Message, Self::ToolCall, Self::ToolResult, Self::Think]
            .into_iter()
            .find(|sub_type| sub_type.name() == name)
    }

    /// The sub type of its parent; `None` if it has no parent.
    #[must_use]
    pub fn parent(self) -> Option<Self> {
        match self {
            Self::Message => None,
            Self::ToolCall | Self::Think => Some(Self::Message),
            Self::ToolResult => Some(Self::ToolCall),
        }
    }
}

impl<'a> Block<'a> {
    /// A block of this sub type, without parent, times or annotations.
    #[must_use]
    pub fn new(sub_type: SubType, id: Text<'a>, trace_id: Text<'a>, payload: Object<'a>) -> Self {
        Self {
            id: Some(id),
            trace_id: Some(trace_id),
            block_type: sub_type.block_type().into(),
            sub_type: sub_type.name().into(),
            payload: payload.into(),
            ..Self::default()
        }
    }

    /// The sub type, if the page knows it.
    #[must_use]
    pub fn meaning(&self) -> Option<SubType> {
        SubType::from_name(&self.sub_type)
    }

    /// The id of the parent block.
    #[must_use]
    pub fn parent(&self) -> Option<&str> {
        self.parent_block_id.as_ref()?.as_deref()
    }

    /// The call that a TOOL_CALL makes or a TOOL_RESULT answers.
    #[must_use]
    pub fn call_id(&self) -> Option<Text<'a>> {
        match self.payload.as_object()?.get("call_id")?.into_owned() {
            Json::Text(id) => Some(id),
            _ => None,
        }
    }

    /// Writes an annotation.
    pub fn annotate(&mut self, key: impl Into<Text<'a>>, value: impl Into<Json<'a>>) {
        change(&mut self.metadata, |metadata| metadata.insert(key, value));
    }

    /// Writes several annotations.
    pub(crate) fn annotate_all(&mut self, all: impl IntoIterator<Item = (Text<'a>, Json<'a>)>) {
        all.into_iter().for_each(|(key, value)| self.annotate(key, value));
    }

    /// Writes into the client's free space.
    pub fn annotate_extra(&mut self, key: &'static str, value: impl Into<Json<'a>>) {
        change(&mut self.extra, |extra| extra.insert(key, value));
    }

    /// Adds to a list among the annotations.
    pub fn push(&mut self, key: &'static str, value: impl Into<Json<'a>>) {
        change(&mut self.metadata, |metadata| metadata.push(key, value));
    }

    /// Adds to a list in the client's free space.
    pub fn push_extra(&mut self, key: &'static str, value: impl Into<Json<'a>>) {
        change(&mut self.extra, |extra| extra.push(key, value));
    }
}

/// Changes the object in a field, replacing any other value by an object first.
fn change<'a>(place: &mut Option<Json<'a>>, change: impl FnOnce(&mut Object<'a>)) {
    let mut object = match place.take() {
        Some(Json::Object(object)) => object,
        _ => Object::new(),
    };
    change(&mut object);
    *place = Some(object.into());
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.wrapped {
            serializer.collect_map([("blocks", &self.blocks)])
        } else {
            serializer.collect_seq(&self.blocks)
        }
    }
}

impl<'de> Deserialize<'de> for Document<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fn blocks<T: DeserializeOwned, E: serde::de::Error>(value: Value) -> Result<T, E> {
            serde_json::from_value(value).map_err(E::custom)
        }
        match Value::deserialize(deserializer)? {
            Value::Object(mut map) => match map.remove("blocks") {
                Some(list) => Ok(Self {
                    blocks: blocks(list)?,
                    wrapped: true,
                }),
                None => Err(D::Error::missing_field("blocks")),
            },
            list => Ok(Self {
                blocks: blocks(list)?,
                wrapped: false,
            }),
        }
    }
}

/// A field that is present, even as null.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
