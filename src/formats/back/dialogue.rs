//! A conversation of an agent while a document is read: the messages so far, additional input of the next model call, and calls
//! that wait for their results.

use serde_json::Value;

use super::at::At;
use super::operations::take_instructions;
use super::trace_builder::TraceBuilder;
use super::waiting::{Open, Waiting};
use crate::events::HistoryId;
use crate::operation::{Failure, Kind, Message, Operation, Role, ToolCall, ToolUse};
use crate::span::SpanId;

/// A conversation.
#[derive(Debug)]
pub(in crate::formats) struct Dialogue {
    /// The agent whose operations these are.
    pub(in crate::formats) agent: usize,
    history: HistoryId,
    /// Said, and given to no model call; with the places.
    unheard: Vec<(Message, String)>,
    waiting: Waiting,
    /// Whether a model was asked.
    has_calls: bool,
}

/// What a call gave back.
#[derive(Debug, Default)]
pub(in crate::formats) struct Answer {
    /// Its value, where it is not the text of the message.
    pub(in crate::formats) value: Option<Value>,
    /// Why the tool failed.
    pub(in crate::formats) failure: Option<Failure>,
}

impl Dialogue {
    pub(in crate::formats) fn new(builder: &mut TraceBuilder, agent: usize) -> Self {
        Self {
            agent,
            history: builder.begin_history(),
            unheard: Vec::new(),
            waiting: Waiting::default(),
            has_calls: false,
        }
    }

    /// Adds a message that is not the model's.
    pub(in crate::formats) fn hear(&mut self, message: Message, at: &At<'_>) {
        self.unheard.push((message, at.own.clone()));
    }

    /// Adds a system prompt of the next model call, before its other input.
    pub(in crate::formats) fn instruct(&mut self, prompt: Message, at: &At<'_>) {
        self.unheard.insert(0, (prompt, at.own.clone()));
    }

    /// No result answers the calls so far.
    pub(in crate::formats) fn forget_calls(&mut self) {
        self.waiting = Waiting::default();
    }

    /// Adds a message that the model wrote before the run; it has no operation.
    pub(in crate::formats) fn said_before(&mut self, message: Message, builder: &mut TraceBuilder) {
        self.take_in(builder);
        self.waiting.add(&message.tool_calls, None);
        builder.history(self.history).push(message);
    }

    /// Adds a model call whose input is the conversation so far, and returns its index.
    pub(in crate::formats) fn model_call(&mut self, id: SpanId, operation: Operation, builder: &mut TraceBuilder) -> usize {
        self.take_in(builder);
        self.has_calls = true;
        let said = operation.output_messages.as_deref().and_then(<[Message]>::first).cloned();
        let caller = builder.add_model_call(id, self.agent, operation, self.history);
        if let Some(said) = said {
            self.waiting.add(&said.tool_calls, Some(caller));
            builder.history(self.history).push(said);
        }
        caller
    }

    fn take_in(&mut self, builder: &mut TraceBuilder) {
        let unheard = std::mem::take(&mut self.unheard).into_iter();
        builder.history(self.history).extend(unheard.map(|(message, _)| message));
    }

    /// The call that a result with this id answers.
    pub(in crate::formats) fn answered(&mut self, id: Option<&str>) -> Option<Open> {
        self.waiting.take(id)
    }

    /// Whether a call with this id waits for its result.
    pub(in crate::formats) fn waits_for(&self, id: &str) -> bool {
        self.waiting.has(id)
    }

    /// The operation that runs the first waiting call of the last message for which `matches` is true. It is added now.
    pub(in crate::formats) fn running_tool(
        &mut self,
        at: &At<'_>,
        matches: impl Fn(&ToolCall) -> bool,
        builder: &mut TraceBuilder,
    ) -> Option<usize> {
        let agent = self.agent;
        let open = self.waiting.next(matches)?;
        if open.tool.is_none() {
            let id = builder.id(None, &format!("{} runs", at.own));
            open.tool = Some(tool(id, agent, open, Answer::default(), builder));
        }
        open.tool
    }

    /// The result of a call: the operation that ran it, and its message for the model. Its place in the builder, if the model called it
    /// in this run.
    pub(in crate::formats) fn result(
        &mut self,
        id: SpanId,
        open: &Open,
        message: Message,
        answer: Answer,
        builder: &mut TraceBuilder,
    ) -> Option<usize> {
        let recorded = open.tool.and_then(|tool| builder.operation(tool));
        let place = if let Some(operation) = recorded {
            operation.failure = answer.failure;
            operation.tool.get_or_insert_default().result = answer.value;
            open.tool
        } else {
            open.caller.map(|_| tool(id, self.agent, open, answer, builder))
        };
        self.take_in(builder);
        builder.history(self.history).push(message);
        place
    }

    /// The end: words that no model was given are a person's input; instructions, where no model was asked at all, the agent's. A result
    /// that no call asked for is nobody's words: only an export in the same format has it.
    pub(in crate::formats) fn finish(self, builder: &mut TraceBuilder) {
        let unheard = match self.has_calls {
            true => self.unheard,
            false => take_instructions(self.unheard, self.agent, builder, |(message, _)| message),
        };
        for (message, own) in unheard {
            if message.role == Role::Tool {
                continue;
            }
            let id = builder.id(None, &own);
            let words = message.content();
            let operation = Operation {
                input: words.into(),
                ..Operation::named(Kind::UserInput, "input")
            };
            builder.add(id, self.agent, operation);
        }
    }
}

fn tool(id: SpanId, agent: usize, open: &Open, answer: Answer, builder: &mut TraceBuilder) -> usize {
    let operation = Operation {
        tool: Some(Box::new(ToolUse {
            name: Some(open.call.name.clone()),
            call_id: open.call.id.as_deref().map(str::to_owned),
            arguments: open.call.arguments.clone(),
            result: answer.value,
            ..ToolUse::default()
        })),
        failure: answer.failure,
        ..Operation::named(Kind::Tool, open.call.name.clone())
    };
    let place = builder.add(id, agent, operation);
    if let Some(draft) = builder.drafts.get_mut(place) {
        draft.after = open.caller;
    }
    place
}

/// A tool's message to the model, for the call that it answers.
pub(in crate::formats) fn tool_message(open: &Open) -> Message {
    Message {
        role: Role::Tool,
        name: Some(open.call.name.clone()),
        tool_call_id: open.call.id.as_deref().map(str::to_owned),
        ..Message::default()
    }
}
