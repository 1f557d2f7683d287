//! Copilot Chat in VS Code: `workspaceStorage/<folder>/chatSessions/<session>.json`, since VS Code 1.109 `.jsonl`; also the output of
//! "Chat: Export Chat...". A request is a turn.
//!
//! An agent's turn has the rounds of the model with calls and results as the model received them (`toolCallRounds`). Without these, the
//! turn is read as it was shown: text, and tools with their arguments.

mod log;
mod shown;
mod turn;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::budget::Budget;
use super::error::SessionError;
use super::recording::Recorded;
use super::{get, lines, wrapper};
use crate::events::{Event, Prompt, Thread, fact};
use crate::operation::{Message, Role};
use crate::span::UnixNanos;
use turn::Turn;

/// The thread of each file.
pub(super) fn read(files: &[PathBuf], budget: &Budget) -> Result<Recorded, SessionError> {
    let mut out = Recorded::default();
    for path in files {
        let (session, left) = session(path, budget)?;
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

/// The session of a file: a document, or one built from a log of changes.
fn session(path: &Path, budget: &Budget) -> Result<(Value, lines::Left), SessionError> {
    let text = budget.read(path)?;
    let is_document = serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok();
    if is_document
        && let Some(document) = budget.value(path, &text)?
        && document.get("requests").is_some()
    {
        return Ok((document, lines::Left::default()));
    }
    drop(text);
    let mut session = Value::Null;
    let left = lines::each(path, budget, |line| log::apply(&mut session, line))?;
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
    // Includes the context that the editor added.
    let given = given.concat();
    let around = wrapper::around(&given, words);
    let [before, after] = around.unwrap_or_default();
    let of_client = |text: &str| Some(Message::text(Role::System, text)).filter(|_| !text.trim().is_empty());
    thread.events.push(Event::Prompt(Box::new(Prompt {
        id: id.clone(),
        at,
        message: Message::text(Role::User, words),
        received: (around.is_none() && !given.is_empty()).then(|| Message::text(Role::User, &*given)),
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
