//! Reads the agents of a trace, and assigns nodes to them.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::formats::back::{At, Result, TraceBuilder, read_facts};
use crate::operation::{Kind, Operation};

/// Facts of agents that spans represent in another way.
const PLACED: [&str; 7] = ["first_node", "last_node", "aside", "called_by", "kind", "evidence", "observed"];

/// An agent of a trace.
#[derive(Debug, Default)]
pub(super) struct Agent {
    /// Its index in the builder.
    pub(super) place: usize,
    /// The span id of the tool that called it.
    called_by: Option<String>,
}

/// The agents, indexed by the first nodes of their conversations.
#[derive(Debug, Default)]
pub(super) struct Agents {
    pub(super) list: Vec<Agent>,
    by_first: HashMap<usize, usize>,
    by_name: HashMap<String, usize>,
}

impl Agents {
    /// Reads `info.agents`; the first agent that no tool called is the root.
    pub(super) fn read(trace: &At<'_>, builder: &mut TraceBuilder) -> Result<Self> {
        let mut this = Self {
            list: vec![Agent::default()],
            ..Self::default()
        };
        let Some(list) = trace
            .some("info")
            .and_then(|info| info.some("agents"))
            .filter(|list| list.value.is_array())
        else {
            return Ok(this);
        };
        let mut has_root = false;
        for at in list.items()? {
            let Some(about) = at.value.as_object() else { continue };
            let text = |key: &str| about.get(key).and_then(Value::as_str);
            let called_by = text("called_by").map(str::to_owned);
            let is_auxiliary = about.get("aside") == Some(&Value::Bool(true));
            let is_root = !has_root && called_by.is_none() && !is_auxiliary;
            let operation = agent(about);
            let place = if is_root {
                has_root = true;
                builder.set_root(text("span_id"), operation)
            } else {
                let id = builder.id_at(text("span_id"), &at);
                builder.add(id, 0, operation)
            };
            let time = |key: &str| text(key).and_then(crate::formats::back::time);
            builder.times(place, time("started_at"), time("ended_at"));
            builder.running(place, true);
            let number = if is_root { 0 } else { this.list.len() };
            if !is_root {
                this.list.push(Agent { place, called_by });
            }
            if let Some(name) = text("name") {
                this.by_name.entry(name.to_owned()).or_insert(place);
            }
            let first = about.get("first_node").and_then(Value::as_u64);
            if let Some(first) = first.and_then(|first| usize::try_from(first).ok()) {
                this.by_first.insert(first, number);
            }
        }
        Ok(this)
    }

    /// The agent whose conversation begins at this node.
    pub(super) fn of_root(&self, node: usize) -> usize {
        self.by_first.get(&node).copied().unwrap_or(0)
    }

    pub(super) fn place(&self, agent: usize) -> usize {
        self.list.get(agent).map_or(0, |agent| agent.place)
    }

    pub(super) fn named(&self, name: Option<&str>) -> usize {
        name.and_then(|name| self.by_name.get(name)).copied().unwrap_or(0)
    }

    /// Adds an agent whose last message a tool's result links to.
    pub(super) fn linked(&mut self, first: usize, at: &At<'_>, builder: &mut TraceBuilder) {
        if self.by_first.contains_key(&first) {
            return;
        }
        let id = builder.id_at(None, at);
        let operation = Operation::named(Kind::Agent, "agent");
        let place = builder.add(id, 0, operation);
        self.by_first.insert(first, self.list.len());
        self.list.push(Agent { place, called_by: None });
    }

    /// Puts agents below the tools that called them.
    pub(super) fn finish(&self, tools: &HashMap<String, usize>, builder: &mut TraceBuilder) {
        for agent in &self.list {
            let tool = agent.called_by.as_ref().and_then(|id| tools.get(id)).copied();
            if let (Some(tool), Some(draft)) = (tool, builder.drafts.get_mut(agent.place)) {
                draft.parent = Some(tool);
            }
        }
    }
}

fn agent(about: &Map<String, Value>) -> Operation {
    let text = |key: &str| about.get(key).and_then(Value::as_str).map(str::to_owned);
    let name = text("name");
    let mut operation = Operation::named(
        Kind::Agent,
        text("operation").or_else(|| name.clone()).unwrap_or_else(|| "agent".to_owned()),
    );
    let mut facts = about.clone();
    for key in PLACED.iter().chain(&["name", "operation", "span_id", "started_at", "ended_at"]) {
        facts.shift_remove(*key);
    }
    operation.input = facts.shift_remove("input").map(Into::into).unwrap_or_default();
    operation.output = facts.shift_remove("output").map(Into::into).unwrap_or_default();
    read_facts(&mut facts, &mut operation);
    operation.agent.name = operation.agent.name.take().or(name);
    operation.metadata.extend(facts);
    operation
}
