//! Beginnings of turns, and replacements of a conversation by its summary.

use serde_json::{Map, Value};

use super::{PromptRecord, RolloutReader, items};
use crate::events::{Compaction, Event, Prompt, fact};
use crate::operation::{Message, Role, TokenCount};
use crate::sessions::get;
use crate::span::{TraceId, UnixNanos};

impl RolloutReader {
    pub(super) fn begin_turn(&mut self, payload: &Value, at: Option<UnixNanos>) {
        self.forget_words();
        self.close();
        self.has_turns = true;
        let trace = get::text(payload, "/trace_id").and_then(TraceId::from_hex);
        let turn = get::text(payload, "/turn_id").unwrap_or_default();
        if self.root.is_none() && self.thread.under.is_some() {
            self.root = trace;
        }
        let mut prompt = Prompt {
            id: turn.to_owned(),
            trace,
            at,
            ..Prompt::default()
        };
        fact(&mut prompt.facts, "turn_id", Some(turn));
        self.awaits = Some(self.thread.events.len());
        self.thread.events.push(Event::Prompt(Box::new(prompt)));
    }

    /// Handles a prompt recorded by an event, unless an event of the other type has recorded it.
    pub(super) fn record_prompt(&mut self, telling: PromptRecord, message: Message, at: Option<UnixNanos>) {
        self.forget_words();
        self.tells_prompts = true;
        let text = message.content();
        if self.told.take_if(|(other, known)| *other != telling && *known == text).is_none() {
            self.told = Some((telling, text));
            self.prompt(message, at);
        }
    }

    /// Handles messages held back until the model begins to answer: the prompt, if no event records it, and the client's text.
    pub(super) fn settle_unsaid(&mut self) {
        if !self.tells_prompts {
            let typed = self.unsaid.iter().rposition(|message| !is_of_client(&message.content()));
            if let Some(prompt) = typed.and_then(|place| self.unsaid.get(place)).cloned() {
                self.prompt(prompt, self.clock);
            }
        } else if self.has_spoken() && self.unsaid.iter().any(|message| !is_of_client(&message.content())) {
            // Output after a user message is another answer.
            self.close();
        }
        self.push_unsaid(Role::System);
    }

    /// Adds the messages held back as text of the client.
    pub(super) fn push_unsaid(&mut self, role: Role) {
        for message in self.unsaid.drain(..) {
            let role = role.clone();
            self.thread.events.push(Event::Input(Message { role, ..message }));
        }
    }

    /// Handles the text of a prompt. A message held back that contains it is what the model received.
    pub(super) fn prompt(&mut self, message: Message, at: Option<UnixNanos>) {
        let text = message.content();
        let same = self
            .unsaid
            .iter()
            .rposition(|said| !text.is_empty() && said.content().contains(&text) || said.has_media());
        let heard = same.map(|index| self.unsaid.remove(index));
        self.push_prompt(message, heard, at);
    }

    /// Adds a prompt, and what the model received instead, if different.
    pub(super) fn push_prompt(&mut self, message: Message, heard: Option<Message>, at: Option<UnixNanos>) {
        self.push_unsaid(Role::System);
        if let Some(index) = self.awaits.take() {
            let since = self.thread.events.split_off(index.min(self.thread.events.len()));
            // The model receives the client's text first.
            let (before, mut since): (Vec<Event>, Vec<Event>) = since.into_iter().partition(|event| matches!(event, Event::Input(_)));
            if let Some(Event::Prompt(prompt)) = since.first_mut() {
                prompt.message = message;
                prompt.received = heard;
            }
            self.thread.events.extend(before);
            self.thread.events.append(&mut since);
            return;
        }
        if self.has_records || self.has_turns {
            // More input while the agent works.
            self.thread.events.push(Event::Input(heard.unwrap_or(message)));
            return;
        }
        self.close();
        let stamp = at.map(UnixNanos::rfc3339_micros).unwrap_or_default();
        let id = self.prompt_id(&stamp);
        let prompt = Prompt {
            id,
            at,
            message,
            received: heard,
            ..Prompt::default()
        };
        self.thread.events.push(Event::Prompt(Box::new(prompt)));
    }

    /// An id for a prompt without one. Other programs that write such files may give several prompts the same time.
    fn prompt_id(&mut self, stamp: &str) -> String {
        let count = self.prompts.entry(stamp.to_owned()).or_default();
        *count += 1;
        match *count {
            1 => format!("{} {stamp}", self.thread.id),
            count => format!("{} {stamp} {count}", self.thread.id),
        }
    }

    pub(super) fn compacted(&mut self, payload: &Value, at: Option<UnixNanos>) {
        self.forget_words();
        self.close();
        // The summary was also recorded as output of a call, which is not part of the conversation.
        let response = get::text(payload, "/compaction_response_id");
        const LAST: usize = 16;
        let (mut usage, mut id) = (TokenCount::default(), None);
        for event in self.thread.events.iter_mut().rev().take(LAST) {
            if let Event::Call(call) = event
                && response.is_some()
                && call.response_id.as_deref() == response
            {
                usage = call.usage;
                id = Some(call.id.clone());
                *event = Event::Facts(Map::new());
                break;
            }
        }
        let stamp = at.map(UnixNanos::rfc3339_micros).unwrap_or_default();
        // If the provider wrote the summary, it is among the items that replace the conversation.
        let mut given = match get::text(payload, "/message") {
            Some(text) => vec![Message::text(Role::User, text)],
            None => items::history(get::list(payload, "/replacement_history")),
        }
        .into_iter();
        let mut compaction = Compaction {
            id: id.unwrap_or_else(|| format!("compacted {stamp}")),
            at,
            summary: given.next(),
            usage,
            ..Compaction::default()
        };
        fact(&mut compaction.facts, "response_id", response);
        self.thread.events.push(Event::Compacted(Box::new(compaction)));
        self.thread.events.extend(given.map(Event::Input));
    }
}

/// Whether a text in the user's name is the client's: an element (`<environment_context>`), or the instructions of a folder.
fn is_of_client(text: &str) -> bool {
    let text = text.trim();
    let element = || {
        let name = text.strip_prefix('<')?.split(['>', ' ', '\n']).next()?;
        text.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</")
    };
    text.starts_with("# AGENTS.md instructions") || element().is_some()
}
