//! Traces of odd shapes, each of any size.

use serde_json::{Value, json};
use spanbridge::span::{AnyValue, Span, SpanId, TraceId, UnixNanos};

const START: u64 = 1_767_261_600_000_000_000;

/// A shape, and its size in a short test.
pub(super) type Shape = (&'static str, u64, fn(TraceId, u64) -> Vec<Span>);

/// All shapes.
pub(super) const SHAPES: &[Shape] = &[
    ("prompts of their own", 60, own_prompts),
    ("growing conversation", 60, growing),
    ("conversation that goes on", 90, goes_on),
    ("all go on with one call", 100, star),
    ("chain", 300, chain),
    ("wide", 500, wide),
    ("one call id", 250, same_call_id),
    ("errors", 200, errors),
    ("events", 1_000, events),
    ("numbered keys", 1_000, numbered),
    ("unknown keys", 2_000, unknown),
    ("long texts", 40_000, long_texts),
    ("words", 10_000, words),
    ("deep JSON", 300, deep_json),
    ("prints of Python", 2_000, python),
    ("lists of nothing", 20_000, lists),
];

fn span(trace: TraceId, number: u64, parent: Option<u64>, name: &str, attributes: Vec<(String, AnyValue)>) -> Span {
    let id = |number: u64| SpanId::from_bytes(&(number + 1).to_be_bytes()).unwrap();
    let mut span = Span::new(trace, id(number), name);
    span.parent = parent.map(id);
    span.start = UnixNanos(START + number * 1_000);
    span.end = UnixNanos(if parent.is_none() {
        START + 1_000_000_000_000
    } else {
        span.start.0 + 900
    });
    for (key, value) in attributes {
        span.attributes.push(key, value);
    }
    span
}

fn pairs<const N: usize>(pairs: [(&str, String); N]) -> Vec<(String, AnyValue)> {
    pairs
        .into_iter()
        .map(|(key, value)| (key.to_owned(), AnyValue::from(value)))
        .collect()
}

fn agent(trace: TraceId) -> Span {
    span(
        trace,
        0,
        None,
        "invoke_agent a",
        pairs([
            ("gen_ai.operation.name", "invoke_agent".into()),
            ("gen_ai.agent.name", "a".into()),
            ("session.id", "s".into()),
        ]),
    )
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "parts": [{"type": "text", "content": text}]})
}

fn call(trace: TraceId, number: u64, input: &[Value], output: &[Value]) -> Span {
    span(
        trace,
        number,
        Some(0),
        "chat m",
        pairs([
            ("gen_ai.operation.name", "chat".into()),
            ("gen_ai.request.model", "m".into()),
            ("gen_ai.input.messages", Value::from(input).to_string()),
            ("gen_ai.output.messages", Value::from(output).to_string()),
        ]),
    )
}

fn tool(trace: TraceId, number: u64, parent: u64, arguments: String, result: String, id: Option<&str>) -> Span {
    let mut attributes = pairs([
        ("gen_ai.operation.name", "execute_tool".into()),
        ("gen_ai.tool.name", "t".into()),
        ("gen_ai.tool.call.arguments", arguments),
        ("gen_ai.tool.call.result", result),
    ]);
    attributes.extend(id.map(|id| ("gen_ai.tool.call.id".to_owned(), AnyValue::from(id))));
    span(trace, number, Some(parent), "execute_tool", attributes)
}

fn with_agent(trace: TraceId, count: u64, of: impl Fn(u64) -> Span) -> Vec<Span> {
    std::iter::once(agent(trace)).chain((1..=count).map(of)).collect()
}

fn own_prompts(trace: TraceId, n: u64) -> Vec<Span> {
    let same: Vec<Value> = (0..20).map(|number| said("user", &format!("same {number}"))).collect();
    with_agent(trace, n, |number| {
        let mut input = same.clone();
        input.push(said("user", &format!("x{number}")));
        call(trace, number, &input, &[said("assistant", "y")])
    })
}

/// Each call has the whole history, so twice the calls are four times the bytes.
fn growing(trace: TraceId, n: u64) -> Vec<Span> {
    let mut history = Vec::new();
    let calls = ((n as f64).sqrt() * 8.0) as u64;
    let mut spans = vec![agent(trace)];
    for number in 1..=calls {
        history.push(said("user", &format!("q{number}")));
        let answer = said("assistant", &format!("a{number}"));
        spans.push(call(trace, number, &history, std::slice::from_ref(&answer)));
        history.push(answer);
    }
    spans
}

fn continuing(trace: TraceId, number: u64, of: u64, messages: u64, words: String) -> Span {
    let id = format!("{:016x}", of + 1);
    let mut attributes = pairs([
        ("openinference.span.kind", "LLM".into()),
        ("llm.model_name", "m".into()),
        ("llm.input_messages.0.message.role", "user".into()),
        ("llm.input_messages.0.message.content", words),
        ("llm.output_messages.0.message.role", "assistant".into()),
        ("llm.output_messages.0.message.content", "o".into()),
    ]);
    if number > 1 {
        attributes.push(("spanbridge.continues.span_id".to_owned(), AnyValue::from(id)));
        attributes.push((
            "spanbridge.continues.messages".to_owned(),
            AnyValue::Int(messages.try_into().unwrap()),
        ));
    }
    span(trace, number, Some(0), "chat", attributes)
}

/// Each call goes on with the one before, as imported conversations do: few bytes, and as many messages as its square.
fn goes_on(trace: TraceId, n: u64) -> Vec<Span> {
    with_agent(trace, n, |number| {
        continuing(trace, number, number - 1, 2 * (number - 1), "c".repeat(400))
    })
}

fn star(trace: TraceId, n: u64) -> Vec<Span> {
    let mut spans = vec![agent(trace)];
    let mut first = continuing(trace, 1, 0, 0, "c".into());
    for number in 1..n {
        first
            .attributes
            .push(format!("llm.input_messages.{number}.message.content"), "z".repeat(40));
    }
    spans.push(first);
    spans.extend((2..n).map(|number| continuing(trace, number, 1, n, format!("c{number}"))));
    spans
}

fn chain(trace: TraceId, n: u64) -> Vec<Span> {
    let one = |number: u64| {
        let kind = if number.is_multiple_of(2) { "CHAIN" } else { "AGENT" };
        let attributes = pairs([("openinference.span.kind", kind.into()), ("agent.name", format!("a{number}"))]);
        span(trace, number, number.checked_sub(1), "s", attributes)
    };
    (0..n).map(one).collect()
}

fn wide(trace: TraceId, n: u64) -> Vec<Span> {
    with_agent(trace, n, |number| {
        tool(
            trace,
            number,
            0,
            json!({"a": number}).to_string(),
            format!("r{number}"),
            Some(&format!("c{number}")),
        )
    })
}

fn same_call_id(trace: TraceId, n: u64) -> Vec<Span> {
    let asked: Vec<Value> = (0..n / 4)
        .map(|_| json!({"type": "tool_call", "id": "c", "name": "t", "arguments": {}}))
        .collect();
    let mut spans = vec![
        agent(trace),
        call(trace, 1, &[said("user", "q")], &[json!({"role": "assistant", "parts": asked})]),
    ];
    spans.extend((2..n).map(|number| tool(trace, number, 0, "{}".into(), "r".into(), Some("c"))));
    spans
}

fn errors(trace: TraceId, n: u64) -> Vec<Span> {
    with_agent(trace, n, |number| {
        let mut span = tool(trace, number, 0, "{}".into(), String::new(), None);
        span.attributes.push("error.type", format!("E{number}"));
        span.attributes.push("exception.message", format!("m{number}"));
        span.attributes.push("exception.stacktrace", "at x\n".repeat(50));
        span
    })
}

fn events(trace: TraceId, n: u64) -> Vec<Span> {
    let mut call = call(trace, 1, &[], &[]);
    let event = |number: u64| {
        let mut event = spanbridge::span::Event {
            time: UnixNanos(START + number),
            name: "gen_ai.user.message".into(),
            ..Default::default()
        };
        event.attributes.push("content", format!("c{number}"));
        event
    };
    call.events = (0..n).map(event).collect();
    vec![agent(trace), call]
}

fn numbered(trace: TraceId, n: u64) -> Vec<Span> {
    let mut attributes = pairs([("openinference.span.kind", "LLM".into())]);
    for number in 0..n {
        attributes.push((format!("llm.input_messages.{number}.message.content"), AnyValue::from("x")));
        attributes.push((
            format!("llm.input_messages.{}.message.role", number * 99_991),
            AnyValue::from("user"),
        ));
    }
    vec![agent(trace), span(trace, 1, Some(0), "chat", attributes)]
}

fn unknown(trace: TraceId, n: u64) -> Vec<Span> {
    let mut agent = agent(trace);
    for number in 0..n {
        agent.attributes.push(format!("k{number}.x"), "v");
    }
    vec![agent]
}

fn long_texts(trace: TraceId, n: u64) -> Vec<Span> {
    let text = "a".repeat(n.try_into().unwrap());
    let call = call(trace, 1, &[said("user", &text)], &[said("assistant", &text)]);
    vec![
        agent(trace),
        call,
        tool(trace, 2, 0, json!({"q": text}).to_string(), text.clone(), None),
    ]
}

fn words(trace: TraceId, n: u64) -> Vec<Span> {
    let many: String = (0..n / 4).map(|number| format!("w{number} ")).collect();
    let call = call(
        trace,
        1,
        &[said("user", &"w1 ".repeat(n.try_into().unwrap()))],
        &[said("assistant", &many)],
    );
    vec![
        agent(trace),
        call,
        tool(
            trace,
            2,
            0,
            "\n".repeat(n.try_into().unwrap()),
            "<`&\u{202e}".repeat((n / 4).try_into().unwrap()),
            None,
        ),
    ]
}

fn deep_json(trace: TraceId, n: u64) -> Vec<Span> {
    let times = n.try_into().unwrap();
    let (objects, lists) = (
        r#"{"a":"#.repeat(times) + "1" + &"}".repeat(times),
        "[".repeat(times) + &"]".repeat(times),
    );
    let asked = json!({"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "t", "arguments": lists}]});
    vec![
        agent(trace),
        tool(trace, 1, 0, objects, lists.clone(), None),
        call(trace, 2, &[said("user", "q")], &[asked]),
    ]
}

fn python(trace: TraceId, n: u64) -> Vec<Span> {
    let map: String = (0..n).map(|number| format!("'k{number}': None, ")).collect();
    let messages = "[HumanMessage(content='x', additional_kwargs={}), ".repeat((n / 10).try_into().unwrap()) + "]";
    let mut call = continuing(trace, 2, 0, 0, "x".into());
    call.attributes.push("input.value", messages.clone());
    vec![agent(trace), tool(trace, 1, 0, format!("{{{map}}}"), messages, None), call]
}

fn lists(trace: TraceId, n: u64) -> Vec<Span> {
    let mut agent = agent(trace);
    agent
        .attributes
        .push("x", AnyValue::Array(vec![AnyValue::Empty; n.try_into().unwrap()]));
    agent
        .attributes
        .push("y", AnyValue::Array(vec![AnyValue::Int(0); n.try_into().unwrap()]));
    vec![
        agent,
        tool(trace, 1, 0, format!("[{}0]", "0,".repeat(n.try_into().unwrap())), "r".into(), None),
    ]
}
