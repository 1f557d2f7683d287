//! Converts messages of `OpenCode` 2, which include their parts, to messages and parts of version 1.

use serde_json::{Map, Value, json};

use crate::sessions::get;

/// A message with its parts.
pub(super) type MessageAndParts = (Value, Vec<Value>);

/// A message of version 1; `None` if it is not a message. An unknown one gets its type as role, by which it is counted.
pub(super) fn convert(kind: &str, data: &Value) -> Option<MessageAndParts> {
    let time = data.get("time").cloned().unwrap_or_default();
    match kind {
        "user" => {
            let mut parts = Vec::new();
            parts.extend(get::text(data, "/text").map(|text| json!({"type": "text", "text": text})));
            parts.extend(get::list(data, "/files").iter().map(file));
            Some((json!({"role": "user", "time": time}), parts))
        }
        // The client's messages to the model in the user's name.
        "synthetic" | "system" | "skill" => synthetic_message(time, get::text(data, "/text")?),
        "shell" => {
            let output = get::text(data, "/output/output").or_else(|| get::text(data, "/output"));
            let command = get::text(data, "/command").unwrap_or_default();
            synthetic_message(time, &format!("Shell command: {command}\n\n{}", output.unwrap_or_default()))
        }
        "assistant" => Some(assistant(data, time)),
        "compaction" => compaction(data, time),
        "agent-switched" | "model-switched" | "location-switched" | "idle" => None,
        kind => Some((json!({"role": kind}), Vec::new())),
    }
}

fn synthetic_message(time: Value, text: &str) -> Option<MessageAndParts> {
    let part = json!({"type": "text", "text": text, "synthetic": true});
    Some((json!({"role": "user", "time": time}), vec![part]))
}

/// A file that a person attached, or that a tool returned.
fn file(file: &Value) -> Value {
    let url = get::text(file, "/uri")
        .or_else(|| get::text(file, "/source/uri"))
        .map(str::to_owned);
    let inline = || {
        let mime = get::text(file, "/mime").unwrap_or("application/octet-stream");
        Some(format!("data:{mime};base64,{}", get::text(file, "/data")?))
    };
    json!({"type": "file", "mime": file.get("mime"), "filename": file.get("name"), "url": url.or_else(inline)})
}

/// The members shared by messages of the model and compactions.
fn of_model(data: &Value, time: &Value) -> Map<String, Value> {
    let mut out = Map::from_iter([("role".to_owned(), "assistant".into()), ("time".to_owned(), time.clone())]);
    for (key, pointer) in [
        ("modelID", "/model/id"),
        ("providerID", "/model/providerID"),
        ("agent", "/agent"),
        ("finish", "/finish"),
        ("cost", "/cost"),
        ("tokens", "/tokens"),
    ] {
        if let Some(value) = get::some(data, pointer) {
            out.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(error) = get::some(data, "/error") {
        out.insert("error".to_owned(), json!({"name": error.get("type"), "data": error}));
    }
    out
}

fn assistant(data: &Value, time: Value) -> MessageAndParts {
    // The model's answer ended before its tools ran.
    let streamed = get::some(data, "/time/streamed");
    let parts = get::list(data, "/content").iter().map(|part| match get::text(part, "/type") {
        Some("tool") => tool(part),
        Some("text") => json!({"type": "text", "text": part.get("text"), "time": {"end": streamed}}),
        Some("reasoning") => {
            let state = part.get("native").or_else(|| part.get("state"));
            json!({"type": "reasoning", "text": part.get("text"), "metadata": state, "time": {"end": streamed}})
        }
        _ => part.clone(),
    });
    let parts = parts.collect();
    let message = of_model(data, &time);
    (Value::Object(message), parts)
}

fn tool(part: &Value) -> Value {
    let state = part.get("state").unwrap_or(&Value::Null);
    let content = get::list(state, "/content");
    let (files, others): (Vec<_>, Vec<_>) = content.iter().partition(|part| get::text(part, "/type") == Some("file"));
    let files: Vec<Value> = files.into_iter().map(file).collect();
    let texts: Vec<String> = others
        .into_iter()
        .map(|part| get::text(part, "/text").map_or_else(|| part.to_string(), str::to_owned))
        .collect();
    let about = state.get("metadata").or_else(|| state.get("structured"));
    let about = |key: &str| about.and_then(|about| about.get(key));
    json!({
        "type": "tool",
        "tool": part.get("name"),
        "callID": part.get("callID").or_else(|| part.get("id")),
        "state": {
            "status": state.get("status"),
            "input": state.get("input"),
            "output": texts.join("\n"),
            "error": state.pointer("/error/message"),
            "attachments": files,
            "metadata": {"sessionId": about("sessionID"), "exit": about("exit"), "diff": about("diff")},
            "time": {"start": part.pointer("/time/ran"), "end": part.pointer("/time/completed")},
        },
    })
}

fn compaction(data: &Value, time: Value) -> Option<MessageAndParts> {
    let parts = match get::text(data, "/status") {
        Some("running" | "failed") => vec![json!({"type": "compaction", "reason": data.get("reason"), "error": data.get("error")})],
        _ => {
            // The summary, and the last messages unchanged.
            let texts = ["/summary", "/recent"].into_iter().filter_map(|pointer| get::text(data, pointer));
            let parts = texts.map(|text| json!({"type": "text", "text": text})).collect();
            let mut message = of_model(data, &time);
            message.insert("summary".to_owned(), true.into());
            return Some((Value::Object(message), parts));
        }
    };
    Some((json!({"role": "user", "time": time}), parts))
}
