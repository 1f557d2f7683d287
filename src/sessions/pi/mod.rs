//! Pi: `~/.pi/agent/sessions/--<folder>--/<time>_<session>.jsonl`, as its `docs/session-format.md` describes.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::budget::Budget;
use super::error::SessionError;
use super::recording::Recorded;
use super::{get, lines, parts};
use crate::events::{Call, Compaction, Event, Prompt, Thread, ToolResult, fact};
use crate::operation::{Cost, Message, Role, TokenCount, ToolDefinition};
use crate::span::UnixNanos;

/// The thread of each file.
pub(super) fn read(files: &[PathBuf], budget: &Budget) -> Result<Recorded, SessionError> {
    let mut out = Recorded::default();
    for path in files {
        let mut reader = EntryReader::default();
        let left = lines::each(path, budget, |line| reader.line(&line))?;
        out.left.push((path.clone(), left));
        out.threads.push(reader.thread);
    }
    Ok(out)
}

#[derive(Default)]
struct EntryReader {
    thread: Thread,
    /// When the file was created: older entries are copies from the session that it was forked from.
    made: Option<UnixNanos>,
    parent: Option<String>,
    model: Option<String>,
    provider: Option<String>,
    thinking: Option<String>,
    system: Option<Arc<str>>,
    tools: Arc<[ToolDefinition]>,
    /// The ids of the entries.
    seen: HashSet<String>,
}

impl EntryReader {
    fn line(&mut self, line: &Value) {
        // A file assembled from copies may have an entry twice.
        if get::text(line, "/id").is_some() && !self.seen.insert(self.own_id(line)) {
            return;
        }
        match get::text(line, "/type").unwrap_or_default() {
            "session" => {
                self.thread.id = get::owned(line, "/id").unwrap_or_default();
                self.thread.session.clone_from(&self.thread.id);
                self.made = get::time(line, "/timestamp");
                // `<time>_<session>.jsonl`
                self.parent = get::text(line, "/parentSession").map(|path| {
                    let name = path.rsplit(['/', '\\']).next().unwrap_or(path).trim_end_matches(".jsonl");
                    name.rsplit('_').next().unwrap_or(name).to_owned()
                });
                self.thread.forked = self.parent.is_some();
                // The first version has them here.
                self.model = get::owned(line, "/modelId");
                self.provider = get::owned(line, "/provider");
                self.thinking = get::owned(line, "/thinkingLevel");
                let mut facts = Map::new();
                fact(&mut facts, "cwd", get::text(line, "/cwd"));
                fact(&mut facts, "forked_from", self.parent.as_deref());
                self.thread.events.push(Event::Facts(facts));
            }
            "model_change" => {
                self.model = get::owned(line, "/modelId");
                self.provider = get::owned(line, "/provider");
            }
            "thinking_level_change" => self.thinking = get::owned(line, "/thinkingLevel"),
            "message" => self.message(line),
            // A message of an extension to the model.
            "custom_message" => {
                let content = line.get("content").unwrap_or(&Value::Null);
                self.thread.events.push(Event::Input(parts::message(Role::System, content)));
            }
            "compaction" | "branch_summary" => {
                let summary = get::text(line, "/summary").map(|text| Message::text(Role::User, text));
                let used = line.get("usage").unwrap_or(&Value::Null);
                let mut compaction = Compaction {
                    id: self.own_id(line),
                    at: get::time(line, "/timestamp"),
                    summary,
                    usage: usage(used),
                    cost: cost(used),
                    ..Compaction::default()
                };
                fact(&mut compaction.facts, "tokens_before", get::some(line, "/tokensBefore").cloned());
                fact(&mut compaction.facts, "first_kept_entry", get::text(line, "/firstKeptEntryId"));
                self.thread.events.push(Event::Compacted(Box::new(compaction)));
            }
            "context_edit" | "label" | "session_info" | "custom" => {}
            kind => self.thread.unknown.count(if kind.is_empty() { "no type" } else { kind }),
        }
    }

    /// A unique id that copies of an entry keep: the entry's own has only 8 digits.
    fn own_id(&self, line: &Value) -> String {
        let stamp = get::text(line, "/timestamp").unwrap_or_default();
        format!("{} {stamp}", get::text(line, "/id").unwrap_or_default())
    }

    fn message(&mut self, line: &Value) {
        let message = line.get("message").unwrap_or(&Value::Null);
        let content = message.get("content").unwrap_or(&Value::Null);
        let at = get::time(line, "/timestamp");
        match get::text(message, "/role").unwrap_or_default() {
            "system" => {
                let sections = message.get("sections").and_then(Value::as_object);
                let mut texts: Vec<&str> = content.as_str().into_iter().filter(|text| !text.is_empty()).collect();
                texts.extend(sections.into_iter().flat_map(Map::values).filter_map(Value::as_str));
                if !texts.is_empty() {
                    self.system = Some(texts.join("\n\n").into());
                }
                let added = get::list(message, "/toolsAdded").iter().map(|tool| ToolDefinition {
                    name: get::owned(tool, "/name").unwrap_or_default(),
                    description: get::owned(tool, "/description"),
                    parameters: get::some(tool, "/parameters").cloned(),
                });
                let added: Vec<ToolDefinition> = added.collect();
                if !added.is_empty() {
                    // A resumed session adds its tools again.
                    let names: HashSet<&str> = added.iter().map(|tool| tool.name.as_str()).collect();
                    let before = self.tools.iter().filter(|tool| !names.contains(tool.name.as_str())).cloned();
                    self.tools = before.chain(added.iter().cloned()).collect();
                }
            }
            "user" => {
                let is_copy = at < self.made;
                let prompt = Prompt {
                    id: self.own_id(line),
                    session: self.parent.clone().filter(|_| is_copy),
                    at: get::millis(message, "/timestamp").or(at),
                    message: parts::message(Role::User, content),
                    ..Prompt::default()
                };
                self.thread.events.push(Event::Prompt(Box::new(prompt)));
            }
            "assistant" => {
                let call = self.call(line, message, content, at);
                let is_silent = call.output.as_ref().is_none_or(Message::is_blank);
                match call.failure.clone().filter(|_| is_silent) {
                    // An attempt without output: the client retries or gives up.
                    Some(failure) => self.thread.events.push(Event::Failed(failure, call.end)),
                    None => self.thread.events.push(Event::Call(Box::new(call))),
                }
            }
            "toolResult" => {
                let mut result = ToolResult {
                    call_id: get::owned(message, "/toolCallId").unwrap_or_default(),
                    name: get::owned(message, "/toolName"),
                    end: at,
                    message: Some(parts::message(Role::Tool, content)),
                    is_error: get::flag(message, "/isError"),
                    ..ToolResult::default()
                };
                fact(&mut result.facts, "details", get::some(message, "/details").cloned());
                self.thread.events.push(Event::Result(Box::new(result)));
            }
            "bashExecution" => {
                let mut facts = Map::new();
                fact(&mut facts, "bash_executions", Some(message.clone()));
                self.thread.events.push(Event::Facts(facts));
                if !get::flag(message, "/excludeFromContext") {
                    let texts: Vec<&str> = ["/command", "/output"].iter().filter_map(|key| get::text(message, key)).collect();
                    self.thread.events.push(Event::Input(Message::text(Role::System, texts.join("\n"))));
                }
            }
            "custom" => self.thread.events.push(Event::Input(parts::message(Role::System, content))),
            role => self.thread.unknown.count(&format!("message/{role}")),
        }
    }

    fn call(&self, line: &Value, message: &Value, content: &Value, at: Option<UnixNanos>) -> Call {
        let used = message.get("usage").unwrap_or(&Value::Null);
        let reason = get::owned(message, "/stopReason");
        let failed = matches!(reason.as_deref(), Some("error" | "aborted"));
        let mut output = parts::message(Role::Assistant, content);
        output.finish_reason.clone_from(&reason);
        let mut call = Call {
            id: get::owned(message, "/responseId").unwrap_or_else(|| self.own_id(line)),
            start: get::millis(message, "/timestamp"),
            end: at,
            requested_model: get::owned(message, "/model").or_else(|| self.model.clone()),
            provider: get::owned(message, "/provider").or_else(|| self.provider.clone()),
            response_id: get::owned(message, "/responseId"),
            system: self.system.clone(),
            tools: self.tools.clone(),
            output: Some(output),
            usage: usage(used),
            cost: cost(used),
            failure: failed.then(|| get::owned(message, "/errorMessage").or_else(|| reason.clone()).unwrap_or_default()),
            finish_reason: reason,
            ..Call::default()
        };
        fact(&mut call.parameters, "thinking_level", self.thinking.as_deref());
        fact(&mut call.facts, "api", get::text(message, "/api"));
        call
    }
}

fn usage(value: &Value) -> TokenCount {
    let (read, write) = (get::count(value, "/cacheRead"), get::count(value, "/cacheWrite"));
    let input = get::count(value, "/input");
    let with_cache = |input: u64| {
        input
            .saturating_add(read.unwrap_or_default())
            .saturating_add(write.unwrap_or_default())
    };
    TokenCount {
        input: input.map(with_cache),
        output: get::count(value, "/output"),
        total: get::count(value, "/totalTokens"),
        cache_read: read,
        cache_write: write,
        reasoning: None,
    }
}

fn cost(value: &Value) -> Cost {
    Cost {
        total: get::number(value, "/cost/total"),
        input: get::number(value, "/cost/input"),
        output: get::number(value, "/cost/output"),
    }
}
