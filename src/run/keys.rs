//! By what a message is known when it comes again: its words, its calls, the ids of its answers.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde_json::Value;

use crate::operation::{Message, Part, Role, ToolCall};

/// Appends the texts of a message as one, with one space for any whitespace between words and none around them.
fn squeeze(message: &Message, out: &mut String) {
    let begin = out.len();
    let mut gap = false;
    for part in &message.parts {
        let Part::Text(text) = part else { continue };
        gap |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            if gap && out.len() > begin {
                out.push(' ');
            }
            out.push_str(word);
            gap = true;
        }
        gap = text.ends_with(char::is_whitespace) || text.is_empty() && gap;
    }
}

/// The names under which a message is known: its text, each of its calls.
pub(super) fn keys(message: &Message) -> Vec<String> {
    let mut out = Vec::new();
    let said = |before: String| {
        let mut key = before;
        squeeze(message, &mut key);
        key
    };
    match &message.role {
        Role::Assistant => {
            for call in &message.tool_calls {
                if let Some(id) = &call.id {
                    out.push(format!("c:{id}"));
                }
                out.push(format!("n:{}:{}", call.name, canonical(call)));
            }
            if message.has_words() {
                out.push(said("a:".to_owned()));
            }
        }
        Role::System | Role::Developer => out.push(said("s:".to_owned())),
        Role::User => {
            let mut key = said("u:".to_owned());
            if message.has_media() {
                key.push_str(&media_key(message));
            }
            out.push(key);
        }
        Role::Tool => {}
        Role::Other(word) => out.push(said(format!("o:{word}:"))),
    }
    out
}

fn media_key(message: &Message) -> String {
    message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Media(media) => Some(format!("\u{0}{}", media.url().unwrap_or_default())),
            _ => None,
        })
        .collect()
}

/// A call's arguments as text, members in the order of their names.
pub(super) fn canonical(call: &ToolCall) -> String {
    fn write(value: &Value, out: &mut String) {
        match value {
            Value::Object(map) => {
                let mut pairs: Vec<(&String, &Value)> = map.iter().collect();
                pairs.sort_by_key(|(key, _)| *key);
                out.push('{');
                for (key, value) in pairs {
                    let _ = write!(out, "{key:?}:");
                    write(value, out);
                    out.push(',');
                }
                out.push('}');
            }
            Value::Array(items) => {
                out.push('[');
                for item in items {
                    write(item, out);
                    out.push(',');
                }
                out.push(']');
            }
            other => {
                let _ = write!(out, "{other}");
            }
        }
    }
    let mut out = String::new();
    if let Some(value) = &call.arguments {
        write(value, &mut out);
    }
    out
}

/// Answers whose ids fit only some of the calls before them were numbered on their own: they follow the calls' order.
/// Gives the places of these answers with the ids of their calls.
pub(super) fn realigned(messages: &[Message]) -> HashMap<usize, String> {
    let mut out: HashMap<usize, String> = HashMap::new();
    let counted = |name: &str, id: &str| {
        id.strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('_'))
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|char| char.is_ascii_digit()))
    };
    let mut settle = |calls: &[(&str, &str)], answers: &mut Vec<(usize, &Message)>| {
        let ids: HashSet<&str> = calls.iter().map(|(_, id)| *id).collect();
        let fitting = answers
            .iter()
            .filter(|(_, answer)| answer.tool_call_id.as_ref().is_some_and(|id| ids.contains(id.as_str())))
            .count();
        let by_place = answers
            .iter()
            .zip(calls)
            .all(|((_, answer), (name, call))| counted(name, call) && answer.tool_call_id.as_ref().is_some_and(|id| counted(name, id)));
        if answers.len() == calls.len() && fitting < calls.len() && (fitting > 0 || by_place) {
            out.extend(answers.iter().zip(calls).map(|((place, _), (_, id))| (*place, (*id).to_owned())));
        }
        answers.clear();
    };
    let mut calls: Vec<(&str, &str)> = Vec::new();
    let mut answers: Vec<(usize, &Message)> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        if message.role == Role::Tool && message.tool_call_id.is_some() {
            answers.push((place, message));
            continue;
        }
        settle(&calls, &mut answers);
        calls = message
            .tool_calls
            .iter()
            .filter_map(|call| Some((call.name.as_str(), call.id.as_deref()?)))
            .collect();
    }
    settle(&calls, &mut answers);
    out
}
