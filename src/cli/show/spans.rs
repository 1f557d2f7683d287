//! The tree of spans as received, with the problems found in them.

use serde_json::Value;

use super::line::Line;
use super::overview::indented;
use crate::cli::out::{Style, many, shown, styled};
use crate::hash::HashMap;
use crate::span::{AnyValue, Attributes, LogRecord, Span, SpanId, TraceId, UnixNanos};
use crate::trace::{Finding, Trace};
use crate::view::text::{block, elapsed};

/// How much of a span is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verbosity {
    /// Also shows attributes, events, links and log records.
    pub(super) attributes: bool,
    /// Shows values in full, on as many lines as needed.
    pub(super) full: bool,
}

/// Maximum columns of a value without a terminal.
const VALUE: usize = 100;
/// Maximum depth of indentation.
const INDENT: usize = 40;

/// State shared by all lines.
struct Page<'a> {
    lines: Vec<String>,
    width: Option<usize>,
    verbosity: Verbosity,
    start: UnixNanos,
    logs: HashMap<SpanId, Vec<&'a LogRecord>>,
}

pub(super) fn lines(id: TraceId, trace: &Trace, findings: &[Finding], logs: &[LogRecord], verbosity: Verbosity) -> Vec<String> {
    let width = crate::cli::out::width();
    let mut page = Page {
        lines: vec![styled(&format!("trace {id}, {}", many(trace.spans.len(), "span")), Style::Strong)],
        width,
        verbosity,
        start: trace.spans.iter().map(|span| span.start).min().unwrap_or_default(),
        logs: HashMap::default(),
    };
    let known: HashMap<SpanId, ()> = trace.spans.iter().map(|span| (span.span_id, ())).collect();
    let mut stray = Vec::new();
    for record in logs {
        match record.span_id.filter(|span| known.contains_key(span)) {
            Some(span) => page.logs.entry(span).or_default().push(record),
            None => stray.push(record),
        }
    }
    let deepest = width.map_or(INDENT, |width| width / 6);
    let mut resource = None;
    for (index, depth) in trace.depth_first() {
        let Some(span) = trace.spans.get(index) else { continue };
        if verbosity.attributes && resource.as_ref() != Some(&span.resource) {
            page.section(0, "resource", &span.resource.attributes, span.resource.dropped_attributes);
            resource = Some(span.resource.clone());
        }
        page.span(span, depth.min(deepest));
    }
    if !stray.is_empty() {
        page.lines.push(String::new());
        page.lines
            .push(styled(&many(stray.len(), "log record without a span"), Style::Strong));
        stray.into_iter().for_each(|record| page.record(record, 0));
    }
    page.findings(findings);
    page.lines
}

impl Page<'_> {
    fn push(&mut self, line: &Line) {
        self.lines.push(line.fit(self.width));
    }

    fn offset(&self, at: UnixNanos) -> String {
        if at.0 == 0 {
            return String::new();
        }
        match at.0.checked_sub(self.start.0) {
            Some(nanos) => format!("at {}", elapsed(nanos)),
            None => format!("at -{}", elapsed(self.start.0 - at.0)),
        }
    }

    fn span(&mut self, span: &Span, depth: usize) {
        let mut line = Line::default();
        line.push("  ".repeat(depth), Style::Plain);
        line.push(span.span_id.to_string(), Style::Dim);
        line.next(&shown(&span.name, VALUE), Style::Strong);
        line.next(&self.offset(span.start), Style::Dim);
        if span.is_running() {
            line.next("running", Style::Busy);
        } else {
            line.next(&elapsed(span.end.0.saturating_sub(span.start.0)), Style::Dim);
        }
        if span.status.is_error() {
            line.next(shown(&format!("ERROR {}", span.status.message), VALUE).trim_end(), Style::Bad);
        }
        let logs = self.logs.get(&span.span_id).map_or(0, Vec::len);
        let counts = [
            (span.attributes.len(), "attribute"),
            (span.events.len(), "event"),
            (span.links.len(), "link"),
            (logs, "log record"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, what)| many(count, what)).collect();
        line.next(&counts.join(", "), Style::Plain);
        line.next(&shown(&span.scope.name, 60), Style::Dim);
        self.push(&line);
        if self.verbosity.attributes {
            self.details(span, 2 * depth + 4);
        }
    }

    fn details(&mut self, span: &Span, indent: usize) {
        if !span.scope.version.is_empty() {
            self.fact(indent, "scope.version", &AnyValue::from(span.scope.version.as_str()));
        }
        if span.kind.number() != 0 {
            self.fact(indent, "kind", &AnyValue::from(format!("{:?}", span.kind).to_lowercase()));
        }
        if !span.trace_state.is_empty() {
            self.fact(indent, "trace_state", &AnyValue::from(span.trace_state.as_str()));
        }
        self.attributes(indent, &span.attributes, span.dropped_attributes);
        for event in &span.events {
            self.named(indent, "event", &event.name, event.time);
            self.attributes(indent + 2, &event.attributes, event.dropped_attributes);
        }
        for link in &span.links {
            self.named(indent, "link", &format!("{} {}", link.trace_id, link.span_id), UnixNanos(0));
            self.attributes(indent + 2, &link.attributes, link.dropped_attributes);
        }
        for (dropped, what) in [(span.dropped_events, "event"), (span.dropped_links, "link")] {
            self.dropped(indent, dropped, what);
        }
        for record in self.logs.remove(&span.span_id).unwrap_or_default() {
            self.record(record, indent);
        }
    }

    fn named(&mut self, indent: usize, what: &str, name: &str, at: UnixNanos) {
        let mut line = Line::default();
        line.push(" ".repeat(indent), Style::Plain);
        line.push(what, Style::Kind);
        line.next(&shown(name, VALUE), Style::Strong);
        line.next(&self.offset(at), Style::Dim);
        self.push(&line);
    }

    fn record(&mut self, record: &LogRecord, indent: usize) {
        let name = if record.name().is_empty() { "log" } else { record.name() };
        self.named(indent, "log record", name, record.when());
        if !record.severity_text.is_empty() {
            self.fact(indent + 2, "severity", &AnyValue::from(record.severity_text.as_str()));
        }
        if !record.body.is_empty() {
            self.fact(indent + 2, "body", &record.body);
        }
        if self.verbosity.attributes {
            self.attributes(indent + 2, &record.attributes, record.dropped_attributes);
        }
    }

    fn section(&mut self, indent: usize, what: &str, attributes: &Attributes, dropped: u32) {
        if !attributes.is_empty() || dropped > 0 {
            self.lines.push(styled(what, Style::Kind));
            self.attributes(indent + 4, attributes, dropped);
        }
    }

    fn attributes(&mut self, indent: usize, attributes: &Attributes, dropped: u32) {
        for (key, value) in attributes.iter() {
            self.fact(indent, key, value);
        }
        self.dropped(indent, dropped, "attribute");
    }

    fn dropped(&mut self, indent: usize, dropped: u32, what: &str) {
        if dropped > 0 {
            let words = format!("{}{} not sent by the client", " ".repeat(indent), many(dropped, what));
            self.lines.push(styled(&words, Style::Busy));
        }
    }

    fn fact(&mut self, indent: usize, key: &str, value: &AnyValue) {
        let text = match value {
            AnyValue::String(text) => text.clone(),
            other => other.to_json().to_string(),
        };
        let mut line = Line::default();
        line.push(" ".repeat(indent), Style::Plain);
        line.push(format!("{}: ", shown(key, 80)), Style::Dim);
        let room = self.width.map_or(VALUE, |width| width.saturating_sub(line.columns()));
        let is_short = crate::view::text::columns(&text) <= room && !text.contains('\n');
        if self.verbosity.full && !is_short {
            self.push(&line);
            let lines = indented(&block(&text), indent + 2, self.width);
            self.lines.extend(lines);
            return;
        }
        line.push(shown(&text, room), Style::Plain);
        self.push(&line);
    }

    fn findings(&mut self, findings: &[Finding]) {
        if findings.is_empty() {
            return;
        }
        self.lines.push(String::new());
        self.lines.push(styled(&many(findings.len(), "problem"), Style::Strong));
        for finding in findings {
            let span = finding.span_id.map_or_else(String::new, |id| format!("{id}  "));
            let kind = serde_json::to_value(finding.kind).ok();
            let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
            let mut line = Line::default();
            line.push(format!("  {span}"), Style::Dim);
            line.push(kind, Style::Busy);
            // On the same line if it fits; an error text may need more than one.
            let detail = shown(&finding.detail, 400);
            if self
                .width
                .is_none_or(|width| line.columns() + 2 + crate::view::text::columns(&detail) <= width)
            {
                line.next(&detail, Style::Plain);
                self.push(&line);
            } else {
                self.push(&line);
                let lines = indented(&detail, 6, self.width);
                self.lines.extend(lines);
            }
        }
    }
}
