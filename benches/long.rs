//! What a span costs in a long trace: thousands of sub-agents, tools and handoffs in one run, against a run of a sixteenth of
//! them (`cargo bench --bench long`). CPU of one thread from decoded spans to the document, medians of interleaved rounds. A cost
//! that grows with the square of the trace shows as 16.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark")]

mod support;

use std::collections::BTreeMap;
use std::hint::black_box;

use spanbridge::documents::Vocabulary;
use spanbridge::formats::{FORMATS, Layout, Options};
use spanbridge::span::{Span, SpanId, TraceId, UnixNanos};
use support::table::Table;
use support::{cpu_seconds, median};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 5;
const FEW: u64 = 250;
const MANY: u64 = 16 * FEW;

type Unit = fn(&mut Vec<Span>, u64);

/// What one unit of the trace is.
const SHAPES: [(&str, Unit); 6] = [
    ("sub-agents that tool calls started", called),
    ("sub-agents in tools that nobody asked for", uncalled),
    ("sub-agents beside one another", siblings),
    ("handoffs", handoffs),
    ("calls without ids, whose tools say other arguments", by_order),
    ("tools that nobody asked for", tools),
];

fn main() {
    let mut times: BTreeMap<(usize, &str), [Vec<f64>; 2]> = BTreeMap::new();
    for _ in 0..ROUNDS {
        for (number, (_, unit)) in SHAPES.iter().enumerate() {
            for format in FORMATS {
                for (place, units) in [FEW, MANY].into_iter().enumerate() {
                    let spans = trace(*unit, units);
                    let count = spans.len() as f64;
                    let begin = cpu_seconds();
                    let runs = Vocabulary::built_in().runs(spans, Vec::new());
                    drop(black_box(format.assemble(&runs, &Options::default(), Layout::Compact)));
                    drop(runs);
                    times.entry((number, format.id)).or_default()[place].push((cpu_seconds() - begin) * 1e6 / count);
                }
            }
        }
    }
    let few = format!("µs per span with {FEW}");
    let mut table = Table::new("long", &["one trace of, to", &few, &format!("with {MANY}"), "ratio"]);
    for ((shape, format), [few, many]) in &times {
        let (few, many) = (median(few), median(many));
        let numbers = [few, many, many / few].map(|number| format!("{number:.1}"));
        let [few, many, ratio] = numbers;
        table.row(&[format!("{}, {format}", SHAPES[*shape].0), few, many, ratio]);
    }
    table.finish(&format!("Medians of {ROUNDS} rounds"));
}

fn trace(unit: Unit, units: u64) -> Vec<Span> {
    let mut spans = Vec::new();
    let root = add(&mut spans, None, "AGENT", 0);
    spans[root].end = UnixNanos(BEGIN + 1_000_000_000_000);
    for number in 0..units {
        unit(&mut spans, number);
    }
    spans
}

const BEGIN: u64 = 1_767_261_600_000_000_000;

/// Adds a span below another one (the root, by default) and gives its place.
fn add(spans: &mut Vec<Span>, parent: Option<usize>, kind: &str, at: u64) -> usize {
    let id = |number: usize| SpanId::from_bytes(&(number as u64 + 1).to_be_bytes()).unwrap();
    let place = spans.len();
    let mut span = Span::new(TraceId::from_bytes(&[7; 16]).unwrap(), id(place), kind);
    span.parent = (place > 0).then(|| id(parent.unwrap_or(0)));
    span.start = UnixNanos(BEGIN + at * 1_000_000 + place as u64);
    span.end = UnixNanos(span.start.0 + 500_000);
    span.attributes.push("openinference.span.kind", kind);
    spans.push(span);
    place
}

fn model_call(spans: &mut Vec<Span>, parent: Option<usize>, number: u64) -> usize {
    let call = add(spans, parent, "LLM", number);
    let attributes = &mut spans[call].attributes;
    attributes.push("llm.model_name", "gpt-4o");
    attributes.push("llm.input_messages.0.message.role", "user");
    attributes.push("llm.input_messages.0.message.content", format!("question {number}"));
    attributes.push("llm.output_messages.0.message.role", "assistant");
    call
}

fn answered(spans: &mut Vec<Span>, parent: usize, number: u64) {
    let call = model_call(spans, Some(parent), number);
    let answer = format!("answer {number}");
    spans[call].attributes.push("llm.output_messages.0.message.content", answer);
}

fn asking(spans: &mut Vec<Span>, number: u64, tool: String) {
    let call = model_call(spans, None, number);
    let attributes = &mut spans[call].attributes;
    let key = |member: &str| format!("llm.output_messages.0.message.tool_calls.0.tool_call.{member}");
    attributes.push(key("id"), format!("call_{number}"));
    attributes.push(key("function.name"), tool);
    attributes.push(key("function.arguments"), "{}");
}

fn sub_agent(spans: &mut Vec<Span>, parent: Option<usize>, number: u64) {
    let agent = add(spans, parent, "AGENT", number);
    spans[agent].attributes.push("agent.name", format!("helper {number}"));
    answered(spans, agent, number);
}

fn called(spans: &mut Vec<Span>, number: u64) {
    asking(spans, number, "ask".into());
    let tool = add(spans, None, "TOOL", number);
    spans[tool].attributes.push("tool.name", "ask");
    spans[tool].attributes.push("tool_call.id", format!("call_{number}"));
    spans[tool].attributes.push("output.value", "done");
    sub_agent(spans, Some(tool), number);
}

fn uncalled(spans: &mut Vec<Span>, number: u64) {
    let tool = add(spans, None, "TOOL", number);
    spans[tool].attributes.push("tool.name", "ask");
    spans[tool].end = UnixNanos(0);
    sub_agent(spans, Some(tool), number);
}

fn siblings(spans: &mut Vec<Span>, number: u64) {
    sub_agent(spans, None, number);
}

fn handoffs(spans: &mut Vec<Span>, number: u64) {
    asking(spans, number, format!("transfer_to_helper_{number}"));
    let handoff = add(spans, None, "TOOL", number);
    spans[handoff].name = format!("handoff to helper {number}");
}

/// A call and its tool that only their order brings together.
fn by_order(spans: &mut Vec<Span>, number: u64) {
    let call = model_call(spans, None, number);
    let key = |member: &str| format!("llm.output_messages.0.message.tool_calls.0.tool_call.function.{member}");
    spans[call].attributes.push(key("name"), "search");
    spans[call].attributes.push(key("arguments"), format!("{{\"page\":{number}}}"));
    let tool = add(spans, None, "TOOL", number);
    spans[tool].attributes.push("tool.name", "search");
    spans[tool].attributes.push("input.value", format!("{{\"offset\":{number}}}"));
}

fn tools(spans: &mut Vec<Span>, number: u64) {
    let tool = add(spans, None, "TOOL", number);
    spans[tool].attributes.push("tool.name", "search");
    spans[tool].attributes.push("input.value", format!("{{\"page\":{number}}}"));
    spans[tool].attributes.push("output.value", "found");
}
