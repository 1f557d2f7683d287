//! The text of a message, and what text cannot express.

use serde_json::Value;

use crate::document::json::{Json, Object, Text};
use crate::operation::message::Media;
use crate::operation::{Message, Part};
use crate::transcript::content;

/// A message's words.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Words<'a> {
    /// The text; media are named in it.
    pub(super) text: Text<'a>,
    /// The recorded content, if the text does not hold all of it.
    pub(super) raw: Option<Json<'a>>,
}

/// The words of a message.
pub(super) fn words(message: &Message) -> Words<'_> {
    if !message.has_media() {
        let mut text = content::content(message);
        if text.trim().is_empty()
            && let Some(result) = &message.result
        {
            text = text_of(result);
        }
        return Words { text, raw: None };
    }
    let mut text = String::new();
    let mut after_mark = false;
    for part in &message.parts {
        let mark = match part {
            Part::Text(words) => {
                if after_mark && !words.is_empty() {
                    text.push('\n');
                    after_mark = false;
                }
                text.push_str(words);
                continue;
            }
            Part::Reasoning { .. } => continue,
            Part::Media(media) => media_mark(media),
            Part::Other(value) => format!("[{}]", value.get("type").and_then(Value::as_str).unwrap_or("part")),
        };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&mark);
        after_mark = true;
    }
    Words {
        text: text.into(),
        raw: Some(content::chat_content(message)),
    }
}

fn media_mark(media: &Media) -> String {
    let mut mark = format!("[{}", if media.modality.is_empty() { "file" } else { &media.modality });
    if let Some(mime) = &media.mime_type {
        mark.push(' ');
        mark.push_str(mime);
    }
    if let Some(uri) = media.uri.as_deref().filter(|uri| !uri.starts_with("data:")) {
        mark.push(' ');
        mark.push_str(uri);
    }
    mark.push(']');
    mark
}

/// A value as text: text as it is, anything else as compact JSON.
pub(super) fn text_of(value: &Value) -> Text<'_> {
    match value {
        Value::Null => Text::default(),
        other => content::text(other),
    }
}

/// Provider data in reasoning other than text: signatures, encrypted content.
pub(super) fn opaque(message: &Message) -> Vec<Json<'_>> {
    message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Reasoning { text, opaque } if !opaque.is_empty() => {
                let mut map = Object::from(opaque);
                if let Some(text) = text {
                    map.lead("text", text);
                }
                Some(map.into())
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Role;
    use serde_json::json;

    #[test]
    fn media_are_named_and_kept() {
        let message = Message {
            parts: vec![
                Part::Text("Look: ".into()),
                Part::from(Media {
                    modality: "image".into(),
                    mime_type: Some("image/png".into()),
                    base64: Some("AAAA".into()),
                    ..Media::default()
                }),
                Part::Text("what is it?".into()),
                Part::Other(json!({"type": "refusal"})),
            ],
            ..Message::default()
        };
        let words = words(&message);
        assert_eq!(words.text, "Look: \n[image image/png]\nwhat is it?\n[refusal]");
        assert!(words.raw.is_some_and(|raw| raw.to_string().contains("AAAA")));
        assert_eq!(super::words(&Message::text(Role::User, "hi")).raw, None);
    }
}
