//! Log records to the spans that they tell of: by span id, else by session, call id and time.
//!
//! Codex and Gemini CLI write what was said into log records without a span context.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::dialect::{self, Field, Registry};
use crate::operation::Kind;
use crate::span::{AnyValue, Attributes, LogRecord, Span, SpanId, TraceId, UnixNanos};
use crate::trace::{Finding, FindingKind, Trace};

/// Spans and log records by trace.
pub(super) type ByTrace = BTreeMap<TraceId, (Vec<Span>, Vec<LogRecord>)>;

/// Puts records in order of time, then text, never of arrival. A record that came twice is one.
pub(super) fn settle(records: &mut Vec<LogRecord>) {
    // By text: NaN is not equal to itself.
    let mut keyed: Vec<_> = records.drain(..).map(|record| ((record.when(), format!("{record:?}")), record)).collect();
    keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    keyed.dedup_by(|(a, _), (b, _)| a == b);
    records.extend(keyed.into_iter().map(|(_, record)| record));
}

/// Gives each record to a trace; the rest comes back.
pub(super) fn share_out(records: Vec<LogRecord>, traces: &mut ByTrace, registry: &Registry) -> Vec<LogRecord> {
    let mut loose = Vec::new();
    for record in records {
        match record.trace_id.and_then(|trace| traces.get_mut(&trace)) {
            Some((_, list)) => list.push(record),
            None => loose.push(record),
        }
    }
    if loose.is_empty() {
        return loose;
    }
    let keys = registry.keys_of(Field::SessionId);
    let mut of_session: HashMap<String, Vec<(UnixNanos, UnixNanos, TraceId)>> = HashMap::new();
    for (id, (spans, _)) in traces.iter() {
        let begin = spans.iter().map(|span| span.start).min().unwrap_or_default();
        let end = spans.iter().map(|span| span.end).max().unwrap_or_default();
        let sessions: HashSet<String> = spans.iter().filter_map(|span| session(&span.attributes, &keys)).collect();
        for session in sessions {
            of_session.entry(session).or_default().push((begin, end, *id));
        }
    }
    for list in of_session.values_mut() {
        list.sort();
    }
    let mut homeless = Vec::new();
    for record in loose {
        let named = session(&record.attributes, &keys).or_else(|| session(&record.resource.attributes, &keys));
        let home = named.and_then(|session| {
            let list = of_session.get(&session)?;
            let at = record.when();
            let within = list.iter().find(|(begin, end, _)| *begin <= at && at <= *end);
            let after = list.iter().rev().find(|(begin, ..)| *begin <= at);
            within.or(after).or(list.first()).map(|(.., id)| *id)
        });
        match home.and_then(|id| traces.get_mut(&id)) {
            Some((_, list)) => list.push(record),
            None => homeless.push(record),
        }
    }
    settle(&mut homeless);
    homeless
}

fn session(attributes: &Attributes, keys: &[&str]) -> Option<String> {
    keys.iter()
        .find_map(|key| attributes.text(key))
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// The records of each span of a trace, and findings about those that tell of none.
pub(super) fn of_spans<'a>(
    records: &'a [LogRecord],
    trace: &Trace,
    registry: &Registry,
) -> (HashMap<SpanId, Vec<&'a LogRecord>>, Vec<Finding>) {
    let ids: HashSet<SpanId> = trace.spans.iter().map(|span| span.span_id).collect();
    let mut of_span: HashMap<SpanId, Vec<&LogRecord>> = HashMap::new();
    let mut findings = Vec::new();
    let mut places: Option<Places> = None;
    for record in records {
        let named = record.span_id.filter(|id| ids.contains(id));
        // A record that names another span tells of that one, whether it came or not.
        let found = match record.span_id {
            Some(_) => named,
            None => places.get_or_insert_with(|| Places::of(trace, registry)).find(record, registry),
        };
        let other = named
            .filter(|_| registry.tells_of_others(record.name()))
            .and_then(|_| places.get_or_insert_with(|| Places::of(trace, registry)).find(record, registry))
            .filter(|other| Some(*other) != named);
        if let Some(other) = other {
            of_span.entry(other).or_default().push(record);
        }
        match found {
            Some(id) => of_span.entry(id).or_default().push(record),
            None => findings.push(Finding::new(
                record.span_id,
                FindingKind::StrayLogRecord,
                format!("log record {:?} tells of no span that is here", record.name()),
            )),
        }
    }
    (of_span, findings)
}

/// Where a record without a span may belong.
struct Places<'a> {
    calls: Vec<&'a Span>,
    tools: Vec<&'a Span>,
    root: Option<SpanId>,
}

impl<'a> Places<'a> {
    fn of(trace: &'a Trace, registry: &Registry) -> Self {
        let mut places = Self {
            calls: Vec::new(),
            tools: Vec::new(),
            root: None,
        };
        for span in &trace.spans {
            match dialect::kind(registry, span) {
                Kind::Llm => places.calls.push(span),
                Kind::Tool => places.tools.push(span),
                Kind::Agent if places.root.is_none() => places.root = Some(span.span_id),
                _ => {}
            }
        }
        places
    }

    /// A record of a tool goes to the span with its call id, any other to the span of its kind that is nearest in time.
    fn find(&self, record: &LogRecord, registry: &Registry) -> Option<SpanId> {
        let fields = registry.fields_of_log(record.name());
        if fields.is_empty() {
            return None;
        }
        let at = record.when();
        if fields
            .iter()
            .any(|field| field.word().starts_with("tool.") || *field == Field::McpServer)
        {
            let keys = registry.keys_of(Field::ToolCallId);
            let id = keys.iter().find_map(|key| record.attributes.text(key));
            let same = id.and_then(|id| {
                self.tools
                    .iter()
                    .find(|span| keys.iter().any(|key| span.attributes.text(key) == Some(id)))
            });
            return same
                .copied()
                .or_else(|| if id.is_some() { None } else { nearest(&self.tools, at) })
                .map(|span| span.span_id);
        }
        let of_call =
            |field: &Field| field.word().contains("messages") || field.word().starts_with("usage.") || field.word().starts_with("cost.");
        if fields.iter().any(of_call) && !self.calls.is_empty() {
            let counts = |span: &&&Span| shares_a_count(&span.attributes, &record.attributes);
            let counted = self
                .calls
                .iter()
                .find(counts)
                .filter(|_| fields.iter().any(|field| field.word().starts_with("usage.")));
            return counted.copied().or_else(|| nearest(&self.calls, at)).map(|span| span.span_id);
        }
        self.root
    }
}

/// Whether a token count (beyond the small ones) stands in both.
fn shares_a_count(span: &Attributes, record: &Attributes) -> bool {
    let counts = |attributes: &Attributes| -> HashSet<i64> {
        let of = |(key, value): &(String, AnyValue)| match value {
            AnyValue::Int(number) if key.contains("token") => Some(*number),
            AnyValue::String(text) if key.contains("token") => text.parse().ok(),
            _ => None,
        };
        attributes.iter().filter_map(of).filter(|number| *number > 20).collect()
    };
    !counts(span).is_disjoint(&counts(record))
}

fn nearest<'a>(spans: &[&'a Span], at: UnixNanos) -> Option<&'a Span> {
    let gap = |span: &Span| {
        if at < span.start {
            span.start.0 - at.0
        } else {
            at.0.saturating_sub(span.end.max(span.start).0)
        }
    };
    spans
        .iter()
        .min_by_key(|span| (gap(span), span.end.0.saturating_sub(span.start.0), span.span_id))
        .copied()
}
