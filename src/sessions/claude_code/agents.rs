//! Sub-agents: finds the tool call that asked for each file.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::Value;

use crate::events::{Event, Thread, Under};
use crate::sessions::budget::Budget;
use crate::sessions::error::SessionError;
use crate::sessions::get;

/// State shared by the files of a session: the agents that tool results say they started, and the lines read so far.
#[derive(Debug, Default)]
pub(super) struct Agents {
    /// Ids of lines. A line may be repeated, even in another file: old versions copied a session to resume it.
    pub(super) lines: HashSet<String>,
    /// Answers, by their own and their requests' ids: the file of a sub-agent may begin with copies of lines under new ids.
    answers: HashSet<String>,
    /// The tool call that started an agent, by the agent's id.
    calls: HashMap<String, String>,
    /// The tool call that started a workflow, by the workflow's id.
    workflows: HashMap<String, String>,
}

impl Agents {
    /// Notes an answer; `false` if it was noted before. Answers without a request id always count as new.
    pub(super) fn is_new(&mut self, message: &str, request: Option<&str>) -> bool {
        request.is_none_or(|request| self.answers.insert(format!("{message} {request}")))
    }

    /// Notes the agent or workflow that a tool call started, by its result.
    pub(super) fn note(&mut self, call_id: &str, result: &Value) {
        if let Some(agent) = get::text(result, "/agentId") {
            self.calls.insert(agent.to_owned(), call_id.to_owned());
        }
        if let Some(run) = get::text(result, "/runId") {
            self.workflows.insert(run.to_owned(), call_id.to_owned());
        }
    }

    /// Completes the thread of a sub-agent from the file next to it, the results of its parent, and its folder.
    pub(super) fn describe(&self, path: &Path, budget: &Budget, thread: &mut Thread) -> Result<(), SessionError> {
        let meta = budget.sibling_document(&path.with_extension("meta.json"))?;
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

/// With each session, version 2.0 starts two agents that only fill a cache.
pub(super) fn is_warm_up(thread: &Thread) -> bool {
    let first = thread.events.iter().find_map(|event| match event {
        Event::Prompt(prompt) => Some(prompt),
        _ => None,
    });
    first.is_some_and(|prompt| prompt.message.content() == "Warmup")
}
