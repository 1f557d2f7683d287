//! Nothing that an operation says is dropped silently: each field, on an operation of each kind, in each place of a run, is in the
//! document of each format, or a loss reports it. `SPANBRIDGE_FULL=1` tries all of it, the short form half.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod fields;

use crate::support;

use std::collections::BTreeMap;

use fields::{MARK, NUMBER, fields};
use serde_json::json;
use spanbridge::dialect::write::{AttributeWriter, Vocabulary, status_and_exception};
use spanbridge::documents;
use spanbridge::formats::{self, AnyFormat, FORMATS, Layout, Loss, LossReason, Options};
use spanbridge::operation::{Kind, Message, Operation, Role, ToolCall, ToolCallId};
use spanbridge::run::Run;
use spanbridge::span::{Span, SpanId, TraceId, UnixNanos};

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

fn id_of(number: u8) -> SpanId {
    SpanId::from_bytes(&[number; 8]).unwrap()
}

fn span(writer: &AttributeWriter, operation: &Operation, id: u8, parent: Option<u8>, (start, end): (u64, u64)) -> Span {
    let at = |second: u64| UnixNanos(1_772_442_000_000_000_000 + second * 1_000_000_000);
    let trace = TraceId::from_bytes(&[7; 16]).unwrap();
    let mut span = Span::new(trace, id_of(id), operation.name.clone());
    span.parent = parent.map(id_of);
    (span.start, span.end) = (at(start), at(end));
    span.attributes = writer.write(operation);
    if let Some(failure) = &operation.failure {
        let (status, exception) = status_and_exception(failure, span.end);
        span.status = status;
        span.events.extend(exception);
    }
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
    model.input_messages = Some(vec![Message::text(Role::User, "a question".to_owned())].into());
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

fn is_marked(text: &str) -> bool {
    text.contains(MARK) || text.contains(&NUMBER.to_string())
}

/// Whether a loss reports the field: one of its operation, or one of the document or of several operations that names the fact.
fn reports(loss: &Loss, field: &str) -> bool {
    let name = match field {
        "content_type.input" => "input_type",
        "content_type.output" => "format",
        "unmapped" => "attributes",
        "format_extras" => "spanbridge",
        name if name.starts_with("failure") => "error",
        "tool.call_id" => "tool_call_id",
        _ => field,
    };
    match loss.span_id {
        Some(id) if id == id_of(OWN) => loss.reason != LossReason::Synthesized,
        Some(_) if loss.others == 0 => false,
        _ => loss.what.contains(name) || name.split('.').any(|part| loss.what.contains(part.trim_end_matches('s'))),
    }
}

/// Whether a format drops the field without a word. A run of which it can say nothing has no document, which `convert` reports.
fn is_silent(format: &AnyFormat, runs: &[Run], field: &str) -> bool {
    let documents = format.assemble(runs, &Options::default(), Layout::Compact);
    let is_told = documents.iter().any(|made| is_marked(&made.document));
    let mut losses = documents.iter().flat_map(|made| &made.losses);
    !documents.is_empty() && !is_told && !losses.any(|loss| reports(loss, field))
}

/// What drops a field, and which field, by the cases in which it does.
type Silent = BTreeMap<(&'static str, &'static str), Vec<String>>;

/// Puts each field on an operation of this kind, in each place. How many cases there were.
fn tried(kind: Kind, silent: &mut Silent) -> usize {
    let writer = AttributeWriter::new(Vocabulary::OpenInference);
    let mut count = 0;
    let fields = fields();
    let all = fields.iter().flat_map(|field| PLACES.iter().map(move |place| (field, place)));
    // The short form takes every other case: as there are five places, it puts each field into each of them, for half of the kinds.
    let (first, step) = if crate::long_form::is_long_form() {
        (0, 1)
    } else {
        (kind as usize % 2, 2)
    };
    for ((field, set), place) in all.skip(first).step_by(step) {
        let mut operation = operation(kind, "step");
        set(&mut operation);
        let spans = spans(&writer, &operation, *place);
        if !is_marked(&format!("{spans:?}")) {
            // No attribute says this of such an operation.
            continue;
        }
        let runs = documents::Vocabulary::built_in().runs(spans, Vec::new());
        let mut findings = runs.iter().flat_map(|run| &run.findings);
        if findings.any(|finding| finding.span_id == Some(id_of(OWN))) {
            continue;
        }
        let case = || format!("{} {place:?}", kind.name());
        if !is_marked(&format!("{runs:?}")) {
            silent.entry(("reading", *field)).or_default().push(case());
            continue;
        }
        for format in formats::all() {
            count += 1;
            if is_silent(format, &runs, field) {
                silent.entry((format.id, *field)).or_default().push(case());
            }
        }
    }
    count
}

#[test]
fn every_field_is_told_or_reported() {
    // A plain span is no operation. A detail is told as the operation around it; one without is a finding.
    let kinds: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| !matches!(kind, Kind::Plain | Kind::Detail))
        .collect();
    let found = support::on_all_cores(&kinds, |kind| {
        let mut silent = Silent::new();
        let count = tried(*kind, &mut silent);
        (count, silent)
    });
    let count: usize = found.iter().map(|(count, _)| count).sum();
    assert!(
        count > if crate::long_form::is_long_form() { 90_000 } else { 45_000 },
        "only {count} cases"
    );
    let lines: Vec<String> = found
        .iter()
        .flat_map(|(_, silent)| silent)
        .map(|((drops, field), cases)| format!("{drops} {field}: {} {}", cases.len(), cases.join(", ")))
        .collect();
    assert!(
        lines.is_empty(),
        "of {count} cases these are dropped silently:\n{}",
        lines.join("\n")
    );
}

/// Whether a field of an operation has the mark: what no field has is in one of the maps.
fn has_marked_field(runs: &[Run]) -> bool {
    runs.iter().flat_map(|run| &run.steps).any(|step| {
        let mut operation = step.operation.clone();
        operation.metadata.clear();
        operation.unmapped.clear();
        operation.format_extras.clear();
        is_marked(&format!("{operation:?}"))
    })
}

/// What does not come back as a field yet, and as what it does.
const OTHERWISE: [(&str, &str, &str); 6] = [
    (
        "openreward",
        "agent.name",
        "an agent beside the messages of a run is read as the run's own, whose name the run has",
    ),
    (
        "invariant",
        "interrupt.prompt",
        "the call of a tool that waits has metadata of its own, which are the model call's",
    ),
    ("invariant", "interrupt.response", "the same"),
    (
        "deepeval",
        "model.requested",
        "a case lists the models of all calls: where there are two, nothing tells which call had which",
    ),
    ("deepeval", "model.response", "the same"),
    ("invariant", "interrupt.wait_ms", "the same"),
];

/// A field that a document has comes back as a field, whatever format the document has.
#[test]
fn what_a_document_has_of_a_field_is_read_as_this_field() {
    const MAPS: [&str; 3] = ["metadata", "format_extras", "unmapped"];
    let writer = AttributeWriter::new(Vocabulary::OpenInference);
    let (mut count, mut lost) = (0, Silent::new());
    let kinds = [Kind::Llm, Kind::Tool, Kind::Agent, Kind::Chain, Kind::Retrieval];
    for kind in kinds
        .into_iter()
        .take(if crate::long_form::is_long_form() { kinds.len() } else { 2 })
    {
        for (field, set) in fields().iter().filter(|(field, _)| !MAPS.contains(field)) {
            let mut operation = operation(kind, "step");
            set(&mut operation);
            let runs = documents::Vocabulary::built_in().runs(spans(&writer, &operation, Place::InAgent), Vec::new());
            if !has_marked_field(&runs) {
                continue;
            }
            for format in FORMATS {
                let documents = format.assemble(&runs, &Options::default(), Layout::Compact);
                for made in documents.iter().filter(|made| is_marked(&made.document)) {
                    let Ok(read) = formats::disassemble(Some(format), &made.document) else {
                        continue;
                    };
                    count += 1;
                    let again = documents::Vocabulary::built_in().runs(read.spans, Vec::new());
                    let is_known = |(of, name, _): &(&str, &str, &str)| (*of, *name) == (format.id, *field);
                    if !has_marked_field(&again) && !OTHERWISE.iter().any(is_known) {
                        lost.entry((format.id, *field)).or_default().push(kind.name().to_owned());
                    }
                }
            }
        }
    }
    assert!(
        count > if crate::long_form::is_long_form() { 2_000 } else { 800 },
        "only {count} cases"
    );
    let lines: Vec<String> = lost
        .iter()
        .map(|((format, field), kinds)| format!("{format} {field}: {}", kinds.join(", ")))
        .collect();
    assert!(
        lines.is_empty(),
        "of {count} cases these come back as something else:\n{}",
        lines.join("\n")
    );
}
