//! From what was recorded on a span to the attributes that leave.

use opentelemetry::trace::{Event, Span, Status};
use opentelemetry::{Array, Key, KeyValue, StringValue, Value};
use serde_json::Value as Json;

use super::convert;
use super::plan::{self, List, Plan, Role};
use super::record::{Failed, Record};
use super::words::{Meaning, key_of, kind_of_word, words, words_of_kind};
use super::write::Writer;
use crate::dialect::{Codec, Field, messages};
use crate::operation::Kind;

/// Writes what was recorded on a span that ends, and tells about how many attributes that were. Most spans need no list:
/// each value goes where it belongs at once.
pub(super) fn write(record: Record, span: &mut impl Span) -> usize {
    let plan = record.plan;
    match (plan.simple, plan.direct, &record.more) {
        (true, _, None) => simple(record, span),
        (_, true, None) => direct(record, span),
        _ => whole(record, span),
    }
}

fn kind_of(told: Told, span: &mut impl Span) -> Option<Kind> {
    let kind = told.kind.or(told.hint);
    match (kind, told.strange_kind) {
        (Some(kind), _) => {
            if let Some((word, own)) = words_of_kind(kind) {
                span.set_attribute(KeyValue::new("openinference.span.kind", word));
                if let Some(own) = own {
                    span.set_attribute(KeyValue::new("spanbridge.step_type", own));
                }
            }
        }
        (None, Some(word)) => span.set_attribute(KeyValue::new("openinference.span.kind", word)),
        (None, None) => {}
    }
    kind
}

fn simple(record: Record, span: &mut impl Span) -> usize {
    let count = record.values.len();
    kind_of(Told::of(record.plan, &record, None), span);
    for (field, value) in record.plan.fields.iter().zip(record.values) {
        let Some(value) = value else { continue };
        match field.role {
            Role::Kind => {}
            Role::StepType if kind_of_word(&value.as_str()).is_some() => {}
            _ => span.set_attribute(KeyValue::new(field.name, value)),
        }
    }
    count
}

fn direct(record: Record, span: &mut impl Span) -> usize {
    let mut count = record.values.len();
    let told = Told::of(record.plan, &record, None);
    let step_word = told.kind.is_some();
    let kind = kind_of(told, span);
    let mut out = Out::new(|pair| span.set_attribute(pair), Failed::NotSaid, step_word);
    for (field, value) in record.plan.fields.iter().zip(record.values) {
        if let Some(value) = value {
            out.take(Key::from_static_str(field.name), field.role, value, kind);
        }
    }
    let Ended { lists, event, status } = out.end();
    if !lists.is_empty() {
        let mut attributes = Vec::new();
        write_lists(lists, &mut attributes);
        count += attributes.len();
        attributes.into_iter().for_each(|attribute| span.set_attribute(attribute));
    }
    if let Some(event) = event {
        span.add_event_with_timestamp(event.name, event.timestamp, event.attributes);
    }
    if let Some(status) = status.into_status() {
        span.set_status(status);
    }
    count
}

fn write_lists(lists: Vec<(List, Json)>, attributes: &mut Vec<KeyValue>) {
    let mut writer = Writer::new(attributes);
    for (list, value) in lists {
        if !writer.list(list, &value) {
            writer.put(format_args!("{}", list.prefix()), super::write::plain(&value));
        }
    }
}

fn whole(record: Record, span: &mut impl Span) -> usize {
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

/// What a span gets when it ends.
struct Finished {
    /// `otel.name`, which may have been recorded after the span began.
    name: Option<String>,
    attributes: Vec<KeyValue>,
    events: Vec<Event>,
    status: Option<Status>,
}

/// The attributes, events and the status of a span that closes. What is small stands before the messages: a provider
/// with the SDK's own limit of 128 then drops some of these and never the model's name.
fn finish(mut record: Record) -> Finished {
    let plan = record.plan;
    let mut more = record.more.take().map_or_else(Default::default, |more| *more);
    let told = Told::of(plan, &record, Some(&more.attributes));
    let mut kind = told.kind.or(more.kind);
    if kind.is_none() && !told.foreign {
        kind = told.hint;
    }
    let mut attributes = Vec::with_capacity(record.values.len() + more.attributes.len() + 2);
    if let Some(kind) = kind {
        Writer::new(&mut attributes).kind(kind);
    } else if let Some(word) = told.strange_kind {
        attributes.push(KeyValue::new("openinference.span.kind", word));
    }
    let mut out = Out::new(|pair| attributes.push(pair), std::mem::take(&mut more.failure), told.kind.is_some());
    let mut name = None;
    for (field, value) in plan.fields.iter().zip(record.values) {
        if let Some(value) = value {
            if field.name == "otel.name" {
                name = Some(value.as_str().into_owned());
            }
            out.take(Key::from_static_str(field.name), field.role, value, kind);
        }
    }
    for pair in more.attributes {
        let role = dynamic_role(pair.key.as_str());
        out.take(pair.key, role, pair.value, kind);
    }
    let Ended { lists, event, mut status } = out.end();
    if plan.clash || told.shorts {
        dedupe(&mut attributes);
    }
    if plan.known_target {
        attributes.push(KeyValue::new("target", plan.metadata.target()));
    }
    more.events.extend(event);
    write_lists(lists, &mut attributes);
    if told.foreign {
        let name = name.as_deref().unwrap_or(plan.metadata.name());
        if let Some(span) = convert::for_reading(plan.metadata, name, &attributes, &more.events) {
            translate(&span, &mut attributes, kind, &mut status);
        }
    }
    Finished {
        name,
        attributes,
        events: more.events,
        status: status.into_status(),
    }
}

/// What the recorded values tell together.
#[derive(Default)]
struct Told {
    kind: Option<Kind>,
    strange_kind: Option<String>,
    hint: Option<Kind>,
    foreign: bool,
    shorts: bool,
}

impl Told {
    fn of(plan: &Plan, record: &Record, more: Option<&[KeyValue]>) -> Self {
        let mut told = Self {
            foreign: plan.known_target,
            ..Self::default()
        };
        for (field, value) in plan.fields.iter().zip(&record.values) {
            if let Some(value) = value {
                told.see(field.role, value);
            }
        }
        for pair in more.unwrap_or_default() {
            told.see(dynamic_role(pair.key.as_str()), &pair.value);
        }
        told
    }

    fn see(&mut self, role: Role, value: &Value) {
        match role {
            Role::Kind | Role::StepType => {
                let word = value.as_str();
                match kind_of_word(&word) {
                    Some(kind) if matches!(role, Role::Kind) || self.kind.is_none() => self.kind = Some(kind),
                    None if matches!(role, Role::Kind) => self.strange_kind = Some(word.into_owned()),
                    _ => {}
                }
            }
            Role::Hint(kind) => self.hint = Some(plan::stronger(self.hint, kind)),
            Role::List(list) => self.hint = plan::hint(list.prefix()).map(|kind| plan::stronger(self.hint, kind)).or(self.hint),
            Role::Foreign => self.foreign = true,
            Role::Short(_) => self.shorts = true,
            Role::Plain | Role::Forwarded | Role::StatusCode | Role::StatusText => {}
        }
    }
}

/// The role of a key that no callsite declares; the indexed keys of messages are many and need no table.
fn dynamic_role(key: &str) -> Role {
    if key.starts_with("llm.") && key.as_bytes().iter().any(u8::is_ascii_digit) {
        return Role::Hint(Kind::Llm);
    }
    plan::role(key)
}

/// Puts values where they belong.
struct Out<F> {
    push: F,
    lists: Vec<(List, Json)>,
    failure: Failed,
    /// `otel.status_code`.
    status_code: Failed,
    /// A failure told by `error` or `success`.
    said: Option<String>,
    /// The kind is told by a word.
    step_word: bool,
}

/// What stands at the end.
struct Ended {
    lists: Vec<(List, Json)>,
    event: Option<Event>,
    status: Failed,
}

impl<F: FnMut(KeyValue)> Out<F> {
    fn new(push: F, failure: Failed, step_word: bool) -> Self {
        Self {
            push,
            lists: Vec::new(),
            failure,
            status_code: Failed::NotSaid,
            said: None,
            step_word,
        }
    }

    fn end(mut self) -> Ended {
        let event = self.said.as_ref().map(|message| exception(message.clone()));
        if let Some(message) = self.said {
            self.failure.set(message);
        }
        Ended {
            lists: self.lists,
            event,
            status: match (self.status_code, self.failure) {
                (Failed::Ok, _) => Failed::Ok,
                (code, Failed::NotSaid) => code,
                (_, failure) => failure,
            },
        }
    }

    fn take(&mut self, key: Key, role: Role, value: Value, kind: Option<Kind>) {
        match role {
            Role::Forwarded | Role::Kind => {}
            Role::StepType if self.step_word && kind_of_word(&value.as_str()).is_some() => {}
            Role::Short(meanings) => match kind {
                Some(kind) => self.short(key, value, meanings, kind),
                None => self.push(key, value),
            },
            Role::List(list) => self.list(list, key, value),
            Role::StatusCode => {
                let word = value.as_str();
                if word.eq_ignore_ascii_case("ok") {
                    self.status_code = Failed::Ok;
                } else if word.eq_ignore_ascii_case("error") {
                    self.status_code = Failed::Because("".into());
                }
            }
            Role::StatusText => self.failure.set(value.as_str().into_owned()),
            Role::Plain | Role::Hint(_) | Role::Foreign | Role::StepType => self.push(key, value),
        }
    }

    fn push(&mut self, key: Key, value: Value) {
        (self.push)(KeyValue::new(key, value));
    }

    fn list(&mut self, list: List, key: Key, value: Value) {
        let parsed = match &value {
            Value::String(text) => serde_json::from_str::<Json>(text.as_str()).ok(),
            _ => None,
        };
        match parsed {
            Some(Json::Array(items)) if list == List::Tags => {
                let items = items.iter().map(|item| StringValue::from(super::write::plain(item))).collect();
                self.push(key, Value::Array(Array::String(items)));
            }
            Some(json @ (Json::Array(_) | Json::Object(_))) => self.lists.push((list, json)),
            _ => self.push(key, value),
        }
    }

    /// A short word: each of its meanings on a span of this kind, as the reader's table has them.
    fn short(&mut self, key: Key, value: Value, meanings: &[Meaning], kind: Kind) {
        let mut written = false;
        let mut left = Some(value);
        for meaning in meanings.iter().filter(|meaning| meaning.holds(kind)) {
            let Some(value) = &left else { break };
            match meaning.field {
                Field::InputMessages | Field::OutputMessages => {
                    let (list, direction) = match meaning.field {
                        Field::InputMessages => (List::InputMessages, messages::Direction::Input),
                        _ => (List::OutputMessages, messages::Direction::Output),
                    };
                    let json = opened(value);
                    if messages::read(&json, direction).is_some() {
                        self.lists.push((list, json));
                    }
                }
                Field::SearchDocuments => {
                    if let json @ Json::Array(_) = opened(value) {
                        self.lists.push((List::Documents, json));
                        written = true;
                    }
                }
                Field::FailureMessage => match value {
                    Value::Bool(true) => self.failed(String::new()),
                    Value::String(text) if !text.as_str().is_empty() => self.failed(text.as_str().to_owned()),
                    _ => {}
                },
                Field::FailureFlag => {
                    if value.as_str().eq_ignore_ascii_case("false") {
                        self.failed(String::new());
                    }
                }
                field => {
                    let Some(target) = key_of(field, kind) else { continue };
                    let Some(value) = left.take() else { break };
                    if meaning.codec == Codec::Json && matches!(target, "input.value" | "output.value") && is_json(&value) {
                        let mime = if target == "input.value" {
                            "input.mime_type"
                        } else {
                            "output.mime_type"
                        };
                        self.push(mime.into(), "application/json".into());
                    }
                    self.push(target.into(), typed(value, meaning.codec));
                    written = true;
                }
            }
        }
        if let Some(value) = left.filter(|_| !written) {
            self.push(key, value);
        }
    }

    fn failed(&mut self, message: String) {
        match &mut self.said {
            Some(said) if message.is_empty() || !said.is_empty() => {}
            said => *said = Some(message),
        }
    }
}

fn exception(message: String) -> Event {
    let attributes = vec![KeyValue::new("exception.message", message)];
    Event::new("exception", std::time::SystemTime::now(), attributes, 0)
}

fn is_json(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            text.as_str().trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text.as_str()).is_ok()
        }
        _ => false,
    }
}

/// JSON text opened; other values as they are.
fn opened(value: &Value) -> Json {
    match value {
        Value::String(text) => match serde_json::from_str(text.as_str()) {
            Ok(json @ (Json::Array(_) | Json::Object(_))) => json,
            _ => Json::String(text.as_str().to_owned()),
        },
        other => convert::any_value(other).to_json(),
    }
}

/// The value in the type that OpenInference gives the key.
#[expect(clippy::cast_precision_loss, reason = "money and counts are far below 2^53")]
fn typed(value: Value, codec: Codec) -> Value {
    match (codec, value) {
        (Codec::Int, Value::String(text)) => match text.as_str().parse() {
            Ok(number) => Value::I64(number),
            Err(_) => Value::String(text),
        },
        (Codec::Float, Value::I64(number)) => Value::F64(number as f64),
        (Codec::Float, Value::String(text)) => match text.as_str().parse() {
            Ok(number) => Value::F64(number),
            Err(_) => Value::String(text),
        },
        (Codec::Text, value @ (Value::I64(_) | Value::F64(_) | Value::Bool(_))) => value.to_string().into(),
        (_, value) => value,
    }
}

/// One value a key: the last one, where the first one stood.
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

/// Reads a span of another dialect with the reader's tables and writes it in OpenInference, beside what it has.
fn translate(span: &crate::span::Span, attributes: &mut Vec<KeyValue>, kind: Option<Kind>, failure: &mut Failed) {
    let operation = crate::dialect::read(&words().registry, span, &[]).operation;
    if kind.is_none() {
        let mut words = Vec::with_capacity(2);
        Writer::new(&mut words).kind(operation.kind);
        attributes.splice(0..0, words);
    }
    if matches!(operation.kind, Kind::Plain | Kind::Unknown) {
        return;
    }
    Writer::new(attributes).operation(&operation);
    if let (Some(why), Failed::NotSaid) = (&operation.failure, &*failure) {
        failure.set(why.message.clone().or_else(|| why.error_type.clone()).unwrap_or_default());
    }
}
