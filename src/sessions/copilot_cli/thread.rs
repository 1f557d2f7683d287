//! Reads the events of a session, by agent.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::events::{Call, Compaction, Event, Prompt, Thread, ToolResult, Under, fact};
use crate::operation::{Cost, Message, Part, Role, TokenCount};
use crate::sessions::{get, parts, wrapper};
use crate::span::UnixNanos;

/// Reads one file.
#[derive(Default)]
pub(super) struct EventReader {
    /// The main agent first.
    threads: Vec<Thread>,
    /// The thread of each agent id.
    agents: HashMap<String, usize>,
    /// The system prompt of each thread.
    systems: HashMap<usize, Arc<str>>,
    /// The model set for the session.
    model: Option<String>,
    /// The position of the model call with an API id: thread and event.
    calls: HashMap<String, (usize, usize)>,
    /// Usage recorded before its message.
    usage: HashMap<String, Value>,
    /// The ids of the events.
    seen: HashSet<String>,
    /// Running tools, by call id.
    started: HashMap<String, Started>,
}

/// A running tool.
#[derive(Default)]
struct Started {
    thread: usize,
    at: Option<UnixNanos>,
    name: Option<String>,
    arguments: Option<Value>,
}

impl EventReader {
    pub(super) fn finish(mut self) -> Vec<Thread> {
        self.unfinished();
        self.threads
    }

    /// Adds tools of the turn that began but have no end.
    fn unfinished(&mut self) {
        let mut started: Vec<(String, Started)> = self.started.drain().collect();
        started.sort_by(|(id, one), (other_id, other)| (one.at, id).cmp(&(other.at, other_id)));
        for (call_id, started) in started {
            let result = ToolResult {
                call_id,
                start: started.at,
                name: started.name,
                arguments: started.arguments,
                ..ToolResult::default()
            };
            self.push(started.thread, Event::Result(Box::new(result)));
        }
    }

    /// The thread of an event's agent.
    fn thread(&mut self, line: &Value) -> usize {
        if self.threads.is_empty() {
            self.threads.push(Thread::default());
        }
        let Some(agent) = get::text(line, "/agentId") else { return 0 };
        if let Some(index) = self.agents.get(agent) {
            return *index;
        }
        let (session, version) = self
            .threads
            .first()
            .map(|main| (main.session.clone(), main.version.clone()))
            .unwrap_or_default();
        self.threads.push(Thread {
            session,
            version,
            id: agent.to_owned(),
            under: Some(get::owned(line, "/data/parentToolCallId").map_or(Under::Unknown, Under::Call)),
            ..Thread::default()
        });
        self.agents.insert(agent.to_owned(), self.threads.len() - 1);
        self.threads.len() - 1
    }

    fn push(&mut self, thread: usize, event: Event) {
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.events.push(event);
        }
    }

    fn facts(&mut self, thread: usize, key: &str, value: Value) {
        self.push(thread, Event::Facts(Map::from_iter([(key.to_owned(), value)])));
    }

    pub(super) fn line(&mut self, line: &Value) {
        // A file assembled from copies may have an event twice.
        if get::text(line, "/id").is_some_and(|id| !self.seen.insert(id.to_owned())) {
            return;
        }
        let thread = self.thread(line);
        let data = line.get("data").unwrap_or(&Value::Null);
        let at = get::time(line, "/timestamp");
        match get::text(line, "/type").unwrap_or_default() {
            "session.start" => {
                if let Some(main) = self.threads.first_mut() {
                    main.session = get::owned(data, "/sessionId").unwrap_or_default();
                    main.id.clone_from(&main.session);
                    main.version = get::owned(data, "/copilotVersion");
                }
                let mut facts = Map::new();
                for (key, pointer) in [
                    ("cwd", "/context/cwd"),
                    ("git_branch", "/context/branch"),
                    ("git_commit", "/context/headCommit"),
                ] {
                    fact(&mut facts, key, get::text(data, pointer));
                }
                self.push(thread, Event::Facts(facts));
            }
            "session.model_change" => self.model = get::owned(data, "/newModel").or(self.model.take()),
            "user.message" => self.user(line, data, at, thread),
            "system.message" => {
                if let Some(text) = get::owned(data, "/content") {
                    self.systems.insert(thread, text.into());
                }
            }
            "assistant.message" => self.assistant(line, data, at, thread),
            "session.usage_record" => self.usage(data, at),
            "tool.execution_start" => {
                if let Some(id) = get::owned(data, "/toolCallId") {
                    let started = Started {
                        thread,
                        at,
                        name: get::owned(data, "/toolName"),
                        arguments: get::some(data, "/arguments").cloned(),
                    };
                    self.started.insert(id, started);
                }
            }
            "tool.execution_complete" => self.result(data, at, thread),
            "subagent.started" => {
                if let Some(thread) = self.threads.get_mut(thread).filter(|thread| thread.under.is_some()) {
                    thread.name = get::owned(data, "/agentName");
                    thread.description = get::owned(data, "/agentDescription");
                    if let Some(call) = get::owned(data, "/toolCallId") {
                        thread.under = Some(Under::Call(call));
                    }
                }
            }
            "subagent.failed" => {
                let message = get::owned(data, "/error").unwrap_or_else(|| "the agent failed".to_owned());
                self.push(thread, Event::Failed(message, at));
            }
            "session.error" => {
                let message = get::owned(data, "/message").unwrap_or_else(|| "the session failed".to_owned());
                self.push(thread, Event::Failed(message, at));
            }
            "abort" => self.facts(thread, "interrupted", get::some(data, "/reason").cloned().unwrap_or(true.into())),
            "permission.completed" => self.facts(thread, "permissions", data.clone()),
            "session.compaction_complete" => self.compacted(line, data, at, thread),
            "session.shutdown" => self.facts(thread, "shutdown", data.clone()),
            "hook.end" => self.facts(thread, "hooks", data.clone()),
            kind if is_known(kind) => {}
            kind => {
                if let Some(thread) = self.threads.get_mut(thread) {
                    thread.unknown.count(if kind.is_empty() { "no type" } else { kind });
                }
            }
        }
    }

    fn user(&mut self, line: &Value, data: &Value, at: Option<UnixNanos>, thread: usize) {
        if thread == 0 {
            self.unfinished();
        }
        let text = data.get("content").and_then(Value::as_str).unwrap_or_default();
        let given = get::text(data, "/transformedContent");
        let around = given.and_then(|given| wrapper::around(given, text));
        let [before, after] = around.unwrap_or_default();
        let of_client = |text: &str| Some(Message::text(Role::System, text)).filter(|_| !text.trim().is_empty());
        let mut prompt = Prompt {
            id: get::owned(line, "/id").unwrap_or_default(),
            at,
            message: Message::text(Role::User, text),
            received: given.filter(|_| around.is_none()).map(|text| Message::text(Role::User, text)),
            around: [of_client(before), of_client(after)],
            ..Prompt::default()
        };
        fact(&mut prompt.facts, "interaction_id", get::text(data, "/interactionId"));
        let attachments = get::some(data, "/attachments").filter(|list| list.as_array().is_some_and(|list| !list.is_empty()));
        fact(&mut prompt.facts, "attachments", attachments.cloned());
        self.push(thread, Event::Prompt(Box::new(prompt)));
    }

    fn assistant(&mut self, line: &Value, data: &Value, at: Option<UnixNanos>, thread: usize) {
        let mut output = Message {
            role: Role::Assistant,
            ..Message::default()
        };
        let mut opaque = Map::new();
        fact(&mut opaque, "signature", get::text(data, "/reasoningOpaque"));
        let thought = get::owned(data, "/reasoningText");
        if thought.is_some() || !opaque.is_empty() {
            output.parts.push(Part::Reasoning { text: thought, opaque });
        }
        if let Some(text) = get::text(data, "/content") {
            output.parts.push(Part::Text(text.to_owned()));
        }
        for asked in get::list(data, "/toolRequests") {
            output.tool_calls.push(parts::tool_call(
                get::text(asked, "/toolCallId"),
                get::text(asked, "/name").or_else(|| get::text(asked, "/toolName")),
                get::some(asked, "/arguments").cloned(),
            ));
        }
        let api = get::owned(data, "/apiCallId");
        let id = api.clone().or_else(|| get::owned(line, "/id")).unwrap_or_default();
        // A call whose message is recorded in pieces.
        if let Some((thread, index)) = self.calls.get(&id).copied()
            && let Some(Event::Call(call)) = self.threads.get_mut(thread).and_then(|thread| thread.events.get_mut(index))
            && let Some(have) = call.output.as_mut()
        {
            call.end = call.end.max(at);
            have.parts.extend(output.parts);
            have.tool_calls.extend(output.tool_calls);
            call.usage.output = call.usage.output.max(get::count(data, "/outputTokens"));
            return;
        }
        let mut call = Call {
            id: id.clone(),
            end: at,
            requested_model: get::owned(data, "/model").or_else(|| self.model.clone().filter(|_| thread == 0)),
            response_model: get::owned(data, "/model"),
            response_id: api,
            system: self.systems.get(&thread).cloned(),
            output: Some(output),
            // Before 1.0.70 the only count of a call; the rest is in the totals of the shutdown.
            usage: TokenCount {
                output: get::count(data, "/outputTokens"),
                ..TokenCount::default()
            },
            ..Call::default()
        };
        fact(&mut call.facts, "interaction_id", get::text(data, "/interactionId"));
        if let Some(usage) = self.usage.remove(&id) {
            complete(&mut call, &usage);
        }
        let place = self.threads.get(thread).map_or(0, |thread| thread.events.len());
        self.calls.insert(id, (thread, place));
        self.push(thread, Event::Call(Box::new(call)));
    }

    /// Handles usage, which may be recorded before or after its message.
    fn usage(&mut self, data: &Value, at: Option<UnixNanos>) {
        let Some(mut usage) = data.get("usage").cloned() else { return };
        let Some(id) = get::owned(&usage, "/apiCallId") else { return };
        if let (Some(at), Some(members)) = (at, usage.as_object_mut()) {
            members.insert("end".to_owned(), (at.0 / 1_000_000).into());
        }
        let call = self.calls.get(&id).copied();
        let event = call.and_then(|(thread, index)| self.threads.get_mut(thread)?.events.get_mut(index));
        match event {
            Some(Event::Call(call)) => complete(call, &usage),
            _ => {
                self.usage.insert(id, usage);
            }
        }
    }

    fn result(&mut self, data: &Value, at: Option<UnixNanos>, thread: usize) {
        let Some(call_id) = get::owned(data, "/toolCallId") else { return };
        let failed = data.get("success") == Some(&Value::Bool(false));
        // VS Code records the text itself.
        let text = get::text(data, "/result/content")
            .or_else(|| get::text(data, "/result"))
            .or_else(|| get::text(data, "/error/message"))
            .unwrap_or_default();
        let mut message = Message::text(Role::Tool, text);
        for block in get::list(data, "/result/contents")
            .iter()
            .filter(|block| get::text(block, "/type") != Some("text"))
        {
            parts::add(&mut message, block);
        }
        let started = self.started.remove(&call_id).unwrap_or_default();
        let mut result = ToolResult {
            start: started.at,
            name: started.name,
            arguments: started.arguments,
            call_id,
            end: at,
            message: Some(message),
            is_error: failed,
            ..ToolResult::default()
        };
        fact(&mut result.facts, "exit_code", get::some(data, "/shellExecution/exitCode").cloned());
        fact(&mut result.facts, "error_code", get::text(data, "/error/code"));
        fact(&mut result.facts, "detail", get::text(data, "/result/detailedContent"));
        self.push(thread, Event::Result(Box::new(result)));
    }

    fn compacted(&mut self, line: &Value, data: &Value, at: Option<UnixNanos>, thread: usize) {
        let used = data.get("compactionTokensUsed").unwrap_or(&Value::Null);
        let mut compaction = Compaction {
            id: get::owned(line, "/id").unwrap_or_default(),
            at,
            summary: get::text(data, "/summaryContent").map(|text| Message::text(Role::User, text)),
            usage: TokenCount {
                input: get::count(used, "/inputTokens").or_else(|| get::count(used, "/input")),
                output: get::count(used, "/outputTokens").or_else(|| get::count(used, "/output")),
                ..TokenCount::default()
            },
            ..Compaction::default()
        };
        for (key, pointer) in [
            ("tokens_before", "/preCompactionTokens"),
            ("tokens_after", "/postCompactionTokens"),
            ("messages_removed", "/messagesRemoved"),
        ] {
            fact(&mut compaction.facts, key, get::some(data, pointer).cloned());
        }
        self.push(thread, Event::Compacted(Box::new(compaction)));
    }
}

fn complete(call: &mut Call, usage: &Value) {
    call.usage = TokenCount {
        input: get::count(usage, "/inputTokens"),
        output: get::count(usage, "/outputTokens"),
        cache_read: get::count(usage, "/cacheReadTokens"),
        cache_write: get::count(usage, "/cacheWriteTokens"),
        reasoning: get::count(usage, "/reasoningTokens"),
        ..TokenCount::default()
    };
    call.cost = Cost::default();
    call.time_to_first_token = get::number(usage, "/timeToFirstTokenMs").map(|millis| millis / 1e3);
    call.finish_reason = get::owned(usage, "/finishReason");
    call.provider = get::owned(usage, "/modelProvider");
    if let (Some(end), Some(took)) = (get::millis(usage, "/end"), get::nanos(usage, "/duration")) {
        call.end = Some(end);
        call.start = Some(UnixNanos(end.0.saturating_sub(took)));
    }
    for (key, pointer) in [
        ("request_id", "/providerCallId"),
        ("initiator", "/initiator"),
        ("interaction_type", "/interactionType"),
    ] {
        fact(&mut call.facts, key, get::text(usage, pointer));
    }
}

/// Whether events of this kind only repeat others.
fn is_known(kind: &str) -> bool {
    const KNOWN: &[&str] = &[
        "assistant.turn_start",
        "assistant.turn_end",
        "assistant.intent",
        "assistant.reasoning",
        "permission.requested",
        "session.compaction_start",
        "session.resume",
        "session.info",
        "session.warning",
        "session.mode_changed",
        "session.title_changed",
        "session.truncation",
        "session.idle",
        "hook.start",
        "subagent.completed",
        "subagent.selected",
        "subagent.configured",
        "tool.execution_progress",
        "tool.execution_partial_result",
        "tool.user_requested",
        "skill.invoked",
        "system.notification",
    ];
    KNOWN.contains(&kind) || kind.starts_with("model.")
}
