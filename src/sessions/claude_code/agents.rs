//! Sub-agents: which tool call asked for which file.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::Value;

use crate::events::{Event, Thread, Under};
use crate::sessions::budget::Budget;
use crate::sessions::error::SessionError;
use crate::sessions::get;

/// What the files of a session have in common: what results of tools tell of agents that they started, and which lines were read.
#[derive(Debug, Default)]
pub(super) struct Agents {
    /// Ids of lines. A line may be there twice, also in another file: old versions copied a session to resume it.
    pub(super) lines: HashSet<String>,
    /// Answers, by their own ids and those of their requests: the file of a sub-agent may begin with copies of lines that have other ids.
    answers: HashSet<String>,
    /// The tool call that started an agent, by the agent's id.
    calls: HashMap<String, String>,
    /// The tool call that started a workflow, by the workflow's id.
    workflows: HashMap<String, String>,
}

impl Agents {
    /// Notes an answer; `false`: it was noted before. One without both ids cannot be told from others.
    pub(super) fn is_new(&mut self, message: &str, request: Option<&str>) -> bool {
        request.is_none_or(|request| self.answers.insert(format!("{message} {request}")))
    }

    /// Notes what the result of a tool call started.
    pub(super) fn note(&mut self, call_id: &str, result: &Value) {
        if let Some(agent) = get::text(result, "/agentId") {
            self.calls.insert(agent.to_owned(), call_id.to_owned());
        }
        if let Some(run) = get::text(result, "/runId") {
            self.workflows.insert(run.to_owned(), call_id.to_owned());
        }
    }

    /// Completes the thread of a sub-agent by the file beside it, the results of its parent, and its folder.
    pub(super) fn describe(&self, path: &Path, budget: &Budget, thread: &mut Thread) -> Result<(), SessionError> {
        let meta = budget.beside(&path.with_extension("meta.json"))?;
        thread.name = get::owned(&meta, "/agentType").or(thread.name.take());
        thread.description = get::owned(&meta, "/description");
        let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let workflow = folder.and_then(|folder| self.workflows.get(folder));
        let call = get::owned(&meta, "/toolUseId")
            .or_else(|| self.calls.get(&thread.id).cloned())
            .or_else(|| workflow.cloned());
        if let Some(call) = call {
            thread.under = Some(Under::Call(call));
        }
        Ok(())
    }
}

/// Version 2.0 starts two agents with each session that only fill a cache.
pub(super) fn is_warm_up(thread: &Thread) -> bool {
    let first = thread.events.iter().find_map(|event| match event {
        Event::Prompt(prompt) => Some(prompt),
        _ => None,
    });
    first.is_some_and(|prompt| prompt.message.content() == "Warmup")
}
