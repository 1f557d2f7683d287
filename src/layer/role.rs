//! The role of a field, determined by its name alone.

use super::words::{Meaning, words};
use crate::operation::Kind;

/// How the Layer treats a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    /// Written unchanged.
    Plain,
    /// Written unchanged; suggests the kind of a span without one.
    Hint(Kind),
    /// A short name, whose meaning depends on the kind.
    Short(&'static [Meaning]),
    /// A list that OpenInference writes as indexed keys.
    List(List),
    /// `openinference.span.kind`.
    Kind,
    /// `step_type`.
    StepType,
    /// Belongs to a dialect that is translated.
    Foreign,
    /// `otel.name` and `otel.kind`, which OpenTelemetry needs when a span begins.
    Forwarded,
    /// `otel.status_code`.
    StatusCode,
    /// `otel.status_description` and `otel.status_message`.
    StatusText,
}

/// A field of a callsite.
#[derive(Debug)]
pub(super) struct FieldPlan {
    pub(super) name: &'static str,
    pub(super) role: Role,
    /// Index of the value: that of the first field with this name.
    pub(super) slot: usize,
    /// Whether the value is a name or id that many spans share.
    pub(super) names: bool,
}

/// A list that OpenInference writes as indexed keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    InputMessages,
    OutputMessages,
    Tools,
    Documents,
    InputDocuments,
    OutputDocuments,
    Embeddings,
    Tags,
}

impl List {
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::InputMessages => "llm.input_messages",
            Self::OutputMessages => "llm.output_messages",
            Self::Tools => "llm.tools",
            Self::Documents => "retrieval.documents",
            Self::InputDocuments => "reranker.input_documents",
            Self::OutputDocuments => "reranker.output_documents",
            Self::Embeddings => "embedding.embeddings",
            Self::Tags => "tag.tags",
        }
    }

    const ALL: [Self; 8] = [
        Self::InputMessages,
        Self::OutputMessages,
        Self::Tools,
        Self::Documents,
        Self::InputDocuments,
        Self::OutputDocuments,
        Self::Embeddings,
        Self::Tags,
    ];
}

/// The role of a key.
pub(super) fn role(name: &str) -> Role {
    match name {
        "openinference.span.kind" => return Role::Kind,
        "step_type" => return Role::StepType,
        "otel.name" | "otel.kind" => return Role::Forwarded,
        "otel.status_code" => return Role::StatusCode,
        "otel.status_description" | "otel.status_message" => return Role::StatusText,
        _ => {}
    }
    if let Some(list) = List::ALL.into_iter().find(|list| list.prefix() == name) {
        return Role::List(list);
    }
    let meanings = words().short(name);
    if !meanings.is_empty() {
        return Role::Short(meanings);
    }
    if words().is_foreign(name) {
        return Role::Foreign;
    }
    hint(name).map_or(Role::Plain, Role::Hint)
}

/// The kind suggested by an OpenInference key.
pub(super) fn hint(name: &str) -> Option<Kind> {
    const HEADS: [(&str, Kind); 9] = [
        ("llm.", Kind::Llm),
        ("tool.", Kind::Tool),
        ("tool_call.", Kind::Tool),
        ("retrieval.", Kind::Retrieval),
        ("reranker.", Kind::Rerank),
        ("embedding.", Kind::Embedding),
        ("agent.name", Kind::Agent),
        ("input.value", Kind::Chain),
        ("output.value", Kind::Chain),
    ];
    HEADS.iter().find(|(head, _)| name.starts_with(head)).map(|(_, kind)| *kind)
}

/// The stronger of two hints: a span with both a model name and an agent name is a model call.
pub(super) fn stronger(a: Option<Kind>, b: Kind) -> Kind {
    const ORDER: [Kind; 7] = [
        Kind::Rerank,
        Kind::Embedding,
        Kind::Llm,
        Kind::Tool,
        Kind::Retrieval,
        Kind::Agent,
        Kind::Chain,
    ];
    let rank = |kind| ORDER.iter().position(|have| *have == kind).unwrap_or(ORDER.len());
    a.filter(|a| rank(*a) <= rank(b)).unwrap_or(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles() {
        assert!(matches!(role("step_type"), Role::StepType));
        assert!(matches!(role("tokens_in"), Role::Short(_)));
        assert!(matches!(role("llm.token_count.prompt"), Role::Hint(Kind::Llm)));
        assert!(matches!(role("llm.input_messages"), Role::List(List::InputMessages)));
        assert!(matches!(role("gen_ai.usage.input_tokens"), Role::Foreign));
        assert!(matches!(role("http.url"), Role::Plain));
        assert_eq!(stronger(Some(Kind::Agent), Kind::Llm), Kind::Llm);
        assert_eq!(stronger(Some(Kind::Llm), Kind::Agent), Kind::Llm);
    }
}
