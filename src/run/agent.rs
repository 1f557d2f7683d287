//! The agent of a run, its framework, the service around it.

use std::cell::LazyCell;

use super::id::{IdVec, ScopeId, StepId};
use super::model::{AgentInfo, Scope, Step};
use crate::dialect::Framework;
use crate::hash::{HashMap, HashSet};
use crate::operation::{Agent, Kind};
use crate::span::{Span, SpanId};
use crate::trace::Trace;

/// The framework and one of its spans: the first that any span identifies, or `custom` if only a provider's package is identified.
pub(super) fn framework<'a>(
    trace: &'a Trace,
    steps: &IdVec<StepId, Step>,
    worker: Option<&'a Span>,
) -> Option<(&'static Framework, &'a Span)> {
    let mut known: HashSet<&str> = HashSet::default();
    let mut custom = None;
    let spans = steps.iter().filter(|step| step.operation.kind != Kind::Plain);
    // Most runs need only the worker's span.
    let by_id = LazyCell::new(|| -> HashMap<SpanId, &Span> { trace.spans.iter().map(|span| (span.span_id, span)).collect() });
    let spans = spans.filter_map(|step| by_id.get(&step.span_id?).copied());
    for span in worker.into_iter().chain(spans) {
        // Check each scope once: all its spans identify the same framework.
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

pub(super) fn info(
    (steps, scopes): (&IdVec<StepId, Step>, &IdVec<ScopeId, Scope>),
    root: Option<StepId>,
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
        .or_else(|| {
            // A graph node is not an agent even if named like one; an agent started by a tool is not the run's.
            let is_node = |step: &Step| step.operation.kind == Kind::Chain && step.operation.graph_node == step.operation.agent.name;
            let is_of_tool = |step: &Step| scopes.get(step.scope).is_some_and(|scope| scope.called_by.is_some());
            let mut named = steps.iter().filter(|step| !is_node(step) && !is_of_tool(step));
            named.find_map(|step| step.operation.agent.name.clone())
        })
        .or_else(|| steps.iter().find_map(|step| step.operation.workflow.clone()))
        .or_else(|| {
            root_step
                .filter(|step| step.operation.kind == Kind::Chain)
                .map(|step| step.operation.name.clone())
        })
        // An unnamed agent must not take the name of an agent that one of its tools started.
        .or_else(|| {
            let is_agent = root_step.is_some_and(|step| step.operation.kind == Kind::Agent);
            let mut named = steps.iter().filter(|_| !is_agent);
            named.find_map(|step| step.operation.agent.name.clone())
        })
        .or_else(|| service.map(str::to_owned));
    let first = |of: fn(&Agent) -> &Option<String>| {
        let agents = || steps.iter().filter(|step| step.operation.kind == Kind::Agent);
        let mut steps = root_step.into_iter().chain(agents()).chain(steps);
        steps.find_map(|step| of(&step.operation.agent).clone())
    };
    let recorded = first(|agent| &agent.framework);
    AgentInfo {
        name,
        version: first(|agent| &agent.version).or_else(|| {
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

/// The name of the topmost named agent that no tool started; agents that only check others are the last choice.
fn topmost_name(steps: &IdVec<StepId, Step>, scopes: &IdVec<ScopeId, Scope>) -> Option<String> {
    let mut agents_above: IdVec<StepId, usize> = IdVec::with_capacity(steps.len());
    let mut named = Vec::new();
    for (at, step) in steps.enumerate() {
        let above = step.parent.and_then(|parent| agents_above.get(parent)).copied().unwrap_or(0);
        let is_agent = step.operation.kind == Kind::Agent;
        agents_above.push(above + usize::from(is_agent));
        let scope = scopes.get(step.scope);
        let is_started = scope.is_some_and(|scope| scope.called_by.is_some());
        if let Some(name) = step.operation.agent.name.as_ref().filter(|_| is_agent && !is_started) {
            let is_auxiliary = scope.is_some_and(|scope| scope.is_auxiliary);
            named.push(((is_auxiliary, above, at), name));
        }
    }
    named.into_iter().min().map(|(_, name)| name.clone())
}
