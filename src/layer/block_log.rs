//! OpenReward's four logging helpers, recorded as spans: [`BlockLog`].

use std::collections::HashMap;

use serde_json::{Value as Json, json};
use tracing::Span;

use super::span_ext::SpanExt as _;
use crate::dialect::messages::{self, Direction};
use crate::operation::{Kind, Message, Part, Role, ToolCall, ToolCallId};

/// Logs an agent's run through OpenReward's helpers and records it as spans.
///
/// The model's messages, thoughts and calls between two inputs form one model call; a tool's result becomes a tool span. A document of
/// format `openreward` contains the logged blocks; every other format and backend sees the run too.
///
/// ```
/// use serde_json::json;
/// use spanbridge::layer::BlockLog;
/// use spanbridge::operation::Role;
///
/// let mut log = BlockLog::new("forecaster");
/// log.log_message(Role::User, "Weather in Oslo?");
/// log.log_think("A tool knows the weather.");
/// log.log_act("call_1", "weather", json!({"city": "Oslo"}));
/// log.log_observe("call_1", "-3 °C", Some(1.0));
/// log.log_message(Role::Assistant, "It is -3 °C.");
/// ```
///
/// The spans are children of an agent span, which is a child of the current span and closes when the log is dropped. To log to a server
/// without spans, use `spanbridge::client`.
#[derive(Debug)]
pub struct BlockLog {
    agent: Span,
    /// The messages the next model call receives.
    history: Vec<Message>,
    /// Number of messages in the history that no model call has received.
    unsent: usize,
    turn: Option<Turn>,
    calls: HashMap<String, (String, Json)>,
}

/// A model call that may continue.
#[derive(Debug)]
struct Turn {
    span: Span,
    message: Message,
}

impl BlockLog {
    /// Starts the log of one run of this agent.
    #[must_use]
    pub fn new(agent: &str) -> Self {
        let span = tracing::info_span!(target: "spanbridge::call", "agent", otel.name = agent, openinference.span.kind = "AGENT");
        span.set_agent(agent);
        Self {
            agent: span,
            history: Vec::new(),
            unsent: 0,
            turn: None,
            calls: HashMap::new(),
        }
    }

    /// The agent's span, for recording anything else about the run.
    #[must_use]
    pub fn span(&self) -> &Span {
        &self.agent
    }

    /// Logs a message. Assistant messages belong to the model call in progress.
    pub fn log_message(&mut self, role: Role, content: impl Into<Json>) {
        let said = message(&role, content.into());
        if role != Role::Assistant {
            self.end_turn();
            self.history.push(said);
            self.unsent += 1;
            return;
        }
        let has_words = |turn: &Turn| turn.message.parts.iter().any(|part| !matches!(part, Part::Reasoning { .. }));
        if self.turn.as_ref().is_some_and(has_words) {
            self.end_turn();
        }
        self.turn().message.parts.extend(said.parts);
    }

    /// Logs a tool call by the model.
    pub fn log_act(&mut self, call_id: &str, name: &str, arguments: impl Into<Json>) {
        let arguments = arguments.into();
        self.calls.insert(call_id.to_owned(), (name.to_owned(), arguments.clone()));
        self.turn().message.tool_calls.push(ToolCall {
            id: Some(ToolCallId::Recorded(call_id.to_owned())),
            name: name.to_owned(),
            arguments: Some(arguments),
            ..ToolCall::default()
        });
    }

    /// Logs the output of a tool, with an optional reward. If the call was not logged, the tool has no name.
    pub fn log_observe(&mut self, call_id: &str, output: impl Into<Json>, reward: Option<f64>) {
        self.end_turn();
        let output = output.into();
        let (name, arguments) = self.calls.get(call_id).cloned().unwrap_or_default();
        let span = tracing::info_span!(target: "spanbridge::call", parent: &self.agent, "tool", otel.name = name);
        span.set_tool_call(&name, Some(call_id), &arguments).set_tool_result(&output);
        if let Some(reward) = reward {
            span.set_field("spanbridge.reward", reward);
        }
        let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
        self.history.push(Message {
            tool_call_id: Some(call_id.to_owned()),
            ..Message::text(Role::Tool, text)
        });
    }

    /// Logs a thought of the model.
    pub fn log_think(&mut self, text: &str) {
        self.turn().message.parts.push(Part::Reasoning {
            text: Some(text.to_owned()),
            opaque: serde_json::Map::new(),
        });
    }

    fn turn(&mut self) -> &mut Turn {
        let agent = &self.agent;
        self.turn.get_or_insert_with(|| Turn {
            span: tracing::info_span!(target: "spanbridge::call", parent: agent, "model call", openinference.span.kind = "LLM"),
            message: Message {
                role: Role::Assistant,
                ..Message::default()
            },
        })
    }

    fn end_turn(&mut self) {
        let Some(Turn { span, message }) = self.turn.take() else { return };
        for said in &self.history {
            span.add_input_message(said);
        }
        span.add_output_message(&message);
        self.history.push(message);
        self.unsent = 0;
    }
}

impl Drop for BlockLog {
    fn drop(&mut self) {
        self.end_turn();
        let heard = self.history.len().saturating_sub(self.unsent);
        for said in self.history.iter().skip(heard).filter(|said| said.role == Role::User) {
            let span = tracing::info_span!(target: "spanbridge::call", parent: &self.agent, "input");
            span.set_kind(Kind::UserInput).set_input(&said.content());
        }
    }
}

/// Builds a message from content in any shape the dialects know.
fn message(role: &Role, content: Json) -> Message {
    let read = match &content {
        Json::String(_) => None,
        other => messages::read(&json!([{"role": role.name(), "content": other}]), Direction::Input),
    };
    let text = || content.as_str().map_or_else(|| content.to_string(), str::to_owned);
    read.and_then(|list| list.into_iter().next())
        .unwrap_or_else(|| Message::text(role.clone(), text()))
}
