#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests stop where data is not as built")]

use super::*;
use crate::operation::{Kind, Message, Role, ToolCallId};
use crate::run::{CallEntry, Entry, EntryKind, Id, ResultEntry, Run, Scope, Step, testing};
use crate::span::{TraceId, UnixNanos};

fn step(kind: Kind, name: &str, at: u64) -> Step {
    testing::step(format!("{kind:?}{at}"), kind, name, UnixNanos(at), UnixNanos(at))
}

fn entry(kind: EntryKind, step: Option<usize>, at: u64) -> Entry {
    Entry {
        kind,
        step: step.map(StepId::new),
        at: UnixNanos(at),
        branch: false,
    }
}

fn calling(id: &str, name: &str) -> Message {
    Message {
        role: Role::Assistant,
        tool_calls: vec![crate::operation::ToolCall {
            id: Some(ToolCallId::Recorded(id.to_owned())),
            name: name.to_owned(),
            arguments: None,
            arguments_text: None,
            answered: None,
        }],
        ..Message::default()
    }
}

fn result(id: &str, tool: usize) -> EntryKind {
    EntryKind::Result(ResultEntry {
        call_id: ToolCallId::Recorded(id.to_owned()),
        tool: Some(StepId::new(tool)),
        tool_name: None,
        result: "done".into(),
        given: None,
        failure: None,
        attempt: 0,
    })
}

fn run(steps: Vec<Step>, conversation: Vec<Entry>) -> Run {
    Run {
        trace_id: TraceId::from_bytes(&[1; 16]).unwrap(),
        session_id: None,
        user_id: None,
        started_at: UnixNanos(0),
        ended_at: None,
        agent: crate::run::AgentInfo::default(),
        resource: serde_json::Map::new(),
        failure: None,
        root: None,
        steps: steps.into(),
        scopes: vec![Scope {
            conversation,
            ..Scope::default()
        }]
        .into(),
        question: None,
        answer: None,
        metadata: serde_json::Map::new(),
        findings: Vec::new(),
        annotations: Vec::new(),
    }
}

fn lone<'a>(transcript: &Transcript<'a>, step: usize) -> Option<Uncovered<'a>> {
    transcript.uncovered(StepId::new(step))
}

#[test]
fn a_call_that_passes_the_run_on_tells_of_its_handoff() {
    let turn = |name: &str| entry(EntryKind::Turn(calling("c", name)), Some(0), 1);
    let steps = || vec![step(Kind::Llm, "chat", 1), step(Kind::Handoff, "handoff", 2)];
    let handed = run(steps(), vec![turn("transfer_to_billing")]);
    assert_eq!(lone(&Transcript::of(&handed), 1), Some(Uncovered::HandoffResult("c")));
    let answered = run(steps(), vec![turn("transfer_to_billing"), entry(result("c", 7), Some(0), 2)]);
    assert_eq!(lone(&Transcript::of(&answered), 1), None);
}

#[test]
fn a_tool_whose_name_holds_transfer_is_no_handoff() {
    let steps = vec![step(Kind::Llm, "chat", 1), step(Kind::Handoff, "handoff", 2)];
    let paid = run(steps, vec![entry(EntryKind::Turn(calling("c", "transfer_money")), Some(0), 1)]);
    assert_eq!(lone(&Transcript::of(&paid), 1), Some(Uncovered::CallAndResult));
}

#[test]
fn each_operation_is_told_once() {
    let mut asked = step(Kind::Tool, "search", 2);
    (asked.dispatched_by, asked.call_index) = (Some(StepId::FIRST), Some(0));
    let mut inside = step(Kind::Retrieval, "lookup", 2);
    (inside.parent, inside.inside_tool) = (Some(StepId::new(1)), Some(StepId::new(1)));
    let steps = vec![
        step(Kind::Llm, "chat", 1),
        asked,
        inside,
        step(Kind::Tool, "clock", 3),
        step(Kind::Tool, "mail", 4),
        step(Kind::Llm, "chat", 5),
    ];
    let call = EntryKind::Call(CallEntry {
        call_id: ToolCallId::Recorded("m".to_owned()),
        tool: StepId::new(4),
    });
    let turn = || entry(EntryKind::Turn(calling("c", "search")), Some(0), 1);
    let question = || entry(EntryKind::Message(Message::text(Role::User, "hi")), Some(5), 5);
    let running = run(steps.clone(), vec![turn(), entry(call.clone(), Some(4), 4), question()]);
    let transcript = Transcript::of(&running);
    let written: Vec<_> = (0..7).map(|step| lone(&transcript, step)).collect();
    let turn_without_words = Some(Uncovered::Turn);
    assert_eq!(
        written,
        [
            None,
            Some(Uncovered::Result),
            None,
            Some(Uncovered::CallAndResult),
            None,
            turn_without_words,
            None
        ]
    );
    assert!(transcript.is_inside_tool(StepId::new(2)));
    let answered = run(steps, vec![turn(), entry(result("c", 1), Some(0), 2)]);
    let transcript = Transcript::of(&answered);
    assert_eq!(lone(&transcript, 1), None);
    let place = CallPlace::of_tool(&answered.steps[1]).unwrap();
    assert_eq!(transcript.answer(place), Some("c"));
}

#[test]
fn history_ends_with_the_last_answer_before_the_run() {
    let said = |role: Role, text: &str| entry(EntryKind::Message(Message::text(role, text)), Some(0), 1);
    let conversation = [
        said(Role::User, "old"),
        said(Role::Assistant, "older answer"),
        said(Role::User, "new"),
        entry(EntryKind::Turn(Message::text(Role::Assistant, "answer")), Some(0), 2),
    ];
    assert_eq!(history(&conversation), [true, true, false]);
    assert_eq!(history(&conversation[2..]), [false]);
    assert_eq!(first_input(&conversation), 3);
}
