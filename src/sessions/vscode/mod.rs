//! Copilot Chat in VS Code: `workspaceStorage/<folder>/chatSessions/<session>.json`, since VS Code 1.109 `.jsonl`; also what "Chat:
//! Export Chat..." writes. A request is a turn.
//!
//! An agent's turn has the rounds of the model with its calls and their results, as the model had them (`toolCallRounds`). Where there
//! are none, the turn is what was shown of it: words, and tools with what they were asked for.

mod log;
mod shown;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::error::SessionError;
use super::recording::{Call, Event, Prompt, Recorded, Thread, ToolResult, fact};
use super::{get, lines, parts, wrapper};
use crate::operation::{Message, Part, Role, TokenCount};
use crate::span::UnixNanos;

/// The thread of each file.
pub(super) fn read(files: &[PathBuf], limit: usize) -> Result<Recorded, SessionError> {
    let mut out = Recorded::default();
    for path in files {
        let (session, left) = session(path, limit)?;
        out.left.push((path.clone(), left));
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        let id = get::owned(&session, "/sessionId").or(name).unwrap_or_default();
        let mut thread = Thread {
            session: id.clone(),
            id,
            ..Thread::default()
        };
        let mut facts = Map::new();
        fact(&mut facts, "title", get::text(&session, "/customTitle"));
        fact(&mut facts, "place", get::text(&session, "/initialLocation"));
        thread.events.push(Event::Facts(facts));
        for (number, request) in get::list(&session, "/requests").iter().enumerate() {
            turn(&mut thread, request, number);
        }
        out.threads.push(thread);
    }
    Ok(out)
}

/// The session of a file: a document, or the document that a log of changes makes.
fn session(path: &Path, limit: usize) -> Result<(Value, lines::Left), SessionError> {
    let mut text = Vec::new();
    let read = lines::open(path).and_then(|reader| reader.take(limit as u64).read_to_end(&mut text));
    read.map_err(|source| SessionError::Io {
        path: path.to_owned(),
        source,
    })?;
    if let Ok(document) = serde_json::from_slice::<Value>(&text)
        && document.get("requests").is_some()
    {
        return Ok((document, lines::Left::default()));
    }
    drop(text);
    let mut session = Value::Null;
    let left = lines::each(path, limit, |line| log::apply(&mut session, line))?;
    Ok((session, left))
}

fn turn(thread: &mut Thread, request: &Value, number: usize) {
    let at = get::millis(request, "/timestamp");
    let id = get::owned(request, "/requestId").unwrap_or_else(|| format!("{} {number}", thread.id));
    let words = get::text(request, "/message/text").or_else(|| get::text(request, "/message"));
    let metadata = request.pointer("/result/metadata").unwrap_or(&Value::Null);
    let mut facts = Map::new();
    for (key, place) in [
        ("participant", "/agent/id"),
        ("slash_command", "/slashCommand/name"),
        ("details", "/result/details"),
        ("vote", "/vote"),
        ("edited_files", "/editedFileEvents"),
        ("references", "/variableData/variables"),
    ] {
        let value = get::some(request, place).filter(|value| value.as_array().is_none_or(|list| !list.is_empty()));
        fact(&mut facts, key, value.cloned());
    }
    if get::flag(request, "/isCanceled") {
        fact(&mut facts, "interrupted", Some(true));
    }
    thread.version = get::owned(request, "/agent/extensionVersion").or(thread.version.take());
    let words = words.unwrap_or_default();
    let given: Vec<&str> = get::list(metadata, "/renderedUserMessage")
        .iter()
        .filter_map(|part| get::text(part, "/text"))
        .collect();
    // With the context that the editor added.
    let given = given.concat();
    let around = wrapper::around(&given, words);
    let [before, after] = around.unwrap_or_default();
    let of_client = |text: &str| Some(Message::text(Role::System, text)).filter(|_| !text.trim().is_empty());
    thread.events.push(Event::Prompt(Box::new(Prompt {
        id: id.clone(),
        at,
        message: Message::text(Role::User, words),
        heard: (around.is_none() && !given.is_empty()).then(|| Message::text(Role::User, &*given)),
        around: [of_client(before), of_client(after)],
        facts,
        ..Prompt::default()
    })));
    let took = get::nanos(request, "/result/timings/totalElapsed").or_else(|| get::nanos(request, "/elapsedMs"));
    let turn = Turn {
        request,
        metadata,
        id,
        at,
        end: at.zip(took).map(|(at, took)| UnixNanos(at.0.saturating_add(took))),
    };
    let rounds = get::list(metadata, "/toolCallRounds");
    let events = if rounds.is_empty() {
        shown::events(&turn)
    } else {
        turn.rounds(rounds)
    };
    thread.events.extend(events);
    if let Some(why) = get::owned(request, "/result/errorDetails/message") {
        thread.events.push(Event::Failed(why, turn.end));
    }
}

struct Turn<'r> {
    request: &'r Value,
    metadata: &'r Value,
    id: String,
    at: Option<UnixNanos>,
    end: Option<UnixNanos>,
}

impl Turn<'_> {
    /// The rounds of the model, each with its calls and their results.
    fn rounds(&self, rounds: &[Value]) -> Vec<Event> {
        let mut events = Vec::new();
        for (number, round) in rounds.iter().enumerate() {
            let (is_last, next) = (number + 1 == rounds.len(), rounds.get(number + 1));
            let mut output = Message::text(Role::Assistant, "");
            output.parts.clear();
            if let Some(thinking) = get::some(round, "/thinking") {
                let text = get::owned(thinking, "/text").or_else(|| lines_of(get::list(thinking, "/text")));
                output.parts.push(Part::Reasoning {
                    text,
                    opaque: parts::without(thinking, &["text", "tokens"]),
                });
            }
            output.parts.extend(get::owned(round, "/response").map(Part::Text));
            let calls = get::list(round, "/toolCalls");
            for call in calls {
                // JSON text, as the model wrote it.
                let arguments = get::some(call, "/arguments").map(|arguments| match arguments.as_str() {
                    Some("") => Value::Object(Map::new()),
                    Some(text) => serde_json::from_str(text).unwrap_or_else(|_| arguments.clone()),
                    None => arguments.clone(),
                });
                output
                    .tool_calls
                    .push(parts::tool_call(get::text(call, "/id"), get::text(call, "/name"), arguments));
            }
            let mut call = self.call(number, output);
            call.start = get::millis(round, "/timestamp").or(self.at.filter(|_| number == 0));
            call.end = next.map_or(self.end, |next| get::millis(next, "/timestamp"));
            call.usage = if is_last { self.usage() } else { TokenCount::default() };
            call.usage.reasoning = get::count(round, "/thinking/tokens");
            call.response_model = get::owned(round, "/modelId").or(call.response_model);
            if !calls.is_empty() && call.end.is_some() {
                // Nobody wrote when it ended: the next round began then.
                fact(&mut call.facts, "includes_tools", Some(true));
            }
            events.push(Event::Call(Box::new(call)));
            for call in calls {
                events.extend(self.result(call).map(|result| Event::Result(Box::new(result))));
            }
        }
        events
    }

    fn call(&self, number: usize, output: Message) -> Call {
        Call {
            id: format!("{} {number}", self.id),
            requested_model: get::text(self.request, "/modelId").map(|model| model.trim_start_matches("copilot/").to_owned()),
            response_model: get::owned(self.metadata, "/resolvedModel"),
            output: Some(output),
            ..Call::default()
        }
    }

    /// What the last call of a turn used: the client writes it once a turn.
    fn usage(&self) -> TokenCount {
        let count = |key: &str, at_request: &str| get::count(self.metadata, key).or_else(|| get::count(self.request, at_request));
        TokenCount {
            input: count("/promptTokens", "/promptTokens"),
            output: count("/outputTokens", "/completionTokens"),
            ..TokenCount::default()
        }
    }

    fn result(&self, call: &Value) -> Option<ToolResult> {
        let call_id = get::text(call, "/id")?;
        let result = self.metadata.get("toolCallResults").and_then(|results| results.get(call_id))?;
        let mut words = String::new();
        for part in get::list(result, "/content") {
            words_of(part.get("value").unwrap_or(part), &mut words);
        }
        Some(ToolResult {
            call_id: call_id.to_owned(),
            name: get::owned(call, "/name"),
            message: Some(Message::text(Role::Tool, words)),
            is_error: get::flag(result, "/hasError") || get::flag(result, "/isError"),
            ..ToolResult::default()
        })
    }
}

fn lines_of(list: &[Value]) -> Option<String> {
    let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// The words of a result: text, or a tree of elements (`@vscode/prompt-tsx`) whose leaves have it.
fn words_of(value: &Value, words: &mut String) {
    if let Some(text) = value.as_str() {
        words.push_str(text);
        return;
    }
    let mut waiting = vec![value.get("node").unwrap_or(value)];
    while let Some(node) = waiting.pop() {
        if let Some(text) = node.get("text").and_then(Value::as_str) {
            if get::flag(node, "/lineBreakBefore") && !words.is_empty() {
                words.push('\n');
            }
            words.push_str(text);
        }
        waiting.extend(get::list(node, "/children").iter().rev());
    }
}
