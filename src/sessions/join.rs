//! Joins a session with the exported spans of the same session, so that each call occurs once, with the data of both.
//!
//! The session has texts, arguments, results and the call that asked for each tool; the exporter has exact times, cost and calls that
//! are not in session files. They are joined by ids of responses, requests and tool calls, else by the token counts of a call, which are
//! equal on both sides.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::scope::{is_of_session, scope};
use crate::dialect::write::{AttributeWriter, Vocabulary};
use crate::dialect::{Registry, read};
use crate::events::{PREFIX, ids};
use crate::operation::{Kind, Operation, Part};
use crate::run::{Observed, Run};
use crate::span::{Scope, Span, SpanId, TIMES_UNKNOWN, TraceId, UnixNanos};

/// The spans of sessions, completed by the exporter's.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    /// The spans of the sessions.
    pub(crate) spans: Vec<Span>,
    /// The exported traces that they replace.
    pub(crate) traces: HashSet<TraceId>,
}

/// One operation as exported.
struct Exported<'r> {
    trace: TraceId,
    span: Option<SpanId>,
    operation: &'r Operation,
    start: UnixNanos,
    end: Option<UnixNanos>,
}

/// The exported operations of one session.
#[derive(Default)]
struct Pool<'r> {
    calls: Vec<Exported<'r>>,
    taken: HashSet<usize>,
    by_response: HashMap<&'r str, usize>,
    /// Calls by token counts, ordered by time.
    by_tokens: HashMap<Tokens, Vec<usize>>,
    tools: HashMap<&'r str, Exported<'r>>,
    traces: HashSet<TraceId>,
}

/// The root of a turn.
struct Root {
    start: UnixNanos,
    trace: TraceId,
    id: SpanId,
    scope: Arc<Scope>,
}

/// The end of a session's file.
#[derive(Default)]
struct Last {
    end: UnixNanos,
    begun: UnixNanos,
    /// Whether the last turn has an answer or failed.
    is_complete: bool,
}

impl Last {
    fn note(&mut self, span: &Span, operation: &Operation) {
        self.end = self.end.max(span.end).max(span.start);
        if span.parent.is_none() && span.start >= self.begun {
            self.begun = span.start;
            self.is_complete = operation.output.get().is_some() || operation.failure.is_some();
        }
    }
}

/// Input and output tokens.
type Tokens = (Option<u64>, Option<u64>);

/// Joins the spans of sessions with exported runs.
pub(crate) fn join(spans: Vec<Span>, runs: &[Run], registry: &Registry) -> Joined {
    let writer = AttributeWriter::new(Vocabulary::GenAi);
    let mut session_of: HashMap<TraceId, String> = HashMap::new();
    let mut last: HashMap<String, Last> = HashMap::new();
    // Model calls that the client makes outside all conversations.
    let mut auxiliary: HashSet<String> = HashSet::new();
    let mut read_spans: Vec<(Span, crate::dialect::Read)> = Vec::with_capacity(spans.len());
    for span in spans {
        let operation = read(registry, &span, &[]);
        if let Some(session) = &operation.operation.session_id {
            session_of.entry(span.trace_id).or_insert_with(|| session.clone());
            last.entry(session.clone()).or_default().note(&span, &operation.operation);
        }
        let calls = operation.operation.unmapped.get(&format!("{PREFIX}auxiliary_calls"));
        let calls = calls.and_then(|calls| calls.as_array()).into_iter().flatten();
        auxiliary.extend(calls.filter_map(|call| Some(call.get("response_id")?.as_str()?.to_owned())));
        read_spans.push((span, operation));
    }
    let mut out = Joined::default();
    let mut pools: HashMap<String, Pool<'_>> = HashMap::new();
    for run in runs {
        let session = session_of
            .get(&run.trace_id)
            .or(run.session_id.as_ref())
            .filter(|session| last.contains_key(*session));
        let Some(session) = session else { continue };
        pools.entry(session.clone()).or_default().add(run);
    }
    for pool in pools.values_mut() {
        pool.order();
    }
    let mut roots: HashMap<String, Vec<Root>> = HashMap::new();
    read_spans.sort_by_key(|(span, _)| span.start);
    for (mut span, mut told) in read_spans {
        let operation = &mut told.operation;
        let session = operation.session_id.clone().unwrap_or_default();
        if span.parent.is_none() {
            roots.entry(session.clone()).or_default().push(Root {
                start: span.start,
                trace: span.trace_id,
                id: span.span_id,
                scope: Arc::clone(&span.scope),
            });
        }
        // A compaction that names the response with its summary is a model call on the exporter's side.
        let is_summary = operation.kind == Kind::Chain && operation.response_id.is_some();
        if let Some(pool) = pools.get_mut(&session)
            && (matches!(operation.kind, Kind::Llm | Kind::Tool) || is_summary)
        {
            match pool.of(operation) {
                Some(exported) => complete(&mut span, operation, exported),
                None => {
                    operation.unmapped.insert(format!("{PREFIX}only_in"), "session".into());
                }
            }
            span.attributes = writer.write(operation);
            if let Some(continues) = told.beside.continues {
                continues.write(&mut span.attributes);
            }
        }
        out.spans.push(span);
    }
    for (session, pool) in &pools {
        let (Some(roots), Some(last)) = (roots.get(session), last.get(session)) else {
            continue;
        };
        let is_beside = |exported: &Exported<'_>| {
            let operation = exported.operation;
            let says = operation.output_messages.iter().flatten().any(|message| !message.is_blank());
            let is_known = operation.response_id.as_ref().is_some_and(|id| auxiliary.contains(id));
            exported.start <= last.end || !says || is_known
        };
        // A turn that is not in the file yet stays a separate run.
        let mut later: HashMap<TraceId, bool> = HashMap::new();
        for (index, exported) in pool.calls.iter().enumerate() {
            let is_later = !pool.taken.contains(&index) && !is_beside(exported);
            let whole = later.entry(exported.trace).or_insert(true);
            *whole &= is_later;
        }
        for trace in &pool.traces {
            if !later.get(trace).copied().unwrap_or_default() {
                out.traces.insert(*trace);
            }
        }
        for (index, exported) in pool.calls.iter().enumerate() {
            if !pool.taken.contains(&index) && out.traces.contains(&exported.trace) {
                let is_call = !last.is_complete && !is_beside(exported);
                out.spans.extend(alone(exported, roots, is_call, &writer));
            }
        }
    }
    out
}

impl<'r> Pool<'r> {
    fn add(&mut self, run: &'r Run) {
        self.traces.insert(run.trace_id);
        for step in run.steps.iter().filter(|step| step.observed == Observed::Span) {
            let exported = Exported {
                trace: run.trace_id,
                span: step.span_id,
                operation: &step.operation,
                start: step.started_at,
                end: step.ended_at,
            };
            match step.operation.kind {
                Kind::Llm => self.calls.push(exported),
                Kind::Tool => {
                    if let Some(id) = step.operation.tool.as_ref().and_then(|tool| tool.call_id.as_deref()) {
                        self.tools.entry(id).or_insert(exported);
                    }
                }
                _ => {}
            }
        }
    }

    fn order(&mut self) {
        self.calls.sort_by_key(|call| (call.start, call.span));
        for (index, call) in self.calls.iter().enumerate() {
            if let Some(id) = &call.operation.response_id {
                self.by_response.entry(id).or_insert(index);
            }
            let usage = &call.operation.usage;
            for tokens in [(usage.input, usage.output), (usage.input, None)] {
                self.by_tokens.entry(tokens).or_default().push(index);
            }
        }
        // Reversed, so that the first call is popped first.
        self.by_tokens.values_mut().for_each(|list| list.reverse());
    }

    /// Takes the exported operation for an operation of the session.
    fn of(&mut self, operation: &Operation) -> Option<&Exported<'r>> {
        if operation.kind == Kind::Tool {
            let id = operation.tool.as_ref()?.call_id.as_deref()?;
            return self.tools.get(id);
        }
        let request = operation.unmapped.get(&format!("{PREFIX}request_id")).and_then(|id| id.as_str());
        let ids = [operation.response_id.as_deref(), request];
        let known = ids.into_iter().flatten().find_map(|id| self.by_response.get(id).copied());
        let index = known.filter(|index| !self.taken.contains(index)).or_else(|| {
            let usage = Some(&operation.usage).filter(|_| operation.kind == Kind::Llm)?;
            usage.input?;
            // Some files have a stale count of output tokens.
            [(usage.input, usage.output), (usage.input, None)].into_iter().find_map(|tokens| {
                let list = self.by_tokens.get_mut(&tokens)?;
                while let Some(index) = list.pop() {
                    if !self.taken.contains(&index) {
                        return Some(index);
                    }
                }
                None
            })
        })?;
        self.taken.insert(index);
        self.calls.get(index)
    }
}

/// Adds the data that only the exporter has.
fn complete(span: &mut Span, operation: &mut Operation, exported: &Exported<'_>) {
    span.start = exported.start;
    span.end = exported.end.unwrap_or(span.end).max(span.start);
    operation.unmapped.shift_remove(TIMES_UNKNOWN);
    let from = exported.operation;
    let (usage, other) = (&mut operation.usage, &from.usage);
    usage.input = usage.input.or(other.input);
    usage.output = usage.output.max(other.output);
    usage.cache_read = usage.cache_read.or(other.cache_read);
    usage.cache_write = usage.cache_write.or(other.cache_write);
    usage.reasoning = usage.reasoning.max(other.reasoning);
    operation.cost.total = from.cost.total.or(operation.cost.total);
    operation.cost.input = from.cost.input.or(operation.cost.input);
    operation.cost.output = from.cost.output.or(operation.cost.output);
    operation.time_to_first_token = from.time_to_first_token.or(operation.time_to_first_token);
    operation.response_id = operation.response_id.take().or_else(|| from.response_id.clone());
    operation.finish_reason = operation.finish_reason.take().or_else(|| from.finish_reason.clone());
    for (key, value) in &from.parameters {
        operation.parameters.entry(key.clone()).or_insert_with(|| value.clone());
    }
    if operation.kind == Kind::Llm {
        complete_output(operation, from);
    }
    if let (Some(tool), Some(other)) = (operation.tool.as_mut(), from.tool.as_ref()) {
        tool.arguments = tool.arguments.take().or_else(|| other.arguments.clone());
        tool.result = tool.result.take().or_else(|| other.result.clone());
    }
    operation
        .unmapped
        .insert(format!("{PREFIX}exported_trace_id"), exported.trace.to_string().into());
    if let Some(id) = exported.span {
        operation
            .unmapped
            .insert(format!("{PREFIX}exported_span_id"), id.to_string().into());
    }
}

/// Adds the answer, or its thoughts, which log records lack.
fn complete_output(operation: &mut Operation, from: &Operation) {
    let is_thought = |part: &&Part| matches!(part, Part::Reasoning { .. });
    let Some(other) = from.output_messages.as_ref().and_then(|list| list.first()) else {
        return;
    };
    match operation.output_messages.as_mut().and_then(|list| list.first_mut()) {
        None => operation.output_messages.clone_from(&from.output_messages),
        Some(own) if !own.parts.iter().any(|part| is_thought(&part)) => {
            let thoughts: Vec<Part> = other.parts.iter().filter(is_thought).cloned().collect();
            own.parts.splice(0..0, thoughts);
        }
        Some(_) => {}
    }
}

/// The name of a span that marks a trace as replaced.
const MARK: &str = "replaced by other spans of the session";

/// Whether a span marks a trace as replaced.
pub(crate) fn is_mark(span: &Span) -> bool {
    span.name == MARK && is_of_session(span)
}

/// A span that marks a trace as replaced by other spans of the session, so that it yields no run.
pub(crate) fn replaced(trace: TraceId, session: &str, at: UnixNanos) -> Span {
    let id = ids::span(trace, "replaced", session);
    let mut span = Span::new(trace, id, MARK);
    span.scope = scope();
    (span.start, span.end) = (at, at);
    span.attributes = AttributeWriter::new(Vocabulary::GenAi).write(&Operation {
        session_id: Some(session.to_owned()),
        ..Operation::default()
    });
    span
}

/// A call that only the exporter has: a compaction, a title, an attempt; or (`is_call`) an ordinary one that is not in the file
/// yet.
fn alone(exported: &Exported<'_>, roots: &[Root], is_call: bool, writer: &AttributeWriter) -> Option<Span> {
    let before = roots.partition_point(|root| root.start <= exported.start);
    let root = roots.get(before.saturating_sub(1))?;
    let own = format!("{} {}", exported.trace, exported.span.map(|id| id.to_string()).unwrap_or_default());
    let mut operation = exported.operation.clone();
    operation.unmapped.insert(format!("{PREFIX}only_in"), "otlp".into());
    if !is_call {
        operation.kind = Kind::Chain;
        operation.input_messages = None;
        operation.output_messages = None;
    }
    let mut span = Span::new(root.trace, ids::span(root.trace, "exported", &own), operation.name.clone());
    span.parent = Some(root.id);
    span.scope = Arc::clone(&root.scope);
    span.start = exported.start;
    span.end = exported.end.unwrap_or(exported.start);
    span.attributes = writer.write(&operation);
    if let Some(failure) = &operation.failure {
        let (status, exception) = crate::dialect::write::status_and_exception(failure, span.end);
        span.status = status;
        span.events.extend(exception);
    }
    Some(span)
}
