//! Reads provider responses that have other members in place of messages.

use serde_json::{Map, Value};

use super::answers::numbered;
use super::media::media;
use crate::hash::Members as _;
use crate::operation::{Message, Part, Role};

/// The answers in such a response: from models of Amazon, Meta, Mistral and AI21 on Bedrock, from watsonx, Hugging Face, Ollama's
/// `/api/generate` and Vertex AI.
pub(super) fn texts(map: &Map<String, Value>) -> Option<Vec<Message>> {
    const LISTS: [(&str, &str); 5] = [
        ("results", "/outputText"),
        ("results", "/generated_text"),
        ("outputs", "/text"),
        ("completions", "/data/text"),
        ("predictions", "/content"),
    ];
    let answer = |text: &str| vec![Message::text(Role::Assistant, text)];
    let listed = LISTS.iter().find_map(|(list, pointer)| {
        let items = map.get(*list)?.as_array()?;
        let text = |item: &Value| Some(answer(item.pointer(pointer)?.as_str()?));
        items.iter().all(|item| text(item).is_some()).then(|| numbered(items, text))?
    });
    let alone = || {
        let is_answer = |key: &&str| match *key {
            "generation" => map.has("generation_token_count") || map.has("stop_reason"),
            "response" => map.has("done"),
            _ => true,
        };
        let mut keys = ["generation", "response", "generated_text"].into_iter().filter(is_answer);
        keys.find_map(|key| map.member(key)?.as_str()).map(answer)
    };
    listed.or_else(alone)
}

/// The images in a response of OpenAI's image API: `{created, data: [{url}, {b64_json}]}`.
pub(super) fn pictures(map: &Map<String, Value>) -> Option<Vec<Message>> {
    let items = map.member("data").filter(|_| map.has("created"))?.as_array()?;
    let picture = |item: &Value| {
        let members = item.as_object()?;
        let has_one = ["url", "b64_json"]
            .iter()
            .any(|key| members.member(key).is_some_and(Value::is_string));
        has_one.then(|| Part::from(media("image", members)))
    };
    let parts: Option<Vec<Part>> = items.iter().map(picture).collect();
    let said = Message {
        role: Role::Assistant,
        parts: parts.filter(|parts| !parts.is_empty())?,
        ..Message::default()
    };
    Some(vec![said])
}

/// Whether a provider's response has no choices: it failed, was blocked, or is the last chunk of a stream, with the usage.
pub(super) fn is_empty(map: &Map<String, Value>) -> bool {
    let is_empty = |key: &str| map.member(key).and_then(Value::as_array).is_some_and(Vec::is_empty);
    let has_any = |keys: &[&str]| keys.iter().any(|key| map.contains_key(*key));
    is_empty("choices") && has_any(&["model", "usage", "object"])
        || is_empty("candidates")
            && has_any(&[
                "promptFeedback",
                "prompt_feedback",
                "usageMetadata",
                "usage_metadata",
                "modelVersion",
            ])
}

/// Whether an object with choices or output is a response of OpenAI's APIs, even if these are blank.
pub(super) fn is_whole(map: &Map<String, Value>) -> bool {
    ["model", "usage", "object"].iter().any(|key| map.contains_key(*key))
}
