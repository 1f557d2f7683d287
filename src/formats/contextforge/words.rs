//! Words of a user or an agent, as text.

use serde_json::Value;

use crate::document::json::{Json, Text};
use crate::document::text::compact;
use crate::operation::{Message, Part};
use crate::transcript::content;

/// A user's or an agent's words as text.
pub(super) struct Words<'a> {
    pub(super) text: Text<'a>,
    /// Whether they were not text.
    pub(super) coerced: bool,
    /// The original value, if the text does not show all of it.
    pub(super) original: Option<Json<'a>>,
}

/// A value as words; `None` if there are none.
pub(super) fn words(value: &Value) -> Option<Words<'_>> {
    let (text, coerced) = match value {
        Value::Null => return None,
        Value::String(text) if text.trim().is_empty() => return None,
        Value::String(text) => (text.into(), false),
        other => (compact(other).into(), true),
    };
    Some(Words {
        text,
        coerced,
        original: None,
    })
}

/// A message as words; parts that are not text become marked text.
pub(super) fn message_words(message: &Message) -> Option<Words<'_>> {
    let text = content::content(message);
    if !message.has_media() {
        return message.has_words().then_some(Words {
            text,
            coerced: false,
            original: None,
        });
    }
    let marks = media_marks(message);
    Some(Words {
        text: if text.trim().is_empty() {
            marks.into()
        } else {
            format!("{text}\n{marks}").into()
        },
        coerced: true,
        original: Some(content::chat_content(message)),
    })
}

/// Marked text for each part of a message that is not text, one per line.
pub(super) fn media_marks(message: &Message) -> String {
    let mark = |part: &Part| match part {
        Part::Media(media) => Some(content::media_mark(media)),
        Part::Other(value) => Some(content::part_mark(value)),
        _ => None,
    };
    message.parts.iter().filter_map(mark).collect::<Vec<_>>().join("\n")
}

/// The words of all messages together.
pub(super) fn joined_words<'a>(messages: Option<&[Message]>) -> Option<Words<'a>> {
    let joined = joined(messages);
    let words = message_words(&joined)?;
    Some(Words {
        text: words.text.into_owned().into(),
        coerced: words.coerced,
        original: words.coerced.then(|| joined.chat_content().into()),
    })
}

/// The parts of all messages as one message.
pub(super) fn joined(messages: Option<&[Message]>) -> Message {
    Message {
        parts: messages
            .unwrap_or_default()
            .iter()
            .flat_map(|message| message.parts.clone())
            .collect(),
        ..Message::default()
    }
}
