//! Reads steps in order.

use serde_json::{Map, Value};

use super::content;
use super::conversation::{StepContent, TrajectoryConversation};
use super::metadata::{Invocation, invocation, metrics, take};
use super::result::{answer, results};
use super::{Parent, TrajectoryReader, word};
use crate::document::shape::kind_of;
use crate::formats::back::{At, NoteKind, Result, read_thoughts, time};
use crate::operation::{Kind, Message, Operation, Part, Role, ToolCall};
use crate::span::UnixNanos;

/// Fields that only agent steps have.
const OF_AGENTS: [&str; 5] = ["model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"];

impl TrajectoryReader<'_> {
    pub(super) fn step(&mut self, at: &At<'_>, conversation: &mut TrajectoryConversation<'_>) -> Result<()> {
        at.object()?;
        let source = at.need("source")?;
        let stamp = match at.text_of("timestamp")? {
            None => None,
            Some(text) => {
                let stamp = time(text).or_else(|| time(&format!("{text}T00:00:00")));
                if stamp.is_none() {
                    self.note(at, NoteKind::TimeUnknown, &format!("{text} is not an ISO 8601 time"));
                }
                stamp
            }
        };
        let words = at.need("message")?;
        if words.value.is_null() {
            return Err(words.refuse("text or a list of parts is wanted, found null"));
        }
        let mut message = Message {
            parts: content::parts(&words)?,
            ..Message::default()
        };
        let extra = at.object_of("extra")?;
        message.name = word(&extra, "name");
        let copied = at.some("is_copied_context").is_some_and(|flag| flag.value == true);
        if copied && conversation.has_spoken {
            conversation.forget();
        }
        match source.text()? {
            "agent" => {
                message.role = Role::Assistant;
                let step_content = StepContent { message, extra, stamp };
                if copied {
                    self.copied(at, step_content, conversation)
                } else {
                    self.agent_step(at, step_content, conversation)
                }
            }
            source @ ("user" | "system") => {
                for key in OF_AGENTS {
                    if let Some(field) = at.some(key) {
                        return Err(field.refuse("only steps of the agent have it"));
                    }
                }
                message.role = match word(&extra, "role").as_deref() {
                    Some("developer") => Role::Developer,
                    Some(other) if source == "user" => Role::Other(other.to_owned()),
                    _ => Role::from_word(source),
                };
                self.words(at, StepContent { message, extra, stamp }, conversation);
                self.environment(at, stamp, conversation)
            }
            other => Err(source.refuse(format!("`system`, `user` or `agent` is wanted, found `{other}`"))),
        }
    }

    /// Adds words of a user or the system: input of the next model call, or a separate operation.
    fn words(&mut self, at: &At<'_>, step_content: StepContent, conversation: &mut TrajectoryConversation<'_>) {
        let StepContent { message, mut extra, stamp } = step_content;
        if !extra.contains_key("ancestry") {
            if !message.is_blank() {
                conversation.wait(message, stamp, at);
            }
            return;
        }
        let invoked = extra.contains_key("invocation");
        let invocation = invocation(&mut extra, stamp);
        if self.is_agent(&invocation, invoked, conversation) {
            self.known_agent(&invocation, conversation);
            if let Some(operation) = self.builder.operation(conversation.agent) {
                operation.input = message.content().into();
            }
            return;
        }
        let mut operation = Operation {
            kind: if message.role == Role::System {
                Kind::Chain
            } else {
                Kind::UserInput
            },
            name: invocation.name.clone().unwrap_or_else(|| "input".to_owned()),
            ..Operation::default()
        };
        take(extra, &mut operation);
        let content = message.content();
        if let Some(asked) = operation.interrupt.as_deref_mut() {
            operation.kind = Kind::Interrupt;
            asked.response = asked.response.take().or(Some(content.into()));
        } else if operation.kind == Kind::Chain {
            operation.output = content.into();
        } else {
            operation.input = content.into();
        }
        self.add_operation(at, operation, invocation, conversation);
    }

    /// Whether the operation is the trajectory's agent: words recorded on the agent alone have no `invocation`.
    fn is_agent(&self, invocation: &Invocation, invoked: bool, conversation: &TrajectoryConversation<'_>) -> bool {
        let is_known = |id: &String| self.ids.get(id) == Some(&conversation.agent) || conversation.agents.binary_search(id).is_ok();
        !invoked || invocation.id.as_ref().is_some_and(is_known)
    }

    /// Sets the agent's own id and times.
    fn known_agent(&mut self, invocation: &Invocation, conversation: &TrajectoryConversation<'_>) {
        let Some(id) = &invocation.id else { return };
        if conversation.agent == 0 && !self.ids.contains_key(id) {
            self.builder.root_id(Some(id));
        }
        if let (Some(name), Some(operation)) = (&invocation.name, self.builder.operation(conversation.agent)) {
            operation.name.clone_from(name);
        }
        self.ids.entry(id.clone()).or_insert(conversation.agent);
        if let Some(draft) = self
            .builder
            .drafts
            .get_mut(conversation.agent)
            .filter(|_| invocation.start.is_some())
        {
            draft.start = draft.start.or(invocation.start);
            draft.end = draft.end.max(invocation.end);
        }
    }

    /// Adds an operation under the parent that it names.
    pub(super) fn add_operation(
        &mut self,
        at: &At<'_>,
        operation: Operation,
        invocation: Invocation,
        conversation: &TrajectoryConversation<'_>,
    ) -> usize {
        let id = self.builder.id_at(invocation.id.as_deref(), at);
        let agent = operation.agent.name.clone();
        let draft = self.builder.add(id, conversation.agent, operation);
        self.builder.times(draft, invocation.start, invocation.end);
        self.builder.running(draft, invocation.running);
        if let Some(id) = invocation.id {
            self.ids.entry(id).or_insert(draft);
        }
        if let Some(id) = invocation.parent {
            self.parents.push(Parent {
                draft,
                id,
                name: invocation.parent_name,
                around: conversation.agent,
                agent,
            });
        }
        draft
    }

    /// Adds results in a step of a user or the system: the next model call received them.
    fn environment(&mut self, at: &At<'_>, stamp: Option<UnixNanos>, conversation: &mut TrajectoryConversation<'_>) -> Result<()> {
        for result in results(at)? {
            self.given(&result, stamp, conversation)?;
        }
        Ok(())
    }

    /// Adds a result without a call: a report of the environment to the agent.
    pub(super) fn given(&mut self, result: &At<'_>, stamp: Option<UnixNanos>, conversation: &mut TrajectoryConversation<'_>) -> Result<()> {
        result.object()?;
        if let Some(content) = result.some("content") {
            let message = Message {
                role: Role::User,
                parts: content::parts(&content)?,
                ..Message::default()
            };
            if !message.is_blank() {
                conversation.wait(message, stamp, result);
            }
        }
        if let Some(references) = result.some("subagent_trajectory_ref") {
            for reference in references.items()? {
                self.referred(&reference, conversation.agent, conversation)?;
            }
        }
        Ok(())
    }

    /// Adds earlier words of the agent, with the results of its calls: input of the next model call.
    fn copied(&mut self, at: &At<'_>, step_content: StepContent, conversation: &mut TrajectoryConversation<'_>) -> Result<()> {
        let calls = calls(at)?;
        let mut message = step_content.message;
        message.tool_calls = calls.iter().map(|(_, call)| call.clone()).collect();
        if let Some(text) = at.text_of("reasoning_content")? {
            message.parts.insert(0, Part::thought(text));
        }
        if !message.is_blank() || !message.tool_calls.is_empty() {
            conversation.wait(message, step_content.stamp, at);
        }
        for (result, call) in self.answers(at, &calls)? {
            match call.and_then(|call| calls.get(call)) {
                None => self.given(&result, step_content.stamp, conversation)?,
                Some((_, call)) => {
                    let message = answer(&result, call)?;
                    conversation.wait(message, step_content.stamp, &result);
                }
            }
        }
        Ok(())
    }

    fn agent_step(&mut self, at: &At<'_>, step_content: StepContent, conversation: &mut TrajectoryConversation<'_>) -> Result<()> {
        let calls = calls(at)?;
        let count = at.some("llm_call_count").and_then(|count| count.value.as_u64());
        if count == Some(0) {
            for key in ["metrics", "reasoning_content"] {
                if let Some(field) = at.some(key) {
                    return Err(field.refuse("a step with `llm_call_count` 0 has no model call"));
                }
            }
        }
        let is_model_call = count.is_some_and(|count| count > 0) || at.some("metrics").is_some();
        let on_its_own = count == Some(0) || !is_model_call && calls.is_empty() && step_content.extra.contains_key("ancestry");
        if !on_its_own {
            return self.model_call(at, step_content, &calls, conversation);
        }
        if !step_content.message.is_blank() || calls.is_empty() {
            self.own_words(at, &step_content, conversation);
        }
        let answers = self.answers(at, &calls)?;
        for (result, _) in answers.iter().filter(|(_, call)| call.is_none()) {
            self.given(result, step_content.stamp, conversation)?;
        }
        self.executions(at, (&calls, &answers), &step_content, None, conversation)
    }

    /// Adds words of the agent that no model produced.
    fn own_words(&mut self, at: &At<'_>, step_content: &StepContent, conversation: &mut TrajectoryConversation<'_>) {
        let mut extra = step_content.extra.clone();
        let invoked = extra.contains_key("invocation");
        let invocation = invocation(&mut extra, step_content.stamp);
        if invocation.id.is_some() && self.is_agent(&invocation, invoked, conversation) {
            self.known_agent(&invocation, conversation);
            if let Some(operation) = self.builder.operation(conversation.agent) {
                operation.output = step_content.message.content().into();
            }
            return;
        }
        let mut operation = Operation {
            output: step_content.message.content().into(),
            ..Operation::named(Kind::FinalOutput, invocation.name.clone().unwrap_or_else(|| "output".to_owned()))
        };
        take(extra, &mut operation);
        self.add_operation(at, operation, invocation, conversation);
    }

    fn model_call(
        &mut self,
        at: &At<'_>,
        step_content: StepContent,
        calls: &[(At<'_>, ToolCall)],
        conversation: &mut TrajectoryConversation<'_>,
    ) -> Result<()> {
        let StepContent {
            mut message,
            mut extra,
            stamp,
        } = step_content;
        let invocation = invocation(&mut extra, stamp);
        message.tool_calls = calls.iter().map(|(_, call)| call.clone()).collect();
        message.finish_reason = word(&extra, "finish_reason");
        let mut operation = Operation {
            kind: Kind::Llm,
            // Tools offered to all calls are recorded once, with the first call.
            tool_definitions: std::mem::take(&mut conversation.tools),
            ..Operation::default()
        };
        operation.model.response = at.text_of("model_name")?.map(str::to_owned).or_else(|| conversation.model.clone());
        let model = operation.model.response.as_deref().unwrap_or("model call");
        operation.name = invocation.name.clone().unwrap_or_else(|| model.to_owned());
        if let Some(effort) = at.some("reasoning_effort") {
            if !effort.value.is_string() && !effort.value.is_number() {
                return Err(effort.refuse(format!("text or a number is wanted, found {}", found(effort.value))));
            }
            operation.parameters.insert("reasoning_effort".to_owned(), effort.value.clone());
        }
        metrics(at, &mut operation)?;
        let is_unread = extra.shift_remove("content_unread").is_some();
        let is_silent = extra.shift_remove("content_captured") == Some(Value::Bool(false)) || is_unread;
        if !is_silent {
            operation.output_messages = Some(vec![message]);
        }
        if let Some(text) = at.text_of("reasoning_content")? {
            extra.insert("reasoning".to_owned(), text.into());
        }
        read_thoughts(&mut extra, &mut operation);
        take(extra, &mut operation);
        let answers = self.answers(at, calls)?;
        let mut served: Vec<usize> = Vec::new();
        for (result, call) in &answers {
            let Some((place, (call_at, call))) = call.and_then(|place| Some((place, calls.get(place)?))) else {
                continue;
            };
            let spoken_call = operation
                .output_messages
                .as_mut()
                .and_then(|list| list.first_mut()?.tool_calls.get_mut(place));
            if let Some(spoken_call) = spoken_call.filter(|_| is_served(call_at, result, at)) {
                spoken_call.answered = Some(Box::new(answer(result, call)?));
                served.push(place);
            }
        }
        let agent = operation.agent.name.clone();
        conversation.has_spoken = true;
        let history = conversation.history(agent.clone(), self.builder);
        let said = operation.output_messages.iter().flatten().next().cloned();
        let draft = self.add_operation(at, operation, invocation, conversation);
        self.builder.set_input(draft, history);
        self.builder.history(history).extend(said);
        let step_content = StepContent {
            message: Message::default(),
            extra: Map::new(),
            stamp,
        };
        for (result, place) in &answers {
            match place.and_then(|place| calls.get(place)) {
                None => self.given(result, stamp, conversation)?,
                Some(_) if place.is_some_and(|place| served.contains(&place)) => {}
                Some((_, call)) => {
                    let answer = answer(result, call)?;
                    let history = conversation.history(agent.clone(), self.builder);
                    self.builder.history(history).push(answer);
                }
            }
        }
        self.executions(at, (calls, &answers), &step_content, Some(draft), conversation)
    }

    /// Adds words after the last model call as separate operations.
    pub(super) fn left_over(&mut self, conversation: TrajectoryConversation<'_>) {
        let words = conversation
            .waiting
            .into_iter()
            .filter(|(message, ..)| message.role != Role::Tool && message.role != Role::Assistant);
        for (message, stamp, own) in words {
            let id = self.builder.id(None, &own);
            let mut operation = Operation::named(Kind::UserInput, "input");
            if matches!(message.role, Role::System | Role::Developer) {
                operation.kind = Kind::Chain;
                operation.output = message.content().into();
            } else {
                operation.input = message.content().into();
            }
            let draft = self.builder.add(id, conversation.agent, operation);
            self.builder.times(draft, stamp, stamp);
        }
    }
}

/// Whether the provider ran the tool during the model call: no operation ran it, and its result arrived with the words.
fn is_served(call: &At<'_>, result: &At<'_>, step: &At<'_>) -> bool {
    let came = result.value.pointer("/extra/timestamp");
    let observed = call.value.pointer("/extra/observed").and_then(Value::as_str);
    observed == Some("messages") && came.is_some() && came == step.value.get("timestamp")
}

/// The calls of a step, each with its place.
fn calls<'a>(at: &At<'a>) -> Result<Vec<(At<'a>, ToolCall)>> {
    let list = at.items_of("tool_calls")?;
    list.into_iter().map(|at| content::call(&at).map(|call| (at, call))).collect()
}

/// A value or its kind, for error messages.
fn found(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        other => kind_of(other).to_owned(),
    }
}
