//! Reads an eval case: its invocations and its agents.

use std::collections::HashMap;

use serde_json::Value;

use crate::formats::back::{At, Dialogue, Result, TraceBuilder};
use crate::operation::{Kind, Message, Operation, Role, StateChange, ToolCall, ToolDefinition};
use crate::span::TraceId;

/// Which forms a document uses for the steps between question and answer.
#[derive(Debug, Default)]
pub(super) struct Forms {
    pub(super) events: bool,
    pub(super) lists: bool,
}

/// An agent's conversation.
pub(super) struct Frame {
    pub(super) dialogue: Dialogue,
    /// The author of the last event.
    author: Option<String>,
}

/// Instructions and tools of an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Details {
    pub(super) instructions: String,
    pub(super) tools: Vec<ToolDefinition>,
}

/// State while a case is read.
pub(super) struct Case<'s> {
    pub(super) builder: &'s mut TraceBuilder,
    /// The case's agent, followed by agents nested in its calls.
    frames: Vec<Frame>,
    /// Details of agents that have not yet spoken in this invocation.
    pub(super) details: HashMap<String, Details>,
    /// Details of each agent when it last spoke.
    recorded: HashMap<String, Details>,
    /// Responses still expected in this invocation: call id -> count.
    pub(super) to_come: HashMap<String, usize>,
    /// The id for the next operation.
    pub(super) own_id: Option<String>,
}

/// Reads a case; the first case of a trace describes the root.
pub(super) fn read(at: &At<'_>, builder: &mut TraceBuilder, forms: &mut Forms) -> Result<()> {
    let is_first = builder.drafts.len() == 1;
    let session = at.some("session_input");
    let person = |key: &str, unknown: &str| -> Result<Option<String>> {
        let word = session.as_ref().map(|session| session.text_of(key)).transpose()?.flatten();
        Ok(word.filter(|word| !word.is_empty() && *word != unknown).map(str::to_owned))
    };
    let (app, user) = (person("app_name", "unknown")?, person("user_id", "user")?);
    let fixed = session.as_ref().and_then(|session| session.value.get("session_id")?.as_str());
    let own = at.need("eval_id")?.text()?;
    let agent = if is_first {
        if let Some(root) = builder.operation(0) {
            if let Some(app) = &app {
                root.name.clone_from(app);
            }
            root.agent.name = app;
            root.user_id = user;
            root.session_id = fixed.map(str::to_owned).or(root.session_id.take());
            if TraceId::from_hex(own.split(':').next().unwrap_or_default()).is_none() {
                root.metadata.insert("eval_id".to_owned(), own.into());
            }
        }
        0
    } else {
        let id = builder.id_at(None, at);
        let operation = Operation::named(Kind::Agent, "agent");
        builder.add(id, 0, operation)
    };
    let dialogue = Dialogue::new(builder, agent);
    let mut case = Case {
        frames: vec![Frame { dialogue, author: None }],
        builder,
        details: HashMap::new(),
        recorded: HashMap::new(),
        to_come: HashMap::new(),
        own_id: None,
    };
    if let Some(conversation) = at.some("conversation") {
        for invocation in conversation.items()? {
            case.invocation(&invocation, forms)?;
        }
    }
    case.close_above(0);
    if let Some(scenario) = at.some("conversation_scenario") {
        let text = |key: &str| scenario.value.get(key).and_then(Value::as_str).map(str::to_owned);
        if let Some(root) = builder.operation(agent) {
            root.task.description = text("starting_prompt");
            root.task.goal = text("conversation_plan");
        }
    }
    states(at, session.as_ref(), agent, builder)
}

/// The final state, as changes from the state before.
fn states(at: &At<'_>, session: Option<&At<'_>>, agent: usize, builder: &mut TraceBuilder) -> Result<()> {
    let before = session.map(|session| session.object_of("state")).transpose()?.unwrap_or_default();
    let after = at.object_of("final_session_state")?;
    for (key, value) in after {
        let id = builder.id(None, &format!("{}.final_session_state.{key}", at.own));
        let operation = Operation {
            state: Some(Box::new(StateChange {
                old_value: before.get(&key).filter(|old| !old.is_null()).cloned(),
                new_value: Some(value).filter(|new| !new.is_null()),
                key: Some(key.clone()),
                reason: None,
            })),
            ..Operation::named(Kind::StateChange, key)
        };
        builder.add(id, agent, operation);
    }
    Ok(())
}

impl Case<'_> {
    /// Whether an agent nested in a call is still speaking.
    pub(super) fn is_inside(&self) -> bool {
        self.frames.len() > 1
    }

    /// Closes conversations, innermost first, until `count` are open.
    pub(super) fn close_above(&mut self, count: usize) {
        while self.frames.len() > count {
            if let Some(frame) = self.frames.pop() {
                frame.dialogue.finish(self.builder);
            }
        }
    }

    /// The innermost conversation and the builder.
    pub(super) fn dialogue(&mut self) -> Option<(&mut Dialogue, &mut TraceBuilder)> {
        let frame = self.frames.last_mut()?;
        Some((&mut frame.dialogue, self.builder))
    }

    /// Closes conversations down to the one in which a call with this id is pending.
    pub(super) fn go_to_call(&mut self, id: &str) {
        if let Some(place) = self.frames.iter().rposition(|frame| frame.dialogue.waits_for(id)) {
            self.close_above(place + 1);
        }
    }

    /// Begins the conversation of an agent inside the pending call, if a response to that call is still expected.
    pub(super) fn begin_inside(&mut self, at: &At<'_>) {
        let Some(frame) = self.frames.last_mut() else { return };
        let to_come = &self.to_come;
        let is_answered = |call: &ToolCall| to_come.contains_key(call.id.as_deref().unwrap_or_default());
        let Some(tool) = frame.dialogue.running_tool(at, is_answered, self.builder) else {
            return;
        };
        let id = self.builder.id(None, &format!("{} agent", at.own));
        let operation = Operation::named(Kind::Agent, "agent");
        let agent = self.builder.add(id, tool, operation);
        let dialogue = Dialogue::new(self.builder, agent);
        self.frames.push(Frame { dialogue, author: None });
    }

    /// Switches to the conversation in which this agent speaks.
    pub(super) fn go_to(&mut self, author: Option<&str>, at: &At<'_>) {
        let Some(author) = author else { return };
        // An agent that speaks while a call is pending is nested in it, unless it has already spoken in an outer conversation.
        if self.frames.last().is_some_and(|frame| frame.author.is_some()) {
            let count = self.frames.len();
            self.begin_inside(at);
            if self.frames.len() == count {
                let place = self.frames.iter().rposition(|frame| frame.author.as_deref() == Some(author));
                self.close_above(place.map_or(count, |place| place + 1));
            }
        }
        let Some(frame) = self.frames.last_mut() else { return };
        let is_new = frame.author.is_none();
        frame.author = Some(author.to_owned());
        let agent = frame.dialogue.agent;
        if let Some(operation) = self.builder.operation(agent).filter(|_| is_new && agent != 0) {
            operation.agent.name = Some(author.to_owned());
            author.clone_into(&mut operation.name);
        }
    }

    /// Adds the agent's system prompt if it changed since the agent last spoke; returns its tools if they changed.
    pub(super) fn instructed(&mut self, author: Option<&str>, at: &At<'_>) -> Vec<ToolDefinition> {
        let Some(new) = author.and_then(|author| self.details.remove(author)) else {
            return Vec::new();
        };
        let recorded = self.recorded.entry(author.unwrap_or_default().to_owned()).or_default();
        if recorded.instructions != new.instructions
            && !new.instructions.is_empty()
            && let Some(frame) = self.frames.last_mut()
        {
            let prompt = Message::text(Role::System, new.instructions.as_str());
            frame.dialogue.instruct(prompt, at);
        }
        let is_new = recorded.tools != new.tools;
        *recorded = new;
        if is_new { recorded.tools.clone() } else { Vec::new() }
    }
}
