//! One span (and the log records that name it) into an operation.

use serde_json::Value;

use super::codec::{self, Decoded, EventView, Opened, Raw};
use super::registry::Registry;
use super::rule::{Codec, Condition, Field, Place, Rule, fits};
use super::write_field::Writer;
use crate::hash::HashMap;
use crate::operation::{Kind, Operation};
use crate::span::{AnyValue, LogRecord, Span, UnixNanos};
use crate::trace::{Finding, FindingKind};

/// What a span says, and what was odd about it.
#[derive(Debug, Clone)]
pub struct Read {
    /// The operation.
    pub operation: Box<Operation>,
    /// Oddities.
    pub findings: Vec<Finding>,
    /// Results of tools below this span that stand on this span (adk-rust).
    pub child_results: Vec<ChildResult>,
    /// Whether the client sums tokens up over the calls of an agent (Spring AI 1.1).
    pub sums_usage: bool,
}

/// A tool's result that stands on another span than the tool's.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildResult {
    /// The tool's name.
    pub tool: String,
    /// The result, if the tool did not fail.
    pub result: Option<Value>,
    /// The error's text, if it did.
    pub error: Option<String>,
    /// When it was recorded.
    pub at: UnixNanos,
}

struct Candidate<'r, 'a> {
    rule: &'r Rule,
    raw: Raw<'a>,
    /// The place of the attribute, where `raw` is one.
    attribute: Option<usize>,
}

/// The JSON texts of a span: which rules open the same one is known before the first does.
struct Texts(Vec<(usize, Opened)>);

impl Texts {
    fn of(candidates: &[Candidate<'_, '_>]) -> Self {
        let mut texts = Self(Vec::new());
        for candidate in candidates {
            let Some(at) = candidate.attribute.filter(|_| candidate.rule.opens_json()) else {
                continue;
            };
            match texts.0.iter_mut().find(|(have, _)| *have == at) {
                Some((_, opened)) => opened.wanted += 1,
                None => texts.0.push((
                    at,
                    Opened {
                        wanted: 1,
                        ..Opened::default()
                    },
                )),
            }
        }
        texts
    }

    /// The text of this attribute, for one more of its rules.
    fn next(&mut self, at: usize) -> Option<&mut Opened> {
        let opened = self.at(at)?;
        opened.wanted = opened.wanted.saturating_sub(1);
        Some(opened)
    }

    fn at(&mut self, at: usize) -> Option<&mut Opened> {
        self.0.iter_mut().find(|(have, _)| *have == at).map(|(_, opened)| opened)
    }
}

impl<'r, 'a> Candidate<'r, 'a> {
    fn new(rule: &'r Rule, raw: Raw<'a>) -> Self {
        Self {
            rule,
            raw,
            attribute: None,
        }
    }
}

/// Reads a span with all dialects at once.
#[must_use]
pub fn read(registry: &Registry, span: &Span, logs: &[&LogRecord]) -> Read {
    let reader = Reader::new(registry, span, logs);
    reader.read()
}

/// The kind of operation that a span alone says it is.
#[must_use]
pub fn kind(registry: &Registry, span: &Span) -> Kind {
    let reader = Reader::new(registry, span, &[]);
    reader.kind(&reader.candidates(), &mut Vec::new())
}

struct Reader<'r, 'a> {
    registry: &'r Registry,
    span: &'a Span,
    attributes: Vec<(&'a str, &'a AnyValue)>,
    /// The place of each key in `attributes`.
    at: HashMap<&'a str, usize>,
    events: Vec<EventView<'a>>,
    logs: Vec<(EventView<'a>, &'a str)>,
}

impl<'r, 'a> Reader<'r, 'a> {
    fn new(registry: &'r Registry, span: &'a Span, logs: &[&'a LogRecord]) -> Self {
        // A key may stand twice: the last one holds, in the place of the first.
        let mut at: HashMap<&str, usize> = HashMap::with_capacity_and_hasher(span.attributes.len(), foldhash::fast::RandomState::default());
        let mut attributes: Vec<(&str, &AnyValue)> = Vec::with_capacity(span.attributes.len());
        for (key, value) in span.attributes.iter() {
            match at.entry(key.as_str()) {
                std::collections::hash_map::Entry::Occupied(known) => {
                    if let Some(slot) = attributes.get_mut(*known.get()) {
                        slot.1 = value;
                    }
                }
                std::collections::hash_map::Entry::Vacant(free) => {
                    let _ = free.insert(attributes.len());
                    attributes.push((key, value));
                }
            }
        }
        let mut events: Vec<EventView<'_>> = span
            .events
            .iter()
            .map(|event| EventView {
                name: &event.name,
                time: event.time,
                attributes: &event.attributes,
                body: None,
            })
            .collect();
        events.sort_by_key(|event| event.time);
        let logs = logs
            .iter()
            .map(|record| {
                let view = EventView {
                    name: record.name(),
                    time: record.when(),
                    attributes: &record.attributes,
                    body: Some(&record.body),
                };
                (view, record.scope.name.as_str())
            })
            .collect();
        Self {
            registry,
            span,
            attributes,
            at,
            events,
            logs,
        }
    }

    fn get(&self, key: &str) -> Option<&'a AnyValue> {
        let at = self.at.get(key)?;
        self.attributes.get(*at).map(|(_, value)| *value)
    }

    /// What stands where rules look, by field and rank.
    fn candidates(&self) -> Vec<Candidate<'r, 'a>> {
        let mut candidates: Vec<Candidate<'r, 'a>> = Vec::with_capacity(2 * self.attributes.len());
        self.attribute_candidates(&mut candidates);
        self.event_candidates(&mut candidates);
        for index in self.registry.name_rules().iter().chain(self.registry.resource_rules()) {
            let Some(rule) = self.registry.rule(*index) else { continue };
            match rule.place {
                Place::Name if !self.holds(&rule.when, None) => {}
                Place::Name => candidates.push(Candidate::new(rule, Raw::Name(&self.span.name))),
                _ => {
                    if let Some(value) = self.span.resource.attributes.get(rule.key) {
                        candidates.push(Candidate::new(rule, Raw::Value("", value)));
                    }
                }
            }
        }
        candidates.sort_by_cached_key(|candidate| (candidate.rule.field, candidate.rule.rank));
        candidates
    }

    fn read(&self) -> Read {
        let mut candidates = self.candidates();
        let mut findings = Vec::new();
        let kind = self.kind(&candidates, &mut findings);
        candidates.retain(|candidate| self.holds(&candidate.rule.when, Some(kind)));
        let mut writer = Writer::new(
            self.span,
            Box::new(Operation {
                kind,
                name: self.span.name.clone(),
                ..Operation::default()
            }),
        );
        let mut consumed = vec![false; self.attributes.len()];
        let mut opened = Texts::of(&candidates);
        let mut prefixes: Vec<&str> = Vec::new();
        let mut done: Option<Field> = None;
        for Candidate { rule, raw, attribute } in &candidates {
            let mut none = Opened::default();
            let slot = match attribute {
                Some(at) if rule.opens_json() => opened.next(*at),
                Some(at) if rule.keeps_json() => opened.at(*at),
                _ => None,
            };
            let slot = slot.unwrap_or(&mut none);
            // A kind's key is read where its word is known; another word under it stays the user's own.
            let is_read = rule.field != Field::Kind || rule.when == Condition::ALWAYS || codec::decode(rule, raw, slot).is_some();
            match raw {
                Raw::Value(..) | Raw::JsonText(_) if is_read => {
                    if let Some(slot) = attribute.and_then(|at| consumed.get_mut(at)) {
                        *slot = true;
                    }
                }
                Raw::Group(_) => prefixes.push(rule.key),
                _ => {}
            }
            if rule.field == Field::Kind || done == Some(rule.field) {
                continue;
            }
            let Some(decoded) = codec::decode(rule, raw, slot) else { continue };
            let merges = writer.merges(rule.field);
            if writer.write(rule, raw, decoded) && !merges {
                done = Some(rule.field);
            }
        }
        let (mut operation, child_results, sums_usage) = writer.finish();
        for ((key, value), consumed) in self.attributes.iter().zip(consumed) {
            if holds_non_finite(value) {
                let detail = format!("{key} holds NaN or an infinity, which JSON has no word for: written as null");
                findings.push(Finding::new(Some(self.span.span_id), FindingKind::UnreadableValue, detail));
            }
            if !consumed && !prefixes.iter().any(|prefix| key.starts_with(prefix)) {
                let _ = operation.unmapped.insert((*key).to_owned(), value.to_json());
            }
        }
        Read {
            operation,
            findings,
            child_results,
            sums_usage,
        }
    }

    /// Whether the sibling `<..>.mime_type` of a key says that its text is JSON.
    fn is_json(&self, key: &str) -> bool {
        let Some((group, _)) = key.rsplit_once('.') else { return false };
        let is_sibling = |have: &str| have.strip_prefix(group) == Some(".mime_type");
        let mime = self.attributes.iter().find(|(have, _)| is_sibling(have));
        mime.and_then(|(_, mime)| mime.as_str())
            .is_some_and(|mime| mime.starts_with("application/json"))
    }

    fn attribute_candidates(&self, candidates: &mut Vec<Candidate<'r, 'a>>) {
        let mut groups: Vec<(usize, Vec<(&'a str, &'a AnyValue)>)> = Vec::new();
        for (at, (key, value)) in self.attributes.iter().enumerate() {
            let mut is_json: Option<bool> = None;
            for index in self.registry.exact(key) {
                if let Some(rule) = self.registry.rule(*index) {
                    let raw = match value {
                        AnyValue::String(text) if rule.codec == Codec::ByMime && *is_json.get_or_insert_with(|| self.is_json(key)) => {
                            Raw::JsonText(text)
                        }
                        _ => Raw::Value(key, value),
                    };
                    candidates.push(Candidate {
                        rule,
                        raw,
                        attribute: Some(at),
                    });
                }
            }
            for index in self.registry.prefixed(key) {
                let Some(rule) = self.registry.rule(index) else { continue };
                let rest = key.get(rule.key.len()..).unwrap_or("");
                match groups.iter_mut().find(|(have, _)| *have == index) {
                    Some((_, group)) => group.push((rest, value)),
                    None => groups.push((index, vec![(rest, value)])),
                }
            }
        }
        for (index, group) in groups {
            if let Some(rule) = self.registry.rule(index) {
                candidates.push(Candidate::new(rule, Raw::Group(group)));
            }
        }
    }

    fn event_candidates(&self, candidates: &mut Vec<Candidate<'r, 'a>>) {
        if self.events.is_empty() && self.logs.is_empty() {
            return;
        }
        let mut messages: Vec<(&'r Rule, Vec<EventView<'a>>)> = Vec::new();
        let mut take = |rule: &'r Rule, event: EventView<'a>, out: &mut Vec<Candidate<'r, 'a>>| {
            if rule.codec == Codec::MessageEvent {
                match messages.iter_mut().find(|(have, _)| have.field == rule.field) {
                    Some((_, list)) => list.push(event),
                    None => messages.push((rule, vec![event])),
                }
            } else if rule.key.is_empty() {
                out.push(Candidate::new(rule, Raw::Event(event)));
            } else if rule.key == "body" && event.body.is_some_and(|body| !body.is_empty()) {
                if let Some(body) = event.body {
                    out.push(Candidate::new(rule, Raw::Value("", body)));
                }
            } else if let Some(value) = member(&event, rule.key) {
                out.push(Candidate::new(rule, Raw::Value("", value)));
            }
        };
        // Of several events the last one holds, but the first token is the first.
        for rule in self.registry.event_rules().iter().filter_map(|index| self.registry.rule(*index)) {
            let Place::Event(pattern) = &rule.place else { continue };
            let matching = self.events.iter().filter(|event| fits(pattern, event.name));
            if matches!(rule.codec, Codec::Time | Codec::MessageEvent) || rule.field == Field::ToolResultOfChild {
                matching.for_each(|event| take(rule, *event, candidates));
            } else {
                matching.rev().for_each(|event| take(rule, *event, candidates));
            }
        }
        for rule in self.registry.log_rules().iter().filter_map(|index| self.registry.rule(*index)) {
            for (event, scope) in &self.logs {
                let matches = match &rule.place {
                    Place::Log(pattern) | Place::LogNear(pattern) => fits(pattern, event.name),
                    Place::LogScope(pattern) => fits(pattern, scope),
                    _ => false,
                };
                if matches {
                    take(rule, *event, candidates);
                }
            }
        }
        for (rule, mut events) in messages {
            events.sort_by_key(|event| event.time);
            candidates.push(Candidate::new(rule, Raw::Events(events)));
        }
    }

    fn kind(&self, candidates: &[Candidate<'r, 'a>], findings: &mut Vec<Finding>) -> Kind {
        let mut strange: Option<String> = None;
        for Candidate { rule, raw, .. } in candidates.iter().filter(|candidate| candidate.rule.field == Field::Kind) {
            if !self.holds(&rule.when, None) {
                continue;
            }
            if let Some(Decoded::Value(Value::String(word))) = codec::decode(rule, raw, &mut Opened::default())
                && let Some(kind) = Kind::from_name(&word)
            {
                return kind;
            }
            if let (Raw::Value(key, AnyValue::String(word)), None) = (raw, &strange)
                && rule.when == Condition::ALWAYS
            {
                strange = Some(format!("{key}={word}"));
            }
        }
        match strange {
            Some(marker) => {
                findings.push(Finding::new(Some(self.span.span_id), FindingKind::UnknownKind, marker));
                Kind::Unknown
            }
            None => Kind::Plain,
        }
    }

    fn holds(&self, when: &Condition, kind: Option<Kind>) -> bool {
        let has = |pattern: &str| match pattern.strip_suffix('*') {
            Some(start) => self.attributes.iter().any(|(key, _)| key.starts_with(start)),
            None => self.get(pattern).is_some(),
        };
        (when.kinds.is_empty() || kind.is_none_or(|kind| when.kinds.contains(&kind)))
            && (when.scope.is_empty() || when.scope.iter().any(|pattern| fits(pattern, &self.span.scope.name)))
            && (when.name.is_empty() || when.name.iter().any(|pattern| fits(pattern, &self.span.name)))
            && (when.has.is_empty() || when.has.iter().any(|pattern| has(pattern)))
            && !when.lacks.iter().any(|pattern| has(pattern))
            && (when.attribute.is_empty()
                || when
                    .attribute
                    .iter()
                    .any(|(key, pattern)| self.get(key).and_then(AnyValue::as_str).is_some_and(|text| fits(pattern, text))))
    }
}

fn holds_non_finite(value: &AnyValue) -> bool {
    match value {
        AnyValue::Double(number) => !number.is_finite(),
        AnyValue::Array(items) => items.iter().any(holds_non_finite),
        AnyValue::KvList(pairs) => pairs.iter().any(|(_, value)| holds_non_finite(value)),
        _ => false,
    }
}

/// A log record's or event's attribute, else a member of its body.
fn member<'a>(event: &EventView<'a>, key: &str) -> Option<&'a AnyValue> {
    event.attributes.get(key).or_else(|| match event.body {
        Some(AnyValue::KvList(pairs)) => pairs.iter().rev().find(|(have, _)| have == key).map(|(_, value)| value),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
