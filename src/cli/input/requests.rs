//! Export requests in a file: protobuf, JSON, and similar forms.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::value::RawValue;

use super::Batch;
use super::recognise::delimited;
use crate::cli::problem::Problem;
use crate::cli::{foreign, out};
use crate::formats;
use crate::forms::spans_of;
use crate::otlp;
use crate::span::json::{JsonError, Message, as_otlp, mend, with_derived_ids};
use crate::span::{Refused, Signal};
use crate::store::Chunk;

/// Approximate number of times a file may be scanned for a single message that spans all of it and must be repaired.
const WHOLE_TRIES: usize = 4;

/// Maximum members of an object that are named.
const NAMED: usize = 8;

/// A note on a file.
pub(super) const METRICS: &str = "has metrics, which are ignored";

/// Maximum refused spans of a file that are reported one by one.
const TOLD: usize = 20;

impl Batch<'_> {
    pub(super) fn add_protobuf(&mut self, file: &str, bytes: &[u8]) {
        if let Some(messages) = delimited(bytes) {
            return messages.into_iter().for_each(|message| self.add_one_protobuf(file, message));
        }
        if let Some(what) = foreign::named(bytes) {
            return self.foreign(file, what);
        }
        self.add_one_protobuf(file, bytes);
    }

    pub(super) fn add_one_protobuf(&mut self, file: &str, bytes: &[u8]) {
        let problem = match otlp::signal::guess(bytes) {
            Some(Signal::Metrics) => return self.note(file, METRICS),
            Some(Signal::Logs) => match otlp::decode::logs(bytes) {
                Ok(decoded) => {
                    self.logs.extend(decoded.items);
                    return self.refuse(file, decoded.refused);
                }
                Err(_) if self.add_readable(file, bytes, Signal::Logs) => return,
                Err(error) => error,
            },
            Some(Signal::Traces) | None => match otlp::decode::traces(bytes) {
                Ok(decoded) => {
                    self.spans.extend(decoded.items);
                    return self.refuse(file, decoded.refused);
                }
                Err(_) if self.add_readable(file, bytes, Signal::Traces) => return,
                Err(error) => error,
            },
        };
        if foreign::is_text(bytes) {
            return self.foreign(file, "text, not JSON");
        }
        let (offset, detail) = match problem.fault(bytes) {
            Some(fault) => (fault.offset, fault.kind.to_string()),
            None => (0, out::with_causes(&problem)),
        };
        let file = file.to_owned();
        self.problems.push(Problem::Protobuf { file, offset, detail });
    }

    fn foreign(&mut self, file: &str, what: impl Into<Cow<'static, str>>) {
        self.foreign_near(file, what, String::new());
    }

    /// The same, with the nearest known form.
    fn foreign_near(&mut self, file: &str, what: impl Into<Cow<'static, str>>, near: String) {
        let (file, what) = (file.to_owned(), what.into());
        self.problems.push(Problem::Foreign { file, what, near });
    }

    /// Adds the readable items of a request that has unreadable ones.
    pub(super) fn add_readable(&mut self, file: &str, bytes: &[u8], signal: Signal) -> bool {
        let Ok(mut scanned) = otlp::scan::scan(bytes, signal, &[]) else {
            return false;
        };
        let refused = std::mem::take(&mut scanned.refused);
        for chunk in Chunk::of_request(scanned, bytes.to_vec()) {
            match signal {
                Signal::Logs => self
                    .logs
                    .extend(otlp::decode::logs(&chunk.message()).into_iter().flat_map(|read| read.items)),
                _ => self
                    .spans
                    .extend(otlp::decode::traces(&chunk.message()).into_iter().flat_map(|read| read.items)),
            }
        }
        self.refuse(file, refused);
        true
    }

    /// Adds a message after repairing it, and returns its length in the text: its first line, or all of the text while
    /// `spare` bytes may still be scanned for that.
    pub(super) fn add_mended(&mut self, file: &str, offset: usize, text: &[u8], spare: &mut usize) -> Option<usize> {
        let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let mut add = |text: &[u8]| {
            let mended = mend(text)?;
            let message = Message::parse(&mended.text).ok()?;
            self.note_replaced(file, mended.replaced);
            self.add_message(file, offset, message);
            Some(text.len())
        };
        let added = add(line);
        if added.is_some() || line.len() == text.len() {
            return added;
        }
        if *spare == 0 {
            return None;
        }
        *spare = spare.saturating_sub(text.len());
        add(text)
    }

    pub(super) fn note_replaced(&mut self, file: &str, times: usize) {
        if times > 0 {
            let places = out::many(times, "place");
            self.note(
                file,
                format_args!("{places}: half a surrogate pair, or bytes that are not UTF-8, replaced by U+FFFD"),
            );
        }
    }

    /// The same for a text that does not begin with a request. If it contains none, the file's kind is reported, once.
    pub(super) fn add_other_json(&mut self, file: &str, text: &[u8], skipped: usize, whole: &[u8]) {
        let (problems, notes, items) = (self.problems.len(), self.notes.len(), self.spans.len() + self.logs.len());
        self.add_json(file, text, skipped, whole);
        let is_other = |problem: &Problem| match problem {
            Problem::Json { source, .. } => matches!(source, JsonError::NotOtlp),
            Problem::More { .. } => true,
            _ => false,
        };
        let new = self.problems.get(problems..).unwrap_or_default();
        let is_nothing = self.notes.len() == notes && self.spans.len() + self.logs.len() == items;
        if is_nothing
            && !new.is_empty()
            && new.iter().all(is_other)
            && let Some(what) = foreign::json(text)
        {
            self.problems.truncate(problems);
            if self.add_members(file, text) {
                return;
            }
            let near = formats::nearest_form(text).map_or_else(String::new, |near| format!("\n{near}"));
            self.foreign_near(file, what, near);
        }
    }

    /// Adds the documents that are members of an object in no known form: an API's answer around a run, or runs by name.
    /// Returns whether there are any.
    fn add_members(&mut self, file: &str, text: &[u8]) -> bool {
        let members: BTreeMap<String, &RawValue> = serde_json::from_slice(text).unwrap_or_default();
        // Input for a model is not a run.
        const ASKED: [&str; 3] = ["input", "inputs", "prompt"];
        let is_nested = |name: &str, value: &RawValue| value.get().starts_with(['{', '[']) && !ASKED.contains(&name);
        let is_document = |name: &str, value: &RawValue| is_nested(name, value) && formats::recognised(value.get().as_bytes()).is_some();
        let (read, left): (Vec<_>, Vec<_>) = members.into_iter().partition(|(name, value)| is_document(name, value));
        let names = |list: &[(String, &RawValue)]| {
            let named: Vec<&str> = list.iter().take(NAMED).map(|(name, _)| name.as_str()).collect();
            match list.len().saturating_sub(NAMED) {
                0 => named.join(", "),
                more => format!("{} and {more} more", named.join(", ")),
            }
        };
        if !read.is_empty() {
            let left = match left.as_slice() {
                [] => String::new(),
                left => format!("; left out: {}", out::harmless(&names(left))),
            };
            self.note(file, format_args!("read from its members {}{left}", out::harmless(&names(&read))));
        }
        for (_, value) in &read {
            let text = value.get().as_bytes();
            self.add_recognised(file, Path::new("-"), (text, 0), text);
        }
        !read.is_empty()
    }

    /// Adds one object, an array of them, or a sequence (the Collector's file exporter writes one per line). `whole`: the
    /// text with the bytes before it.
    pub(super) fn add_json(&mut self, file: &str, text: &[u8], skipped: usize, whole: &[u8]) {
        if skipped > 0 && otlp::signal::guess(whole).is_some() {
            // In protobuf, the tag of an export request's first field is a line feed, and its length may look like a brace.
            return self.add_protobuf(file, whole);
        }
        if text.starts_with(b"[") {
            // Memory for parsing was only checked for text that is not an export request.
            if !formats::is_export_request(text)
                && let Some(spans) = list_in_other_form(text)
            {
                for (message, otlp) in spans {
                    self.add_text(file, skipped, message, otlp.as_bytes());
                }
                return;
            }
            match Message::parse_list(text) {
                Ok(messages) => match messages.iter().any(is_no_request).then(|| json_fault(text)).flatten() {
                    Some(fault) => self.syntax(file, skipped, text, fault),
                    None if messages.iter().any(Message::has_unusable_ids) => {
                        let texts: Vec<&RawValue> = serde_json::from_slice(text).unwrap_or_default();
                        for (message, text) in messages.into_iter().zip(texts) {
                            self.add_text(file, skipped, message, text.get().as_bytes());
                        }
                    }
                    None => messages.into_iter().for_each(|message| self.add_message(file, skipped, message)),
                },
                Err(source) => {
                    let mended =
                        mend(text).and_then(|mended| Some((serde_json::from_slice::<Vec<Message>>(&mended.text).ok()?, mended.replaced)));
                    match mended {
                        Some((messages, replaced)) => {
                            self.note_replaced(file, replaced);
                            messages.into_iter().for_each(|message| self.add_message(file, skipped, message));
                        }
                        None => self.syntax(file, skipped, text, source),
                    }
                }
            }
            return;
        }
        let mut rest = text;
        // Each broken line could begin a message that spans the rest: this limits the bytes read in vain.
        let mut spare = text.len().saturating_mul(WHOLE_TRIES);
        while !rest.is_empty() {
            let offset = skipped + text.len() - rest.len();
            // Once too much was read in vain, a message is one line.
            let line = || rest.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
            match Message::parse_first(if spare > 0 { rest } else { line() }) {
                None => return,
                Some(Ok((message, read))) => {
                    let own = rest.get(..read).unwrap_or_default();
                    match is_no_request(&message).then(|| in_other_form(own)).flatten() {
                        Some((message, otlp)) => self.add_text(file, offset, message, otlp.as_bytes()),
                        None => match is_no_request(&message).then(|| json_fault(rest)).flatten() {
                            Some(fault) => self.syntax(file, offset, rest, fault),
                            None => self.add_text(file, offset, message, own),
                        },
                    }
                    rest = rest.get(read..).unwrap_or_default().trim_ascii_start();
                }
                Some(Err(source)) => match self.add_mended(file, offset, rest, &mut spare) {
                    Some(read) => rest = rest.get(read..).unwrap_or_default().trim_ascii_start(),
                    None => {
                        spare = spare.saturating_sub(looked_through(rest, &source));
                        self.syntax(file, offset, rest, source);
                        rest = next_line_with_object(rest);
                    }
                },
            }
        }
    }

    pub(super) fn syntax(&mut self, file: &str, start: usize, text: &[u8], source: serde_json::Error) {
        let offset = start + byte_of(text, source.line(), source.column());
        self.fault(file, offset, JsonError::Syntax { source });
    }

    /// Adds a message with this text. A file has no sender who could correct it, so invalid ids are derived.
    pub(super) fn add_text(&mut self, file: &str, offset: usize, message: Message, text: &[u8]) {
        if !message.has_unusable_ids() {
            return self.add_message(file, offset, message);
        }
        let derived = with_derived_ids(text).and_then(|(text, mended)| Some((Message::parse(text.as_bytes()).ok()?, mended)));
        match derived {
            Some((message, mended)) => {
                if mended.derived > 0 {
                    let ids = out::many(mended.derived, "id");
                    self.note(
                        file,
                        format_args!("{ids} not in hexadecimal digits, replaced by ids derived from them"),
                    );
                }
                if mended.base64 > 0 {
                    let ids = out::many(mended.base64, "id");
                    self.note(file, format_args!("{ids} in base64, which OTLP/JSON writes in hexadecimal digits"));
                }
                self.add_message(file, offset, message);
            }
            None => self.add_message(file, offset, message),
        }
    }

    pub(super) fn add_message(&mut self, file: &str, offset: usize, message: Message) {
        let fault = match message.signal() {
            Ok(Some(Signal::Metrics)) => {
                let note = format!("{file}: {METRICS}");
                // A file may have the same note on each line.
                if self.notes.last() != Some(&note) {
                    self.notes.push(note);
                }
                return;
            }
            Ok(Some(_)) => {
                let (spans, logs) = message.into_parts();
                self.spans.extend(spans.items);
                self.logs.extend(logs.items);
                return self.refuse(file, spans.refused.into_iter().chain(logs.refused));
            }
            Ok(None) => JsonError::NotOtlp,
            Err(error) => error,
        };
        // Report only the first such line of a file, and count the others.
        match self.problems.last_mut() {
            Some(Problem::More { file: of, more }) if of == file => return *more += 1,
            Some(Problem::Json { file: of, source, .. })
                if of == file && std::mem::discriminant(source) == std::mem::discriminant(&fault) =>
            {
                return self.more(file, 1);
            }
            _ => {}
        }
        self.fault(file, offset, fault);
    }

    pub(super) fn fault(&mut self, file: &str, offset: usize, source: JsonError) {
        let file = file.to_owned();
        self.problems.push(Problem::Json { file, offset, source });
    }

    pub(super) fn refuse(&mut self, file: &str, refused: impl IntoIterator<Item = Refused>) {
        let mut refused = refused.into_iter();
        let reported = refused.by_ref().take(TOLD).map(|refused| Problem::Refused {
            file: file.to_owned(),
            refused,
        });
        self.problems.extend(reported);
        self.more(file, refused.count());
    }
}

/// Spans in another JSON form (Jaeger's, the Python SDK's), with their OTLP/JSON.
pub(super) fn in_other_form(text: &[u8]) -> Option<(Message, String)> {
    read_other(&serde_json::from_slice(text).ok()?)
}

/// The same for a list.
fn list_in_other_form(text: &[u8]) -> Option<Vec<(Message, String)>> {
    let values: Vec<serde_json::Value> = serde_json::from_slice(text).ok()?;
    let list: Vec<Option<(Message, String)>> = values.iter().map(read_other).collect();
    if list.iter().all(Option::is_none) {
        return None;
    }
    // Unknown forms are reported without affecting the others.
    let as_it_is = |value: &serde_json::Value| {
        let text = value.to_string();
        Some((Message::parse(text.as_bytes()).ok()?, text))
    };
    list.into_iter()
        .zip(&values)
        .map(|(read, value)| read.or_else(|| as_it_is(value)))
        .collect()
}

fn read_other(value: &serde_json::Value) -> Option<(Message, String)> {
    let own = spans_of(value);
    let otlp = as_otlp(own.as_ref().unwrap_or(value))?.to_string();
    Some((Message::parse(otlp.as_bytes()).ok()?, otlp))
}

fn is_no_request(message: &Message) -> bool {
    matches!(message.signal(), Ok(None) | Err(JsonError::Other { .. }))
}

/// The syntax error in a text's first value. Reading it as an export request skips unknown members, together with errors in
/// them.
fn json_fault(text: &[u8]) -> Option<serde_json::Error> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<serde_json::Value>();
    values.next()?.err()
}

/// The next line, after a broken one, on which an object begins.
fn next_line_with_object(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        rest = rest.get(end + 1..).unwrap_or_default();
        if rest.starts_with(b"{") {
            return rest;
        }
    }
    &[]
}

/// Bytes scanned until this error: all, if the text nests too deeply for the parser.
fn looked_through(text: &[u8], error: &serde_json::Error) -> usize {
    if error.to_string().starts_with("recursion limit") {
        return text.len();
    }
    byte_of(text, error.line(), error.column())
}

/// Converts the line and column of a serde_json error, which count from 1.
fn byte_of(text: &[u8], line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive(|byte| *byte == b'\n')
        .take(line.saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    (before + column.saturating_sub(1)).min(text.len())
}
