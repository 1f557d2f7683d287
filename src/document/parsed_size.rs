//! Estimates, before parsing, the memory that JSON takes once it is parsed and read as documents.

use serde_json::Value;

use crate::json_tokens::{Kind, Token, Tokens};

/// Bytes of a member of a list, and of one of an object: its key, its value, its hash.
const ITEM: usize = size_of::<Value>();
const MEMBER: usize = ITEM + size_of::<String>() + size_of::<usize>();
/// A bucket of an object's hash table.
const BUCKET: usize = 9;
/// The minimum size of a separately allocated text.
const TEXT: usize = 16;
/// The maximum nesting depth that serde_json accepts.
const DEPTH: usize = 128;

/// The memory of JSON values, by their parts. Lists and objects have capacity for more members than they hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParsedSize {
    /// Bytes of the JSON text.
    pub text: usize,
    /// Bytes of the members of lists.
    pub lists: usize,
    /// Bytes of the members of objects.
    pub objects: usize,
    /// Bytes of texts and keys.
    pub texts: usize,
    /// Bytes of long texts.
    pub long_texts: usize,
    /// Bytes for the longest list or object, which exists twice while it grows.
    pub growth: usize,
    /// The total number of members of lists and objects.
    pub values: usize,
    /// Objects in lists that may become operations.
    pub operations: usize,
    /// Messages that may become operations: those of models and tools, and those not followed by one.
    pub answers: usize,
    /// Messages that are input of the operation of a later one.
    pub heard: usize,
    /// Other objects in lists, and texts, that may become parts of messages.
    pub parts: usize,
}

/// Maximum depth of lists around a document's operations: a list of documents, of steps, of a step's operations.
const LISTS: u8 = 3;
/// Bytes of the spans, operations and run built from an object. Measured; `tests/ways_in` checks these.
const OPERATION: usize = 12_500;
const ANSWER: usize = 4_400;
const INPUT_MESSAGE: usize = 1_100;
const PART: usize = 2_000;
/// How often values are in memory: as read, or in operations and in the document rebuilt from these. Objects are counted with more
/// capacity than they have.
const LIST_COPIES: usize = 4;
const OBJECT_COPIES: usize = 1;
/// Long texts are also in spans, as JSON, and in conversations.
const TEXT_COPIES: usize = 2;
const LONG_COPIES: usize = 6;
/// Minimum size in bytes of a long text.
const LONG: usize = 64;
/// Divisor for the memory that a document still takes once its spans are serialized.
const RETAINED_DIVISOR: usize = 6;

impl ParsedSize {
    /// The size of all values of a text.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        Values::in_text(text).fold(Self::default(), Self::with)
    }

    /// Bytes of the values, without their text.
    #[must_use]
    pub fn bytes(&self) -> usize {
        [self.lists, self.objects, self.texts, self.growth]
            .into_iter()
            .fold(0, usize::saturating_add)
    }

    /// Bytes that a document takes while it is converted to spans, including its text.
    #[must_use]
    pub fn as_document(&self) -> usize {
        [
            (self.lists, LIST_COPIES),
            (self.objects, OBJECT_COPIES),
            (self.texts, TEXT_COPIES),
            (self.long_texts, LONG_COPIES),
            (self.growth, 1),
            (self.text, 1),
            (self.operations, OPERATION),
            (self.answers, ANSWER),
            (self.heard, INPUT_MESSAGE),
            (self.parts, PART),
        ]
        .into_iter()
        .fold(0, |sum, (count, each)| sum.saturating_add(count.saturating_mul(each)))
    }

    /// The sum of both.
    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            text: self.text.saturating_add(other.text),
            lists: self.lists.saturating_add(other.lists),
            objects: self.objects.saturating_add(other.objects),
            texts: self.texts.saturating_add(other.texts),
            long_texts: self.long_texts.saturating_add(other.long_texts),
            growth: self.growth.max(other.growth),
            values: self.values.saturating_add(other.values),
            operations: self.operations.saturating_add(other.operations),
            answers: self.answers.saturating_add(other.answers),
            heard: self.heard.saturating_add(other.heard),
            parts: self.parts.saturating_add(other.parts),
        }
    }

    /// Counts a complete list or object. `around`: the one that contains it.
    fn close(&mut self, open: OpenContainer, around: Option<&mut OpenContainer>) {
        let OpenContainer {
            is_object, members, lists, ..
        } = open;
        match (lists, open.kind) {
            (1..=LISTS, ObjectKind::Said(Speaker::Person)) => {
                if let Some(list) = around {
                    list.unanswered += 1;
                }
            }
            (1..=LISTS, ObjectKind::Said(Speaker::Model)) => {
                self.answers += 1;
                self.heard += around.map_or(0, |list| std::mem::take(&mut list.unanswered));
            }
            (1..=LISTS, ObjectKind::Other) if is_object && members > 1 => self.operations += 1,
            // A tool definition is in the document, the operation, its span and the run.
            (1, ObjectKind::Function) if is_object => self.parts += 2,
            (1.., _) if is_object => self.parts += 1,
            // A list in the outermost list is a document.
            (1, _) => self.parts += 1,
            _ => {}
        }
        self.answers += open.unanswered;
        self.values = self.values.saturating_add(members);
        let bytes = if is_object {
            bytes_of_object(members)
        } else {
            bytes_of_list(members)
        };
        let sum = if is_object { &mut self.objects } else { &mut self.lists };
        *sum = sum.saturating_add(bytes);
        self.growth = self.growth.max(bytes / 2);
    }
}

fn bytes_of_list(members: usize) -> usize {
    match members {
        0 => 0,
        1..=4 => 4 * ITEM,
        more => more.checked_next_power_of_two().unwrap_or(more).saturating_mul(ITEM),
    }
}

fn bytes_of_object(members: usize) -> usize {
    if members == 0 {
        return 0;
    }
    // Seven of eight buckets are used.
    let buckets = match members {
        1..=3 => 4,
        4..=7 => 8,
        more => (more.saturating_mul(8) / 7 + 1).checked_next_power_of_two().unwrap_or(more),
    };
    let room = if buckets == 4 { 3 } else { buckets / 8 * 7 };
    room.saturating_mul(MEMBER).saturating_add((buckets + 16).saturating_mul(BUCKET))
}

/// An incomplete list or object.
#[derive(Debug, Clone, Copy, Default)]
struct OpenContainer {
    is_object: bool,
    members: usize,
    /// For a member of a list: the number of lists around it; 0 for a member of an object.
    lists: u8,
    /// For an object: its kind.
    kind: ObjectKind,
    /// For an object: the key of the next value.
    key: Key,
    /// For a list: the number of user messages since the last one of a model or a tool.
    unanswered: usize,
}

/// The kind of an object, as far as its members show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ObjectKind {
    /// A message.
    Said(Speaker),
    /// A tool, or a call in a message, whose result is a separate object.
    Function,
    #[default]
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Person,
    /// A model or a tool.
    Model,
}

/// A key of an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Key {
    Role,
    Type,
    #[default]
    Other,
}

impl OpenContainer {
    fn closed(self) -> Self {
        // A key and its value were counted separately.
        let members = if self.is_object { self.members.div_ceil(2) } else { self.members };
        Self { members, ..self }
    }

    /// Handles a text that is a key or a value of this object.
    fn text(&mut self, text: &[u8]) {
        let is_key = self.members % 2 == 1;
        if is_key {
            self.key = match text {
                b"role" => Key::Role,
                b"type" => Key::Type,
                _ => Key::Other,
            };
            return;
        }
        match (std::mem::take(&mut self.key), text) {
            (Key::Role, b"user" | b"system" | b"developer") => self.kind = ObjectKind::Said(Speaker::Person),
            (Key::Role, b"assistant" | b"tool" | b"function") => self.kind = ObjectKind::Said(Speaker::Model),
            (Key::Type, b"function") if self.kind == ObjectKind::Other => self.kind = ObjectKind::Function,
            _ => {}
        }
    }
}

/// The sizes of consecutive documents in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentSizes {
    /// All of them together.
    pub all: ParsedSize,
    /// Their number.
    pub count: usize,
    /// Bytes of the longest document once parsed.
    pub parsed: usize,
    /// Bytes that the longest document takes while it is converted to spans.
    pub largest: usize,
}

impl DocumentSizes {
    /// The sizes of the documents in a text.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        Values::in_text(text).fold(Self::default(), |sizes, one| Self {
            all: sizes.all.with(one),
            count: sizes.count + 1,
            parsed: sizes.parsed.max(one.bytes()),
            largest: sizes.largest.max(one.as_document()),
        })
    }

    /// Bytes that reading takes if only one document at a time is in memory as values, and all of them as spans.
    #[must_use]
    pub fn reading(&self) -> usize {
        let stays = self.all.as_document().saturating_sub(self.largest) / RETAINED_DIVISOR;
        self.all.text.saturating_add(self.largest).saturating_add(stays)
    }
}

/// Consecutive values in a text.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    rest: &'a [u8],
}

impl<'a> Values<'a> {
    pub(crate) fn in_text(text: &'a [u8]) -> Self {
        Self {
            rest: text.trim_ascii_start(),
        }
    }
}

/// The text after a value. Skips a comma, so that list items can be read as consecutive values.
fn after_value(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii_start();
    text.strip_prefix(b",").unwrap_or(text).trim_ascii_start()
}

impl Iterator for Values<'_> {
    type Item = ParsedSize;

    /// The next value, as far as it is recognisable if the text is not JSON.
    fn next(&mut self) -> Option<ParsedSize> {
        if self.rest.is_empty() {
            return None;
        }
        let mut size = ParsedSize::default();
        let mut open = [OpenContainer::default(); DEPTH];
        let (mut depth, mut at, mut is_after_value) = (0_usize, 0_usize, false);
        let mut lists = 0_u8;
        let text = self.rest;
        for Token { kind, range } in Tokens::of(text) {
            at = range.end;
            // A value begins: a member of what is open, but after a key.
            let begins = matches!(kind, Kind::Text | Kind::CutText | Kind::Object | Kind::List) || !is_after_value && kind == Kind::Bare;
            let mut is_item = false;
            if begins && let Some(around) = depth.checked_sub(1).and_then(|place| open.get_mut(place)) {
                around.members = around.members.saturating_add(1);
                is_item = !around.is_object;
            }
            match kind {
                Kind::Text | Kind::CutText => {
                    let length = range.len() - 1;
                    size.texts = size.texts.saturating_add(length.max(TEXT));
                    if length >= LONG {
                        size.long_texts = size.long_texts.saturating_add(length);
                    }
                    let around = depth.checked_sub(1).and_then(|place| open.get_mut(place));
                    if let Some(object) = around.filter(|around| around.is_object) {
                        object.text(text.get(range.start + 1..range.end - 1).unwrap_or_default());
                    }
                    size.parts += usize::from(is_item);
                }
                Kind::Object | Kind::List => {
                    if let Some(slot) = open.get_mut(depth) {
                        *slot = OpenContainer {
                            is_object: kind == Kind::Object,
                            lists: if is_item { lists } else { 0 },
                            ..OpenContainer::default()
                        };
                    }
                    lists = lists.saturating_add(u8::from(kind == Kind::List));
                    depth += 1;
                }
                Kind::End => {
                    depth = depth.saturating_sub(1);
                    if let Some(ended) = open.get(depth).map(|open| open.closed()) {
                        lists = lists.saturating_sub(u8::from(!ended.is_object));
                        let around = depth.checked_sub(1).and_then(|place| open.get_mut(place));
                        size.close(ended, around);
                    }
                }
                Kind::Comma | Kind::Colon | Kind::Bare => {}
            }
            is_after_value = matches!(kind, Kind::Text | Kind::CutText | Kind::End | Kind::Bare);
            if depth == 0 && is_after_value && kind != Kind::Bare {
                break;
            }
        }
        // A truncated value is in memory until the error is found.
        for unended in open.iter().take(depth) {
            size.close(unended.closed(), None);
        }
        size.text = at;
        self.rest = after_value(text.get(at..).unwrap_or_default());
        Some(size)
    }
}

#[cfg(test)]
mod tests {
    use crate::document::parsed_size::*;

    #[test]
    fn no_value_takes_more_than_is_counted_nor_much_less() {
        let lists = |item: &str, count: usize| format!("[{}]", vec![item; count].join(","));
        let members = |count: usize| {
            let members: Vec<String> = (0..count).map(|number| format!("\"key {number}\":{number}")).collect();
            format!("{{{}}}", members.join(","))
        };
        let mut texts: Vec<String> = Vec::new();
        for count in [0, 1, 3, 4, 5, 7, 8, 9, 14, 15, 16, 17, 28, 29, 100, 1_000, 10_000, 33_000] {
            texts.extend(
                [
                    "0",
                    "\"\"",
                    "\"a [text], {with: brackets} and \\\"\"",
                    "[]",
                    "[0]",
                    "{}",
                    "{\"a\":0}",
                ]
                .map(|item| lists(item, count)),
            );
            texts.push(members(count));
            texts.push(lists(&members(count.min(40)), 100));
        }
        texts.push("[1,2,3] {\"a\": [true , null]}\n\"x\" 12".to_owned());
        texts.push("[".repeat(100) + &"]".repeat(100));
        for text in texts {
            let size = ParsedSize::of(text.as_bytes());
            let mut values: Vec<Value> = Vec::new();
            let taken = allocation_counter::measure(|| {
                values = serde_json::Deserializer::from_str(&text)
                    .into_iter()
                    .collect::<Result<_, _>>()
                    .expect("JSON");
            });
            let most = usize::try_from(taken.bytes_max).expect("a count");
            assert!(most <= size.bytes() + 1_000, "{most} bytes, {size:?}: {text:.200}");
            assert!(size.bytes() <= 3 * most + 1_000, "{most} bytes, {size:?}: {text:.200}");
        }
    }

    #[test]
    fn a_message_counts_as_what_becomes_of_it() {
        let user = r#"{"role":"user","content":"q"}"#;
        let answer = r#"{"content":"a","role":"assistant","tool_calls":[{"type":"function","function":{}}]}"#;
        let node = r#"{"id":"n","input":[{"role":"user","content":"q"}]}"#;
        for (items, operations, answers, heard, parts) in [
            (vec![user, user, answer, user], 0, 2, 2, 1),
            (vec![answer, answer, user, user], 0, 4, 0, 2),
            (vec![user, node, node], 2, 3, 0, 0),
            (vec![r#"{"role":"user"}"#, r#"{"a":1}"#], 0, 1, 0, 1),
        ] {
            let text = format!(r#"{{"messages":[{}]}}"#, items.join(","));
            let size = ParsedSize::of(text.as_bytes());
            let counted = (size.operations, size.answers, size.heard, size.parts);
            assert_eq!(counted, (operations, answers, heard, parts), "{text}");
        }
    }

    #[test]
    fn each_value_of_a_text_is_counted_by_itself() {
        let sizes: Vec<usize> = Values::in_text(b" [1,2]\n{\"a\":\"b\"} []\n[1,[").map(|size| size.values).collect();
        assert_eq!(sizes, [2, 1, 0, 2]);
    }
}
