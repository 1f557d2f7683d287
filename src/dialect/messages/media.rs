//! Pictures, sounds and files in every recorded shape.

use serde_json::{Map, Value};

use super::member::text;
use crate::operation::message::Media;

/// A picture, a sound, a film or a file, by the word that its client has for it.
pub(super) fn media(kind: &str, map: &Map<String, Value>) -> Media {
    let mut media = Media {
        raw: Value::Object(map.clone()),
        ..Media::default()
    };
    // Gemini's and Genkit's words are the same for all: most are pictures; the MIME type tells.
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

/// Finds the URL, the bytes and the type wherever the client nests them.
fn collect_media(value: &Value, media: &mut Media, depth: usize) {
    match value {
        Value::Object(map) if depth < 5 => {
            for (key, inner) in map {
                match (key.as_str(), inner) {
                    ("url" | "uri" | "fileUri" | "file_uri" | "image_url", Value::String(url)) => {
                        let _ = media.uri.get_or_insert_with(|| url.clone());
                    }
                    ("mime_type" | "mimeType" | "media_type" | "mediaType" | "contentType", Value::String(mime)) => {
                        let _ = media.mime_type.get_or_insert_with(|| mime.clone());
                    }
                    ("data" | "content" | "base64" | "bytes" | "image" | "b64_json", Value::String(data)) => {
                        if data.starts_with("data:") || data.starts_with("http") {
                            let _ = media.uri.get_or_insert_with(|| data.clone());
                        } else {
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
}
