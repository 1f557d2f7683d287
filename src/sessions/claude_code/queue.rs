//! What a person types while the agent works, until the model is given it.
//!
//! `enqueue` has the words. `dequeue`: they are the next prompt, in a line of their own. `remove`: the model was given them within the
//! turn; versions since 2.1.100 or so write them into an attachment then, those before wrote nothing more. `popAll`: the person took all
//! back.

use std::collections::{HashMap, VecDeque};

/// What waits.
#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: Vec<Entry>,
    /// None of those before waits.
    first: usize,
    by_words: HashMap<String, VecDeque<usize>>,
    /// Those that a line has told, and that are to be removed.
    told: HashMap<String, VecDeque<usize>>,
    /// What was removed since the last model call: where the event is that tells it.
    heard: HashMap<String, VecDeque<usize>>,
}

#[derive(Debug)]
struct Entry {
    words: String,
    /// Whether it is in the queue.
    waits: bool,
    /// Whether a line has told it.
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

    /// Takes the first one, or the first with these words; its words, if no line has told them.
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

    /// The first place with these words that waits, of those that a line has told, or of the others.
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

    /// Words that were removed are heard here, unless a line tells that they are heard elsewhere.
    pub(super) fn heard_at(&mut self, words: &str, event: usize) {
        self.heard.entry(words.to_owned()).or_default().push_back(event);
    }

    /// A line tells these words. `in_turn`: it goes with `remove`, before or after it; else it is a prompt, which is not in the queue
    /// any more. The event that told them already.
    pub(super) fn told(&mut self, words: &str, in_turn: bool) -> Option<usize> {
        let words = words.trim();
        if let Some(event) = self.heard.get_mut(words).and_then(VecDeque::pop_front) {
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

    /// A model call begins: what was heard before it stays where it is.
    pub(super) fn call_begins(&mut self) {
        self.heard.clear();
    }

    /// Empties the queue: the words in it that nobody was given.
    pub(super) fn unsent(&mut self) -> Vec<String> {
        let waits = self.entries.iter_mut().skip(self.first).filter(|entry| entry.waits);
        let words = waits.filter(|entry| !entry.is_told).map(|entry| std::mem::take(&mut entry.words));
        let words = words.filter(|words| is_said(words)).collect();
        *self = Self {
            heard: std::mem::take(&mut self.heard),
            ..Self::default()
        };
        words
    }
}

/// Whether these are words for the model. A notice of the client's has a line of its own, and a command is the client's.
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
        assert_eq!(queue.told("one", true), None);
        assert_eq!((queue.take(None), queue.take(None)), (None, None));
        assert_eq!(queue.take(None).as_deref(), Some("two"));
        queue.heard_at("two", 7);
        assert_eq!(queue.told("two ", true), Some(7));
        assert_eq!(queue.told("two", true), None);
        assert_eq!(queue.take(None), None);
        // A prompt with these words is not in the queue any more; one that names its words is taken wherever it is.
        assert_eq!(queue.told("three", false), None);
        assert_eq!(queue.take(Some("five")).as_deref(), Some("five"));
        assert_eq!(queue.take(Some("six")).as_deref(), Some("six"));
        // A removal may name what an attachment has told.
        queue.add("seven");
        assert_eq!((queue.told("seven", true), queue.take(Some("seven"))), (None, None));
        assert_eq!(queue.unsent(), ["four"]);
        assert_eq!(queue.take(None), None);
        // After a model call the same words are others.
        queue.heard_at("go on", 9);
        queue.call_begins();
        assert_eq!(queue.told("go on", false), None);
        assert!(is_said("/home/me has it") && is_said("a / b") && !is_said("/review-pr 12"));
    }
}
