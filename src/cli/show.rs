//! `spanbridge show`: one trace as a tree of what the agent did.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use super::failure::Failure;
use super::out::{self, Style, duration, many, shown, styled};
use super::select::trace_id;
use super::source::Where;
use super::status;
use crate::operation::{Kind, Operation};
use crate::run::{Run, Step};
use crate::span::{Span, TraceId};
use crate::store::Stored;
use crate::trace::{Finding, Trace};
use crate::web::listing::Summary;

const EXAMPLES: &str = "\
Examples:
  spanbridge show 5b8efff798038103d269b633813fc60c
  spanbridge show 5b8e          the first digits of the id are enough
  spanbridge show 5b8e --spans  all spans, with problems found in the data";

/// Show one trace as a tree of agents, model calls, tools and errors.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Show {
    /// The trace's id, or at least its first four digits.
    #[arg(value_name = "TRACE")]
    trace: String,
    /// Show the tree of spans and the problems found in the data.
    #[arg(long)]
    spans: bool,
    #[command(flatten)]
    from: Where,
}

impl Show {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let source = self.from.open()?;
        let id = trace_id(&source, &self.trace)?;
        let Some(Stored { spans, logs, damaged }) = source.trace(id)? else {
            return Err(Failure::missing(format!("there is no trace {id}")));
        };
        let lines = if self.spans {
            let trace = Trace::from_spans(spans.clone());
            let runs = source.vocabulary.stored_runs(spans, logs);
            let findings = runs.into_iter().next().map_or_else(|| trace.findings.clone(), |run| run.findings);
            spans_lines(id, &trace, &findings)
        } else {
            match source.vocabulary.stored_runs(spans, logs).first() {
                Some(run) => run_lines(run),
                None => vec![format!("trace {id} has no spans")],
            }
        };
        for line in lines {
            out::line(&line).map_err(|source| Failure::Output { source })?;
        }
        out::flush().map_err(|source| Failure::Output { source })?;
        Ok(status(damaged.is_empty()))
    }
}

/// How wide a value may be.
const VALUE: usize = 100;
/// Deeper than this, lines are not indented further.
const INDENT: usize = 40;

fn run_lines(run: &Run) -> Vec<String> {
    let summary = Summary::of(run);
    let mut lines = vec![styled(&format!("trace {}", run.trace_id), Style::Strong)];
    let mut facts = Vec::new();
    facts.extend(summary.agent.as_deref().map(|agent| format!("agent {}", shown(agent, VALUE))));
    facts.extend(
        run.session_id
            .as_deref()
            .map(|session| format!("session {}", shown(session, VALUE))),
    );
    facts.push(run.started_at.rfc3339());
    facts.push(
        run.ended_at
            .map_or_else(|| "running".to_owned(), |end| duration(end.millis_since(run.started_at))),
    );
    facts.push(many(summary.model_calls, "model call"));
    facts.push(many(summary.tool_calls, "tool call"));
    let tokens = [(summary.input_tokens, "in"), (summary.output_tokens, "out")];
    let tokens = tokens.map(|(tokens, way)| tokens.map(|tokens| format!("{tokens} {way}")));
    let tokens: Vec<String> = tokens.into_iter().flatten().collect();
    if !tokens.is_empty() {
        facts.push(format!("tokens {}", tokens.join(", ")));
    }
    lines.push(format!("  {}", facts.join(" · ")));
    if let Some(question) = &run.question {
        lines.push(format!("  {} {}", styled("asked", Style::Dim), value(&question.content)));
    }
    if let Some(answer) = &run.answer {
        lines.push(format!("  {} {}", styled("answered", Style::Dim), value(&answer.content)));
    }
    if let Some(failure) = &run.failure {
        let text = format!("failed: {}", shown(failure.failure.text(), VALUE));
        lines.push(format!("  {}", styled(&text, Style::Bad)));
    }
    lines.push(String::new());
    lines.extend(tree(run));
    if !run.has_agent_work() {
        lines.push("This trace has no agent operations, so it has no document. Use --spans to see its spans.".to_owned());
    }
    if !run.findings.is_empty() {
        lines.push(String::new());
        lines.push(format!("{} in the data; --spans lists them", many(run.findings.len(), "problem")));
    }
    lines
}

/// Steps that say something to people; the others' children move up.
fn told(step: &Step) -> bool {
    !matches!(step.operation.kind, Kind::Plain | Kind::Detail)
}

fn tree(run: &Run) -> Vec<String> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); run.steps.len()];
    let mut tops = Vec::new();
    // A parent stands before its children.
    let mut nearest: Vec<Option<usize>> = Vec::with_capacity(run.steps.len());
    for (index, step) in run.steps.iter().enumerate() {
        let parent = step.parent.filter(|parent| *parent < index);
        let above = parent.and_then(|parent| match run.steps.get(parent) {
            Some(above) if told(above) => Some(parent),
            _ => nearest.get(parent).copied().flatten(),
        });
        nearest.push(above);
        if told(step) {
            match above.and_then(|above| children.get_mut(above)) {
                Some(of_parent) => of_parent.push(index),
                None => tops.push(index),
            }
        }
    }
    let mut lines = Vec::new();
    // Index, depth, and the prefix of its children.
    let mut stack: Vec<(usize, usize, String, bool)> = Vec::new();
    let push = |stack: &mut Vec<_>, list: &[usize], depth: usize, prefix: &str| {
        let last = list.len().saturating_sub(1);
        stack.extend(
            list.iter()
                .enumerate()
                .rev()
                .map(|(at, index)| (*index, depth, prefix.to_owned(), at == last)),
        );
    };
    push(&mut stack, &tops, 0, "");
    while let Some((index, depth, prefix, last)) = stack.pop() {
        let Some(step) = run.steps.get(index) else { continue };
        let (branch, below) = match (depth, last) {
            (0, _) => ("", ""),
            (_, true) => ("└─ ", "   "),
            (_, false) => ("├─ ", "│  "),
        };
        lines.push(format!("{}{}", styled(&format!("{prefix}{branch}"), Style::Dim), step_line(step)));
        let below = if depth < INDENT { format!("{prefix}{below}") } else { prefix };
        push(&mut stack, children.get(index).map_or(&[][..], Vec::as_slice), depth + 1, &below);
    }
    lines
}

fn step_line(step: &Step) -> String {
    let operation = &step.operation;
    let mut parts = vec![styled(operation.kind.name(), Style::Kind), styled(&name(operation), Style::Strong)];
    if let Some(tool) = &operation.tool
        && let Some(arguments) = &tool.arguments
    {
        parts.push(value(arguments));
    }
    match step.latency_ms() {
        Some(millis) => parts.push(styled(&duration(millis), Style::Dim)),
        None => parts.push(styled("running", Style::Busy)),
    }
    let usage = &operation.usage;
    if operation.kind == Kind::Llm && !usage.is_empty() {
        let count = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
        parts.push(format!("{} in, {} out", count(usage.input), count(usage.output)));
    }
    if let Some(failure) = &operation.failure {
        parts.push(styled(&format!("FAILED {}", shown(failure.text(), VALUE)), Style::Bad));
    } else if let Some(said) = said(operation) {
        parts.push(format!("→ {said}"));
    }
    parts.join("  ")
}

fn name(operation: &Operation) -> String {
    let name = match operation.kind {
        Kind::Llm | Kind::Embedding | Kind::Rerank => operation.model.name(),
        Kind::Tool => operation.tool.as_ref().and_then(|tool| tool.name.as_deref()),
        Kind::Agent | Kind::AgentCreate => operation.agent.name.as_deref(),
        _ => None,
    };
    shown(name.unwrap_or(&operation.name), 48)
}

/// What came out, in a few words.
fn said(operation: &Operation) -> Option<String> {
    if let Some(tool) = &operation.tool {
        return tool.result.as_ref().map(value);
    }
    if let Some(search) = &operation.search {
        let found = search.documents.as_ref().map(|documents| many(documents.len(), "document"));
        return found.or_else(|| operation.output.get().map(value));
    }
    if let Some(message) = operation.output_messages.as_ref().and_then(|messages| messages.first()) {
        let calls: Vec<String> = message
            .tool_calls
            .iter()
            .map(|call| format!("{}({})", call.name, call.arguments_json()))
            .collect();
        let mut words = message.content();
        if !calls.is_empty() {
            words = format!("{words} {}", calls.join(", "));
        }
        return Some(shown(&words, VALUE)).filter(|words| !words.is_empty());
    }
    match operation.kind {
        Kind::Llm | Kind::FinalOutput => operation.output.get().map(value),
        _ => None,
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::String(text) => shown(text, VALUE),
        other => shown(&other.to_string(), VALUE),
    }
}

fn spans_lines(id: TraceId, trace: &Trace, findings: &[Finding]) -> Vec<String> {
    let mut lines = vec![styled(&format!("trace {id}, {}", many(trace.spans.len(), "span")), Style::Strong)];
    for (index, depth) in trace.depth_first() {
        let Some(span) = trace.spans.get(index) else { continue };
        lines.push(format!("{}{}", "  ".repeat(depth.min(INDENT)), span_line(span)));
    }
    if !findings.is_empty() {
        lines.push(String::new());
        lines.push(styled(&many(findings.len(), "problem"), Style::Strong));
        for finding in findings {
            let span = finding.span_id.map_or_else(String::new, |id| format!("{id} "));
            let kind = serde_json::to_value(finding.kind).ok();
            let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
            lines.push(format!("  {span}{}  {}", styled(&kind, Style::Busy), shown(&finding.detail, 160)));
        }
    }
    lines
}

fn span_line(span: &Span) -> String {
    let took = if span.is_running() {
        styled("running", Style::Busy)
    } else {
        styled(&duration(span.end.millis_since(span.start)), Style::Dim)
    };
    let mut line = format!(
        "{}  {}  {took}  {}",
        styled(&span.span_id.to_string(), Style::Dim),
        styled(&shown(&span.name, VALUE), Style::Strong),
        many(span.attributes.len(), "attribute"),
    );
    if !span.events.is_empty() {
        line.push_str(&format!(", {}", many(span.events.len(), "event")));
    }
    if !span.scope.name.is_empty() {
        line.push_str(&format!("  {}", styled(&shown(&span.scope.name, 60), Style::Dim)));
    }
    if span.status.is_error() {
        line.push_str(&format!(
            "  {}",
            styled(&format!("ERROR {}", shown(&span.status.message, VALUE)), Style::Bad)
        ));
    }
    line
}
