//! Images, audio and files in every recorded shape.

use serde_json::{Map, Value};

use super::member::text;
use crate::hash::Members as _;
use crate::operation::message::Media;

/// Reads an image, audio, video or file; `kind` is the client's word for it.
pub(super) fn media(kind: &str, map: &Map<String, Value>) -> Media {
    let mut media = Media {
        raw: Value::Object(map.clone()),
        ..Media::default()
    };
    // Gemini and Genkit use one word for all kinds. Most are images; the MIME type tells.
    let is_any = kind == "inline_data" && map.get("modality").is_none();
    media.modality = text(map, &["modality"]).unwrap_or_else(|| {
        if is_any || kind.contains("image") {
            "image"
        } else if kind.contains("audio") {
            "audio"
        } else if kind.contains("video") {
            "video"
        } else if kind == "document" {
            "document"
        } else {
            "file"
        }
        .to_owned()
    });
    collect_media(&Value::Object(map.clone()), &mut media, 0);
    if let Some(mime) = &media.mime_type
        && (is_any || media.modality == "file")
        && let Some((major, _)) = mime.split_once('/')
    {
        if matches!(major, "image" | "audio" | "video") {
            major
        } else {
            "file"
        }
        .clone_into(&mut media.modality);
    }
    media
}

/// Media in separate members of a message: Ollama's `images`, the attachments of the AI SDK.
pub(super) fn beside(map: &Map<String, Value>) -> Vec<Media> {
    let lists = ["images", "attachments", "experimental_attachments"];
    let items = lists.iter().filter_map(|key| map.member(key).and_then(Value::as_array)).flatten();
    let read = |item: &Value| match item {
        Value::String(text) => {
            let data = Map::from_iter([("data".to_owned(), Value::from(text.as_str()))]);
            Some(media("image", &data))
        }
        Value::Object(inner) => Some(media("file", inner)),
        _ => None,
    };
    let has_content = |media: &Media| media.uri.is_some() || media.base64.is_some();
    items.filter_map(read).filter(has_content).collect()
}

/// Finds the URL, bytes and type wherever the client nests them.
fn collect_media(value: &Value, media: &mut Media, depth: usize) {
    match value {
        Value::Object(map) if depth < 5 => {
            for (key, inner) in map {
                match (key.as_str(), inner) {
                    ("url" | "uri" | "fileUri" | "file_uri" | "image_url", Value::String(url)) if !is_without_bytes(url) => {
                        let _ = media.uri.get_or_insert_with(|| url.clone());
                    }
                    ("mime_type" | "mimeType" | "media_type" | "mediaType" | "contentType", Value::String(mime)) => {
                        let _ = media.mime_type.get_or_insert_with(|| mime.clone());
                    }
                    ("data" | "content" | "base64" | "bytes" | "blob" | "image" | "b64_json", Value::String(data)) => {
                        if data.starts_with("data:") || data.starts_with("http") {
                            let _ = media.uri.get_or_insert_with(|| data.clone());
                        } else if is_base64(data) {
                            let _ = media.base64.get_or_insert_with(|| data.clone());
                        }
                    }
                    (_, inner @ Value::Object(_)) => collect_media(inner, media, depth + 1),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// Whether a text may be Base64: a client may have replaced the bytes by a word (`<replaced>`, `[omitted]`) or printed them.
fn is_base64(text: &str) -> bool {
    let is_of_alphabet = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=' | b'\n' | b'\r');
    !text.is_empty() && text.bytes().all(is_of_alphabet)
}

/// Whether a data URL had its bytes replaced by the client.
fn is_without_bytes(url: &str) -> bool {
    let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(','));
    data.is_some_and(|(kind, bytes)| kind.ends_with(";base64") && !is_base64(bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_type_says_what_the_words_of_gemini_and_genkit_hold() {
        let modality = |kind: &str, of: Value| media(kind, of.as_object().unwrap_or(&Map::new())).modality;
        assert_eq!(modality("inline_data", json!({"mimeType": "audio/mpeg", "data": "AA"})), "audio");
        assert_eq!(
            modality("inline_data", json!({"mime_type": "application/pdf", "data": "AA"})),
            "file"
        );
        assert_eq!(
            modality("inline_data", json!({"contentType": "video/mp4", "url": "https://a/b"})),
            "video"
        );
        assert_eq!(modality("inline_data", json!({"url": "https://a/b"})), "image");
        assert_eq!(modality("image", json!({"mime_type": "image/png", "data": "AA"})), "image");
    }
    #[test]
    fn a_word_in_the_place_of_bytes_is_no_picture() {
        let found = |of: Value| media("image", of.as_object().unwrap_or(&Map::new()));
        for replaced in ["<replaced>", "[base64 omitted]", "b'\\x89PNG'", ""] {
            let without = found(json!({"format": "png", "source": {"bytes": replaced}}));
            assert_eq!((without.base64, without.uri), (None, None), "{replaced}");
            let url = format!("data:image/png;base64,{replaced}");
            assert_eq!(found(json!({"image_url": {"url": url}})).uri, None, "{replaced}");
        }
        let url = found(json!({"image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}})).uri;
        assert_eq!(url.as_deref(), Some("data:image/png;base64,iVBORw0KGgo="));
        assert_eq!(found(json!({"source": {"bytes": "iVBORw0K"}})).base64.as_deref(), Some("iVBORw0K"));
    }
}
