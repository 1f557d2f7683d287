//! An operation as a record of a format: each field from its sources, and all other facts separately.

use crate::document::json::{Json, Object};
use crate::document::loss::{Loss, LossReason};
use crate::document::shape::{Field, Record, Shape};
use crate::document::source::{Otherwise, Part, Source};
use crate::operation::{self, FieldValue, Message, Operation};
use crate::run::{Run, Step};
use crate::transcript::calls::Results;
use crate::transcript::{calls, content, fact_groups, facts};

/// A record under construction.
pub(crate) struct StepRecord<'a, 'm> {
    pub(crate) run: &'a Run,
    pub(crate) results: &'m Results<'a>,
    pub(crate) step: &'a Step,
    /// The facts without a field.
    pub(crate) facts: Object<'a>,
    /// The document's list that contains the record.
    pub(crate) list: &'static str,
    pub(crate) losses: &'m mut Vec<Loss>,
}

impl<'a> StepRecord<'a, '_> {
    /// Reports a loss in a field of the record.
    pub(crate) fn lose(&mut self, what: &str, reason: LossReason) {
        let place = format!("{}[{}].{what}", self.list, self.step.id);
        self.losses.push(Loss::new(self.run.span_of(self.step), place, reason));
    }

    /// Writes fields in order. `own`: those that the format computes itself, in the same order.
    pub(crate) fn write<const N: usize>(&mut self, fields: &[Field], own: [(&str, Option<Json<'a>>); N], out: &mut Object<'a>) {
        let mut own = own.into_iter().peekable();
        for field in fields {
            let value = match own.next_if(|(name, _)| *name == field.name) {
                Some((_, value)) => value,
                None => self.value(field),
            };
            if let Some(value) = value.or_else(|| self.otherwise(field)) {
                out.add(field.name, value);
            }
        }
        debug_assert!(own.next().is_none(), "each is a field, in the order of the table");
    }

    fn otherwise(&mut self, field: &Field) -> Option<Json<'a>> {
        if field.is_made_up {
            self.lose(field.name, LossReason::Synthesized);
        }
        Some(match field.otherwise {
            Otherwise::Nothing => return None,
            Otherwise::Null => Json::Null,
            Otherwise::Text(text) => text.into(),
            Otherwise::Unknown => Otherwise::UNKNOWN.into(),
            Otherwise::Zero => 0_u64.into(),
            Otherwise::EmptyList => Json::List(Vec::new()),
            Otherwise::EmptyObject => Object::new().into(),
        })
    }

    /// The value of a field from its sources.
    pub(crate) fn value(&mut self, field: &Field) -> Option<Json<'a>> {
        for source in field.sources.into_iter().flatten() {
            let Some(value) = self.source(source).filter(|value| !value.is_null()) else {
                continue;
            };
            let Some(value) = self.fitting(field, value) else { continue };
            match source {
                Source::Field(field) | Source::Less(field, _) => take(&mut self.facts, field),
                Source::Of(Part::Model) => take(&mut self.facts, operation::Field::ModelResponse),
                Source::Of(_) | Source::Sum(..) => {}
            }
            return Some(value);
        }
        None
    }

    fn source(&self, source: Source) -> Option<Json<'a>> {
        let (run, step) = (self.run, self.step);
        let operation = &step.operation;
        match source {
            Source::Field(_) | Source::Sum(..) | Source::Less(..) | Source::Of(Part::Model) => {
                own(source, operation).map(fact_groups::to_json)
            }
            Source::Of(Part::ToolName) => Some(calls::tool_name(run, step).into()),
            Source::Of(Part::Result) => self.results.get(step).map(Json::from),
            Source::Of(Part::Input) => content::input(run, step),
            Source::Of(Part::Output) => content::output(self.results, step),
            Source::Of(Part::Latency) => step.latency_ms().map(Json::from),
            Source::Of(Part::Error) => operation.failure.as_ref().map(|failure| calls::error_text(failure).into()),
        }
    }

    /// A value in the field's shape: other values are written as text if the field may be text.
    fn fitting(&mut self, field: &Field, value: Json<'a>) -> Option<Json<'a>> {
        if field.shape.takes(&value) {
            return Some(value);
        }
        let text = Json::Text(value.into_text());
        let is_text = !matches!(field.shape, Shape::Word(_)) && field.shape.takes(&text);
        is_text.then(|| {
            self.lose(field.name, LossReason::Coerced);
            text
        })
    }

    /// The first output message. Other choices, reasoning and the finish reason become facts.
    pub(crate) fn answer(&mut self) -> Option<(&'a Message, Json<'a>)> {
        let (first, others) = self.step.operation.output_messages.as_deref()?.split_first()?;
        if !others.is_empty() {
            self.facts.insert("choices", content::chats(others));
        }
        if let Some(reason) = &first.finish_reason {
            self.facts.insert_new("finish_reason", reason);
        }
        let (chat, reasoning) = content::chat_and_reasoning(first);
        self.facts.extend(reasoning);
        Some((first, chat))
    }

    /// Notes whether the content of an operation was recorded, if it has none.
    pub(crate) fn note_silence(&mut self) {
        let (name, value) = facts::silence(&self.step.operation);
        self.facts.insert(name, value);
    }
}

/// The fields of a record that an operation has, in order, if their values have the required shapes.
pub(crate) fn of_operation<'a>(record: &Record, operation: &'a Operation) -> Object<'a> {
    let mut out = Object::new();
    for field in record.fields {
        if let Some(record) = field.shape.record() {
            out.add_filled(field.name, of_operation(record, operation));
            continue;
        }
        match field.sources.into_iter().flatten().find_map(|source| own(source, operation)) {
            Some(FieldValue::Value(value)) if !field.shape.holds(value) => {}
            Some(value) => out.add_filled(field.name, fact_groups::to_json(value)),
            None => {}
        }
    }
    out
}

/// The value of a source in the operation itself.
fn own(source: Source, operation: &Operation) -> Option<FieldValue<'_>> {
    match source {
        Source::Field(field) => field.value(operation),
        Source::Sum(one, other) => match (one.value(operation)?, other.value(operation)?) {
            (FieldValue::Count(one), FieldValue::Count(other)) => Some(FieldValue::Count(one.saturating_add(other))),
            (FieldValue::Number(one), FieldValue::Number(other)) => Some(FieldValue::Number(one + other)),
            _ => None,
        },
        Source::Less(whole, part) => match (whole.value(operation)?, part.value(operation)) {
            (FieldValue::Count(whole), Some(FieldValue::Count(part))) if part <= whole => Some(FieldValue::Count(whole - part)),
            (whole, _) => Some(whole),
        },
        Source::Of(Part::Model) => operation.model.name().map(FieldValue::Text),
        Source::Of(_) => None,
    }
}

/// Removes a field from the facts, and its group once that is empty.
pub(crate) fn take(facts: &mut Object<'_>, field: operation::Field) {
    if let Some(name) = field.fact() {
        facts.remove(name);
    } else if let Some((group, member)) = field.path().and_then(|path| path.split_once('.'))
        && let Some(Json::Object(map)) = facts.get_mut(group)
    {
        map.remove(member);
        if map.is_empty() {
            facts.remove(group);
        }
    }
}
