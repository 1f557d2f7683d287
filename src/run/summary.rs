//! Stage "the summary": takes the steps, the scopes and the facts of the whole run and returns the run.
//!
//! This runs last, because session, person, agent, metadata and findings are taken from finished steps.

use serde_json::Map;

use super::agent;
use super::id::{IdVec, ScopeId, StepId};
use super::model::{Annotation, Run, RunFailure, Scope, Step, Utterance};
use crate::hash::HashSet;
use crate::operation::Kind;
use crate::span::{Span, TraceId, UnixNanos};
use crate::trace::{Finding, FindingKind, Trace};

/// Facts of the whole run.
pub(super) struct WholeRun {
    pub(super) root: Option<StepId>,
    pub(super) failure: Option<RunFailure>,
    pub(super) question: Option<Utterance>,
    pub(super) answer: Option<Utterance>,
    pub(super) annotations: Vec<Annotation>,
    /// The session of a run without steps.
    pub(super) session: Option<String>,
}

pub(super) fn run(
    (trace_id, trace): (TraceId, &Trace),
    steps: IdVec<StepId, Step>,
    scopes: IdVec<ScopeId, Scope>,
    whole: WholeRun,
    mut findings: Vec<Finding>,
) -> Run {
    let WholeRun {
        root,
        failure,
        question,
        answer,
        annotations,
        session,
    } = whole;
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
    let session_id = sessions.first().map(|session| (*session).clone()).or(session);
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
    let framework = agent::framework(trace, &steps, worker.or(span));
    let agent = agent::info((&steps, &scopes), root, span, worker.or(span), framework);
    let mut metadata = Map::new();
    // Facts of a model call or a tool are not the run's. Parents precede their children.
    let around = std::iter::successors(root, |at| steps.get(*at)?.parent);
    let around: Vec<StepId> = if root.is_some() {
        around.collect()
    } else {
        steps
            .ids()
            .filter(|at| steps.get(*at).is_some_and(|step| step.parent.is_none()))
            .collect()
    };
    for step in around.iter().rev().filter_map(|at| steps.get(*at)) {
        for (name, value) in &step.operation.metadata {
            if !metadata.contains_key(name) {
                let _ = metadata.insert(name.clone(), value.clone());
            }
        }
    }
    let own: Vec<&String> = around
        .iter()
        .filter_map(|at| steps.get(*at))
        .flat_map(|step| &step.operation.tags)
        .collect();
    // Clients may tag every span of a run through its context. If the run has tags itself, tags inside it belong to its parts.
    let tags: Vec<&String> = match own.is_empty() {
        true => steps
            .iter()
            .flat_map(|step| &step.operation.tags)
            .filter(|tag| !is_of_node(tag))
            .collect(),
        false => own,
    };
    let mut known: HashSet<&String> = HashSet::default();
    let tags: Vec<&String> = tags.into_iter().filter(|tag| known.insert(*tag)).collect();
    if !tags.is_empty() {
        let _ = metadata.insert("tags".to_owned(), tags.into_iter().cloned().collect());
    }
    findings.extend(trace.findings.iter().cloned());
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
        annotations,
    }
}

/// Whether this is LangChain's tag for the position of a step in a graph or a sequence, which is not a tag of the run.
fn is_of_node(tag: &str) -> bool {
    const PLACES: [&str; 3] = ["graph:step:", "seq:step:", "map:key:"];
    PLACES.iter().any(|place| tag.starts_with(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::id::Id;
    use crate::run::testing::step;

    #[test]
    fn the_session_of_the_root_is_the_runs() {
        let named = |session: &str| {
            let mut step = step(session.to_owned(), Kind::Agent, "", UnixNanos(0), UnixNanos(9));
            step.operation.session_id = Some(session.to_owned());
            step
        };
        let whole = WholeRun {
            root: Some(StepId::new(1)),
            failure: None,
            question: None,
            answer: None,
            annotations: Vec::new(),
            session: None,
        };
        let trace_id = TraceId::from_bytes(&[1; 16]).expect("not zero");
        let steps = [named("first"), named("outermost")].into_iter().collect();
        let run = run((trace_id, &Trace::default()), steps, IdVec::default(), whole, Vec::new());
        assert_eq!(run.session_id.as_deref(), Some("outermost"));
        let kinds: Vec<FindingKind> = run.findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, [FindingKind::SeveralSessions]);
    }
}
