//! The matches of rules in events and log records, in rule order.

use super::{EventMatch, SpanReader};
use crate::dialect::codec;
use crate::dialect::conditions::Conditions;
use crate::dialect::plan::turn_of_event;
use crate::dialect::raw::{EventView, Raw};
use crate::dialect::rule::{Codec, Field, Location, Rule, fits};
use crate::hash::HashSet;
use crate::operation::Kind;
use crate::span::AnyValue;

/// A rule for events that are messages, with the matching events and their places.
type Messages<'a> = (&'a Rule, Vec<(usize, EventView<'a>)>);

/// Some clients use one event for an answer and for earlier answers, so rules for both match it (Azure's responses). The events that no
/// other message follows are the answer.
fn answers_or_history(messages: &mut [Messages<'_>]) {
    let of = |field: Field| move |(rule, _): &Messages<'_>| rule.field == field && rule.when.applies_to_kind(Kind::Llm);
    let (Some(given), Some(said)) = (
        messages.iter().position(of(Field::InputMessages)),
        messages.iter().position(of(Field::OutputMessages)),
    ) else {
        return;
    };
    let Ok([(_, given), (_, said)]) = messages.get_disjoint_mut([given, said]) else {
        return;
    };
    let of_both: HashSet<usize> = said.iter().map(|(place, _)| *place).collect();
    let last = given.iter().rposition(|(place, _)| !of_both.contains(place)).map_or(0, |at| at + 1);
    let answers: HashSet<usize> = given.split_off(last).into_iter().map(|(place, _)| place).collect();
    let history: HashSet<usize> = given.iter().map(|(place, _)| *place).collect();
    said.retain(|(place, _)| answers.contains(place) || !history.contains(place));
}

impl<'a> SpanReader<'a> {
    /// The matches of rules in events and log records, in turn order.
    pub(super) fn event_matches(&self) -> Vec<EventMatch<'a>> {
        let mut list: Vec<EventMatch<'a>> = Vec::new();
        if self.events.is_empty() && self.logs.is_empty() {
            return list;
        }
        let conditions = Conditions::of(self.rules, self.span);
        // Each with its place among the events and then the log records, as times may be equal.
        let mut messages: Vec<Messages<'a>> = Vec::new();
        let mut take = |(index, rule): (usize, &'a Rule), (place, event): (usize, EventView<'a>), list: &mut Vec<EventMatch<'a>>| {
            if !conditions.hold(index) {
                return;
            }
            if rule.codec == Codec::MessageEvent {
                // Rules for one field are read as one, so a rule's conditions on values are checked here.
                if !rule.when.attribute.is_empty() && !self.matches(&rule.when) {
                    return;
                }
                match messages.iter_mut().find(|(have, _)| have.field == rule.field) {
                    Some((_, events)) => events.push((place, event)),
                    None => messages.push((rule, vec![(place, event)])),
                }
                return;
            }
            if rule.codec == Codec::SplitOff {
                let raw = event
                    .body
                    .filter(|body| codec::is_split_off(body))
                    .map(|body| Raw::Body(body, self.flat_messages(rule.field)));
                list.extend(raw.map(|raw| EventMatch { rule, raw }));
                return;
            }
            let body = event.body.filter(|body| rule.key == "body" && !body.is_empty());
            let raw = match rule.key {
                "" => Some(Raw::Event(event)),
                key => body.or_else(|| member(&event, key)).map(|value| Raw::Value("", value)),
            };
            list.extend(raw.map(|raw| EventMatch { rule, raw }));
        };
        // Of several events the last one wins, but the first token is the first event.
        for (index, rule) in self.rules.event_rules() {
            let Location::Event(pattern) = &rule.location else { continue };
            let matching = self.events.iter().enumerate().filter(|(_, event)| fits(pattern, event.name));
            let in_order = matches!(
                rule.field,
                Field::ToolResultOfChild | Field::UsageInputOfTurn | Field::UsageOutputOfTurn
            );
            if matches!(rule.codec, Codec::Time | Codec::MessageEvent) || in_order {
                matching.for_each(|(place, event)| take((index, rule), (place, *event), &mut list));
            } else {
                matching
                    .rev()
                    .for_each(|(place, event)| take((index, rule), (place, *event), &mut list));
            }
        }
        for (index, rule) in self.rules.log_rules() {
            for (place, (event, scope)) in self.logs.iter().enumerate() {
                let matches = match &rule.location {
                    Location::Log(pattern) | Location::LogNear(pattern) => fits(pattern, event.name),
                    Location::LogScope(pattern) => fits(pattern, scope),
                    _ => false,
                };
                if matches {
                    take((index, rule), (self.events.len() + place, *event), &mut list);
                }
            }
        }
        messages
            .iter_mut()
            .for_each(|(_, events)| events.sort_by_key(|(place, event)| (event.time, *place)));
        answers_or_history(&mut messages);
        for (rule, events) in messages.into_iter().filter(|(_, events)| !events.is_empty()) {
            list.push(EventMatch {
                rule,
                raw: Raw::Events(events.into_iter().map(|(_, event)| event).collect()),
            });
        }
        list.sort_by_key(|event| turn_of_event(event.rule));
        list
    }
}

impl<'a> SpanReader<'a> {
    /// The span's own messages of this field's direction, in flattened keys.
    fn flat_messages(&self, field: Field) -> Vec<(&'a str, &'a AnyValue)> {
        let wanted = match field {
            Field::Output | Field::OutputMessages => Field::OutputMessages,
            _ => Field::InputMessages,
        };
        let below = |(key, value): &'a (String, AnyValue)| {
            let mut rules = self.rules.prefixed(key).map(|(_, rule)| rule);
            let rule = rules.find(|rule| {
                matches!(rule.codec, Codec::Flat | Codec::FlatChoices) && rule.field == wanted && rule.location == Location::Span
            })?;
            Some((key.get(rule.key.len()..)?, value))
        };
        self.span.attributes.iter().filter_map(below).collect()
    }
}

/// An attribute of an event or log record, or else a member of its body.
fn member<'a>(event: &EventView<'a>, key: &str) -> Option<&'a AnyValue> {
    event.attributes.get(key).or_else(|| match event.body {
        Some(AnyValue::KvList(pairs)) => pairs.iter().rev().find(|(have, _)| have == key).map(|(_, value)| value),
        _ => None,
    })
}
