//! Turns spans and log records into runs, one per trace, in named stages.

use super::log_records::{self, ByTrace};
use super::model::{Annotation, Run};
use super::scopes::Scopes;
use super::steps::DraftSteps;
use super::summary::{self, WholeRun};
use super::{
    agent_names, agent_questions, agent_results, annotations, asked_calls, bare_definitions, bare_errors, broken_answers, calls_of_agents,
    continuations, conversation, conversation_entries, duplicates, echoed_errors, failure, input_limit, interrupts, joined_interrupts,
    joined_prompts, leaked_answers, linked_evaluations, nameless_calls, order, question, readings, recorded_words, request_models, root,
    run_scopes, running_sums, same_calls, steps, tool_calls,
};
use crate::dialect::Registry;
use crate::hash::HashSet;
use crate::span::{ANNOTATION_SCOPE, LOGS_SCOPE, LogRecord, SESSION_SCOPE, Span, SpanId, TraceId};
use crate::trace::{Finding, FindingKind, Trace};

/// The runs in these spans and log records, one per trace, ordered by start.
///
/// The order, batching and repetition of spans do not matter, except that spans with identical times keep the order of arrival.
#[must_use]
pub(crate) fn from_batch(spans: Vec<Span>, logs: Vec<LogRecord>, registry: &Registry) -> Vec<Run> {
    let mut traces = ByTrace::new();
    for span in spans {
        traces.entry(span.trace_id).or_default().0.push(span);
    }
    let homeless = log_records::share_out(logs, &mut traces, registry);
    let is_of_session = |span: &Span| span.scope.name == SESSION_SCOPE;
    for (spans, logs) in traces.values_mut().filter(|(spans, _)| spans.iter().any(is_of_session)) {
        spans.retain(|span| is_of_session(span) || span.scope.name == ANNOTATION_SCOPE);
        logs.clear();
    }
    // The log records these spans were built from.
    let is_of_logs = |span: &Span| span.scope.name == LOGS_SCOPE;
    for (spans, logs) in traces.values_mut().filter(|(spans, _)| spans.iter().any(is_of_logs)) {
        let exported: HashSet<SpanId> = spans.iter().filter(|span| !is_of_logs(span)).map(|span| span.span_id).collect();
        let before = spans.len();
        spans.retain(|span| !is_of_logs(span) || !exported.contains(&span.span_id));
        // If the exported spans arrived after all, the records belong to those.
        if spans.len() == before {
            logs.clear();
        }
    }
    let links: Vec<linked_evaluations::Judged> = traces.values().flat_map(|(spans, _)| linked_evaluations::links(spans)).collect();
    let mut runs: Vec<Run> = traces
        .into_iter()
        .map(|(id, (mut spans, logs))| {
            let annotations = annotations::settle(&mut spans, registry);
            of_trace(id, Trace::from_spans(spans), logs, registry, annotations)
        })
        .collect();
    runs.sort_by_key(|run| (run.started_at, run.trace_id));
    if let (Some(run), false) = (runs.first_mut(), homeless.is_empty()) {
        let detail = format!("{} log records belong to no trace that is here", homeless.len());
        run.findings.push(Finding::new(None, FindingKind::StrayLogRecord, detail));
    }
    same_calls::mark(&mut runs);
    joined_interrupts::join(&mut runs);
    linked_evaluations::give(&mut runs, &links);
    runs
}

/// The stages in order. Each one's file documents its input, its output and why it runs at this point. A stage consumes what it
/// replaces: readings become nodes, nodes become steps, conversations become entries.
fn of_trace(trace_id: TraceId, mut trace: Trace, records: Vec<LogRecord>, registry: &Registry, annotations: Vec<Annotation>) -> Run {
    let mut readings = readings::read(&mut trace, records, registry);
    continuations::resolve(&mut readings);
    agent_questions::give_to_calls(&mut readings);
    let mut nodes = duplicates::merge_all(readings);
    nameless_calls::name(&mut nodes);
    calls_of_agents::add(&mut nodes);
    recorded_words::give_to_calls(&mut nodes);
    leaked_answers::take_from_inputs(&mut nodes);
    joined_prompts::split(&mut nodes);
    running_sums::subtract(&mut nodes);
    request_models::give_to_calls(&mut nodes);
    agent_results::give_to_tools(&mut nodes);
    asked_calls::give_to_calls(&mut nodes);
    agent_names::take_constants_away(&mut nodes);
    echoed_errors::take_from_answers(&mut nodes);
    broken_answers::take_from_calls(&mut nodes);
    let scopes = Scopes::of(&nodes);
    let mut conversations = conversation::reconstruct(&mut nodes, &scopes);
    input_limit::limit(&mut nodes);
    let unasked = tool_calls::join(&mut nodes, &scopes, &mut conversations);
    // A span that only marks a trace does not become a step.
    let session = nodes.list.iter().find_map(|node| node.operation.session_id.clone());
    let mut steps = steps::make(nodes, &scopes, &conversations);
    interrupts::add(&mut steps.list);
    echoed_errors::clear(&mut steps.list);
    bare_errors::fill(&mut steps.list);
    bare_definitions::fill(&mut steps.list);
    let steps = order::sort(steps);
    let entries = conversation_entries::make(conversations, unasked, &steps);
    let mut scopes = run_scopes::make(scopes, entries, &steps);
    let DraftSteps {
        list: mut steps, findings, ..
    } = steps;
    question::set_aside(&mut scopes);
    let root = root::find(&steps, &scopes);
    let failed = failure::settle(&mut steps, &scopes, root);
    let question = question::question(&steps, &scopes, root);
    let (answer, failure) = question::ending(&steps, &mut scopes, root, failed);
    let whole = WholeRun {
        root,
        failure,
        question,
        answer,
        annotations,
        session: session.filter(|_| steps.is_empty() && trace.spans.iter().any(|span| span.scope.name == SESSION_SCOPE)),
    };
    summary::run((trace_id, &trace), steps, scopes, whole, findings)
}
