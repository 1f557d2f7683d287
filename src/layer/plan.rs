//! What is known of a callsite before its first span: which field has which role.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{OnceLock, RwLock};

use tracing::callsite::Identifier;
use tracing::field::Field;
use tracing::{Metadata, callsite};

use super::way::Way;
use super::words::{Meaning, words};
use crate::operation::Kind;

/// What the Layer does with a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    /// Written as it is.
    Plain,
    /// Written as it is; tells the kind of a span that does not say it.
    Hint(Kind),
    /// A short word: its meaning depends on the kind.
    Short(&'static [Meaning]),
    /// Lists that OpenInference writes as indexed keys.
    List(List),
    /// `openinference.span.kind`.
    Kind,
    /// `step_type`.
    StepType,
    /// Of a dialect that is translated.
    Foreign,
    /// `otel.name` and `otel.kind`, which tracing-opentelemetry takes.
    Forwarded,
    /// `otel.status_code`.
    StatusCode,
    /// `otel.status_description` and `otel.status_message`.
    StatusText,
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

/// A field of a callsite.
#[derive(Debug)]
pub(super) struct FieldPlan {
    pub(super) name: &'static str,
    pub(super) role: Role,
    /// Where the value is kept: the first field with this name.
    pub(super) slot: usize,
}

/// A callsite.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) metadata: &'static Metadata<'static>,
    pub(super) fields: Vec<FieldPlan>,
    /// Fields that tracing-opentelemetry takes.
    pub(super) forwarded: Vec<Field>,
    /// The target is one that a dialect tells its spans by.
    pub(super) known_target: bool,
    /// Fields whose words say the kind.
    pub(super) kind_fields: Vec<usize>,
    /// Two fields may be written under one key.
    pub(super) clash: bool,
    /// They do not, and no other dialect has to be read: values need no list.
    pub(super) direct: bool,
    /// The ways of the fields by kind, made when the first span of that kind ends.
    ways: [OnceLock<Box<[Way]>>; Kind::ALL.len() + 1],
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

/// The kind of span that an OpenInference key stands on.
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

/// Of two hints the stronger one: a span with a model's name and an agent's name is a model call.
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

impl Plan {
    fn of(metadata: &'static Metadata<'static>) -> Self {
        let mut plan = Self {
            metadata,
            fields: Vec::with_capacity(metadata.fields().len()),
            forwarded: Vec::new(),
            known_target: words().knows_target(metadata.target()),
            kind_fields: Vec::new(),
            clash: false,
            direct: false,
            ways: [const { OnceLock::new() }; Kind::ALL.len() + 1],
        };
        for field in metadata.fields() {
            let name = field.name();
            let role = role(name);
            if matches!(role, Role::Forwarded) {
                plan.forwarded.push(field);
            }
            let slot = plan.fields.iter().position(|have| have.name == name).unwrap_or(plan.fields.len());
            if matches!(role, Role::Kind | Role::StepType) {
                plan.kind_fields.push(plan.fields.len());
            }
            plan.fields.push(FieldPlan { name, role, slot });
        }
        plan.clash = plan.clashes();
        let alone = |field: &FieldPlan| !matches!(field.role, Role::Foreign | Role::Forwarded);
        plan.direct = !plan.known_target && !plan.clash && plan.fields.iter().all(alone);
        plan
    }

    /// Where each field goes on a span of this kind.
    pub(super) fn ways(&self, kind: Option<Kind>) -> &[Way] {
        let make = || self.fields.iter().map(|field| Way::of(field.role, kind)).collect();
        let place = kind.map_or(0, |kind| kind as usize + 1);
        self.ways.get(place).map_or(&[], |ways| ways.get_or_init(make))
    }

    /// Whether two fields may be written under one key.
    fn clashes(&self) -> bool {
        let short: Vec<&[Meaning]> = self
            .fields
            .iter()
            .filter_map(|field| match field.role {
                Role::Short(meanings) => Some(meanings),
                _ => None,
            })
            .collect();
        let own = self.fields.iter().any(|field| words().is_own(field.name));
        let clash = |a: &[Meaning], b: &[Meaning]| a.iter().any(|a| b.iter().any(|b| a.shares_key(b)));
        let mut pairs = short.iter().enumerate();
        own && !short.is_empty() || pairs.any(|(index, a)| short.iter().skip(index + 1).any(|b| clash(a, b)))
    }

    /// The plan of a callsite. Plans live as long as callsites do: for ever.
    pub(super) fn get(metadata: &'static Metadata<'static>) -> &'static Self {
        const PLACES: usize = 64;
        thread_local! {
            /// The plans that this thread used last, by the address of the metadata.
            static LAST: [Cell<Option<&'static Plan>>; PLACES] = const { [const { Cell::new(None) }; PLACES] };
        }
        let place = (std::ptr::from_ref(metadata).addr() >> 4) % PLACES;
        let last = LAST.with(|last| last.get(place).and_then(Cell::get));
        if let Some(plan) = last.filter(|plan| std::ptr::eq(plan.metadata, metadata)) {
            return plan;
        }
        let plan = Self::shared(metadata, &metadata.callsite());
        LAST.with(|last| last.get(place).map(|place| place.set(Some(plan))));
        plan
    }

    fn shared(metadata: &'static Metadata<'static>, id: &callsite::Identifier) -> &'static Self {
        static PLANS: OnceLock<RwLock<HashMap<Identifier, &'static Plan>>> = OnceLock::new();
        let plans = PLANS.get_or_init(RwLock::default);
        if let Some(plan) = plans.read().ok().and_then(|plans| plans.get(id).copied()) {
            return plan;
        }
        let made: &'static Self = Box::leak(Box::new(Self::of(metadata)));
        match plans.write() {
            Ok(mut plans) => plans.entry(id.clone()).or_insert(made),
            Err(_) => made,
        }
    }
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
