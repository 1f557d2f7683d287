//! Runs built by hand, with fixed ids and times.

use serde_json::{Map, Value, json};

use crate::formats::Options;
use crate::operation::{Failure, Kind, Message, Part, Role, ToolCall, ToolCallId, ToolUse};
use crate::run::{AgentInfo, CallEntry, Entry, EntryKind, Id, IdVec, ResultEntry, Run, Scope, ScopeId, Step, StepId, Utterance, testing};
use crate::span::{SpanId, TraceId, UnixNanos};

/// 2026-01-01T10:00:00Z.
pub(crate) const START: u64 = 1_767_261_600_000_000_000;

/// Milliseconds after [`START`].
pub(crate) fn ms(millis: u64) -> UnixNanos {
    UnixNanos(START + millis * 1_000_000)
}

pub(crate) fn span(number: u64) -> Option<SpanId> {
    SpanId::from_bytes(&(0xeee1_9b7e_c3c1_b000 + number).to_be_bytes())
}

pub(crate) fn options(pairs: &[(&str, &str)]) -> Options {
    Options(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
}

/// A run without steps.
pub(crate) fn run() -> Run {
    Run {
        trace_id: TraceId::from_hex("5b8efff798038103d269b633813fc60c").expect("hex"),
        session_id: None,
        user_id: None,
        started_at: ms(0),
        ended_at: Some(ms(3000)),
        agent: AgentInfo {
            name: Some("trip-planner".into()),
            ..AgentInfo::default()
        },
        resource: Map::new(),
        failure: None,
        root: Some(StepId::FIRST),
        steps: IdVec::default(),
        scopes: IdVec::default(),
        question: None,
        answer: None,
        metadata: Map::new(),
        findings: Vec::new(),
        annotations: Vec::new(),
    }
}

/// A run with an agent as its first step, the root.
pub(crate) fn agent_run() -> Run {
    let mut run = run();
    let mut root = step(0x174, Kind::Agent, 0, 3000);
    root.operation.agent.name = Some("trip-planner".into());
    run.steps.push(root);
    run.scopes.push(Scope {
        agent: Some("trip-planner".into()),
        step: Some(StepId::FIRST),
        ..Scope::default()
    });
    run
}

pub(crate) fn step(number: u64, kind: Kind, start: u64, end: u64) -> Step {
    let span = span(number);
    let id = span.map(|span| span.to_string()).unwrap_or_default();
    Step {
        span_id: span,
        parent: (number != 0x174).then_some(StepId::FIRST),
        ..testing::step(id, kind, &format!("{} {number:x}", kind.name()), ms(start), ms(end))
    }
}

pub(crate) fn llm(number: u64, start: u64, end: u64) -> Step {
    let mut step = step(number, Kind::Llm, start, end);
    step.operation.model.requested = Some("gpt-4o".into());
    step.operation.model.provider = Some("openai".into());
    step
}

pub(crate) fn tool(number: u64, start: u64, end: u64, name: &str, call: &str, arguments: Value, result: Value) -> Step {
    let mut step = step(number, Kind::Tool, start, end);
    step.operation.tool = Some(Box::new(ToolUse {
        name: Some(name.into()),
        call_id: Some(call.into()),
        arguments: Some(arguments),
        result: (!result.is_null()).then_some(result),
        ..ToolUse::default()
    }));
    step
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: (!id.is_empty()).then(|| ToolCallId::Recorded(id.to_owned())),
        name: name.into(),
        arguments: Some(arguments),
        arguments_text: None,
        answered: None,
    }
}

pub(crate) fn asks(calls: Vec<ToolCall>) -> Message {
    Message {
        role: Role::Assistant,
        tool_calls: calls,
        ..Message::default()
    }
}

pub(crate) fn thinks(text: &str, mut message: Message) -> Message {
    message.parts.insert(0, Part::thought(text));
    message
}

pub(crate) fn reply(text: &str) -> Message {
    Message::text(Role::Assistant, text)
}

pub(crate) fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

pub(crate) fn system(text: &str) -> Message {
    Message::text(Role::System, text)
}

pub(crate) fn input(message: Message, step: usize, at: u64) -> Entry {
    entry(EntryKind::Message(message), Some(step), at)
}

pub(crate) fn turn(message: Message, step: usize, at: u64) -> Entry {
    entry(EntryKind::Turn(message), Some(step), at)
}

pub(crate) fn lone_call(id: &str, tool: usize, at: u64) -> Entry {
    let kind = EntryKind::Call(CallEntry {
        call_id: ToolCallId::Recorded(id.to_owned()),
        tool: StepId::new(tool),
    });
    entry(kind, Some(tool), at)
}

pub(crate) fn result(id: &str, tool: Option<usize>, value: Value, at: u64) -> Entry {
    entry(
        EntryKind::Result(ResultEntry {
            call_id: ToolCallId::Recorded(id.to_owned()),
            tool: tool.map(StepId::new),
            tool_name: None,
            result: value,
            given: None,
            failure: None,
            attempt: 0,
        }),
        tool,
        at,
    )
}

pub(crate) fn failed(id: &str, tool: Option<usize>, text: &str, at: u64) -> Entry {
    entry(
        EntryKind::Result(ResultEntry {
            call_id: ToolCallId::Recorded(id.to_owned()),
            tool: tool.map(StepId::new),
            tool_name: None,
            result: Value::Null,
            given: None,
            failure: Some(failure(text)),
            attempt: 0,
        }),
        tool,
        at,
    )
}

pub(crate) fn failure(text: &str) -> Failure {
    text.to_owned().into()
}

fn entry(kind: EntryKind, step: Option<usize>, at: u64) -> Entry {
    Entry {
        kind,
        step: step.map(StepId::new),
        at: ms(at),
        branch: false,
    }
}

pub(crate) fn said(text: &str, step: usize, at: u64, in_conversation: bool) -> Utterance {
    Utterance {
        content: text.into(),
        step: StepId::new(step),
        at: ms(at),
        in_conversation,
    }
}

/// The example run: a system and a user message, a turn with reasoning and two parallel calls, the second of which fails,
/// and an answer.
pub(crate) fn example() -> Run {
    let mut run = agent_run();
    let city = json!({"city": "Bogotá"});
    let flight = json!({"to": "BOG", "day": "Friday"});
    let asked = thinks(
        "Both calls are independent.",
        asks(vec![
            call("call_1", "get_weather", city.clone()),
            call("call_2", "search_flights", flight.clone()),
        ]),
    );
    let inputs = vec![system("You plan trips."), user("Weather in Bogotá and a flight on Friday?")];
    let mut first = llm(0x175, 50, 1250);
    first.turn = Some(1);
    first.operation.usage.input = Some(82);
    first.operation.usage.output = Some(41);
    first.operation.finish_reason = Some("tool_call".into());
    first.operation.input_messages = Some(inputs.clone().into());
    first.operation.output_messages = Some(vec![asked.clone()]);
    let mut weather = tool(
        0x176,
        1300,
        1800,
        "get_weather",
        "call_1",
        city,
        json!({"forecast": "22 °C cloudy"}),
    );
    let mut flights = tool(0x177, 1300, 2300, "search_flights", "call_2", flight, Value::Null);
    flights.operation.failure = Some(failure("timeout after 1000 ms"));
    for (index, step) in [&mut weather, &mut flights].into_iter().enumerate() {
        step.turn = Some(1);
        step.dispatched_by = Some(StepId::new(1));
        step.call_index = Some(index);
    }
    let mut last = llm(0x178, 2350, 3000);
    last.turn = Some(2);
    last.operation.usage.input = Some(150);
    last.operation.usage.output = Some(12);
    last.operation.finish_reason = Some("stop".into());
    let answer = reply("22 °C, cloudy. No flights found.");
    last.operation.output_messages = Some(vec![answer.clone()]);
    last.operation.input_messages = Some(
        inputs
            .iter()
            .cloned()
            .chain([
                asked.clone(),
                Message {
                    role: Role::Tool,
                    tool_call_id: Some("call_1".into()),
                    result: Some(json!({"forecast": "22 °C cloudy"}).into()),
                    ..Message::default()
                },
                Message {
                    role: Role::Tool,
                    tool_call_id: Some("call_2".into()),
                    parts: vec![Part::Text("timeout after 1000 ms".into())],
                    is_error: true,
                    ..Message::default()
                },
            ])
            .collect(),
    );
    run.steps.extend([first, weather, flights, last]);
    run.question = Some(said("Weather in Bogotá and a flight on Friday?", 0, 0, true));
    run.answer = Some(said("22 °C, cloudy. No flights found.", 0, 3000, true));
    let mut conversation: Vec<Entry> = inputs.into_iter().map(|message| input(message, 1, 50)).collect();
    conversation.extend([
        turn(asked, 1, 1250),
        result("call_1", Some(2), json!({"forecast": "22 °C cloudy"}), 1800),
        failed("call_2", Some(3), "timeout after 1000 ms", 2300),
        turn(answer, 4, 3000),
    ]);
    if let Some(scope) = run.scopes.first_mut() {
        scope.conversation = conversation;
    }
    run
}

/// A run whose agent calls two sub-agents by tools; both use the call id `c`.
pub(crate) fn sub_agents() -> Run {
    let mut run = agent_run();
    let ask = asks(vec![
        call("a", "research", json!({"topic": "x"})),
        call("b", "research", json!({"topic": "y"})),
    ]);
    run.steps.push(llm(0x200, 10, 100)); // 1
    let mut talks = vec![input(user("Compare x and y."), 1, 10), turn(ask, 1, 100)];
    for (index, (outer, topic)) in [("a", "x"), ("b", "y")].into_iter().enumerate() {
        let base = 0x210 + index as u64 * 0x10;
        let at = 100 + index as u64 * 1000;
        let place = run.steps.len();
        let mut caller = tool(
            base,
            at,
            at + 900,
            "research",
            outer,
            json!({"topic": topic}),
            json!(format!("{topic} is fine")),
        );
        caller.dispatched_by = Some(StepId::new(1));
        caller.call_index = Some(index);
        run.steps.push(caller);
        let mut agent = step(base + 1, Kind::Agent, at + 1, at + 890);
        agent.parent = Some(StepId::new(place));
        agent.scope = ScopeId::new(index + 1);
        agent.called_by = Some(StepId::new(place));
        agent.operation.agent.name = Some("researcher".into());
        let mut think = llm(base + 2, at + 10, at + 200);
        let mut look = tool(
            base + 3,
            at + 210,
            at + 300,
            "search",
            "c",
            json!({"q": topic}),
            json!(["hit", topic]),
        );
        let mut end = llm(base + 4, at + 310, at + 800);
        for inner in [&mut think, &mut look, &mut end] {
            inner.scope = ScopeId::new(index + 1);
            inner.parent = Some(StepId::new(place + 1));
        }
        look.dispatched_by = Some(StepId::new(place + 2));
        look.call_index = Some(0);
        run.steps.extend([agent, think, look, end]);
        run.scopes.push(Scope {
            agent: Some("researcher".into()),
            step: Some(StepId::new(place + 1)),
            parent: Some(ScopeId::FIRST),
            called_by: Some(StepId::new(place)),
            is_auxiliary: false,
            is_unrelated: false,
            conversation: vec![
                input(user(&format!("Research {topic}.")), place + 2, at + 10),
                turn(asks(vec![call("c", "search", json!({"q": topic}))]), place + 2, at + 200),
                result("c", Some(place + 3), json!(["hit", topic]), at + 300),
                turn(reply(&format!("{topic} is fine")), place + 4, at + 800),
            ],
        });
        talks.push(result(outer, Some(place), json!(format!("{topic} is fine")), at + 900));
    }
    run.steps.push(llm(0x240, 2200, 3000));
    let last = run.steps.len() - 1;
    talks.push(turn(reply("Both are fine."), last, 3000));
    if let Some(scope) = run.scopes.first_mut() {
        scope.conversation = talks;
    }
    run
}
