//! A row under construction. Shapes that trainers silently drop are resolved here, each with a loss.

use sha2::{Digest as _, Sha256};

use super::document::{ChatMessage, Mark, Row};
use crate::document::json::{Json, Object, Text, trimmed};
use crate::document::loss::{Loss, LossReason};
use crate::document::text::compact;
use crate::hash::HashSet;
use crate::run::StepId;
use crate::span::{SpanId, UnixNanos};
use crate::transcript::ids::Ids;

pub(super) const NO_RESULT: &str = "[no result recorded]";

/// Who ran calls that no recorded words ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// A model call without recorded words.
    Model(StepId),
    /// An agent without recorded model calls. Calls that began before this time were requested together.
    Agent(StepId, UnixNanos),
}

/// A call whose result has not been written.
pub(super) struct Call<'a> {
    /// The recorded id.
    pub(super) id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) arguments: Object<'a>,
    pub(super) result: Option<Text<'a>>,
}

/// Messages in order.
#[derive(Default)]
pub(super) struct RowBuilder<'a> {
    /// Whether arguments are written as JSON text.
    pub(super) text_arguments: bool,
    /// The key that excludes messages from training.
    mark: Mark,
    /// Whether call ids must have nine letters and digits.
    short_ids: bool,
    pub(super) messages: Vec<ChatMessage<'a>>,
    open: Vec<Call<'a>>,
    /// The system prompts, trimmed.
    prompts: HashSet<Text<'a>>,
    ids: Ids<'a>,
    /// Short ids in use.
    taken: HashSet<String>,
    pub(super) losses: Vec<Loss>,
    /// Set if the last message is an answer that broke off: the span of its call.
    broken: Option<Option<SpanId>>,
    /// Whether the assistant's last words are a separate message.
    is_own: bool,
    /// The span of the first agent, if it has one; `None` before the row has begun.
    pub(super) origin: Option<Option<SpanId>>,
}

impl<'a> RowBuilder<'a> {
    pub(super) fn new(text_arguments: bool, mark: Mark, short_ids: bool) -> Self {
        Self {
            text_arguments,
            mark,
            short_ids,
            ..Self::default()
        }
    }

    pub(super) fn lose(&mut self, span: Option<SpanId>, what: impl Into<String>, reason: LossReason) {
        self.losses.push(Loss::new(span, what, reason));
    }

    pub(super) fn system(&mut self, content: Text<'a>, span: Option<SpanId>) {
        // The same prompt, recorded again.
        if !self.prompts.insert(trimmed(content.clone())) {
            return;
        }
        match self.messages.as_mut_slice() {
            [] => self.say("system", content, span),
            [first] if first.role == "system" => {
                join(&mut first.content, content);
                self.lose(span, "a second system message joins the first", LossReason::Coerced);
            }
            _ => {
                self.lose(span, "a later system message became a user's", LossReason::Coerced);
                self.say("user", content, span);
            }
        }
    }

    /// The row of another agent that continues the conversation with its own prompt. This row then ends with its last assistant message.
    pub(super) fn handed_on(&mut self, agent: Option<&'a str>, prompts: Vec<Text<'a>>, span: Option<SpanId>) -> Self {
        self.answer(span);
        let mut next = Self {
            ids: self.ids.clone(),
            taken: self.taken.clone(),
            ..Self::new(self.text_arguments, self.mark, self.short_ids)
        };
        prompts.into_iter().for_each(|prompt| next.system(prompt, span));
        let said = self.messages.iter().filter(|message| message.role != "system");
        next.messages.extend(said.cloned());
        for message in next.messages.iter_mut().filter(|message| message.role == "assistant") {
            // Turns of other agents are targets in their own rows.
            if message.agent.is_some() && message.agent == agent {
                message.unmark();
            } else {
                message.mark(self.mark);
            }
        }
        while self.messages.pop_if(|last| last.role != "assistant").is_some() {}
        next.broken = self.broken;
        next
    }

    /// Sets whose turn the last message is.
    pub(super) fn spoken_by(&mut self, agent: Option<&'a str>) {
        if let Some(last) = self.messages.last_mut() {
            last.agent = agent;
        }
    }

    /// Whether all of these are system prompts of the row.
    pub(super) fn has_prompts(&self, prompts: &[Text<'a>]) -> bool {
        prompts.iter().all(|prompt| self.prompts.contains(&trimmed(prompt.clone())))
    }

    /// The number of messages, without the system prompt, and of results still to be written.
    pub(super) fn said(&self) -> usize {
        self.messages.len() - usize::from(self.has_system()) + self.open.len()
    }

    /// Whether the row begins with the system prompt, which is one message.
    fn has_system(&self) -> bool {
        self.messages.first().is_some_and(|first| first.role == "system")
    }

    /// Adds a message; one of the same role before it is extended.
    pub(super) fn say(&mut self, role: &'static str, content: Text<'a>, span: Option<SpanId>) {
        self.answer(span);
        if role == "assistant" {
            self.leave_out_broken();
        }
        self.broken = None;
        if let Some(last) = self.messages.last_mut().filter(|last| last.role == role) {
            join(&mut last.content, content);
            self.lose(span, format!("two {role} messages in a row became one"), LossReason::Coerced);
            return;
        }
        if role == "assistant" && !self.has_words() {
            let what = "the first words are the assistant's: some trainers drop the row";
            self.lose(span, what, LossReason::Ambiguous);
        }
        if role == "user" && self.messages.last().is_some_and(|last| last.role == "tool") {
            let what = "a user speaks right after results: some trainers drop the row";
            self.lose(span, what, LossReason::Ambiguous);
        }
        self.messages.push(ChatMessage {
            role: role.into(),
            content,
            ..ChatMessage::default()
        });
    }

    /// Adds an assistant message.
    pub(super) fn assistant(&mut self, content: Text<'a>, thoughts: Option<Text<'a>>, is_target: bool, span: Option<SpanId>) {
        let count = self.messages.len();
        self.say("assistant", content, span);
        let is_new = self.messages.len() > count;
        self.is_own = is_new;
        let Some(last) = self.messages.last_mut() else { return };
        if !is_target && (is_new || last.is_marked()) {
            last.mark(self.mark);
        } else {
            last.unmark();
        }
        if let Some(thoughts) = thoughts {
            join(last.reasoning_content.get_or_insert_default(), thoughts);
        }
    }

    /// Marks the last message as an answer that broke off. It is dropped, so that models do not learn to stop there, unless a user
    /// replied to it.
    pub(super) fn breaks_off(&mut self, span: Option<SpanId>) {
        self.broken = self.is_own.then_some(span);
    }

    fn leave_out_broken(&mut self) {
        if let Some(span) = self.broken.take() {
            let _ = self.messages.pop();
            self.lose(span, "the piece of an answer that broke off", LossReason::NoPlace);
        }
    }

    /// Adds a call of the last assistant message.
    pub(super) fn call(&mut self, mut call: Call<'a>, span: Option<SpanId>) {
        let recorded = std::mem::take(&mut call.id);
        call.id = self.ids.numbered(recorded.clone(), ':');
        if self.short_ids {
            call.id = self.short_id(&call.id);
        }
        if call.id != recorded {
            self.lose(span, format!("tool_calls[{recorded}].id"), LossReason::Coerced);
        }
        let arguments = if self.text_arguments {
            compact(&call.arguments).into()
        } else {
            Json::Object(std::mem::take(&mut call.arguments))
        };
        let function = Object::from([("name", call.name.clone().into()), ("arguments", arguments)]);
        let id = call.id.clone().into();
        let written = Object::from([("id", id), ("type", "function".into()), ("function", function.into())]);
        if let Some(last) = self.messages.last_mut() {
            last.tool_calls.push(written.into());
            self.open.push(call);
        }
    }

    /// The id if it has nine letters and digits, else a derived one. Either is registered as used.
    fn short_id(&mut self, id: &Text<'a>) -> Text<'a> {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) && self.taken.insert(id.to_string()) {
            return id.clone();
        }
        let mut seed = id.to_string();
        loop {
            let digest = Sha256::digest(seed.as_bytes());
            let letters = digest
                .iter()
                .take(9)
                .filter_map(|byte| LETTERS.get(usize::from(*byte) % LETTERS.len()).copied());
            let short: String = letters.map(char::from).collect();
            if self.taken.insert(short.clone()) {
                return short.into();
            }
            seed.push('+');
        }
    }

    /// Whether the row has messages besides the system prompt.
    pub(super) fn has_words(&self) -> bool {
        self.messages.len() > usize::from(self.has_system())
    }

    /// Whether words of the assistant may come next: after a user's message, or results of calls.
    pub(super) fn awaits_assistant(&self) -> bool {
        !self.open.is_empty()
            || self
                .messages
                .last()
                .is_some_and(|last| last.role != "assistant" && last.role != "system")
    }

    /// Whether the last message is the assistant's and has this text.
    pub(super) fn ends_with(&self, words: &str) -> bool {
        let last = self.messages.last().filter(|_| self.open.is_empty());
        last.is_some_and(|last| last.role == "assistant" && last.content.trim() == words.trim())
    }

    /// Writes results right after their calls, one per call.
    fn answer(&mut self, span: Option<SpanId>) {
        for call in std::mem::take(&mut self.open) {
            if call.result.is_none() {
                self.lose(span, format!("the result of {}", call.id), LossReason::Synthesized);
            }
            self.messages.push(ChatMessage {
                role: "tool".into(),
                content: call.result.unwrap_or_else(|| NO_RESULT.into()),
                tool_call_id: Some(call.id),
                name: Some(call.name),
                ..ChatMessage::default()
            });
        }
    }

    /// The row, ending with the assistant; `None` if it is empty.
    pub(super) fn finish(mut self, tools: Json<'a>) -> (Option<Row<'a>>, Vec<Loss>) {
        for call in std::mem::take(&mut self.open).iter().filter(|call| call.result.is_some()) {
            let what = format!("the result of {}, after the last assistant message", call.id);
            self.lose(None, what, LossReason::NoPlace);
        }
        self.leave_out_broken();
        while let Some(last) = self.messages.pop_if(|last| last.role != "assistant") {
            let what = format!("a {} message after the last assistant message", last.role);
            self.lose(None, what, LossReason::NoPlace);
        }
        let messages = self.messages;
        let row = (!messages.is_empty()).then(|| Row {
            messages,
            tools,
            ..Row::default()
        });
        (row, self.losses)
    }
}

fn join<'a>(before: &mut Text<'a>, after: Text<'a>) {
    if before.trim().is_empty() {
        *before = after;
    } else if !after.trim().is_empty() {
        let text = before.to_mut();
        text.push_str("\n\n");
        text.push_str(&after);
    }
}
