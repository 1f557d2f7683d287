//! Writes MESSAGE blocks, with the thoughts and calls below them.

use super::list::List;
use super::words::{Words, opaque, words};
use super::write::{BlockParts, BlockWriter, StreamState};
use crate::blocks::document::SubType;
use crate::blocks::limits::pieces;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::LossReason;
use crate::operation::{Message, Role};
use crate::run::StepId;
use crate::span::{SpanId, UnixNanos};
use crate::transcript::content;

impl<'a> BlockWriter<'a, '_> {
    /// Writes a message, unless its text is blank.
    pub(super) fn message(
        &mut self,
        list: &mut List<'a>,
        talk: &mut StreamState<'a>,
        message: &'a Message,
        role: &'a Role,
        step: Option<StepId>,
        at: UnixNanos,
    ) -> Option<usize> {
        let content = words(message);
        if content.text.trim().is_empty()
            && message.tool_calls.is_empty()
            && !message.is_blank()
            && !message.has_thoughts()
            && opaque(message).is_empty()
        {
            let span = step.and_then(|step| self.span(step));
            self.lose(span, format!("{} message without text", role.name()), LossReason::NoPlace);
        }
        self.say(list, talk, role, content, message.name.as_deref(), step, at)
    }

    /// Writes a MESSAGE, or several if its text is too long; returns the index of the last one. Blank text is skipped.
    #[expect(clippy::too_many_arguments, reason = "one message's facts, each used once")]
    pub(super) fn say(
        &mut self,
        list: &mut List<'a>,
        talk: &mut StreamState<'a>,
        speaker: &'a Role,
        content: Words<'a>,
        name: Option<&'a str>,
        step: Option<StepId>,
        at: UnixNanos,
    ) -> Option<usize> {
        if content.text.trim().is_empty() {
            return None;
        }
        let span = step.and_then(|step| self.span(step));
        let role = match speaker {
            Role::System | Role::Developer => "system",
            Role::Assistant => "assistant",
            _ => "user",
        };
        let mut metadata = self.origin(step);
        if role != speaker.name() {
            metadata.insert("role", speaker.name());
            self.lose(span, format!("role {}", speaker.name()), LossReason::Coerced);
        }
        if let Some(name) = name {
            metadata.insert("name", name);
        }
        if content.raw.is_some() {
            self.lose(span, format!("{role} message: parts that are no text"), LossReason::Coerced);
        }
        let parts = self.cut(content.text, self.limits.message, span, "message content");
        let count = parts.len();
        let mut raw = content.raw;
        let mut last = None;
        for (index, part) in parts.into_iter().enumerate() {
            let mut metadata = metadata.clone();
            if count > 1 {
                metadata.insert("part", Object::from([("index", index.into()), ("count", count.into())]));
            }
            let made = BlockParts {
                sub_type: SubType::Message,
                role,
                author: None,
                at,
                parent: None,
                metadata,
            };
            let payload = Object::from([("role", role.into()), ("content", part.into())]);
            let place = self.push(list, talk.scope, made, payload, step);
            if index == 0
                && let Some(block) = list.block(place)
            {
                block.raw = raw.take();
            }
            last = Some(place);
        }
        talk.last_message = last;
        last
    }

    /// Writes thoughts and calls below their own message, else below the nearest one before.
    #[expect(clippy::too_many_arguments, reason = "one turn's facts, each used once")]
    pub(super) fn thoughts_and_calls(
        &mut self,
        list: &mut List<'a>,
        talk: &mut StreamState<'a>,
        message: &'a Message,
        step: Option<StepId>,
        own: Option<usize>,
        at: UnixNanos,
        turn: bool,
    ) {
        let span = step.and_then(|step| self.span(step));
        let thought = content::reasoning(message);
        let hidden = opaque(message);
        let mut metadata = self.origin(step);
        if thought.is_none() && message.tool_calls.is_empty() {
            if !hidden.is_empty() {
                match own.and_then(|place| list.block(place)) {
                    Some(block) => block.annotate("reasoning", hidden),
                    None => self.lose(span, "reasoning without text", LossReason::NoPlace),
                }
            }
            return;
        }
        let (parent, reason) = match own {
            Some(place) => (place, None),
            None => self.parent(list, talk, step, at, "assistant turn without text"),
        };
        if let Some(reason) = reason {
            metadata.insert("parent_reason", reason);
        }
        let mut hidden = (!hidden.is_empty()).then_some(Json::List(hidden));
        if let Some(text) = thought {
            let parts = self.cut(text, self.limits.think, span, "think text");
            let count = parts.len();
            for (index, part) in parts.into_iter().enumerate() {
                let mut metadata = metadata.clone();
                if count > 1 {
                    metadata.insert("part", Object::from([("index", index.into()), ("count", count.into())]));
                }
                let made = BlockParts {
                    sub_type: SubType::Think,
                    role: "think",
                    author: None,
                    at,
                    parent: Some(parent),
                    metadata,
                };
                let place = self.push(list, talk.scope, made, Object::from([("text", part.into())]), step);
                if let Some(hidden) = hidden.take()
                    && let Some(block) = list.block(place)
                {
                    block.raw = Some(hidden);
                }
            }
        }
        for (index, call) in message.tool_calls.iter().enumerate() {
            let asked = step.filter(|_| turn).map(|step| (step, index));
            let place = self.call(list, talk, call, asked, step, parent, metadata.clone(), at);
            if let Some(hidden) = hidden.take()
                && let Some(block) = place.and_then(|place| list.block(place))
            {
                block.annotate("reasoning", hidden);
            }
        }
    }

    /// The parent for blocks of a turn without its own message, and why it was chosen.
    pub(super) fn parent(
        &mut self,
        list: &mut List<'a>,
        talk: &mut StreamState<'a>,
        step: Option<StepId>,
        at: UnixNanos,
        reason: &'static str,
    ) -> (usize, Option<&'static str>) {
        if let Some(place) = talk.last_message {
            return (place, Some(reason));
        }
        if let Some(place) = list.last_message {
            return (place, Some("no message of its own conversation"));
        }
        let span = step.and_then(|step| self.span(step));
        self.lose(span, "a message to hang on: none was recorded", LossReason::Synthesized);
        let mut metadata = self.origin(step);
        metadata.insert("spanbridge_placeholder", true);
        let made = BlockParts {
            sub_type: SubType::Message,
            role: "placeholder",
            author: None,
            at,
            parent: None,
            metadata,
        };
        let payload = Object::from([("role", "assistant".into()), ("content", "(no message was recorded)".into())]);
        let place = self.push(list, talk.scope, made, payload, step);
        talk.last_message = Some(place);
        (place, Some(reason))
    }

    /// Cuts text into pieces that are within the limit and not blank.
    fn cut(&mut self, text: Text<'a>, limit: usize, span: Option<SpanId>, what: &str) -> Vec<Text<'a>> {
        if text.len() <= limit {
            return vec![text];
        }
        self.lose(span, format!("{what} of {} bytes", text.len()), LossReason::Split);
        let mut parts: Vec<Text<'a>> = match text {
            Text::Borrowed(text) => pieces(text, limit).into_iter().map(Text::from).collect(),
            Text::Owned(text) => pieces(&text, limit).into_iter().map(|piece| piece.to_owned().into()).collect(),
        };
        let before = parts.len();
        parts.retain(|part| !part.trim().is_empty());
        if parts.len() < before {
            self.lose(span, format!("{what}: a part of blanks alone"), LossReason::NoPlace);
        }
        parts
    }
}
