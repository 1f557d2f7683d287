//! The mapping of a callsite's fields for one kind of span, computed once.
//!
//! The fast path for spans whose fields are names, numbers and texts. Values that must be parsed first, such as a list of messages or a
//! failure, take [`super::span_contents`] and [`super::emit`]; both paths write the same attributes.

use opentelemetry::{KeyValue, Value};

use super::parameters::Parameters;
use super::role::{FieldPlan, Role};
use super::typed::{is_json, mime_type, typed};
use super::words::Meaning;
use super::write::OpenInferenceWriter;
use crate::dialect::{Codec, Field};
use crate::operation::Kind;

/// How the fields of a callsite map for one kind of span.
#[derive(Debug)]
pub(super) struct Mapping {
    /// The attributes of the kind itself.
    pub(super) kind: Vec<KeyValue>,
    /// The target of each field.
    pub(super) targets: Vec<Target>,
    /// Bit set of the slots whose target depends on the value.
    pub(super) by_value: u64,
}

/// The target of a field's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target {
    /// Nothing, or nothing that is not written already.
    Nothing,
    /// An attribute with this key and the value unchanged.
    Attribute(&'static str),
    /// An attribute with this key, converted to the key's type.
    Typed(&'static str, Codec),
    /// An attribute with the first key; the second key gets the MIME type if the value is JSON.
    MayBeJson(&'static str, &'static str),
}

impl Mapping {
    /// `None` if the mapping of one field may depend on another.
    pub(super) fn of(fields: &[FieldPlan], kind: Option<Kind>) -> Option<Self> {
        // These kinds copy values into the fields that viewers show.
        let copies = matches!(
            kind,
            Some(Kind::MemoryRead | Kind::MemoryWrite | Kind::StateChange | Kind::Handoff | Kind::Interrupt)
        );
        if copies || fields.len() > 64 {
            return None;
        }
        let mut mapping = Self {
            kind: Vec::new(),
            targets: Vec::with_capacity(fields.len()),
            by_value: 0,
        };
        if let Some(kind) = kind {
            OpenInferenceWriter::new(&mut mapping.kind).kind(kind);
        }
        for field in fields {
            let target = target(field, kind).unwrap_or_else(|| {
                mapping.by_value |= 1 << field.slot;
                Target::Nothing
            });
            mapping.targets.push(target);
        }
        mapping.keys_differ(fields).then_some(mapping)
    }

    /// Whether all targets have different keys.
    fn keys_differ(&self, fields: &[FieldPlan]) -> bool {
        let mut keys: Vec<&str> = self.kind.iter().map(|pair| pair.key.as_str()).collect();
        for (place, (target, field)) in self.targets.iter().zip(fields).enumerate() {
            match target {
                // A second field of this name stores its value in the first one's slot.
                _ if field.slot != place => {}
                Target::Nothing => {}
                Target::Attribute(key) | Target::Typed(key, _) => keys.push(key),
                Target::MayBeJson(key, mime) => keys.extend([*key, *mime]),
            }
        }
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        keys.len() == all
    }
}

/// The target of a field; `None` if it depends on the value.
fn target(field: &FieldPlan, kind: Option<Kind>) -> Option<Target> {
    if kind == Some(Kind::Tool) && Parameters::may_be(field) {
        return None;
    }
    match field.role {
        Role::Kind | Role::StepType => Some(Target::Nothing),
        Role::Plain | Role::Hint(_) => Some(Target::Attribute(field.name)),
        Role::Short(meanings) => match kind {
            Some(kind) => short(field.name, meanings, kind),
            None => Some(Target::Attribute(field.name)),
        },
        Role::List(_) | Role::Foreign | Role::Forwarded | Role::StatusCode | Role::StatusText => None,
    }
}

fn short(name: &'static str, meanings: &[Meaning], kind: Kind) -> Option<Target> {
    for meaning in meanings.iter().filter(|meaning| meaning.matches(kind)) {
        match meaning.field {
            Field::InputMessages | Field::OutputMessages | Field::SearchDocuments | Field::FailureMessage | Field::FailureFlag => {
                return None;
            }
            _ => {
                if let Some(key) = meaning.key(kind) {
                    return Some(match (mime_type(key, meaning.codec), meaning.codec) {
                        (Some(mime), _) => Target::MayBeJson(key, mime),
                        (None, codec @ (Codec::Int | Codec::Float | Codec::Text)) => Target::Typed(key, codec),
                        (None, _) => Target::Attribute(key),
                    });
                }
            }
        }
    }
    Some(Target::Attribute(name))
}

impl Target {
    /// Emits the attributes for a value.
    pub(super) fn write(self, value: Value, mut give: impl FnMut(KeyValue)) {
        match self {
            Self::Nothing => {}
            Self::Attribute(key) => give(KeyValue::new(key, value)),
            Self::Typed(key, codec) => give(KeyValue::new(key, typed(value, codec))),
            Self::MayBeJson(key, mime) => {
                if is_json(&value) {
                    give(KeyValue::new(mime, "application/json"));
                }
                give(KeyValue::new(key, value));
            }
        }
    }
}
