//! Messages in order.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::content;
use crate::formats::back::{At, HistoryId, NoteKind, Result, Story};
use crate::operation::{Kind, Message, Operation, Role, ToolCall, ToolDefinition, ToolUse};

/// What our own rows have where no result was recorded.
const NO_RESULT: &str = super::super::row::NO_RESULT;

/// A call that waits for its result.
struct Open {
    call: ToolCall,
    /// The model call that made it; none where it stands in what the model was given.
    caller: Option<usize>,
}

/// The calls of one message that wait for their results.
#[derive(Default)]
struct Waiting {
    calls: Vec<Option<Open>>,
    /// The places of the calls with an id, in order.
    by_id: HashMap<String, VecDeque<usize>>,
    /// No call before these places waits: of all, and of those without an id.
    first: usize,
    first_nameless: usize,
}

impl Waiting {
    fn of(calls: impl Iterator<Item = Open>) -> Self {
        let mut this = Self::default();
        for (place, open) in calls.enumerate() {
            if let Some(id) = open.call.id.as_deref() {
                this.by_id.entry(id.to_owned()).or_default().push_back(place);
            }
            this.calls.push(Some(open));
        }
        this
    }

    /// The call that a result with this id answers: the one of the id, else the first one that one of the two gives no id.
    fn take(&mut self, id: Option<&str>) -> Option<Open> {
        if let Some(places) = id.and_then(|id| self.by_id.get_mut(id)) {
            while let Some(place) = places.pop_front() {
                if let Some(open) = self.calls.get_mut(place).and_then(Option::take) {
                    return Some(open);
                }
            }
        }
        let place = match id {
            None => &mut self.first,
            Some(_) => &mut self.first_nameless,
        };
        while let Some(slot) = self.calls.get_mut(*place) {
            *place += 1;
            if let Some(open) = slot.take_if(|open| id.is_none() || open.call.id.is_none()) {
                return Some(open);
            }
        }
        None
    }
}

pub(super) struct Conversation<'s> {
    story: &'s mut Story,
    tools: Vec<ToolDefinition>,
    history: HistoryId,
    /// Said, and given to no model call.
    unheard: Vec<(Message, String)>,
    open: Waiting,
    seen: usize,
    text_arguments: bool,
    has_weights: bool,
    mark: Option<&'static str>,
}

impl<'s> Conversation<'s> {
    pub(super) fn new(story: &'s mut Story, tools: Vec<ToolDefinition>) -> Self {
        Self {
            history: story.begin_history(),
            story,
            tools,
            unheard: Vec::new(),
            open: Waiting::default(),
            seen: 0,
            text_arguments: false,
            has_weights: false,
            mark: None,
        }
    }

    /// Reads a list of messages. `is_given`: the model said none of them in this row.
    pub(super) fn messages(&mut self, at: &At<'_>, is_given: bool) -> Result<()> {
        if let Value::String(text) = at.value {
            let role = if is_given { Role::User } else { Role::Assistant };
            let message = Message::text(role, text.as_str());
            self.seen += 1;
            self.one(at, message, is_given);
            return Ok(());
        }
        for item in at.items()? {
            let (message, is_text) = content::message(&item)?;
            self.text_arguments |= is_text;
            self.seen += 1;
            if message.role == Role::Tool {
                self.result(&item, message)?;
                continue;
            }
            let is_given = is_given || self.is_no_target(&item);
            self.one(&item, message, is_given);
        }
        Ok(())
    }

    /// Whether a trainer is told to leave this message out.
    fn is_no_target(&mut self, at: &At<'_>) -> bool {
        let weight = at.some("weight");
        self.has_weights |= weight.is_some();
        let is_false = |key: &str| at.some(key).is_some_and(|flag| flag.value == false);
        for key in ["training", "trainable"].into_iter().filter(|key| is_false(key)) {
            self.mark = Some(key);
        }
        weight.is_some_and(|weight| weight.value.as_f64() == Some(0.0)) || is_false("training") || is_false("trainable")
    }

    fn one(&mut self, at: &At<'_>, message: Message, is_given: bool) {
        if message.role != Role::Assistant {
            self.unheard.push((message, at.own.clone()));
            return;
        }
        let unheard = std::mem::take(&mut self.unheard);
        let unheard = unheard.into_iter().map(|(message, _)| message);
        self.story.history(self.history).extend(unheard);
        let caller = (!is_given).then(|| {
            let operation = Operation {
                kind: Kind::Llm,
                name: "model call".to_owned(),
                output_messages: Some(vec![message.clone()]),
                // What all calls were offered is told once, with the first of them.
                tool_definitions: std::mem::take(&mut self.tools),
                ..Operation::default()
            };
            let id = self.story.id_at(None, at);
            self.story.add_model_call(id, 0, operation, self.history)
        });
        self.open = Waiting::of(message.tool_calls.iter().cloned().map(|call| Open { call, caller }));
        self.story.history(self.history).push(message);
    }

    /// A tool's message: it answers the call that it names, else the first one that waits.
    fn result(&mut self, at: &At<'_>, mut message: Message) -> Result<()> {
        let Some(open) = self.open.take(message.tool_call_id.as_deref()) else {
            return Err(at.refuse("no call before it waits for this result"));
        };
        if message.tool_call_id.is_none() || message.tool_call_id.as_deref() != open.call.id.as_deref() {
            self.story.note(
                &at.path,
                NoteKind::ByPosition,
                "it names no call: it answers the first one that waits",
            );
        }
        let call_id = open.call.id.as_deref().map(str::to_owned);
        message.tool_call_id = message.tool_call_id.or_else(|| call_id.clone());
        message.name.get_or_insert_with(|| open.call.name.clone());
        if message.content() == NO_RESULT {
            return Ok(());
        }
        if let Some(caller) = open.caller {
            let text = message.content();
            let opened = serde_json::from_str::<Value>(&text).ok();
            let opened = opened.filter(|value| {
                (value.is_object() || value.is_array()) && serde_json::to_string(value).is_ok_and(|written| written == text)
            });
            let result = opened.unwrap_or_else(|| text.into());
            let operation = Operation {
                kind: Kind::Tool,
                name: open.call.name.clone(),
                tool: Some(Box::new(ToolUse {
                    name: Some(open.call.name),
                    call_id,
                    arguments: open.call.arguments,
                    result: Some(result),
                    ..ToolUse::default()
                })),
                ..Operation::default()
            };
            let id = self.story.id_at(None, at);
            let draft = self.story.add(id, 0, operation);
            if let Some(draft) = self.story.drafts.get_mut(draft) {
                draft.after = Some(caller);
            }
        }
        self.story.history(self.history).push(message);
        Ok(())
    }

    /// The row is written as `prompt` and `completion`.
    pub(super) fn is_split(&mut self) {
        self.story.options.push(("messages.split".to_owned(), "completion".to_owned()));
    }

    /// Words after the last assistant message are a person's input.
    pub(super) fn finish(self, at: &At<'_>) -> Result<()> {
        if self.seen == 0 {
            return Err(at.refuse("a row has messages"));
        }
        if self.text_arguments || self.has_weights {
            self.story.options.push(("messages.flavour".to_owned(), "openai".to_owned()));
        }
        if let Some(mark) = self.mark {
            self.story.options.push(("messages.mark".to_owned(), mark.to_owned()));
        }
        for (message, own) in self.unheard {
            let id = self.story.id(None, &own);
            let operation = Operation {
                kind: Kind::UserInput,
                name: "input".to_owned(),
                input: message.content().into(),
                ..Operation::default()
            };
            self.story.add(id, 0, operation);
        }
        Ok(())
    }
}
