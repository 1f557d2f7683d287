//! Reads a trajectory: its agent, its steps, the trajectories inside it.

use std::collections::HashMap;

use serde_json::Value;

use super::conversation::{Embedded, TrajectoryConversation};
use super::{Parent, TrajectoryReader, word};
use crate::formats::back::{At, Result, read_facts, read_operations, read_run_facts, tool_definitions};
use crate::operation::{Kind, Operation};
use crate::span::SpanId;
use crate::transcript::NESTING_LIMIT;

impl TrajectoryReader<'_> {
    /// Reads a trajectory. `tool`: the operation in which its agent ran; `None` for the outermost trajectory.
    pub(super) fn trajectory(&mut self, at: &At<'_>, tool: Option<usize>, depth: usize) -> Result<()> {
        let about = at.need("agent")?;
        about.object()?;
        let name = about.need("name")?.text()?;
        let name = Some(name).filter(|name| !name.is_empty() && *name != "unknown").map(str::to_owned);
        let version = about.text_of("version")?.filter(|version| *version != "unknown").map(str::to_owned);
        let mut own_extra = at.object_of("extra")?;
        let operations = own_extra.shift_remove("operations");
        let agent = match tool {
            None => {
                read_operations(operations.as_ref(), 0, 0, self.builder);
                0
            }
            Some(tool) => self.subagent(at, operations.as_ref(), tool)?,
        };
        for (place, draft) in self.builder.drafts.iter().enumerate() {
            self.ids.entry(draft.id.to_string()).or_insert(place);
        }
        let of_agent = about.object_of("extra")?;
        if let Some(operation) = self.builder.operation(agent) {
            if operation.kind == Kind::Agent && operation.agent.name.is_none() {
                operation.agent.name.clone_from(&name);
            }
            if tool.is_none() || operation.name.is_empty() {
                let unnamed = operation.name.is_empty() || operation.name == "agent";
                operation.name = name
                    .clone()
                    .filter(|_| unnamed)
                    .unwrap_or_else(|| std::mem::take(&mut operation.name));
            }
            if tool.is_none() {
                operation.agent.version = operation.agent.version.take().or(version);
                operation.agent.framework = operation.agent.framework.take().or(word(&of_agent, "framework"));
            }
        }
        if tool.is_none() {
            let session = at.text_of("session_id")?.filter(|id| *id != self.builder.trace_id.to_string());
            let session = session.map(str::to_owned);
            read_run_facts(own_extra, self.builder);
            if let Some(root) = self.builder.operation(0) {
                root.session_id = root.session_id.take().or(session);
            }
        } else if let Some(operation) = self.builder.operation(agent) {
            read_facts(&mut own_extra, operation);
            operation.metadata.extend(own_extra);
        }
        let tools = match about.some("tool_definitions") {
            Some(tools) => tool_definitions(&tools)?,
            None => Vec::new(),
        };
        let mut conversation = TrajectoryConversation::new(agent, depth, tools, about.text_of("model_name")?.map(str::to_owned));
        conversation.embedded = embedded(at)?;
        let steps = at.need("steps")?.items()?;
        if steps.is_empty() {
            return Err(at.need("steps")?.refuse("a trajectory has at least one step"));
        }
        conversation.agents = places(&steps);
        for (index, step) in steps.iter().enumerate() {
            let number = step.need("step_id")?;
            if number.value.as_u64() != Some(index as u64 + 1) {
                return Err(number.refuse(format!("steps count from 1: expected {}", index + 1)));
            }
            self.step(step, &mut conversation)?;
        }
        let left = std::mem::take(&mut conversation.embedded);
        self.left_over(conversation);
        for inner in left.left().filter(|_| depth < NESTING_LIMIT) {
            self.trajectory(&inner, Some(agent), depth + 1)?;
        }
        Ok(())
    }

    /// Adds the agent of an embedded trajectory, whose operation may be listed with others.
    fn subagent(&mut self, at: &At<'_>, operations: Option<&Value>, tool: usize) -> Result<usize> {
        let own = at.text_of("trajectory_id")?.unwrap_or_default();
        let span = own.rsplit('-').next().filter(|id| SpanId::from_hex(id).is_some());
        let list = operations.and_then(Value::as_array).cloned().unwrap_or_default();
        let is_own = |operation: &Value| span.is_some() && operation.get("span_id").and_then(Value::as_str) == span;
        let (own, others): (Vec<Value>, Vec<Value>) = list.into_iter().partition(is_own);
        let number = self.builder.drafts.len();
        let is_called = tool != 0
            && self
                .builder
                .drafts
                .get(tool)
                .is_some_and(|draft| draft.operation.kind != Kind::Agent);
        if own.is_empty()
            && !is_called
            && let Some(known) = self.known_around(at)
        {
            read_operations(Some(&others.into()), number, known, self.builder);
            return Ok(known);
        }
        if own.is_empty() {
            let id = self.builder.id_at(span, at);
            let name = at.need("agent")?.need("name")?.text()?.to_owned();
            self.builder.add(id, tool, Operation::named(Kind::Agent, name));
        } else {
            read_operations(Some(&own.into()), number, tool, self.builder);
        }
        read_operations(Some(&others.into()), number + 1, number, self.builder);
        Ok(number)
    }

    /// The operation around the steps of a trajectory that no call refers to, if it has been read.
    fn known_around(&self, at: &At<'_>) -> Option<usize> {
        let steps = at.value.get("steps")?.as_array()?;
        let parent = steps.iter().find_map(|step| step.pointer("/extra/ancestry/parent_id")?.as_str())?;
        self.ids.get(parent).copied()
    }

    /// Reads the trajectory that a reference names, if it is in this document.
    pub(super) fn referred(&mut self, reference: &At<'_>, tool: usize, conversation: &mut TrajectoryConversation<'_>) -> Result<()> {
        reference.object()?;
        let id = reference.text_of("trajectory_id")?;
        if id.is_none() && reference.text_of("trajectory_path")?.is_none() && reference.text_of("session_id")?.is_none() {
            return Err(reference.refuse("it names no trajectory: `trajectory_id` or `trajectory_path` is missing"));
        }
        let inner = id
            .filter(|_| conversation.depth < NESTING_LIMIT)
            .and_then(|id| conversation.embedded.take(id));
        if let Some(inner) = inner {
            self.trajectory(&inner, Some(tool), conversation.depth + 1)?;
        }
        Ok(())
    }

    /// Puts operations under the parents that the document names. A parent missing from the document becomes an operation
    /// without content: the first one of a trajectory is its agent.
    pub(super) fn settle_parents(&mut self) {
        let mut agents: HashMap<usize, ()> = HashMap::new();
        for parent in std::mem::take(&mut self.parents) {
            let known = self.ids.get(&parent.id).copied();
            let place = known.unwrap_or_else(|| {
                let is_first = agents.insert(parent.around, ()).is_none();
                self.unknown_parent(&parent, is_first)
            });
            if !self.is_above(parent.draft, place)
                && let Some(draft) = self.builder.drafts.get_mut(parent.draft)
            {
                draft.parent = Some(place);
            }
        }
    }

    fn unknown_parent(&mut self, parent: &Parent, is_first: bool) -> usize {
        let name = parent.name.clone().unwrap_or_default();
        let place = if is_first {
            if parent.around == 0 {
                self.builder.root_id(Some(&parent.id));
            }
            if let Some(operation) = self.builder.operation(parent.around).filter(|_| !name.is_empty()) {
                operation.name = name;
            }
            parent.around
        } else {
            let id = self.builder.id(Some(&parent.id), &format!("{} of {}", parent.id, parent.around));
            let mut operation = Operation::named(if parent.agent.is_some() { Kind::Agent } else { Kind::Chain }, name);
            operation.agent.name.clone_from(&parent.agent);
            self.builder.add(id, parent.around, operation)
        };
        self.ids.insert(parent.id.clone(), place);
        place
    }

    /// Whether `draft` is `place` or one of its ancestors.
    fn is_above(&self, draft: usize, place: usize) -> bool {
        let mut at = Some(place);
        for _ in 0..=self.builder.drafts.len() {
            match at {
                None => return false,
                Some(here) if here == draft => return true,
                Some(here) => at = self.builder.drafts.get(here).and_then(|draft| draft.parent),
            }
        }
        true
    }
}

fn embedded<'a>(at: &At<'a>) -> Result<Embedded<'a>> {
    let Some(list) = at.some("subagent_trajectories") else {
        return Ok(Embedded::default());
    };
    let mut out = Embedded::default();
    for inner in list.items()? {
        inner.object()?;
        let Some(own) = inner.text_of("trajectory_id")? else {
            return Err(inner.refuse("`trajectory_id` is missing: an embedded trajectory needs it"));
        };
        let id = inner.need("trajectory_id")?;
        if !out.add(own, inner) {
            return Err(id.refuse("a trajectory before has this id"));
        }
    }
    Ok(out)
}

/// Ids of operations that enclose others: a step with such an id describes the agent, not another operation.
fn places(steps: &[At<'_>]) -> Vec<String> {
    let of = |extra: Option<&Value>| extra?.pointer("/ancestry/parent_id")?.as_str().map(str::to_owned);
    let mut out = Vec::new();
    for step in steps {
        out.extend(of(step.value.get("extra")));
        let calls = step.value.get("tool_calls").and_then(Value::as_array);
        out.extend(calls.into_iter().flatten().filter_map(|call| of(call.get("extra"))));
    }
    out.sort_unstable();
    out.dedup();
    out
}
