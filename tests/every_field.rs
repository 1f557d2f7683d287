//! Nothing that an operation says is dropped silently: each field, on an operation of each kind, in each place of a run, is in the
//! document of each format, or a loss of its span reports it.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod support;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use spanbridge::dialect::Registry;
use spanbridge::dialect::write::{AttributeWriter, Vocabulary};
use spanbridge::formats::{FORMATS, Layout, LossReason, Options};
use spanbridge::operation::{Document, Evaluation, Kind, Message, Operation, Role, ToolCall, ToolCallId, ToolDefinition};
use spanbridge::run;
use spanbridge::span::{Span, SpanId, TraceId, UnixNanos};

/// A field, and how an operation gets the mark there.
type Field = (&'static str, fn(&mut Operation));

const MARK: &str = "mark4711z";
const NUMBER: u32 = 918_273;

fn mark() -> Option<String> {
    Some(MARK.to_owned())
}

fn value() -> Option<Value> {
    Some(json!({"a": MARK}))
}

#[rustfmt::skip]
const FIELDS: &[Field] = &[
    ("agent.name", |operation| operation.agent.name = mark()),
    ("agent.id", |operation| operation.agent.id = mark()),
    ("agent.description", |operation| operation.agent.description = mark()),
    ("agent.version", |operation| operation.agent.version = mark()),
    ("agent.framework", |operation| operation.agent.framework = mark()),
    ("model.requested", |operation| operation.model.requested = mark()),
    ("model.response", |operation| operation.model.response = mark()),
    ("model.provider", |operation| operation.model.provider = mark()),
    ("input_messages", |operation| operation.input_messages = Some(vec![Message::text(Role::User, MARK.to_owned())])),
    ("input_messages.system", |operation| operation.input_messages = Some(vec![Message::text(Role::System, MARK.to_owned())])),
    ("output_messages", |operation| operation.output_messages = Some(vec![Message::text(Role::Assistant, MARK.to_owned())])),
    ("input", |operation| operation.input = json!(MARK).into()),
    ("input.object", |operation| operation.input = json!({"p": {"q": MARK}}).into()),
    ("output", |operation| operation.output = json!(MARK).into()),
    ("output.object", |operation| operation.output = json!({"p": {"q": MARK}}).into()),
    ("response_id", |operation| operation.response_id = mark()),
    ("finish_reason", |operation| operation.finish_reason = mark()),
    ("parameters", |operation| { operation.parameters.insert("p".to_owned(), json!(MARK)); }),
    ("tool_definitions.name", |operation| operation.tool_definitions = vec![ToolDefinition { name: MARK.to_owned(), ..ToolDefinition::default() }]),
    ("tool_definitions.description", |operation| operation.tool_definitions = vec![ToolDefinition { name: "t".to_owned(), description: mark(), parameters: None }]),
    ("tool_definitions.parameters", |operation| operation.tool_definitions = vec![ToolDefinition { name: "t".to_owned(), description: None, parameters: Some(json!({"type": "object", "properties": {MARK: {}}})) }]),
    ("usage.input", |operation| operation.usage.input = Some(NUMBER.into())),
    ("usage.output", |operation| operation.usage.output = Some(NUMBER.into())),
    ("usage.total", |operation| operation.usage.total = Some(NUMBER.into())),
    ("usage.cache_read", |operation| operation.usage.cache_read = Some(NUMBER.into())),
    ("usage.cache_write", |operation| operation.usage.cache_write = Some(NUMBER.into())),
    ("usage.reasoning", |operation| operation.usage.reasoning = Some(NUMBER.into())),
    ("cost.total", |operation| operation.cost.total = Some(NUMBER.into())),
    ("cost.input", |operation| operation.cost.input = Some(NUMBER.into())),
    ("cost.output", |operation| operation.cost.output = Some(NUMBER.into())),
    ("time_to_first_token", |operation| operation.time_to_first_token = Some(NUMBER.into())),
    ("tool.name", |operation| operation.tool.get_or_insert_default().name = mark()),
    ("tool.call_id", |operation| operation.tool.get_or_insert_default().call_id = mark()),
    ("tool.arguments", |operation| operation.tool.get_or_insert_default().arguments = value()),
    ("tool.result", |operation| operation.tool.get_or_insert_default().result = value()),
    ("tool.description", |operation| operation.tool.get_or_insert_default().description = mark()),
    ("tool.parameters", |operation| operation.tool.get_or_insert_default().parameters = Some(json!({"properties": {MARK: {}}}))),
    ("tool.mcp_server", |operation| operation.tool.get_or_insert_default().mcp_server = mark()),
    ("search.query", |operation| operation.search.get_or_insert_default().query = Some(MARK.into())),
    ("search.documents", |operation| operation.search.get_or_insert_default().documents = Some(vec![Document { content: mark(), ..Document::default() }])),
    ("search.documents.id", |operation| operation.search.get_or_insert_default().documents = Some(vec![Document { content: Some("c".to_owned()), id: mark(), ..Document::default() }])),
    ("search.documents.score", |operation| operation.search.get_or_insert_default().documents = Some(vec![Document { content: Some("c".to_owned()), score: Some(NUMBER.into()), ..Document::default() }])),
    ("search.documents.metadata", |operation| operation.search.get_or_insert_default().documents = Some(vec![Document { content: Some("c".to_owned()), metadata: json!({"m": MARK}).as_object().unwrap().clone(), ..Document::default() }])),
    ("search.top_k", |operation| operation.search.get_or_insert_default().top_k = Some(NUMBER.into())),
    ("search.match_count", |operation| operation.search.get_or_insert_default().match_count = Some(NUMBER.into())),
    ("embedded_texts", |operation| operation.embedded_texts = vec![MARK.to_owned()]),
    ("vector_count", |operation| operation.vector_count = Some(NUMBER.into())),
    ("memory.entity_type", |operation| operation.memory.get_or_insert_default().entity_type = mark()),
    ("memory.entity_id", |operation| operation.memory.get_or_insert_default().entity_id = mark()),
    ("memory.namespace", |operation| operation.memory.get_or_insert_default().namespace = value()),
    ("memory.key", |operation| operation.memory.get_or_insert_default().key = mark()),
    ("memory.operation", |operation| operation.memory.get_or_insert_default().operation = mark()),
    ("memory.data", |operation| operation.memory.get_or_insert_default().data = value()),
    ("memory.changes", |operation| operation.memory.get_or_insert_default().changes = value()),
    ("memory.query", |operation| operation.memory.get_or_insert_default().query = value()),
    ("memory.results", |operation| operation.memory.get_or_insert_default().results = Some(json!([MARK]))),
    ("memory.scores", |operation| operation.memory.get_or_insert_default().scores = Some(json!([NUMBER]))),
    ("memory.total_available", |operation| operation.memory.get_or_insert_default().total_available = Some(NUMBER.into())),
    ("state.key", |operation| operation.state.get_or_insert_default().key = mark()),
    ("state.old_value", |operation| operation.state.get_or_insert_default().old_value = value()),
    ("state.new_value", |operation| operation.state.get_or_insert_default().new_value = value()),
    ("state.reason", |operation| operation.state.get_or_insert_default().reason = mark()),
    ("interrupt.prompt", |operation| operation.interrupt.get_or_insert_default().prompt = mark()),
    ("interrupt.response", |operation| operation.interrupt.get_or_insert_default().response = value()),
    ("interrupt.wait_ms", |operation| operation.interrupt.get_or_insert_default().wait_ms = Some(NUMBER.into())),
    ("evaluation.name", |operation| operation.evaluations = vec![Evaluation { name: mark(), ..Evaluation::default() }]),
    ("evaluation.score", |operation| operation.evaluations = vec![Evaluation { score: Some(NUMBER.into()), ..Evaluation::default() }]),
    ("evaluation.label", |operation| operation.evaluations = vec![Evaluation { label: mark(), ..Evaluation::default() }]),
    ("evaluation.explanation", |operation| operation.evaluations = vec![Evaluation { explanation: mark(), ..Evaluation::default() }]),
    ("training.reward", |operation| operation.training.reward = Some(NUMBER.into())),
    ("training.prompt_token_ids", |operation| operation.training.prompt_token_ids = Some(json!([NUMBER]))),
    ("training.completion_token_ids", |operation| operation.training.completion_token_ids = Some(json!([NUMBER]))),
    ("training.logprobs", |operation| operation.training.logprobs = Some(json!([NUMBER]))),
    ("training.ideal", |operation| operation.training.ideal = value()),
    ("training.step", |operation| operation.training.step = Some(NUMBER.into())),
    ("content_type.input", |operation| operation.content_type.input = mark()),
    ("content_type.output", |operation| operation.content_type.output = mark()),
    ("prompt.id", |operation| operation.prompt.id = mark()),
    ("prompt.version", |operation| operation.prompt.version = mark()),
    ("prompt.template", |operation| operation.prompt.template = mark()),
    ("prompt.variables", |operation| operation.prompt.variables = value()),
    ("resource_impact.amount", |operation| operation.resource_impact.get_or_insert_default().amount = Some(NUMBER.into())),
    ("resource_impact.unit", |operation| operation.resource_impact.get_or_insert_default().unit = mark()),
    ("resource_impact.breakdown", |operation| operation.resource_impact.get_or_insert_default().breakdown = value()),
    ("task.description", |operation| operation.task.description = mark()),
    ("task.goal", |operation| operation.task.goal = mark()),
    ("task.input", |operation| operation.task.input = value()),
    ("session_id", |operation| operation.session_id = mark()),
    ("user_id", |operation| operation.user_id = mark()),
    ("workflow", |operation| operation.workflow = mark()),
    ("graph_node", |operation| operation.graph_node = mark()),
    ("tags", |operation| operation.tags = vec![MARK.to_owned()]),
    ("metadata", |operation| { operation.metadata.insert("m".to_owned(), json!(MARK)); }),
    ("unmapped", |operation| { operation.unmapped.insert("odd.key".to_owned(), json!(MARK)); }),
];

/// Where an operation stands in a run.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// It is the run.
    Alone,
    /// Around an agent's conversation.
    Around,
    /// In an agent, after its model call.
    InAgent,
    /// In the execution of a tool.
    InTool,
    /// In a model call.
    InModelCall,
}

const PLACES: [Place; 5] = [Place::Alone, Place::Around, Place::InAgent, Place::InTool, Place::InModelCall];
const OWN: u8 = 9;

fn span(writer: &AttributeWriter, operation: &Operation, id: u8, parent: Option<u8>, (start, end): (u64, u64)) -> Span {
    let at = |second: u64| UnixNanos(1_772_442_000_000_000_000 + second * 1_000_000_000);
    let id_of = |number: u8| SpanId::from_bytes(&[number; 8]).unwrap();
    let mut span = Span::new(TraceId::from_bytes(&[7; 16]).unwrap(), id_of(id), operation.name.clone());
    span.parent = parent.map(id_of);
    (span.start, span.end) = (at(start), at(end));
    span.attributes = writer.write(operation);
    span
}

fn operation(kind: Kind, name: &str) -> Operation {
    Operation {
        kind,
        name: name.to_owned(),
        ..Operation::default()
    }
}

/// A run with this operation at this place.
fn spans(writer: &AttributeWriter, own: &Operation, place: Place) -> Vec<Span> {
    let mut agent = operation(Kind::Agent, "planner");
    agent.agent.name = Some("planner".to_owned());
    let mut model = operation(Kind::Llm, "chat");
    model.model.requested = Some("gpt-5".to_owned());
    model.input_messages = Some(vec![Message::text(Role::User, "a question".to_owned())]);
    let mut answer = Message::text(Role::Assistant, "words".to_owned());
    answer.tool_calls = vec![ToolCall {
        id: Some(ToolCallId::Recorded("call_1".to_owned())),
        name: "lookup".to_owned(),
        arguments: Some(json!({"x": 1})),
        arguments_text: None,
        answered: None,
    }];
    model.output_messages = Some(vec![answer]);
    let mut tool = operation(Kind::Tool, "lookup");
    let facts = tool.tool.get_or_insert_default();
    facts.name = Some("lookup".to_owned());
    facts.call_id = Some("call_1".to_owned());
    facts.arguments = Some(json!({"x": 1}));
    facts.result = Some(json!("found"));
    let above = matches!(place, Place::Around).then_some(OWN);
    let around = vec![
        span(writer, &agent, 1, above, (1, 20)),
        span(writer, &model, 2, Some(1), (2, 6)),
        span(writer, &tool, 3, Some(1), (7, 11)),
    ];
    let (parent, times) = match place {
        Place::Alone | Place::Around => (None, (0, 30)),
        Place::InAgent => (Some(1), (12, 14)),
        Place::InTool => (Some(3), (8, 9)),
        Place::InModelCall => (Some(2), (3, 4)),
    };
    let own = span(writer, own, OWN, parent, times);
    match place {
        Place::Alone => vec![own],
        _ => around.into_iter().chain([own]).collect(),
    }
}

#[test]
fn every_field_is_told_or_reported() {
    let writer = AttributeWriter::new(Vocabulary::OpenInference);
    let registry = Registry::built_in();
    let mut silent: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    let own = SpanId::from_bytes(&[OWN; 8]).unwrap();
    let mut unwritten: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut count = 0;
    let only = std::env::var("ONLY").ok();
    for kind in Kind::ALL.into_iter().filter(|kind| !matches!(kind, Kind::Plain | Kind::Detail)) {
        for place in PLACES {
            for (field, set) in FIELDS {
                let mut operation = operation(kind, "step");
                set(&mut operation);
                let runs = run::from_batch(spans(&writer, &operation, place), Vec::new(), &registry);
                let said = format!("{runs:?}");
                let written = format!("{:?}", writer.write(&operation));
                if !written.contains(MARK) && !written.contains(&NUMBER.to_string()) {
                    unwritten.entry(*field).or_default().push(kind.name());
                    continue;
                }
                if runs
                    .iter()
                    .flat_map(|run| &run.findings)
                    .any(|finding| finding.span_id == Some(own))
                {
                    continue;
                }
                if !said.contains(MARK) && !said.contains(&NUMBER.to_string()) {
                    silent
                        .entry(("reading", field))
                        .or_default()
                        .push(format!("{} {place:?}", kind.name()));
                    continue;
                }
                for format in FORMATS
                    .iter()
                    .filter(|format| only.as_ref().is_none_or(|only| only.split(',').any(|id| id == format.id)))
                {
                    count += 1;
                    let documents = format.assemble(&runs, &Options::default(), Layout::Compact);
                    let number = NUMBER.to_string();
                    let is_told = documents
                        .iter()
                        .any(|made| made.document.contains(MARK) || made.document.contains(&number));
                    let is_reported = documents.iter().flat_map(|made| &made.losses).any(|loss| match loss.span_id {
                        Some(id) => id == own && loss.reason != LossReason::Synthesized,
                        None => {
                            let other = match *field {
                                "content_type.input" => "input_type",
                                "content_type.output" => "format",
                                "unmapped" => "attributes",
                                "tool.call_id" => "tool_call_id",
                                _ => field,
                            };
                            loss.what.contains(other) || field.split('.').any(|part| loss.what.contains(part.trim_end_matches('s')))
                        }
                    });
                    if !documents.is_empty() && !is_told && !is_reported {
                        silent
                            .entry((format.id, field))
                            .or_default()
                            .push(format!("{} {place:?}", kind.name()));
                    }
                }
            }
        }
    }
    let lines: Vec<String> = silent
        .iter()
        .map(|((format, field), cases)| format!("{format} {field}: {} {}", cases.len(), cases.join(", ")))
        .collect();
    let all: usize = silent.values().map(Vec::len).sum();
    println!("unwritten {unwritten:?}");
    assert!(silent.is_empty(), "{all} of {count}:\n{}", lines.join("\n"));
}
