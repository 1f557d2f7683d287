//! Spans and log records to runs, one a trace.

use std::cell::LazyCell;

use serde_json::Map;

use super::logs::{self, ByTrace};
use super::node::Nodes;
use super::scope::Scopes;
use super::{AgentInfo, Run, RunFailure, Scope, Step, conversation, duplicate, entries, interrupts, order, said, steps, stitch, usage};
use crate::dialect::{Framework, Registry};
use crate::hash::{HashMap, HashSet};
use crate::operation::{Agent, Kind};
use crate::span::{LogRecord, Span, SpanId, TraceId, UnixNanos};
use crate::trace::{Finding, FindingKind, Trace};

/// The runs in these spans and log records, one a trace, by first start.
///
/// Any order, batching or repetition of the same spans gives the same runs.
#[must_use]
pub fn from_batch(spans: Vec<Span>, logs: Vec<LogRecord>, registry: &Registry) -> Vec<Run> {
    let mut traces = ByTrace::new();
    for span in spans {
        traces.entry(span.trace_id).or_default().0.push(span);
    }
    let homeless = logs::share_out(logs, &mut traces, registry);
    let mut runs: Vec<Run> = traces
        .into_iter()
        .map(|(id, (spans, logs))| of_trace(id, Trace::from_spans(spans), logs, registry))
        .collect();
    runs.sort_by_key(|run| (run.started_at, run.trace_id));
    if let (Some(run), false) = (runs.first_mut(), homeless.is_empty()) {
        let detail = format!("{} log records belong to no trace that is here", homeless.len());
        run.findings.push(Finding::new(None, FindingKind::StrayLogRecord, detail));
    }
    same_calls(&mut runs);
    runs
}

fn of_trace(trace_id: TraceId, mut trace: Trace, mut logs: Vec<LogRecord>, registry: &Registry) -> Run {
    logs::settle(&mut logs);
    let mut findings = trace.findings.clone();
    let (of_span, stray) = logs::of_spans(&logs, &trace, registry);
    findings.extend(stray);
    let mut nodes = Nodes::read(registry, &mut trace, &of_span);
    duplicate::run(&mut nodes);
    usage::mend(&mut nodes);
    stitch::results_of_children(&mut nodes);
    let scopes = Scopes::of(&nodes);
    let mut conversations = conversation::all(&mut nodes, &scopes);
    let loose = stitch::tools(&mut nodes, &scopes, &mut conversations);
    let mut made = steps::make(&mut nodes, &scopes, &conversations);
    interrupts::add(&mut made);
    super::failure::unsay_echoes(&mut made.list);
    let spoken = entries::of(&nodes, &scopes, &mut conversations, &loose, &made);
    for conversation in &conversations {
        for saying in conversation.sayings.iter().filter(|saying| saying.branch) {
            let span = saying.node.and_then(|node| nodes.get(node)).map(|node| node.span_id);
            findings.push(Finding::new(
                span,
                FindingKind::HistoryBranch,
                "the history before this message was edited or cut",
            ));
        }
        for (answer, node) in &conversation.stray {
            let span = nodes.get(*node).map(|node| node.span_id);
            findings.push(Finding::new(
                span,
                FindingKind::ResultWithoutCall,
                format!(
                    "a result for call {:?}, which nobody made",
                    answer.tool_call_id.as_deref().unwrap_or("")
                ),
            ));
        }
    }
    findings.append(&mut nodes.findings);

    let sequence = order::of(&made.list);
    let (called_by, of_node) = (made.called_by, made.of_node);
    let (mut list, place) = order::apply(made.list, &sequence);
    let moved = |index: Option<usize>| index.and_then(|old| place.get(old).copied());
    let mut out_scopes: Vec<Scope> = scopes
        .list
        .iter()
        .zip(spoken)
        .enumerate()
        .map(|(at, (draft, mut conversation))| {
            for entry in &mut conversation {
                entry.step = moved(entry.step);
                match &mut entry.kind {
                    super::EntryKind::Call(call) => call.tool = moved(Some(call.tool)).unwrap_or(0),
                    super::EntryKind::Result(result) => result.tool = moved(result.tool),
                    super::EntryKind::Message(_) | super::EntryKind::Turn(_) => {}
                }
            }
            let step = moved(draft.node.and_then(|node| of_node.get(node).copied().flatten()));
            Scope {
                agent: draft.agent.clone(),
                step,
                parent: draft.parent,
                called_by: moved(called_by.get(at).copied().flatten()),
                aside: draft.aside,
                conversation,
            }
        })
        .collect();
    for scope in &mut out_scopes {
        if scope.agent.is_none() {
            scope.agent = scope
                .step
                .and_then(|step| list.get(step))
                .and_then(|step| step.operation.agent.name.clone());
        }
    }
    if list.is_empty() {
        out_scopes.clear();
    }
    let root = root_of(&list, &out_scopes);
    let failure = super::failure::settle(&mut list, root);
    let question = said::question(&list, &out_scopes, root);
    let answer = if failure.is_some() || interrupts::waits(&list, &out_scopes) {
        None
    } else {
        said::answer(&list, &out_scopes, root)
    };
    if let Some(scope) = answer.as_ref().and_then(|answer| out_scopes.get_mut(list.get(answer.step)?.scope)) {
        scope.aside = false;
    }
    finish(
        Parts {
            trace_id,
            trace: &trace,
            root,
            failure,
            findings,
        },
        list,
        out_scopes,
        question,
        answer,
    )
}

struct Parts<'a> {
    trace_id: TraceId,
    trace: &'a Trace,
    root: Option<usize>,
    failure: Option<RunFailure>,
    findings: Vec<Finding>,
}

fn finish(parts: Parts<'_>, steps: Vec<Step>, scopes: Vec<Scope>, question: Option<super::Said>, answer: Option<super::Said>) -> Run {
    let Parts {
        trace_id,
        trace,
        root,
        failure,
        mut findings,
    } = parts;
    let started_at = trace.spans.first().map_or(UnixNanos(0), |span| span.start);
    let running = trace.roots.iter().any(|root| trace.spans.get(*root).is_some_and(Span::is_running));
    let last = trace.spans.iter().map(|span| span.end.max(span.start)).max();
    let mut sessions: Vec<&String> = Vec::new();
    let mut known: HashSet<&String> = HashSet::default();
    for session in root
        .and_then(|root| steps.get(root))
        .into_iter()
        .chain(&steps)
        .filter_map(|step| step.operation.session_id.as_ref())
    {
        if known.insert(session) {
            sessions.push(session);
        }
    }
    if sessions.len() > 1 {
        findings.push(Finding::new(
            None,
            FindingKind::SeveralSessions,
            format!("the spans name {} sessions; the first is used", sessions.len()),
        ));
    }
    let session_id = sessions.first().map(|session| (*session).clone());
    let user_id = root
        .and_then(|root| steps.get(root))
        .into_iter()
        .chain(&steps)
        .find_map(|step| step.operation.user_id.clone());
    let root_span = root
        .and_then(|root| steps.get(root)?.span_id)
        .and_then(|id| trace.index_of(id))
        .or(trace.roots.first().copied());
    let span = root_span.and_then(|index| trace.spans.get(index));
    let resource: Map<_, _> = span
        .map(|span| {
            span.resource
                .attributes
                .iter()
                .map(|(key, value)| (key.clone(), value.to_json()))
                .collect()
        })
        .unwrap_or_default();
    let working = root.and_then(|root| steps.get(root)).into_iter().chain(&steps);
    let working = working
        .filter(|step| step.operation.kind != Kind::Plain)
        .find_map(|step| step.span_id);
    let worker = working.and_then(|id| trace.index_of(id)).and_then(|index| trace.spans.get(index));
    let framework = framework(trace, &steps, worker.or(span));
    let agent = agent_info((&steps, &scopes), root, span, worker.or(span), framework);
    let mut metadata = Map::new();
    for step in &steps {
        for (name, value) in &step.operation.metadata {
            if !metadata.contains_key(name) {
                let _ = metadata.insert(name.clone(), value.clone());
            }
        }
    }
    let mut known: HashSet<&String> = HashSet::default();
    let tags = steps.iter().flat_map(|step| &step.operation.tags).filter(|tag| known.insert(*tag));
    let tags: Vec<&String> = tags.collect();
    if !tags.is_empty() {
        let _ = metadata.insert("tags".to_owned(), tags.into_iter().cloned().collect());
    }
    findings.sort_by(|a, b| (a.kind, a.span_id, &a.detail).cmp(&(b.kind, b.span_id, &b.detail)));
    findings.dedup();
    Run {
        trace_id,
        session_id,
        user_id,
        started_at,
        ended_at: if running { None } else { last },
        agent,
        resource,
        failure,
        root,
        steps,
        scopes,
        question,
        answer,
        metadata,
        findings,
    }
}

/// The operation that stands for the run: the outermost agent that does not only check others, else the outermost agent,
/// else the outermost chain, else the only root.
fn root_of(steps: &[Step], scopes: &[Scope]) -> Option<usize> {
    let aside = |step: &Step| scopes.get(step.scope).is_some_and(|scope| scope.aside);
    // A parent stands before its children: what is known above a step is known when the step comes.
    let outermost = |kind: Kind, wanted: &dyn Fn(&Step) -> bool| {
        let mut below = Vec::with_capacity(steps.len());
        for (at, step) in steps.iter().enumerate() {
            let hidden = step.parent.is_some_and(|parent| below.get(parent) == Some(&true));
            if step.operation.kind == kind && !hidden && wanted(step) {
                return Some(at);
            }
            below.push(hidden || step.operation.kind == kind || kind == Kind::Agent && step.operation.kind == Kind::Tool);
        }
        None
    };
    let only_root = || {
        let mut roots = steps.iter().enumerate().filter(|(_, step)| step.parent.is_none());
        match (roots.next(), roots.next()) {
            (Some((at, _)), None) => Some(at),
            _ => None,
        }
    };
    outermost(Kind::Agent, &|step| !aside(step))
        .or_else(|| outermost(Kind::Agent, &|_| true))
        .or_else(|| outermost(Kind::Chain, &|_| true))
        .or_else(only_root)
}

/// The framework, and a span of it: the first that any span shows; `custom` if none but a provider's package does.
fn framework<'a>(trace: &'a Trace, steps: &[Step], worker: Option<&'a Span>) -> Option<(&'static Framework, &'a Span)> {
    let mut known: HashSet<&str> = HashSet::default();
    let mut custom = None;
    let spans = steps.iter().filter(|step| step.operation.kind != Kind::Plain);
    // Most runs need no span but the worker's.
    let by_id = LazyCell::new(|| -> HashMap<SpanId, &Span> { trace.spans.iter().map(|span| (span.span_id, span)).collect() });
    let spans = spans.filter_map(|step| by_id.get(&step.span_id?).copied());
    for span in worker.into_iter().chain(spans) {
        // One look at each scope: its first span shows what the others do.
        if !known.insert(&span.scope.name) {
            continue;
        }
        match Framework::of(span) {
            Some(found) if !found.is_custom() => return Some((found, span)),
            found => custom = custom.or(found.map(|found| (found, span))),
        }
    }
    custom
}

fn agent_info(
    (steps, scopes): (&[Step], &[Scope]),
    root: Option<usize>,
    span: Option<&Span>,
    worker: Option<&Span>,
    framework: Option<(&Framework, &Span)>,
) -> AgentInfo {
    let root_step = root.and_then(|root| steps.get(root));
    let service = span
        .and_then(|span| span.resource.attributes.text("service.name"))
        .filter(|name| !name.starts_with("unknown_service"));
    let name = root_step
        .filter(|step| step.operation.kind == Kind::Agent)
        .and_then(|step| step.operation.agent.name.clone())
        .or_else(|| topmost_name(steps, scopes))
        .or_else(|| steps.iter().find_map(|step| step.operation.agent.name.clone()))
        .or_else(|| steps.iter().find_map(|step| step.operation.workflow.clone()))
        .or_else(|| {
            root_step
                .filter(|step| step.operation.kind == Kind::Chain)
                .map(|step| step.operation.name.clone())
        })
        .or_else(|| service.map(str::to_owned));
    let said = |of: fn(&Agent) -> &Option<String>| {
        let agents = || steps.iter().filter(|step| step.operation.kind == Kind::Agent);
        let mut steps = root_step.into_iter().chain(agents()).chain(steps);
        steps.find_map(|step| of(&step.operation.agent).clone())
    };
    let recorded = said(|agent| &agent.framework);
    AgentInfo {
        name,
        version: said(|agent| &agent.version).or_else(|| {
            span.and_then(|span| span.resource.attributes.text("service.version"))
                .map(str::to_owned)
        }),
        framework_version: framework
            .filter(|(framework, _)| recorded.as_deref().is_none_or(|recorded| recorded == framework.name))
            .and_then(|(framework, span)| framework.version(span).map(str::to_owned)),
        framework: recorded.or_else(|| framework.map(|(framework, _)| framework.name.to_owned())),
        instrumentation: worker.map(|span| span.scope.name.clone()).filter(|name| !name.is_empty()),
        instrumentation_version: worker.map(|span| span.scope.version.clone()).filter(|version| !version.is_empty()),
    }
}

/// The name of the topmost agent that has one; agents that only check others come last.
fn topmost_name(steps: &[Step], scopes: &[Scope]) -> Option<String> {
    let mut above: Vec<usize> = Vec::with_capacity(steps.len());
    let mut named = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let around = step.parent.and_then(|parent| above.get(parent)).copied().unwrap_or(0);
        let is_agent = step.operation.kind == Kind::Agent;
        above.push(around + usize::from(is_agent));
        if is_agent && let Some(name) = &step.operation.agent.name {
            let aside = scopes.get(step.scope).is_some_and(|scope| scope.aside);
            named.push(((aside, around, at), name));
        }
    }
    named.into_iter().min().map(|(_, name)| name.clone())
}

/// Model calls that two traces tell of (two instrumentations, the client's spans as roots of their own): marked, both
/// stay.
fn same_calls(runs: &mut [Run]) {
    let mut by_id: HashMap<String, Vec<(usize, usize)>> = HashMap::default();
    let mut marked: HashSet<usize> = HashSet::default();
    for (at, run) in runs.iter().enumerate() {
        for (index, step) in run.steps.iter().enumerate() {
            if let Some(id) = &step.operation.response_id {
                by_id.entry(id.clone()).or_default().push((at, index));
            }
        }
    }
    for places in by_id.into_values() {
        let Some((first_run, first_step)) = places.iter().copied().max_by_key(|(run, step)| {
            let told = runs.get(*run).map(|run| {
                (
                    run.steps.len(),
                    run.steps.get(*step).is_some_and(|step| step.operation.input_messages.is_some()),
                )
            });
            (told, std::cmp::Reverse((*run, *step)))
        }) else {
            continue;
        };
        let Some(kept) = runs
            .get(first_run)
            .and_then(|run| Some((run.trace_id, run.steps.get(first_step)?.span_id?)))
        else {
            continue;
        };
        for (run, step) in places {
            if run == first_run {
                continue;
            }
            let _ = marked.insert(run);
            let Some(run) = runs.get_mut(run) else { continue };
            let Some(step) = run.steps.get_mut(step) else { continue };
            step.same_call_as = Some(kept);
            run.findings.push(Finding::new(
                step.span_id,
                FindingKind::SameCallAs,
                format!("the same model call as span {} of trace {}", kept.1, kept.0),
            ));
        }
    }
    for run in marked {
        if let Some(run) = runs.get_mut(run) {
            run.findings
                .sort_by(|a, b| (a.kind, a.span_id, &a.detail).cmp(&(b.kind, b.span_id, &b.detail)));
        }
    }
}
