//! The messages of a request, which the client records as hashes.
//!
//! From 2.1.332 on, an `api-request` has the number of messages that it keeps of another request (`base`, `keep`) and the hashes of
//! those after them (`tail`). A hash is the SHA-256 of a message as compact JSON with sorted keys. The message is in an
//! `api-request-blob`, or in the lines: an answer of the model, or one or all of the user lines since then.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::operation::{Message, Part, Role};
use crate::sessions::{get, parts};

/// Maximum uses of one blob. Clients write one for one place in the conversation, and at most a few after a compaction or a resume.
const MAX_USES: u8 = 8;

/// The first version that writes hashes.
const WITH_HASHES: (u64, u64, u64) = (2, 1, 332);

/// Prefixes of texts that the client adds to user messages.
const OF_CLIENT: [&str; 5] = [
    "<system-reminder>",
    "[Request interrupted by user",
    "<local-command-",
    "<command-",
    "<bash-",
];

/// The hashes of a request.
#[derive(Debug, Default)]
pub(super) struct Hashes {
    base: Option<String>,
    keep: u64,
    /// The hashes after them; taken once.
    tail: Option<Vec<String>>,
    /// The total number of messages.
    count: u64,
    /// The number of user lines before it.
    lines: usize,
}

/// Records in which messages may be found.
#[derive(Debug, Default)]
pub(super) struct Sent {
    blobs: HashMap<String, (Value, u8)>,
    requests: HashMap<String, Hashes>,
    /// Blocks of user lines that no request has used yet, and the number of lines before them.
    lines: Vec<Vec<Value>>,
    lines_before: usize,
    last: Last,
    /// Whether the client is too old to write hashes, so that nothing needs to be kept.
    is_old: bool,
    /// The hashes of all answers.
    answers: HashSet<String>,
}

/// The last model call.
#[derive(Debug, Default)]
struct Last {
    /// Whether there was one since the conversation began.
    is_there: bool,
    request: Option<String>,
    message: String,
    /// The blocks of its answer.
    answer: Vec<Value>,
}

impl Sent {
    /// Sets the client's version.
    pub(super) fn of_version(&mut self, version: &str) {
        let mut numbers = version.split('.').map(|number| number.parse::<u64>().ok());
        let mut next = || numbers.next().flatten();
        let version = next().zip(next()).zip(next());
        self.is_old = version.is_some_and(|((major, minor), patch)| (major, minor, patch) < WITH_HASHES);
    }

    pub(super) fn blob(&mut self, line: &Value) {
        if let (Some(hash), Some(message)) = (get::text(line, "/hash"), line.get("message")) {
            self.blobs.insert(hash.to_owned(), (message.clone(), 0));
        }
    }

    pub(super) fn request(&mut self, id: &str, line: &Value) {
        let Some(tail) = line.get("tail").and_then(Value::as_array) else {
            return;
        };
        let keep = get::count(line, "/keep").unwrap_or_default();
        let hashes = Hashes {
            base: get::owned(line, "/base"),
            keep,
            tail: tail.iter().map(|hash| hash.as_str().map(str::to_owned)).collect(),
            count: keep.saturating_add(tail.len() as u64),
            lines: self.lines_before + self.lines.len(),
        };
        self.requests.insert(id.to_owned(), hashes);
    }

    /// Adds a user line.
    pub(super) fn line(&mut self, content: &Value) {
        if self.is_old {
            return;
        }
        let blocks = match content {
            Value::String(text) => vec![json!({ "type": "text", "text": text })],
            Value::Array(blocks) => blocks.clone(),
            _ => return,
        };
        self.lines.push(blocks);
    }

    /// Adds blocks of an answer.
    pub(super) fn answer(&mut self, message: &str, content: &Value) {
        if !self.is_old
            && self.last.message == message
            && let Value::Array(blocks) = content
        {
            self.last.answer.extend(blocks.iter().cloned());
        }
    }

    /// Begins anew, after a summary has replaced the conversation.
    pub(super) fn begin(&mut self) {
        self.answered();
        self.last = Last::default();
    }

    /// Whether the file has the hashes of a request.
    pub(super) fn has(&self, request: &str) -> bool {
        self.requests.contains_key(request)
    }

    /// The hash of the last answer, which must be complete.
    fn answered(&mut self) -> Option<String> {
        if self.last.answer.is_empty() || self.requests.is_empty() {
            return None;
        }
        let hash = hash_of("assistant", &self.last.answer);
        self.answers.insert(hash.clone());
        Some(hash)
    }

    /// Begins a model call. Returns the new messages of its input; `None` if the file does not have them in full.
    pub(super) fn call(&mut self, message: &str, request: Option<&str>) -> Option<Vec<Message>> {
        let until = request.and_then(|request| self.requests.get(request)).map(|hashes| hashes.lines);
        let until = until.map_or(self.lines.len(), |lines| lines.saturating_sub(self.lines_before));
        let rest = self.lines.split_off(until.min(self.lines.len()));
        let lines = std::mem::replace(&mut self.lines, rest);
        self.lines_before += lines.len();
        let sent = request.and_then(|request| self.since(request, &lines));
        self.last = Last {
            is_there: true,
            request: request.map(str::to_owned),
            message: message.to_owned(),
            answer: Vec::new(),
        };
        sent
    }

    /// The messages of a request after the last answer.
    fn since(&mut self, request: &str, lines: &[Vec<Value>]) -> Option<Vec<Message>> {
        let own = self.requests.get_mut(request)?;
        let (mut tails, mut base, mut keep) = (vec![own.tail.take()?], own.base.clone(), own.keep);
        // Attempts without an answer may lie between it and the last call.
        let goes_on = loop {
            let Some(id) = base else { break false };
            let other = self.requests.get_mut(&id)?;
            if other.count != keep {
                return None;
            }
            if self.last.request.as_ref() == Some(&id) {
                break true;
            }
            tails.push(other.tail.take()?);
            (base, keep) = (other.base.clone(), other.keep);
        };
        let hashes: Vec<String> = tails.into_iter().rev().flatten().collect();
        let answer = self.answered();
        let from = match (goes_on, self.last.is_there) {
            // The next message is the answer, even if its hash differs: a copied file may have other paths in it.
            (true, _) => usize::from(!self.last.answer.is_empty()),
            (false, true) => hashes.iter().rposition(|hash| Some(hash) == answer.as_ref())? + 1,
            (false, false) => 0,
        };
        // A compaction keeps the last messages; answers among them belong to earlier calls.
        let hashes: Vec<&String> = hashes.iter().skip(from).filter(|hash| !self.answers.contains(*hash)).collect();
        let mut by_hash: HashMap<String, Vec<&Value>> = HashMap::new();
        if hashes.iter().any(|hash| !self.blobs.contains_key(*hash)) {
            let all: Vec<&Value> = lines.iter().flatten().collect();
            by_hash.insert(hash_of("user", &all), all);
            for line in lines {
                by_hash.insert(hash_of("user", line), line.iter().collect());
            }
        }
        let mut out = Vec::new();
        for hash in hashes {
            match self.blobs.get_mut(hash) {
                Some((_, uses)) if *uses >= MAX_USES => return None,
                Some((message, uses)) => {
                    *uses += 1;
                    add(&mut out, message);
                }
                None => add(&mut out, &json!({ "role": "user", "content": by_hash.remove(hash)? })),
            }
        }
        Some(out)
    }
}

/// Converts messages of the API.
pub(in crate::sessions) fn messages<'v>(list: impl Iterator<Item = &'v Value>) -> Vec<Message> {
    let mut out = Vec::new();
    list.for_each(|message| add(&mut out, message));
    out
}

/// Adds a message of the API, split into separate messages for tool results, the client's text and the person's text.
fn add(out: &mut Vec<Message>, message: &Value) {
    let content = message.get("content").unwrap_or(&Value::Null);
    match get::text(message, "/role") {
        Some("user") => {}
        role => {
            let role = Role::from_word(role.unwrap_or("system"));
            out.extend(Some(parts::message(role, content)).filter(|message| !message.is_blank()));
            return;
        }
    }
    let one = std::slice::from_ref(content);
    let mut is_new = true;
    for block in content.as_array().map_or(one, Vec::as_slice) {
        if get::text(block, "/type") == Some("tool_result") {
            let mut result = parts::message(Role::Tool, block.get("content").unwrap_or(&Value::Null));
            result.tool_call_id = get::owned(block, "/tool_use_id");
            result.is_error = get::flag(block, "/is_error");
            out.push(result);
            continue;
        }
        let mut said = Message::default();
        parts::add(&mut said, block);
        let is_of_client =
            |part: &Part| matches!(part, Part::Text(text) if OF_CLIENT.iter().any(|begin| text.trim_start().starts_with(begin)));
        if said.parts.iter().any(is_of_client) {
            said.role = Role::System;
        }
        match out.last_mut() {
            Some(last) if !is_new && last.role == said.role => last.parts.append(&mut said.parts),
            _ => out.push(said),
        }
        is_new = false;
    }
}

/// The hash of a message with these blocks.
fn hash_of(role: &str, blocks: &[impl std::borrow::Borrow<Value>]) -> String {
    let mut json = b"{\"content\":[".to_vec();
    for (index, block) in blocks.iter().enumerate() {
        if index > 0 {
            json.push(b',');
        }
        sorted(block.borrow(), &mut json);
    }
    json.extend_from_slice(format!("],\"role\":\"{role}\"}}").as_bytes());
    let digest = Sha256::digest(&json);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compact JSON with sorted keys.
fn sorted(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                sorted(item, out);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            out.push(b'{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(json!(key).to_string().as_bytes());
                out.push(b':');
                sorted(value, out);
            }
            out.push(b'}');
        }
        other => out.extend_from_slice(other.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(role: &str, words: &str) -> (Value, String) {
        let blocks = vec![json!({ "type": "text", "text": words })];
        let hash = hash_of(role, &blocks);
        (json!({ "role": role, "content": blocks }), hash)
    }

    /// The file's lines: a blob of what the client put together, a line that was sent as it is, and an answer between.
    fn recorded(tail: &[String]) -> Sent {
        let mut sent = Sent::default();
        let (message, hash) = text("user", "<system-reminder>\nIt is Monday.\n</system-reminder>");
        sent.blob(&json!({ "hash": hash, "message": message }));
        sent.line(&json!("First"));
        sent.request("r1", &json!({ "keep": 0, "tail": [hash, text("user", "First").1] }));
        let given = sent.call("m1", Some("r1")).expect("all is there");
        let [reminder, first] = given.as_slice() else {
            panic!("two messages")
        };
        assert_eq!((&reminder.role, first.content()), (&Role::System, "First".to_owned()));
        sent.answer("m1", &json!([{ "type": "text", "text": "Yes" }]));
        sent.line(&json!([{ "type": "text", "text": "Second" }]));
        sent.request("r2", &json!({ "base": "r1", "keep": 2, "tail": tail }));
        sent
    }

    fn words(sent: Option<Vec<Message>>) -> Option<Vec<String>> {
        Some(sent?.iter().map(Message::content).collect())
    }

    #[test]
    fn the_hash_is_the_clients() {
        // Of a recording of version 2.1.332: sorted keys, no spaces.
        let blocks = [json!({ "type": "text", "text": "Create two files" })];
        assert_eq!(
            hash_of("user", &blocks),
            "ee027392f23f971c1a7349dd8efe96d78ac59b8f65140a8513aa24b8105125d1"
        );
    }

    #[test]
    fn a_request_has_what_came_after_the_last_answer() {
        let (answer, second) = (text("assistant", "Yes").1, text("user", "Second").1);
        let mut sent = recorded(&[answer.clone(), second.clone()]);
        assert_eq!(words(sent.call("m2", Some("r2"))), Some(vec!["Second".to_owned()]));
        // A new process writes the whole list, in which the last answer is known.
        sent.answer("m2", &json!([{ "type": "text", "text": "No" }]));
        sent.line(&json!("Third"));
        let tail = [second, text("assistant", "No").1, text("user", "Third").1];
        sent.request("r3", &json!({ "keep": 0, "tail": tail }));
        assert_eq!(words(sent.call("m3", Some("r3"))), Some(vec!["Third".to_owned()]));
        // After a compaction all is new but the answers that it kept.
        sent.begin();
        let (summary, hash) = text("user", "In short: yes and no.");
        sent.blob(&json!({ "hash": hash, "message": summary }));
        sent.request("r4", &json!({ "keep": 0, "tail": [hash, answer] }));
        assert_eq!(words(sent.call("m4", Some("r4"))), Some(vec!["In short: yes and no.".to_owned()]));
    }

    #[test]
    fn nothing_is_kept_for_clients_that_write_no_hashes() {
        for (version, lines) in [("2.1.331", 0), ("1.9.999", 0), ("2.1.332", 1), ("3.0.0", 1), ("unknown", 1)] {
            let mut sent = Sent::default();
            sent.of_version(version);
            sent.line(&json!("First"));
            assert_eq!(sent.lines.len(), lines, "{version}");
        }
    }

    #[test]
    fn what_is_not_in_the_file_leaves_the_lines() {
        let answer = text("assistant", "Yes").1;
        let mut sent = recorded(&[answer.clone(), text("user", "Unknown").1]);
        assert_eq!(words(sent.call("m2", Some("r2"))), None);
        // Nor is a request with another one that is not there, or that keeps a part of it.
        let mut sent = recorded(std::slice::from_ref(&answer));
        sent.request("r3", &json!({ "base": "gone", "keep": 2, "tail": [answer] }));
        sent.request("r4", &json!({ "base": "r1", "keep": 1, "tail": [] }));
        assert_eq!(words(sent.call("m2", Some("r4"))), None);
        assert_eq!(words(sent.call("m3", Some("r3"))), None);
    }
}
