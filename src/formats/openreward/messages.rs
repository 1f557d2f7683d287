//! Writes MESSAGE blocks, with the thoughts and calls below them.

use super::words::{Words, opaque, words};
use super::write::{BlockParts, BlockWriter, Moment, StreamState};
use crate::blocks::document::SubType;
use crate::blocks::limits::pieces;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::LossReason;
use crate::operation::{Message, Role};
use crate::span::SpanId;
use crate::transcript::content;

impl<'a> BlockWriter<'a, '_> {
    /// Writes a message, unless its text is blank.
    pub(super) fn message(
        &mut self,
        talk: &mut StreamState<'a, '_>,
        message: &'a Message,
        role: &'a Role,
        moment: Moment,
    ) -> Option<usize> {
        let content = words(message);
        if content.text.trim().is_empty()
            && message.tool_calls.is_empty()
            && !message.is_blank()
            && !message.has_thoughts()
            && opaque(message).is_empty()
        {
            let span = self.span_of(moment);
            self.lose(span, format!("{} message without text", role.name()), LossReason::NoPlace);
        }
        self.say(talk, role, content, message.name.as_deref(), moment)
    }

    /// Writes a MESSAGE, or several if its text is too long; returns the index of the last one. Blank text is skipped.
    pub(super) fn say(
        &mut self,
        talk: &mut StreamState<'a, '_>,
        speaker: &'a Role,
        content: Words<'a>,
        name: Option<&'a str>,
        moment: Moment,
    ) -> Option<usize> {
        if content.text.trim().is_empty() {
            return None;
        }
        let span = self.span_of(moment);
        let role = match speaker {
            Role::System | Role::Developer => "system",
            Role::Assistant => "assistant",
            _ => "user",
        };
        let mut metadata = self.origin(moment.step);
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
        let mut raw = content.raw;
        let mut last = None;
        for (part, metadata) in self.cut(content.text, self.limits.message, span, "message content", &metadata) {
            let made = BlockParts::message(role, moment, metadata);
            let payload = Object::from([("role", role.into()), ("content", part.into())]);
            let place = self.push(talk.list, talk.scope, made, payload);
            if let Some(block) = talk.list.block(place) {
                block.raw = raw.take();
            }
            last = Some(place);
        }
        talk.last_message = last;
        last
    }

    /// Writes thoughts and calls below their own message, else below the nearest one before.
    pub(super) fn thoughts_and_calls(
        &mut self,
        talk: &mut StreamState<'a, '_>,
        message: &'a Message,
        moment: Moment,
        own: Option<usize>,
        turn: bool,
    ) {
        let span = self.span_of(moment);
        let thought = content::reasoning(message);
        let hidden = opaque(message);
        let mut metadata = self.origin(moment.step);
        if thought.is_none() && message.tool_calls.is_empty() {
            if !hidden.is_empty() {
                match own.and_then(|place| talk.list.block(place)) {
                    Some(block) => block.annotate("reasoning", hidden),
                    None => self.lose(span, "reasoning without text", LossReason::NoPlace),
                }
            }
            return;
        }
        let (parent, reason) = match own {
            Some(place) => (place, None),
            None => self.parent(talk, moment, "assistant turn without text"),
        };
        if let Some(reason) = reason {
            metadata.insert("parent_reason", reason);
        }
        let mut hidden = (!hidden.is_empty()).then_some(Json::List(hidden));
        if let Some(text) = thought {
            for (part, metadata) in self.cut(text, self.limits.think, span, "think text", &metadata) {
                let made = BlockParts::below(parent, SubType::Think, moment, metadata);
                let place = self.push(talk.list, talk.scope, made, Object::from([("text", part.into())]));
                if let Some(hidden) = hidden.take()
                    && let Some(block) = talk.list.block(place)
                {
                    block.raw = Some(hidden);
                }
            }
        }
        for (index, call) in message.tool_calls.iter().enumerate() {
            let asked = moment.step.filter(|_| turn).map(|step| (step, index));
            let made = BlockParts::below(parent, SubType::ToolCall, moment, metadata.clone());
            let place = self.call(talk, call, asked, made);
            if let Some(hidden) = hidden.take()
                && let Some(block) = place.and_then(|place| talk.list.block(place))
            {
                block.annotate("reasoning", hidden);
            }
        }
    }

    /// The parent for blocks of a turn without its own message, and why it was chosen.
    pub(super) fn parent(&mut self, talk: &mut StreamState<'a, '_>, moment: Moment, reason: &'static str) -> (usize, Option<&'static str>) {
        if let Some(place) = talk.last_message {
            return (place, Some(reason));
        }
        if let Some(place) = talk.list.last_message {
            return (place, Some("no message of its own conversation"));
        }
        let what = "a message to hang on: none was recorded";
        self.lose(self.span_of(moment), what, LossReason::Synthesized);
        let mut metadata = self.origin(moment.step);
        metadata.insert("spanbridge_placeholder", true);
        let made = BlockParts::message("placeholder", moment, metadata);
        let payload = Object::from([("role", "assistant".into()), ("content", "(no message was recorded)".into())]);
        let place = self.push(talk.list, talk.scope, made, payload);
        talk.last_message = Some(place);
        (place, Some(reason))
    }

    /// Cuts text into pieces that are within the limit and not blank. Each has the metadata; one of several also has its place.
    fn cut(
        &mut self,
        text: Text<'a>,
        limit: usize,
        span: Option<SpanId>,
        what: &str,
        metadata: &Object<'a>,
    ) -> Vec<(Text<'a>, Object<'a>)> {
        if text.len() <= limit {
            return vec![(text, metadata.clone())];
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
        let count = parts.len();
        let placed = |(index, part): (usize, Text<'a>)| {
            let mut metadata = metadata.clone();
            if count > 1 {
                metadata.insert("part", Object::from([("index", index.into()), ("count", count.into())]));
            }
            (part, metadata)
        };
        parts.into_iter().enumerate().map(placed).collect()
    }
}
