//! Converts the record of a span to the exported attributes.

use std::sync::atomic::Ordering;

use opentelemetry::trace::{Event, Span, Status};
use opentelemetry::{Key, KeyValue};
use serde_json::Value as Json;

use super::convert;
use super::parameters::Parameters;
use super::record::{Record, SpanOutcome};
use super::role::{self, List, Role};
use super::span_contents::SpanContents;
use super::span_traits::{SpanTraits, dynamic_role};
use super::words::{kind_of_word, words};
use super::write::OpenInferenceWriter;
use crate::operation::Kind;

/// Writes the record of a span that ends; returns the number of attributes.
pub(super) fn write(mut record: Record, span: &mut impl Span) -> usize {
    if record.is_idle() {
        return 0;
    }
    let mut count = 0;
    let give = |attribute| {
        count += 1;
        span.set_attribute(attribute);
    };
    if take_mapped(&mut record, give).is_some() {
        record.recycle();
        return count;
    }
    let finished = finish(record);
    let count = finished.attributes.len();
    if let Some(name) = finished.name {
        span.update_name(name);
    }
    for attribute in finished.attributes {
        span.set_attribute(attribute);
    }
    for event in finished.events {
        span.add_event_with_timestamp(event.name, event.timestamp, event.attributes);
    }
    if let Some(status) = finished.status {
        span.set_status(status);
    }
    count
}

/// Fast path for spans whose mapping depends only on the callsite and the kind: emits their attributes. `None` for any other span, whose
/// record is left unchanged.
fn take_mapped(record: &mut Record, mut give: impl FnMut(KeyValue)) -> Option<()> {
    let plan = record.plan;
    if record.more.is_some() || plan.known_target || plan.returns.load(Ordering::Relaxed) {
        return None;
    }
    let mapping = plan.mapping(known_kind(record)?)?;
    if record.present & mapping.by_value != 0 {
        return None;
    }
    mapping.kind.iter().cloned().for_each(&mut give);
    for (target, value) in mapping.targets.iter().zip(record.values.drain(..)) {
        if let Some(value) = value {
            target.write(value, &mut give);
        }
    }
    Some(())
}

/// The kind named by the declared fields, if any; the outer `None` means that one has an unknown word.
#[expect(clippy::option_option, reason = "no kind is not the same as an unknown one")]
fn known_kind(record: &Record) -> Option<Option<Kind>> {
    let plan = record.plan;
    let mut said = None;
    for place in &plan.kinds {
        let (Some(field), Some(Some(word))) = (plan.fields.get(*place), record.values.get(*place)) else {
            continue;
        };
        let kind = kind_of_word(&word.as_str())?;
        if matches!(field.role, Role::Kind) || said.is_none() {
            said = Some(kind);
        }
    }
    if said.is_some() {
        return Some(said);
    }
    let recorded = plan.fields.iter().zip(&record.values).filter(|(_, value)| value.is_some());
    Some(recorded.fold(None, |hint, (field, _)| match field.role {
        Role::Hint(kind) => Some(role::stronger(hint, kind)),
        _ => hint,
    }))
}

/// Everything written to a span when it ends.
struct Finished {
    /// `otel.name`, if recorded after the span began.
    name: Option<String>,
    attributes: Vec<KeyValue>,
    events: Vec<Event>,
    status: Option<Status>,
}

/// The attributes, events and status of a span that closes. Small attributes precede the messages, so that a provider with the SDK's
/// default limit of 128 drops parts of the messages and never the model's name.
fn finish(mut record: Record) -> Finished {
    let plan = record.plan;
    let mut more = record.more.take().map_or_else(Default::default, |more| *more);
    more.settle_panic();
    let traits = SpanTraits::of(&record, &more.attributes);
    let mut kind = traits.kind.or(more.kind);
    if kind.is_none() && !traits.foreign {
        kind = traits.hint;
    }
    let mut attributes = Vec::with_capacity(record.values.len() + more.attributes.len() + 2);
    if let Some(kind) = kind {
        OpenInferenceWriter::new(&mut attributes).kind(kind);
    } else if let Some(word) = traits.unknown_kind {
        attributes.push(KeyValue::new("openinference.span.kind", word));
    }
    let mut contents = SpanContents::new(attributes, std::mem::take(&mut more.outcome), traits.kind.is_some());
    let only_declared = more.attributes.is_empty();
    let mut name = None;
    let mut parameters = Parameters::default();
    let may_be_tool = kind == Some(Kind::Tool) || kind.is_none() && traits.foreign && !plan.known_target;
    for (field, value) in plan.fields.iter().zip(std::mem::take(&mut record.values)) {
        if let Some(value) = value {
            if field.name == "otel.name" {
                name = Some(value.as_str().into_owned());
            }
            let value = if may_be_tool {
                parameters.take(field, value, record.is_debug(field.slot))
            } else {
                Some(value)
            };
            if let Some(value) = value {
                contents.take(Key::from_static_str(field.name), field.role, value, kind);
            }
        }
    }
    for pair in more.attributes {
        let role = dynamic_role(pair.key.as_str());
        contents.take(pair.key, role, pair.value, kind);
    }
    match more.returned.take() {
        Some(event) => more.events.extend(contents.returned(event, kind)),
        None if kind.is_some() && plan.returns.load(Ordering::Relaxed) => contents.never_returned(),
        None => {}
    }
    let (mut status, event) = contents.status();
    let SpanContents { mut attributes, lists, .. } = contents;
    // Collisions among declared fields are known in advance; short names and undeclared keys may always collide.
    if plan.clash || traits.shorts && !only_declared {
        dedupe(&mut attributes);
    }
    if plan.known_target {
        attributes.push(KeyValue::new("target", plan.metadata.target()));
    }
    more.events.extend(event);
    write_lists(lists, &mut attributes);
    if traits.foreign {
        let name = name.as_deref().unwrap_or(plan.metadata.name());
        if let Some(span) = convert::for_reading(plan.metadata, name, &attributes, &more.events) {
            kind = translate(&span, &mut attributes, kind, &mut status);
        }
    }
    parameters.write(kind == Some(Kind::Tool), &mut attributes);
    if let Some(kind) = kind {
        show(kind, &mut attributes);
    }
    Finished {
        name,
        attributes,
        events: more.events,
        status: status.into_status(),
    }
}

/// OpenInference viewers show `input.value` and `output.value`, so memory, state and interrupt spans get these too.
fn show(kind: Kind, attributes: &mut Vec<KeyValue>) {
    let (inputs, outputs): (&[&str], &[&str]) = match kind {
        Kind::MemoryRead => (&["spanbridge.memory.query"], &["spanbridge.memory.results"]),
        Kind::MemoryWrite => (&["spanbridge.memory.data", "spanbridge.memory.changes"], &[]),
        Kind::StateChange => (&["spanbridge.state.old_value"], &["spanbridge.state.new_value"]),
        Kind::Handoff => (&["spanbridge.state.new_value"], &[]),
        Kind::Interrupt => (&["spanbridge.interrupt.prompt"], &["spanbridge.interrupt.response"]),
        _ => return,
    };
    for (shown, keys) in [("input.value", inputs), ("output.value", outputs)] {
        if !attributes.iter().any(|pair| pair.key.as_str() == shown)
            && let Some(pair) = attributes.iter().find(|pair| keys.contains(&pair.key.as_str()))
        {
            attributes.push(KeyValue::new(shown, pair.value.clone()));
        }
    }
}

fn write_lists(lists: Vec<(List, Json)>, attributes: &mut Vec<KeyValue>) {
    let mut writer = OpenInferenceWriter::new(attributes);
    for (list, value) in lists {
        if !writer.list(list, &value) {
            writer.put(format_args!("{}", list.prefix()), super::write::plain(&value));
        }
    }
}

/// Keeps one value per key: the last one, in the position of the first.
fn dedupe(attributes: &mut Vec<KeyValue>) {
    if attributes.len() > 64 {
        let mut at = std::collections::HashMap::with_capacity(attributes.len());
        let mut kept: Vec<KeyValue> = Vec::with_capacity(attributes.len());
        for pair in attributes.drain(..) {
            match at.get(&pair.key).and_then(|at: &usize| kept.get_mut(*at)) {
                Some(have) => have.value = pair.value,
                None => {
                    at.insert(pair.key.clone(), kept.len());
                    kept.push(pair);
                }
            }
        }
        *attributes = kept;
        return;
    }
    let mut index = 0;
    while index < attributes.len() {
        let (before, rest) = attributes.split_at_mut(index);
        let same = rest.first().and_then(|pair| before.iter_mut().find(|have| have.key == pair.key));
        match same {
            Some(have) => {
                if let Some(pair) = rest.first_mut() {
                    std::mem::swap(&mut have.value, &mut pair.value);
                }
                attributes.remove(index);
            }
            None => index += 1,
        }
    }
}

/// Reads a span of another dialect with the reader's tables and adds its OpenInference form. Returns the kind.
fn translate(span: &crate::span::Span, attributes: &mut Vec<KeyValue>, kind: Option<Kind>, outcome: &mut SpanOutcome) -> Option<Kind> {
    let operation = crate::dialect::read(words().registry(), span, &[]).operation;
    if kind.is_none() {
        let mut words = Vec::with_capacity(2);
        OpenInferenceWriter::new(&mut words).kind(operation.kind);
        attributes.splice(0..0, words);
    }
    let kind = kind.or(Some(operation.kind));
    if matches!(operation.kind, Kind::Plain | Kind::Unknown) {
        return kind;
    }
    if let (Some(why), SpanOutcome::Unset) = (&operation.failure, &*outcome) {
        outcome.fail(why.message.clone().or_else(|| why.error_type.clone()).unwrap_or_default());
    }
    OpenInferenceWriter::new(attributes).operation(*operation);
    kind
}

#[cfg(test)]
mod tests {
    use opentelemetry::Value;
    use tracing::info_span;
    use tracing_subscriber::Registry;

    use super::*;
    use crate::layer::plan::Plan;

    /// Texts that mean something else than others: numbers, JSON, failures, nothing.
    const WORDS: [&str; 8] = [
        "Oslo",
        "12",
        "0.5",
        "true",
        "false",
        r#"{"city":"Oslo"}"#,
        r#"[{"role":"user","content":"Hi"}]"#,
        "",
    ];

    fn plans() -> Vec<&'static Plan> {
        let empty = tracing::field::Empty;
        let _registry = tracing::subscriber::set_default(Registry::default());
        let spans = [
            info_span!(
                "a",
                step_type = empty,
                model = empty,
                provider = empty,
                tokens_in = empty,
                input = empty,
                output = empty
            ),
            info_span!(
                "b",
                step_type = empty,
                tool_name = empty,
                tool_call_id = empty,
                arguments = empty,
                result = empty,
                step = empty
            ),
            info_span!(
                "c",
                openinference.span.kind = empty,
                llm.model_name = empty,
                session.id = empty,
                output.value = empty,
                plain = empty
            ),
            info_span!(
                "d",
                step_type = empty,
                query = empty,
                results = empty,
                user_id = empty,
                reward = empty,
                success = empty,
                error = empty
            ),
            info_span!(
                "e",
                llm.model_name = empty,
                agent.name = empty,
                session_id = empty,
                cost_estimate = empty,
                other = empty
            ),
            info_span!(
                "f",
                step_type = empty,
                openinference.span.kind = empty,
                input = empty,
                arguments = empty,
                llm.provider = empty
            ),
            info_span!(
                "g",
                otel.kind = empty,
                otel.status_code = empty,
                gen_ai.request.model = empty,
                llm.input_messages = empty
            ),
        ];
        spans.iter().map(|span| Plan::get(span.metadata().expect("enabled"))).collect()
    }

    /// Each field has a value or none, and the kind is each one.
    #[test]
    fn the_short_way_writes_what_the_long_way_does() {
        let mut mapped = 0;
        for plan in plans() {
            let kinds: Vec<&str> = Kind::ALL.into_iter().map(Kind::name).chain(["", "no kind"]).collect();
            for (round, kind) in kinds
                .iter()
                .enumerate()
                .flat_map(|(at, kind)| (0..40).map(move |round| (at + round, kind)))
            {
                let mut record = Record::new(plan);
                for (place, field) in plan.fields.iter().enumerate() {
                    let chosen = (round * 31 + place * 7) % (WORDS.len() + 3);
                    match (field.role, WORDS.get(chosen)) {
                        (Role::Kind | Role::StepType, _) if kind.is_empty() => {}
                        (Role::Kind | Role::StepType, _) => record.set(place, (*kind).into()),
                        (_, Some(word)) => record.set(place, (*word).into()),
                        (_, None) if chosen == WORDS.len() => record.set(place, Value::I64(7)),
                        (_, None) if chosen == WORDS.len() + 1 => record.set(place, Value::Bool(false)),
                        (_, None) => {}
                    }
                }
                let long = finish(record.clone());
                let mut short = Vec::new();
                if take_mapped(&mut record, |attribute| short.push(attribute)).is_some() {
                    mapped += 1;
                    assert_eq!(short, long.attributes, "{kind} {:?}", plan.metadata);
                    assert!(long.events.is_empty() && long.status.is_none() && long.name.is_none());
                }
            }
        }
        assert!(mapped > 1_000, "{mapped}");
    }
}
