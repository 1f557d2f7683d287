//! Properties that depend on all values of a span: its kind, and whether it must be translated or deduplicated.

use opentelemetry::{KeyValue, Value};

use super::record::Record;
use super::role::{self, Role};
use super::words::kind_of_word;
use crate::operation::Kind;

/// Properties of the recorded values as a whole.
#[derive(Default)]
pub(super) struct SpanTraits {
    pub(super) kind: Option<Kind>,
    pub(super) unknown_kind: Option<String>,
    pub(super) hint: Option<Kind>,
    pub(super) foreign: bool,
    pub(super) shorts: bool,
}

impl SpanTraits {
    /// Considers the declared fields and the additional attributes.
    pub(super) fn of(record: &Record, more: &[KeyValue]) -> Self {
        let mut traits = Self {
            foreign: record.plan.known_target,
            ..Self::default()
        };
        for (field, value) in record.plan.fields.iter().zip(&record.values) {
            if let Some(value) = value {
                traits.add(field.role, value);
            }
        }
        for pair in more {
            traits.add(dynamic_role(pair.key.as_str()), &pair.value);
        }
        traits
    }

    fn add(&mut self, role: Role, value: &Value) {
        match role {
            Role::Kind | Role::StepType => {
                let word = value.as_str();
                match kind_of_word(&word) {
                    Some(kind) if matches!(role, Role::Kind) || self.kind.is_none() => self.kind = Some(kind),
                    None if matches!(role, Role::Kind) => self.unknown_kind = Some(word.into_owned()),
                    _ => {}
                }
            }
            Role::Hint(kind) => self.hint = Some(role::stronger(self.hint, kind)),
            Role::List(list) => self.hint = role::hint(list.prefix()).map(|kind| role::stronger(self.hint, kind)).or(self.hint),
            Role::Foreign => self.foreign = true,
            Role::Short(_) => self.shorts = true,
            Role::Plain | Role::Forwarded | Role::StatusCode | Role::StatusText => {}
        }
    }
}

/// The role of an undeclared key. The indexed keys of messages are many, so they skip the table.
pub(super) fn dynamic_role(key: &str) -> Role {
    if key.starts_with("llm.") && key.as_bytes().iter().any(u8::is_ascii_digit) {
        return Role::Hint(Kind::Llm);
    }
    role::role(key)
}
