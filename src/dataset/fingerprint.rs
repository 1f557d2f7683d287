//! Fingerprints of runs, which are equal if messages and actions are.
//!
//! Included are, for each agent, its name, whether a tool called it, and its conversation in order: roles, text, readable thoughts,
//! images and files, calls with the tool's name and arguments, results, and failures of tools. Also the offered tools; work that no
//! model asked for, with input and output; and the question and the answer if no model call contains them. Arguments and results are
//! compared as JSON values, regardless of the order of keys and of whitespace. The order of agents does not matter, since parallel ones
//! start in any order.
//!
//! Not included are: ids of traces, spans, calls and sessions; times; tokens and cost; models and their parameters; opaque
//! reasoning; judgements, rewards and tags; the service and its resource.
//!
//! A run without recorded text, calls or results is not equal to any other.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::operation::{Kind, Message, Operation, Part};
use crate::run::{Run, ScopeId, Step};
use crate::transcript::calls;
use crate::transcript::calls::Results;
use crate::transcript::content;
use crate::transcript::{CallResult, Exchange, ExchangeCall, ExchangeKind, Transcript};

/// A hash of messages and actions.
pub type Fingerprint = [u8; 32];

/// The fingerprint of a run; `None` if its spans have neither text nor calls nor results.
#[must_use]
pub fn of(run: &Run) -> Option<Fingerprint> {
    let (transcript, results) = (Transcript::of(run), Results::of(run));
    let mut whole = FingerprintBuilder::default();
    let mut scopes: Vec<Fingerprint> = Vec::new();
    for (id, tool) in transcript.scopes_with_tool() {
        let mut builder = FingerprintBuilder::default();
        builder.text("agent", run.scopes.get(id).and_then(|scope| scope.agent.as_deref()));
        builder.text("called", tool.map(|_| "by a tool"));
        // A name alone does not show what happened.
        builder.has_content = false;
        scope(run, &transcript, &results, id, &mut builder);
        whole.has_content |= builder.has_content;
        scopes.push(builder.finish());
    }
    scopes.sort_unstable();
    scopes.iter().for_each(|scope| whole.bytes("scope", scope));
    for (name, said) in [("question", &run.question), ("answer", &run.answer)] {
        if let Some(said) = said.as_ref().filter(|said| !said.in_conversation) {
            whole.value(name, Some(&said.content));
        }
    }
    whole.has_content.then(|| whole.finish())
}

fn scope(run: &Run, transcript: &Transcript<'_>, results: &Results<'_>, id: ScopeId, builder: &mut FingerprintBuilder) {
    let exchanges = transcript.exchanges(id);
    for each in &exchanges.list {
        exchange(run, results, each, builder);
    }
    for step in exchanges.rest.iter().filter_map(|id| id.of(run)) {
        work(step, builder);
    }
    let had_content = builder.has_content;
    let operations = transcript
        .steps_of(id)
        .iter()
        .filter_map(|id| id.of(run))
        .map(|step| &step.operation);
    let mut tools: Vec<Fingerprint> = operations.flat_map(|operation| &operation.tool_definitions).map(tool).collect();
    tools.sort_unstable();
    tools.dedup();
    tools.iter().for_each(|tool| builder.bytes("tool", tool));
    builder.has_content = had_content;
}

fn tool(tool: &crate::operation::ToolDefinition) -> Fingerprint {
    let mut builder = FingerprintBuilder::default();
    builder.text("name", Some(&tool.name));
    builder.text("description", tool.description.as_deref());
    builder.value("parameters", tool.parameters.as_ref());
    builder.finish()
}

fn exchange(run: &Run, results: &Results<'_>, exchange: &Exchange<'_>, builder: &mut FingerprintBuilder) {
    match exchange.kind {
        ExchangeKind::Message(said) => message("message", said, builder),
        ExchangeKind::Turn(said) => message("turn", said, builder),
        ExchangeKind::SilentTurn => builder.tag("silent turn"),
        ExchangeKind::Unasked => builder.tag("unasked"),
        ExchangeKind::UserWords | ExchangeKind::AgentWords => {
            builder.tag(if exchange.kind == ExchangeKind::UserWords {
                "user"
            } else {
                "agent"
            });
            let step = exchange.step.and_then(|step| step.of(run));
            step.into_iter().for_each(|step| in_and_out(&step.operation, builder));
        }
    }
    for asked in &exchange.calls {
        call(run, results, asked, builder);
    }
}

fn message(tag: &'static str, message: &Message, builder: &mut FingerprintBuilder) {
    builder.tag(tag);
    builder.tag(message.role.name());
    builder.text("name", message.name.as_deref());
    builder.text(
        "words",
        Some(&content::content(message))
            .filter(|words| !words.trim().is_empty())
            .map(|words| &**words),
    );
    builder.text("thoughts", content::reasoning(message).as_deref());
    for part in &message.parts {
        match part {
            Part::Media(media) => {
                builder.text("media", Some(&media.modality));
                builder.text("type", media.mime_type.as_deref());
                builder.text("place", media.uri.as_deref());
                builder.text("content", media.base64.as_deref());
            }
            Part::Other(value) => builder.value("part", Some(value)),
            Part::Text(_) | Part::Reasoning { .. } => {}
        }
    }
}

fn call(run: &Run, results: &Results<'_>, asked: &ExchangeCall<'_>, builder: &mut FingerprintBuilder) {
    let step = asked.tool.and_then(|tool| tool.of(run));
    let name = asked.call.map(|call| call.name.as_str());
    builder.text(
        "call",
        Some(name.or_else(|| step.map(|step| calls::tool_name(run, step))).unwrap_or_default()),
    );
    let arguments = asked.call.and_then(|call| call.arguments.as_ref());
    builder.value("arguments", arguments.or_else(|| calls::arguments(run, step?)));
    for given in &asked.results {
        result(run, results, *given, builder);
    }
}

fn result(run: &Run, results: &Results<'_>, given: CallResult<'_>, builder: &mut FingerprintBuilder) {
    let step = given.tool.and_then(|tool| tool.of(run));
    let reported = given
        .entry
        .map(|entry| entry.given.as_ref().unwrap_or(&entry.result))
        .filter(|result| !result.is_null());
    builder.tag("result");
    builder.value("value", reported.or_else(|| results.get(step?)));
    let failure = given.entry.and_then(|entry| entry.failure.as_ref());
    let failure = failure.or_else(|| step?.operation.failure.as_ref());
    builder.text("failure", failure.map(calls::error_text));
}

/// Work outside the conversations.
fn work(step: &Step, builder: &mut FingerprintBuilder) {
    let operation = &step.operation;
    match operation.kind {
        // Operations below these repeat their text; judgements are not the agent's work.
        Kind::Agent | Kind::AgentCreate | Kind::Chain | Kind::Evaluator | Kind::Prompt | Kind::Unknown => return,
        kind => builder.tag(kind.name()),
    }
    in_and_out(operation, builder);
    if let Some(tool) = &operation.tool {
        builder.text("tool", tool.name.as_deref());
        builder.value("arguments", tool.arguments.as_ref());
        builder.value("result", tool.result.as_ref());
    }
    if let Some(search) = &operation.search {
        builder.value("query", search.query.as_ref());
        for document in search.documents.iter().flatten() {
            builder.text("document", document.content.as_deref());
        }
    }
}

fn in_and_out(operation: &Operation, builder: &mut FingerprintBuilder) {
    builder.value("input", operation.input.get());
    builder.value("output", operation.output.get());
}

/// Hashes facts, each with its length, so that different lists of facts never have the same bytes.
#[derive(Default)]
struct FingerprintBuilder {
    hash: Sha256,
    /// Whether any text, calls or values were added.
    has_content: bool,
}

impl FingerprintBuilder {
    fn tag(&mut self, tag: &str) {
        self.part(b't', tag.as_bytes());
    }

    fn bytes(&mut self, tag: &str, bytes: &[u8]) {
        self.tag(tag);
        self.part(b'b', bytes);
    }

    fn text(&mut self, tag: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.has_content = true;
            self.tag(tag);
            self.part(b's', text.as_bytes());
        }
    }

    fn value(&mut self, tag: &str, value: Option<&Value>) {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            self.has_content = true;
            self.tag(tag);
            self.json(value);
        }
    }

    fn json(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.part(b's', text.as_bytes()),
            Value::Array(list) => {
                self.part(b'[', &(list.len() as u64).to_be_bytes());
                list.iter().for_each(|item| self.json(item));
            }
            Value::Object(map) => {
                self.part(b'{', &(map.len() as u64).to_be_bytes());
                let mut members: Vec<_> = map.iter().collect();
                members.sort_unstable_by_key(|(key, _)| *key);
                for (key, item) in members {
                    self.part(b'k', key.as_bytes());
                    self.json(item);
                }
            }
            other => self.part(b'v', other.to_string().as_bytes()),
        }
    }

    fn part(&mut self, kind: u8, bytes: &[u8]) {
        self.hash.update([kind]);
        self.hash.update((bytes.len() as u64).to_be_bytes());
        self.hash.update(bytes);
    }

    fn finish(self) -> Fingerprint {
        self.hash.finalize().into()
    }
}
