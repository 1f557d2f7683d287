//! Assigns log records to their spans: by span id, else by session, call id and time.
//!
//! Codex and Gemini CLI write messages into log records without a span context.

use std::collections::BTreeMap;

use super::nearest_span::NearestSpan;
use crate::dialect::{self, Field, Registry};
use crate::hash::{HashMap, HashSet};
use crate::operation::Kind;
use crate::span::{AnyValue, Attributes, LogRecord, Span, SpanId, TimeUnit, TraceId, UnixNanos};
use crate::trace::{Finding, FindingKind, Trace};

/// Spans and log records by trace.
pub(super) type ByTrace = BTreeMap<TraceId, (Vec<Span>, Vec<LogRecord>)>;

/// Converts the times of records like those of their trace: to the unit that makes them present-day times.
pub(super) fn in_nanoseconds(records: &mut [LogRecord]) {
    for time in records
        .iter_mut()
        .flat_map(|record| [&mut record.time, &mut record.observed_time])
        .flatten()
    {
        *time = TimeUnit::of(*time).map_or(*time, |unit| unit.nanos(*time));
    }
}

/// Sorts records by time and removes repeated ones.
///
/// Records with equal times keep the order of arrival, the only evidence of which was first: clients with a coarse clock, or with
/// one time for all messages of a call, send them in their original order.
pub(super) fn settle(records: &mut Vec<LogRecord>) {
    // Compared as text, because NaN is not equal to itself.
    let mut have: HashSet<String> = HashSet::default();
    records.retain(|record| have.insert(format!("{record:?}")));
    records.sort_by_key(|record| (record.when(), record.observed_time));
}

/// Assigns each record to a trace and returns the rest.
pub(super) fn share_out(records: Vec<LogRecord>, traces: &mut ByTrace, registry: &Registry) -> Vec<LogRecord> {
    let mut without_trace = Vec::new();
    for record in records {
        match record.trace_id.and_then(|trace| traces.get_mut(&trace)) {
            Some((_, list)) => list.push(record),
            None => without_trace.push(record),
        }
    }
    if without_trace.is_empty() {
        return without_trace;
    }
    let keys = registry.keys_of(Field::SessionId);
    let mut of_session: HashMap<String, Vec<(UnixNanos, UnixNanos, TraceId)>> = HashMap::default();
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
    for record in without_trace {
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

/// The records of each span of a trace, and findings about those without one.
pub(super) fn of_spans<'a>(
    records: &'a [LogRecord],
    trace: &Trace,
    registry: &Registry,
) -> (HashMap<SpanId, Vec<&'a LogRecord>>, Vec<Finding>) {
    let ids: HashSet<SpanId> = trace.spans.iter().map(|span| span.span_id).collect();
    let mut of_span: HashMap<SpanId, Vec<&LogRecord>> = HashMap::default();
    let mut findings = Vec::new();
    let mut index: Option<SpanIndex> = None;
    for record in records {
        let named = record.span_id.filter(|id| ids.contains(id));
        // A record that names a span belongs to it, even if that span has not arrived.
        let found = match record.span_id {
            Some(_) => named,
            None => index.get_or_insert_with(|| SpanIndex::of(trace, registry)).find(record, registry),
        };
        let other = named
            .filter(|_| registry.belongs_to_others(record.name()))
            .and_then(|_| index.get_or_insert_with(|| SpanIndex::of(trace, registry)).find(record, registry))
            .filter(|other| Some(*other) != named);
        if let Some(other) = other {
            of_span.entry(other).or_default().push(record);
        }
        match found {
            Some(id) => of_span.entry(id).or_default().push(record),
            None => findings.push(Finding::new(
                record.span_id,
                FindingKind::StrayLogRecord,
                format!("log record {:?} belongs to no span that is here", record.name()),
            )),
        }
    }
    (of_span, findings)
}

/// Finds the span that a record without one may belong to.
struct SpanIndex<'a> {
    /// Keys of a tool's call id.
    id_keys: Vec<&'a str>,
    /// The first tool with a call id.
    of_call_id: HashMap<&'a str, SpanId>,
    /// Keys of a model call's response id.
    response_keys: Vec<&'a str>,
    /// The first model call with a response id.
    of_response_id: HashMap<&'a str, SpanId>,
    /// The first model call with each token count: its number among the calls, and its id.
    of_count: HashMap<i64, (usize, SpanId)>,
    calls: NearestSpan,
    tools: NearestSpan,
    root: Option<SpanId>,
    has_calls: bool,
}

impl<'a> SpanIndex<'a> {
    fn of(trace: &'a Trace, registry: &'a Registry) -> Self {
        let (mut calls, mut tools, mut root) = (Vec::new(), Vec::new(), None);
        for span in &trace.spans {
            match dialect::kind(registry, span) {
                Kind::Llm => calls.push(span),
                Kind::Tool => tools.push(span),
                Kind::Agent if root.is_none() => root = Some(span.span_id),
                _ => {}
            }
        }
        let id_keys = registry.keys_of(Field::ToolCallId);
        let mut of_call_id = HashMap::default();
        for tool in &tools {
            for id in id_keys.iter().filter_map(|key| tool.attributes.text(key)) {
                let _ = of_call_id.entry(id).or_insert(tool.span_id);
            }
        }
        let response_keys = registry.keys_of(Field::ResponseId);
        let mut of_response_id = HashMap::default();
        for call in &calls {
            for id in response_keys.iter().filter_map(|key| call.attributes.text(key)) {
                let _ = of_response_id.entry(id).or_insert(call.span_id);
            }
        }
        let mut of_count = HashMap::default();
        for (number, call) in calls.iter().enumerate() {
            for count in counts(&call.attributes) {
                let _ = of_count.entry(count).or_insert((number, call.span_id));
            }
        }
        Self {
            id_keys,
            of_call_id,
            response_keys,
            of_response_id,
            of_count,
            has_calls: !calls.is_empty(),
            calls: NearestSpan::of(&calls),
            tools: NearestSpan::of(&tools),
            root,
        }
    }

    /// A tool's record belongs to the span with its call id, any other to the nearest span of its kind in time.
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
            return match self.id_keys.iter().find_map(|key| record.attributes.text(key)) {
                Some(id) => self.of_call_id.get(id).copied(),
                None => self.tools.to(at),
            };
        }
        let of_call =
            |field: &Field| field.word().contains("messages") || field.word().starts_with("usage.") || field.word().starts_with("cost.");
        if fields.iter().any(of_call) && self.has_calls {
            let mut names = self.response_keys.iter().filter_map(|key| record.attributes.text(key));
            if let Some(id) = names.find_map(|id| self.of_response_id.get(id)) {
                return Some(*id);
            }
            let counted = fields
                .iter()
                .any(|field| field.word().starts_with("usage."))
                .then(|| counts(&record.attributes).filter_map(|count| self.of_count.get(&count)).min())
                .flatten();
            return counted.map(|(_, id)| *id).or_else(|| self.calls.to(at));
        }
        self.root
    }
}

/// Token counts, except small ones.
fn counts(attributes: &Attributes) -> impl Iterator<Item = i64> {
    let of = |(key, value): &(String, AnyValue)| match value {
        AnyValue::Int(number) if key.contains("token") => Some(*number),
        AnyValue::String(text) if key.contains("token") => text.parse().ok(),
        _ => None,
    };
    attributes.iter().filter_map(of).filter(|number| *number > 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_one_time_stay_in_their_order() {
        let record = |(time, words): (u64, &str)| serde_json::json!({"timeUnixNano": time, "body": {"stringValue": words}});
        let sent = [(2, "z"), (2, "a"), (1, "first"), (2, "z"), (2, "m")].map(record);
        let message = serde_json::json!({"resourceLogs": [{"scopeLogs": [{"logRecords": sent}]}]}).to_string();
        let mut records = crate::span::json::logs(message.as_bytes()).expect("log records").items;
        settle(&mut records);
        let words: Vec<&str> = records.iter().filter_map(|record| record.body.as_str()).collect();
        assert_eq!(words, ["first", "z", "a", "m"]);
    }
}
