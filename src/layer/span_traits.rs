//! What the values of a span tell together: its kind, and what has to be done with them.

use opentelemetry::{KeyValue, Value};

use super::plan::{self, Plan, Role};
use super::record::Record;
use super::words::kind_of_word;
use crate::operation::Kind;

/// What the recorded values tell together.
#[derive(Default)]
pub(super) struct SpanTraits {
    pub(super) kind: Option<Kind>,
    pub(super) strange_kind: Option<String>,
    pub(super) hint: Option<Kind>,
    pub(super) foreign: bool,
    pub(super) shorts: bool,
}

impl SpanTraits {
    /// The kind that a word says: all that most spans need.
    pub(super) fn kind_by_word(record: &Record) -> Option<Kind> {
        let word = |index: &usize| {
            let field = record.plan.fields.get(*index)?;
            Some((field.role, kind_of_word(&record.values.get(*index)?.as_ref()?.as_str())?))
        };
        let mut said = None;
        for (role, kind) in record.plan.kind_fields.iter().filter_map(word) {
            if matches!(role, Role::Kind) || said.is_none() {
                said = Some(kind);
            }
        }
        said
    }

    pub(super) fn of(plan: &Plan, record: &Record, more: Option<&[KeyValue]>) -> Self {
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
pub(super) fn dynamic_role(key: &str) -> Role {
    if key.starts_with("llm.") && key.as_bytes().iter().any(u8::is_ascii_digit) {
        return Role::Hint(Kind::Llm);
    }
    plan::role(key)
}
