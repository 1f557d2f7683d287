//! What becomes of a field on a span of a kind, settled once a callsite.

use super::plan::Role;
use super::words::{Meaning, key_of};
use crate::dialect::{Codec, Field};
use crate::operation::Kind;

/// Where the value of a field goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// It is the kind, which is written already.
    Nowhere,
    /// Under the field's own name.
    AsItIs,
    /// Under this key, in the type that the key has.
    Under(&'static str, Codec),
    /// The value itself has to be looked at.
    Look,
}

impl Way {
    /// The way of a field with this role on spans of this kind; `None`: the kind is not known.
    pub(super) fn of(role: Role, kind: Option<Kind>) -> Self {
        match (role, kind) {
            (Role::Kind, _) => Self::Nowhere,
            (Role::Plain | Role::Hint(_) | Role::Short(_), None) | (Role::Plain | Role::Hint(_), Some(_)) => Self::AsItIs,
            (Role::Short(meanings), Some(kind)) => Self::short(meanings, kind),
            (Role::List(_) | Role::StepType | Role::Foreign | Role::Forwarded | Role::StatusCode | Role::StatusText, _) => Self::Look,
        }
    }

    fn short(meanings: &[Meaning], kind: Kind) -> Self {
        let mut holding = meanings.iter().filter(|meaning| meaning.holds(kind));
        let Some(first) = holding.next() else { return Self::AsItIs };
        let by_value = [
            Field::InputMessages,
            Field::OutputMessages,
            Field::SearchDocuments,
            Field::FailureMessage,
            Field::FailureFlag,
        ];
        match key_of(first.field, kind) {
            Some(key) if !by_value.contains(&first.field) => Self::Under(key, first.codec),
            _ => Self::Look,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::plan::role;

    #[test]
    fn short_words_go_by_kind() {
        let way = |name, kind| Way::of(role(name), kind);
        assert_eq!(way("openinference.span.kind", Some(Kind::Llm)), Way::Nowhere);
        assert_eq!(way("http.url", Some(Kind::Llm)), Way::AsItIs);
        assert_eq!(way("model", None), Way::AsItIs);
        assert!(matches!(way("model", Some(Kind::Llm)), Way::Under("llm.model_name", _)));
        assert!(matches!(way("model", Some(Kind::Embedding)), Way::Under("embedding.model_name", _)));
        assert!(matches!(way("arguments", Some(Kind::Tool)), Way::Under("input.value", _)));
        assert_eq!(way("input", Some(Kind::Llm)), Way::Look);
        assert_eq!(way("success", Some(Kind::Tool)), Way::Look);
    }
}
