//! Text that a person types while the agent works, until the model receives it.
//!
//! `enqueue` has the text. `dequeue`: it becomes the next prompt, on a separate line. `remove`: the model received it within the turn;
//! versions since about 2.1.100 also write it to an attachment, earlier ones write nothing more. `popAll`: the person withdrew all.

use std::collections::{HashMap, VecDeque};

/// The queued texts.
#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: Vec<Entry>,
    /// All entries before this one have left the queue.
    first: usize,
    by_words: HashMap<String, VecDeque<usize>>,
    /// Entries that a line has recorded already, and whose removal is still to come.
    told: HashMap<String, VecDeque<usize>>,
    /// The events of texts removed since the last model call.
    removed: HashMap<String, VecDeque<usize>>,
}

#[derive(Debug)]
struct Entry {
    words: String,
    /// Whether it is still in the queue.
    waits: bool,
    /// Whether a line has recorded it.
    is_told: bool,
}

impl Queue {
    pub(super) fn add(&mut self, words: &str) {
        let words = words.trim().to_owned();
        self.by_words.entry(words.clone()).or_default().push_back(self.entries.len());
        self.entries.push(Entry {
            words,
            waits: true,
            is_told: false,
        });
    }

    /// Takes the first entry, or the first with this text; returns its text, if no line has recorded it.
    pub(super) fn take(&mut self, words: Option<&str>) -> Option<String> {
        let words = words.map(str::trim);
        let known = words.and_then(|words| self.place_of(words, true).or_else(|| self.place_of(words, false)));
        let place = match (known, words) {
            (Some(place), _) => place,
            (None, Some(words)) => return Some(words.to_owned()).filter(|words| is_said(words)),
            (None, None) => self.next()?,
        };
        let entry = self.entries.get_mut(place)?;
        entry.waits = false;
        Some(std::mem::take(&mut entry.words)).filter(|words| !entry.is_told && is_said(words))
    }

    /// The first queued entry with this text, among those that a line has recorded (`told`) or the others.
    fn place_of(&mut self, words: &str, told: bool) -> Option<usize> {
        let by_words = if told { &mut self.told } else { &mut self.by_words };
        let places = by_words.get_mut(words)?;
        while let Some(place) = places.pop_front() {
            if self.entries.get(place).is_some_and(|entry| entry.waits) {
                return Some(place);
            }
        }
        None
    }

    fn next(&mut self) -> Option<usize> {
        while !self.entries.get(self.first)?.waits {
            self.first += 1;
        }
        Some(self.first)
    }

    /// Notes the event of a removed text, in case a later line records the text elsewhere.
    pub(super) fn note_event(&mut self, words: &str, event: usize) {
        self.removed.entry(words.to_owned()).or_default().push_back(event);
    }

    /// A line records this text. `in_turn`: it belongs to a `remove` before or after it; otherwise it is a prompt, which has left the
    /// queue. Returns the event that recorded the text already.
    pub(super) fn recorded(&mut self, words: &str, in_turn: bool) -> Option<usize> {
        let words = words.trim();
        if let Some(event) = self.removed.get_mut(words).and_then(VecDeque::pop_front) {
            return Some(event);
        }
        let place = self.place_of(words, false)?;
        let entry = self.entries.get_mut(place)?;
        (entry.waits, entry.is_told) = (in_turn, true);
        if in_turn {
            self.told.entry(words.to_owned()).or_default().push_back(place);
        }
        None
    }

    /// A model call begins: events of removed texts before it are final.
    pub(super) fn call_begins(&mut self) {
        self.removed.clear();
    }

    /// Empties the queue and returns the texts that no model received.
    pub(super) fn unsent(&mut self) -> Vec<String> {
        let waits = self.entries.iter_mut().skip(self.first).filter(|entry| entry.waits);
        let words = waits.filter(|entry| !entry.is_told).map(|entry| std::mem::take(&mut entry.words));
        let words = words.filter(|words| is_said(words)).collect();
        *self = Self {
            removed: std::mem::take(&mut self.removed),
            ..Self::default()
        };
        words
    }
}

/// Whether a text is for the model. Notices of the client have separate lines, and commands are run by the client.
fn is_said(words: &str) -> bool {
    let name = words.strip_prefix('/').and_then(|rest| rest.split_whitespace().next());
    let is_command = name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_:.".contains(&byte)));
    !words.is_empty() && !is_command && !words.starts_with("<task-notification>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_removed_was_heard_unless_a_line_tells_it() {
        let mut queue = Queue::default();
        for words in ["one", "/mcp", "two", "<task-notification>x", "three", "four", "five"] {
            queue.add(words);
        }
        // The attachment comes before the removal, or after it.
        assert_eq!(queue.recorded("one", true), None);
        assert_eq!((queue.take(None), queue.take(None)), (None, None));
        assert_eq!(queue.take(None).as_deref(), Some("two"));
        queue.note_event("two", 7);
        assert_eq!(queue.recorded("two ", true), Some(7));
        assert_eq!(queue.recorded("two", true), None);
        assert_eq!(queue.take(None), None);
        // A prompt with these words is not in the queue any more; one that names its words is taken wherever it is.
        assert_eq!(queue.recorded("three", false), None);
        assert_eq!(queue.take(Some("five")).as_deref(), Some("five"));
        assert_eq!(queue.take(Some("six")).as_deref(), Some("six"));
        // A removal may name what an attachment has told.
        queue.add("seven");
        assert_eq!((queue.recorded("seven", true), queue.take(Some("seven"))), (None, None));
        assert_eq!(queue.unsent(), ["four"]);
        assert_eq!(queue.take(None), None);
        // After a model call the same words are others.
        queue.note_event("go on", 9);
        queue.call_begins();
        assert_eq!(queue.recorded("go on", false), None);
        assert!(is_said("/home/me has it") && is_said("a / b") && !is_said("/review-pr 12"));
    }
}
