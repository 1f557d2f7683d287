//! One span (and the log records that name it) into an operation.

use serde_json::Value;

use super::codec::{self, Decoded, Opened};
use super::plan::{Plan, Source, Turn, turn_of_event};
use super::raw::{EventView, Group, Raw};
use super::registry::Registry;
use super::rule::{Codec, Condition, Field, Place, Rule, fits};
use super::write_field::Writer;
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

/// A rule, and where it found something.
struct Candidate<'a> {
    rule: &'a Rule,
    turn: Turn,
    /// Whether the rule's condition is still to be looked at.
    conditional: bool,
    opens_json: bool,
    found: Found<'a>,
}

enum Found<'a> {
    Look(&'a Source),
    Event(Box<Raw<'a>>),
}

impl<'a> Candidate<'a> {
    fn of_event(rule: &'a Rule, raw: Raw<'a>) -> Self {
        Self {
            rule,
            turn: turn_of_event(rule),
            conditional: true,
            opens_json: rule.opens_json(),
            found: Found::Event(Box::new(raw)),
        }
    }

    /// The place of the attribute that was found.
    fn place(&self) -> Option<usize> {
        match self.found {
            Found::Look(Source::Attribute { place, .. }) => Some(*place),
            _ => None,
        }
    }
}

/// The JSON texts of a span: which rules open the same one is known before the first does.
struct Texts(Vec<(usize, Opened)>);

impl Texts {
    fn of(candidates: &[Candidate<'_>]) -> Self {
        let mut texts = Self(Vec::new());
        for candidate in candidates {
            let Some(at) = candidate.place().filter(|_| candidate.opens_json) else {
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

/// Reads a span with all dialects at once.
#[must_use]
pub fn read(registry: &Registry, span: &Span, logs: &[&LogRecord]) -> Read {
    Reader::new(registry, &registry.plan(span), span, logs).read()
}

/// The kind of operation that a span alone says it is.
#[must_use]
pub fn kind(registry: &Registry, span: &Span) -> Kind {
    let plan = registry.plan(span);
    let reader = Reader::new(registry, &plan, span, &[]);
    reader.kind(&reader.candidates(), &mut Vec::new())
}

struct Reader<'a> {
    registry: &'a Registry,
    plan: &'a Plan,
    span: &'a Span,
    events: Vec<EventView<'a>>,
    logs: Vec<(EventView<'a>, &'a str)>,
}

impl<'a> Reader<'a> {
    fn new(registry: &'a Registry, plan: &'a Plan, span: &'a Span, logs: &[&'a LogRecord]) -> Self {
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
            plan,
            span,
            events,
            logs,
        }
    }

    fn attribute(&self, place: usize) -> Option<&'a (String, AnyValue)> {
        self.span.attributes.0.get(place)
    }

    /// What stands where rules look, each in its turn.
    fn candidates(&self) -> Vec<Candidate<'a>> {
        let mut candidates: Vec<Candidate<'a>> = Vec::with_capacity(self.plan.looks.len());
        candidates.extend(self.plan.looks.iter().filter_map(|look| {
            Some(Candidate {
                rule: self.registry.rule(look.rule)?,
                turn: look.turn,
                conditional: look.conditional,
                opens_json: look.opens_json,
                found: Found::Look(&look.source),
            })
        }));
        if !self.events.is_empty() || !self.logs.is_empty() {
            self.event_candidates(&mut candidates);
            candidates.sort_by_key(|candidate| candidate.turn);
        }
        candidates
    }

    fn raw(&self, candidate: &Candidate<'a>) -> Option<Raw<'a>> {
        let source = match &candidate.found {
            Found::Look(source) => *source,
            Found::Event(raw) => return Some(Raw::clone(raw)),
        };
        Some(match source {
            Source::Attribute { place, mime } => match (self.attribute(*place)?, mime.and_then(|mime| self.attribute(mime))) {
                ((_, AnyValue::String(text)), Some((_, AnyValue::String(mime)))) if mime.starts_with("application/json") => {
                    Raw::JsonText(text)
                }
                ((key, value), _) => Raw::Value(key, value),
            },
            Source::Group(range) => Raw::Group(Group {
                attributes: &self.span.attributes,
                members: self.plan.members(range),
            }),
            Source::Name => Raw::Name(&self.span.name),
            Source::Resource => Raw::Value("", self.span.resource.attributes.get(candidate.rule.key)?),
        })
    }

    fn read(&self) -> Read {
        let mut candidates = self.candidates();
        let mut findings = Vec::new();
        let kind = self.kind(&candidates, &mut findings);
        candidates.retain(|candidate| !candidate.conditional || self.holds(&candidate.rule.when, Some(kind)));
        let mut writer = Writer::new(
            self.span,
            Box::new(Operation {
                kind,
                name: self.span.name.clone(),
                ..Operation::default()
            }),
        );
        let mut consumed = vec![false; self.span.attributes.len()];
        let mut consume = |place: usize| {
            if let Some(slot) = consumed.get_mut(place) {
                *slot = true;
            }
        };
        let mut opened = Texts::of(&candidates);
        let mut done: Option<Field> = None;
        for candidate in &candidates {
            let (rule, place) = (candidate.rule, candidate.place());
            let Some(raw) = &self.raw(candidate) else { continue };
            let mut none = Opened::default();
            let slot = match place {
                Some(at) if candidate.opens_json => opened.next(at),
                Some(at) if rule.keeps_json() => opened.at(at),
                _ => None,
            };
            let slot = slot.unwrap_or(&mut none);
            // A kind's key is read where its word is known; another word under it stays the user's own.
            let is_read = rule.field != Field::Kind || rule.when == Condition::ALWAYS || codec::decode(rule, raw, slot).is_some();
            match raw {
                Raw::Value(..) | Raw::JsonText(_) if is_read => place.into_iter().for_each(&mut consume),
                Raw::Group(group) => group.members.iter().for_each(|member| consume(member.place)),
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
        for place in &self.plan.places {
            let Some((key, value)) = self.attribute(*place) else { continue };
            if holds_non_finite(value) {
                let detail = format!("{key} holds NaN or an infinity, which JSON has no word for: written as null");
                findings.push(Finding::new(Some(self.span.span_id), FindingKind::UnreadableValue, detail));
            }
            if consumed.get(*place) == Some(&false) {
                let _ = operation.unmapped.insert(key.clone(), value.to_json());
            }
        }
        Read {
            operation,
            findings,
            child_results,
            sums_usage,
        }
    }

    fn event_candidates(&self, candidates: &mut Vec<Candidate<'a>>) {
        let mut messages: Vec<(&'a Rule, Vec<EventView<'a>>)> = Vec::new();
        let mut take = |rule: &'a Rule, event: EventView<'a>, out: &mut Vec<Candidate<'a>>| {
            if !rule.when.holds_for_keys(self.span) {
                return;
            }
            if rule.codec == Codec::MessageEvent {
                match messages.iter_mut().find(|(have, _)| have.field == rule.field) {
                    Some((_, list)) => list.push(event),
                    None => messages.push((rule, vec![event])),
                }
            } else if rule.key.is_empty() {
                out.push(Candidate::of_event(rule, Raw::Event(event)));
            } else if rule.key == "body" && event.body.is_some_and(|body| !body.is_empty()) {
                if let Some(body) = event.body {
                    out.push(Candidate::of_event(rule, Raw::Value("", body)));
                }
            } else if let Some(value) = member(&event, rule.key) {
                out.push(Candidate::of_event(rule, Raw::Value("", value)));
            }
        };
        // Of several events the last one holds, but the first token is the first.
        for rule in self.registry.event_rules() {
            let Place::Event(pattern) = &rule.place else { continue };
            let matching = self.events.iter().filter(|event| fits(pattern, event.name));
            if matches!(rule.codec, Codec::Time | Codec::MessageEvent) || rule.field == Field::ToolResultOfChild {
                matching.for_each(|event| take(rule, *event, candidates));
            } else {
                matching.rev().for_each(|event| take(rule, *event, candidates));
            }
        }
        for rule in self.registry.log_rules() {
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
            candidates.push(Candidate::of_event(rule, Raw::Events(events)));
        }
    }

    fn kind(&self, candidates: &[Candidate<'a>], findings: &mut Vec<Finding>) -> Kind {
        let mut strange: Option<String> = None;
        let kinds = candidates.iter().filter(|candidate| candidate.turn.0 == Field::Kind);
        for candidate in kinds {
            let rule = candidate.rule;
            if candidate.conditional && !self.holds(&rule.when, None) {
                continue;
            }
            let Some(raw) = &self.raw(candidate) else { continue };
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

    /// Whether a rule's condition holds, whose scope and keys do.
    fn holds(&self, when: &Condition, kind: Option<Kind>) -> bool {
        let attributes = &self.span.attributes;
        (when.kinds.is_empty() || kind.is_none_or(|kind| when.kinds.contains(&kind)))
            && (when.name.is_empty() || when.name.iter().any(|pattern| fits(pattern, &self.span.name)))
            && (when.attribute.is_empty()
                || when
                    .attribute
                    .iter()
                    .any(|(key, pattern)| attributes.text(key).is_some_and(|text| fits(pattern, text))))
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
