//! The fact of an operation for each field.

use crate::dialect::rule::Field;
use crate::operation::{FieldValue, Kind, Message, Operation, Role};

/// What is written for a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fact<'a> {
    /// Its value.
    Value(FieldValue<'a>),
    /// Messages, the first of which is the system prompt.
    WithSystem(&'a [Message]),
    System(&'a Message),
    /// So many entries are below a prefix.
    Entries(u64),
}

/// The fact; `None` if the operation does not have it, or another field writes it.
pub(super) fn of(operation: &Operation, field: Field) -> Option<Fact<'_>> {
    Some(match field {
        Field::InputMessages => match operation.input_messages.as_deref()? {
            list @ [first, ..] if first.role == Role::System => Fact::WithSystem(list),
            list => Fact::Value(FieldValue::Messages(list)),
        },
        Field::System => Fact::System(operation.input_messages.as_deref().and_then(system)?),
        // Texts that were written as entries are counted by who reads them.
        Field::VectorCount => Fact::Entries(
            operation
                .vector_count
                .filter(|count| *count != operation.embedded_texts.len() as u64)?,
        ),
        Field::HandoffFrom => Fact::Value(agent(operation, Field::StateOldValue)?),
        Field::HandoffTo => Fact::Value(agent(operation, Field::StateNewValue)?),
        Field::StateOldValue | Field::StateNewValue if agent(operation, field).is_some() => return None,
        // The span's status and exception event have the rest.
        Field::FailureType => Fact::Value(FieldValue::Text(operation.failure.as_ref()?.error_type.as_deref()?)),
        // The conventions have one judgement on a span. A list of them is written as such.
        Field::EvaluationName | Field::EvaluationScore | Field::EvaluationLabel | Field::EvaluationExplanation => {
            let [evaluation] = operation.evaluations.as_slice() else {
                return None;
            };
            Fact::Value(match field {
                Field::EvaluationScore => FieldValue::Number(evaluation.score?),
                Field::EvaluationLabel => FieldValue::Text(evaluation.label.as_deref()?),
                Field::EvaluationExplanation => FieldValue::Text(evaluation.explanation.as_deref()?),
                _ => FieldValue::Text(evaluation.name.as_deref()?),
            })
        }
        // Other ways to record a field have no value.
        field => Fact::Value(field.value(operation)?),
    })
}

/// The agent that a handoff's state names.
fn agent(operation: &Operation, state: Field) -> Option<FieldValue<'_>> {
    match state.value(operation)? {
        FieldValue::Value(value) if operation.kind == Kind::Handoff => value.as_str().map(FieldValue::Text),
        _ => None,
    }
}

/// The system prompt, if a separate key can hold it: one first message of plain texts with others behind it, and no other
/// like it.
fn system(messages: &[Message]) -> Option<&Message> {
    let is_prompt = |message: &&Message| matches!(message.role, Role::System | Role::Developer);
    let first = messages.first().filter(|first| first.role == Role::System)?;
    let plain = first.name.is_none() && first.tool_calls.is_empty() && first.finish_reason.is_none() && !first.has_media();
    (plain && messages.len() > 1 && messages.iter().filter(is_prompt).count() == 1).then_some(first)
}

/// Whether the first message is written as the system prompt.
pub(super) fn first_is_system(messages: &[Message]) -> bool {
    system(messages).is_some()
}
