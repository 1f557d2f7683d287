//! Converts the lines of one rollout to events.

mod copied;
mod copies;
mod mail;
mod said;
mod tools;
mod turns;
mod words;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::items;
use crate::events::{Call, Compaction, Event, INTERRUPTION, Thread, ToolResult, Under, fact};
use crate::operation::{Message, Role, TokenCount, ToolDefinition};
use crate::sessions::{get, parts};
use crate::span::{TraceId, UnixNanos};

/// Reads one file.
#[derive(Default)]
pub(super) struct RolloutReader {
    thread: Thread,
    system: Option<Arc<str>>,
    tools: Arc<[ToolDefinition]>,
    model: Option<String>,
    provider: Option<String>,
    parameters: Map<String, Value>,
    /// The model call whose tokens are not recorded yet.
    open: Option<usize>,
    /// A prompt without its text: a turn has just begun.
    awaits: Option<usize>,
    /// The number of prompts without an id at each time.
    prompts: HashMap<String, usize>,
    /// The last prompt recorded by an event, and the event's type: versions with two types record each prompt in both.
    told: Option<(PromptRecord, String)>,
    /// Whether any event records a prompt.
    tells_prompts: bool,
    words: said::Words,
    /// User messages that may be the prompt, or text of the client.
    unsaid: Vec<Message>,
    /// Messages of other agents since the model answered, and the text of the last one.
    mail: Vec<(Message, Option<UnixNanos>)>,
    last_mail: Option<String>,
    copied: copied::Copied<RolloutReader>,
    /// The results of tools, by call.
    results: HashMap<String, usize>,
    /// Records of `item_completed` for calls without a result so far.
    completed: HashMap<String, ToolResult>,
    /// The last call of a tool that runs others.
    outer: Option<String>,
    /// The time of the last record, and the total of tokens then.
    clock: Option<UnixNanos>,
    total: Option<Value>,
    /// Whether the tokens of a call are recorded before its items, and those recorded ahead.
    tokens_come_first: bool,
    ahead: Option<TokenCount>,
    /// Whether calls end with `token_usage_record`.
    has_records: bool,
    /// Whether the beginnings of turns are recorded.
    has_turns: bool,
    /// Whether the end of any call is recorded. Other programs that write such files may not record it.
    has_ends: bool,
    /// Whether a tool result was recorded since the model call began.
    has_result: bool,
    root: Option<TraceId>,
}

/// The type of event that records a prompt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PromptRecord {
    /// `user_message`.
    UserMessage,
    /// `item_completed`.
    Item,
}

impl RolloutReader {
    /// The trace of the turn that started this thread.
    pub(super) fn root_trace(&self) -> Option<TraceId> {
        self.root
    }

    /// The thread, and the copies in its file of threads that it was forked from.
    pub(super) fn finish(mut self) -> (Thread, Vec<Thread>) {
        let copies = self.end_copy();
        self.flush_held();
        self.settle_unsaid();
        self.settle_mail();
        (self.thread, copies)
    }

    pub(super) fn line(&mut self, line: &Value, started: &mut HashMap<String, String>) {
        if self.is_copied(line) {
            return;
        }
        let payload = line.get("payload").unwrap_or(&Value::Null);
        let at = get::time(line, "/timestamp");
        match get::text(line, "/type").unwrap_or_default() {
            "session_meta" => self.meta(payload),
            "turn_context" => self.context(payload),
            "response_item" => self.item(payload, at, started),
            "event_msg" => self.event(payload, at, started),
            "token_usage_record" => {
                self.has_records = true;
                let usage = usage(payload.get("usage").unwrap_or(&Value::Null));
                self.end_call(at, usage, get::text(payload, "/response_id"));
            }
            "compacted" => self.compacted(payload, at),
            "inter_agent_communication" => self.mail(payload, at),
            "world_state" | "ghost_snapshot" | "inter_agent_communication_metadata" => {}
            // Before September 2025 items have no envelope.
            "" if line.get("instructions").is_some() => self.meta(line),
            "" if line.get("record_type").is_some() => {}
            "message" | "reasoning" => self.item(line, at, started),
            kind if kind.ends_with("_call") || kind.ends_with("_call_output") => self.item(line, at, started),
            kind => self.thread.unknown.count(if kind.is_empty() { "no type" } else { kind }),
        }
        self.clock = at.or(self.clock);
    }

    fn meta(&mut self, payload: &Value) {
        let thread = &mut self.thread;
        if !thread.id.is_empty() {
            // A resume, or the meta data of the thread that this one was copied from.
            return;
        }
        thread.id = get::owned(payload, "/id").unwrap_or_default();
        thread.session = get::owned(payload, "/session_id").unwrap_or_else(|| thread.id.clone());
        thread.version = get::owned(payload, "/cli_version");
        self.system = get::text(payload, "/base_instructions/text").map(Arc::from);
        self.provider = get::owned(payload, "/model_provider");
        let spawn = "/source/subagent/thread_spawn";
        self.copied.may_come(&thread.id, payload);
        let is_sub = items::parent_of(payload).is_some() || get::count(payload, "/subagent_history_start_ordinal").is_some();
        if is_sub || payload.pointer("/source/subagent").is_some() {
            thread.under = Some(Under::Unknown);
            thread.name = get::owned(payload, &format!("{spawn}/agent_role"))
                .or_else(|| get::owned(payload, &format!("{spawn}/agent_nickname")))
                .or_else(|| get::owned(payload, "/source/subagent"))
                .or_else(|| get::owned(payload, "/source/subagent/other"));
            thread.description = get::owned(payload, &format!("{spawn}/agent_nickname"));
        }
        let mut facts = Map::new();
        for (key, pointer) in [
            ("cwd", "/cwd"),
            ("git_branch", "/git/branch"),
            ("git_commit", "/git/commit_hash"),
            ("originator", "/originator"),
            ("forked_from", "/forked_from_id"),
        ] {
            fact(&mut facts, key, get::text(payload, pointer));
        }
        thread.events.push(Event::Facts(facts));
    }

    fn context(&mut self, payload: &Value) {
        self.model = get::owned(payload, "/model").or(self.model.take());
        for (key, pointer) in [
            ("reasoning_effort", "/effort"),
            ("reasoning_effort", "/collaboration_mode/settings/reasoning_effort"),
        ] {
            fact(&mut self.parameters, key, get::text(payload, pointer));
        }
        let mut facts = Map::new();
        fact(&mut facts, "approval_policy", get::some(payload, "/approval_policy").cloned());
        fact(&mut facts, "sandbox_policy", get::some(payload, "/sandbox_policy").cloned());
        self.thread.events.push(Event::Facts(facts));
    }

    fn item(&mut self, payload: &Value, at: Option<UnixNanos>, started: &mut HashMap<String, String>) {
        let kind = get::text(payload, "/type").unwrap_or_default();
        match kind {
            "message" => {
                let role = Role::from_word(get::text(payload, "/role").unwrap_or("user"));
                let message = parts::message(role.clone(), payload.get("content").unwrap_or(&Value::Null));
                match role {
                    Role::Assistant => self.answer(message, at),
                    Role::User => {
                        self.flush_held();
                        self.unsaid.push(message);
                    }
                    _ => {
                        self.push_unsaid(Role::System);
                        self.thread.events.push(Event::Input(message));
                    }
                }
            }
            "reasoning" => {
                let part = items::reasoning(payload);
                if let Some(output) = self.output(at) {
                    output.parts.push(part);
                }
            }
            "additional_tools" => self.tools = items::tools(payload).into(),
            "agent_message" => self.mail(payload, at),
            _ if kind.ends_with("_call_output") || kind == "tool_search_output" => self.result(payload, at, started),
            _ if kind.ends_with("_call") => self.asked(payload, kind, at),
            "tool_result" => self.nameless_result(payload, at),
            "compaction" | "ghost_snapshot" | "compaction_trigger" | "context_compaction" => {}
            _ => self.thread.unknown.count(&format!("response_item/{kind}")),
        }
    }

    /// Adds output of the model to the current call, or to a new one.
    fn output(&mut self, at: Option<UnixNanos>) -> Option<&mut Message> {
        self.settle_unsaid();
        self.settle_mail();
        // A response has ended when its tools have run.
        if !self.has_ends && self.has_result {
            self.close();
        }
        let index = match self.open {
            Some(index) => index,
            None => {
                self.has_result = false;
                let call = Call {
                    requested_model: self.model.clone(),
                    provider: self.provider.clone(),
                    system: self.system.clone(),
                    tools: self.tools.clone(),
                    parameters: self.parameters.clone(),
                    usage: self.ahead.take().unwrap_or_default(),
                    // Replaced if a record of its tokens names it.
                    id: format!("{} {}", self.thread.id, self.thread.events.len()),
                    ..Call::default()
                };
                self.open = Some(self.thread.events.len());
                self.thread.events.push(Event::Call(Box::new(call)));
                self.thread.events.len() - 1
            }
        };
        match self.thread.events.get_mut(index) {
            Some(Event::Call(call)) => {
                call.end = call.end.max(at);
                Some(call.output.get_or_insert_with(|| Message {
                    role: Role::Assistant,
                    ..Message::default()
                }))
            }
            _ => None,
        }
    }

    /// Whether the current model call has text already.
    fn has_spoken(&self) -> bool {
        match self.open.and_then(|open| self.thread.events.get(open)) {
            Some(Event::Call(call)) => call.output.as_ref().is_some_and(Message::has_words),
            _ => false,
        }
    }

    fn end_call(&mut self, at: Option<UnixNanos>, usage: TokenCount, response: Option<&str>) {
        self.has_ends = true;
        let Some(index) = self.open.take() else {
            // A call without text: a compaction, whose summary is in a separate record.
            let mut compaction = Compaction {
                id: response.unwrap_or("compaction").to_owned(),
                at,
                usage,
                ..Compaction::default()
            };
            fact(&mut compaction.facts, "response_id", response);
            self.thread.events.push(Event::Compacted(Box::new(compaction)));
            return;
        };
        if let Some(Event::Call(call)) = self.thread.events.get_mut(index) {
            call.usage = usage;
            call.end = call.end.max(at);
            if let Some(response) = response {
                call.response_id = Some(response.to_owned());
                response.clone_into(&mut call.id);
            }
            let asks = call.output.as_ref().is_some_and(Message::asks_for_tools);
            call.finish_reason = Some(if asks { "tool_calls" } else { "stop" }.to_owned());
        }
    }

    /// Handles the tokens of a call, recorded after its items, or in old versions before them.
    fn tokens(&mut self, payload: &Value, at: Option<UnixNanos>) {
        let info = payload.get("info").unwrap_or(&Value::Null);
        let last = info.get("last_token_usage").unwrap_or(&Value::Null);
        let total = get::some(info, "/total_token_usage");
        let is_new = match total {
            Some(total) => self.total.as_ref() != Some(total),
            None => !last.is_null(),
        };
        if !is_new {
            return;
        }
        // The session's first tokens were recorded before any output.
        self.tokens_come_first |= self.open.is_none() && self.total.is_none() && self.tells_prompts && total == Some(last);
        if self.tokens_come_first {
            self.close();
            self.ahead = Some(usage(last));
        } else if self.open.is_some() {
            self.end_call(at, usage(last), None);
        } else {
            return;
        }
        self.total = total.cloned().or(self.total.take());
    }

    fn result(&mut self, payload: &Value, at: Option<UnixNanos>, started: &mut HashMap<String, String>) {
        let Some(call_id) = get::text(payload, "/call_id") else { return };
        self.forget_words();
        self.has_result = true;
        let mut result = self.completed.remove(call_id).unwrap_or_default();
        call_id.clone_into(&mut result.call_id);
        result.end = result.end.or(at);
        result.inside = None;
        // A search for tools returns the tools found.
        let output = payload.get("output").or_else(|| payload.get("tools")).unwrap_or(&Value::Null);
        self.spawned(call_id, output, started);
        let (message, failed) = items::output(output);
        result.message = Some(message);
        result.is_error |= failed;
        self.results.insert(call_id.to_owned(), self.thread.events.len());
        self.thread.events.push(Event::Result(Box::new(result)));
    }

    fn event(&mut self, payload: &Value, at: Option<UnixNanos>, started: &mut HashMap<String, String>) {
        match get::text(payload, "/type").unwrap_or_default() {
            "task_started" => self.begin_turn(payload, at),
            "user_message" => {
                let text = get::text(payload, "/message").unwrap_or_default();
                self.record_prompt(PromptRecord::UserMessage, Message::text(Role::User, text), at);
            }
            "item_completed" => self.completed(payload, at, started),
            "token_count" if !self.has_records => {
                self.flush_before_tokens();
                self.tokens(payload, at);
            }
            "agent_message" => self.hold(get::text(payload, "/message").unwrap_or_default(), at),
            "thread_rolled_back" => {
                // A person went back: later messages do not continue the last turns.
                let turns = get::count(payload, "/num_turns").unwrap_or(1);
                self.forget_words();
                self.close();
                let facts = Map::from_iter([("rolled_back_turns".to_owned(), turns.into())]);
                self.thread.events.push(Event::Facts(facts));
            }
            "task_complete" => {
                self.flush_held();
                self.close();
                let mut facts = Map::new();
                fact(&mut facts, "turn_duration_ms", get::some(payload, "/duration_ms").cloned());
                fact(
                    &mut facts,
                    "time_to_first_token_ms",
                    get::some(payload, "/time_to_first_token_ms").cloned(),
                );
                self.thread.events.push(Event::Facts(facts));
                if let Some(error) = get::some(payload, "/error") {
                    let text = get::text(error, "/message").map_or_else(|| error.to_string(), str::to_owned);
                    self.thread.events.push(Event::Failed(text, at));
                }
            }
            "turn_aborted" => {
                self.flush_held();
                if let Some(Event::Call(call)) = self.open.and_then(|open| self.thread.events.get_mut(open)) {
                    call.failure = Some(INTERRUPTION.to_owned());
                }
                self.close();
                let mut facts = Map::new();
                fact(&mut facts, "interrupted", get::text(payload, "/reason"));
                self.thread.events.push(Event::Facts(facts));
            }
            "error" | "stream_error" => {
                let mut facts = Map::new();
                fact(&mut facts, "errors", get::some(payload, "/message").cloned());
                self.thread.events.push(Event::Facts(facts));
            }
            "token_count"
            | "agent_reasoning"
            | "thread_settings_applied"
            | "thread_name_updated"
            | "context_compacted"
            | "agent_reasoning_raw_content"
            | "agent_reasoning_section_break"
            | "web_search_begin"
            | "web_search_end"
            | "thread_goal_updated" => {}
            "mcp_tool_call_end" | "exec_command_end" | "patch_apply_end" => self.ended(payload),
            "sub_agent_activity" => self.activity(payload, "/event_id", started),
            "collab_agent_spawn_end" => {
                if let (Some(thread), Some(call)) = (get::text(payload, "/new_thread_id"), get::text(payload, "/call_id")) {
                    self.has_started(thread, call, started);
                }
            }
            // The calls of these tools and their results contain the same.
            "collab_agent_spawn_begin"
            | "collab_agent_interaction_begin"
            | "collab_agent_interaction_end"
            | "collab_waiting_begin"
            | "collab_waiting_end"
            | "collab_close_begin"
            | "collab_close_end"
            | "collab_resume_begin"
            | "collab_resume_end" => {}
            kind => self.thread.unknown.count(&format!("event_msg/{kind}")),
        }
    }

    /// Ends a call without recorded tokens.
    fn close(&mut self) {
        self.open = None;
    }
}

fn usage(value: &Value) -> TokenCount {
    TokenCount {
        input: get::count(value, "/input_tokens"),
        output: get::count(value, "/output_tokens"),
        total: get::count(value, "/total_tokens"),
        cache_read: get::count(value, "/cached_input_tokens"),
        cache_write: get::count(value, "/cache_write_input_tokens"),
        reasoning: get::count(value, "/reasoning_output_tokens"),
    }
}
