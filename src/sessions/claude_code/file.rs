//! The agents of one file: its own, and those that versions before 2.0 mixed in.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use super::agents::Agents;
use super::reader::AgentReader;
use crate::events::Thread;
use crate::sessions::get;

/// Reads one file.
pub(super) struct File {
    own: AgentReader,
    /// Sub-agents without their own file and id.
    others: Vec<AgentReader>,
    /// The index of a line's agent in `others`, by the id of the line.
    lines: HashMap<String, usize>,
    provider: Option<&'static str>,
}

impl File {
    /// `provider`: the provider of the models.
    pub(super) fn new(path: &Path, provider: Option<&'static str>) -> Self {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        Self {
            own: AgentReader::new(name.strip_prefix("agent-").unwrap_or(name), provider),
            others: Vec::new(),
            lines: HashMap::new(),
            provider,
        }
    }

    pub(super) fn line(&mut self, line: &Value, agents: &mut Agents) {
        if get::flag(line, "/isSidechain")
            && line.get("agentId").is_none()
            && let Some(id) = get::text(line, "/uuid")
            && let Some(other) = self.other(id, line)
        {
            other.line(line, agents);
        } else {
            self.own.line(line, agents);
        }
    }

    /// The sub-agent of a line, by the line that it follows. One that follows none begins a new sub-agent.
    fn other(&mut self, id: &str, line: &Value) -> Option<&mut AgentReader> {
        let known = get::text(line, "/parentUuid").and_then(|parent| self.lines.get(parent)).copied();
        let index = known.unwrap_or(self.others.len());
        self.lines.insert(id.to_owned(), index);
        if index == self.others.len() {
            self.others.push(AgentReader::new(id, self.provider));
        }
        self.others.get_mut(index)
    }

    /// Sets the session, if the file is not named after it.
    pub(super) fn is_of(&mut self, session: &str) {
        session.clone_into(&mut self.own.thread.id);
    }

    pub(super) fn finish(self) -> impl Iterator<Item = Thread> {
        std::iter::once(self.own).chain(self.others).map(AgentReader::finish)
    }
}
