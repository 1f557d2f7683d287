//! The plan of a callsite, made before its first span: each field's role and mapping.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{OnceLock, RwLock};

use tracing::callsite::Identifier;
use tracing::field::Field;
use tracing::{Metadata, callsite};

use super::mapping::Mapping;
use super::role::{FieldPlan, Role, role};
use super::words::{Meaning, words};
use crate::operation::Kind;

/// How to record the spans of a callsite.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) metadata: &'static Metadata<'static>,
    pub(super) fields: Vec<FieldPlan>,
    /// `otel.name` and `otel.kind`, which OpenTelemetry needs when a span begins.
    pub(super) forwarded: Vec<Field>,
    /// Whether a dialect recognizes its spans by this target.
    pub(super) known_target: bool,
    /// Whether two fields may be written under the same key.
    pub(super) clash: bool,
    /// The fields that name the kind.
    pub(super) kinds: Vec<usize>,
    /// Set once the function has recorded a return value (`#[instrument(ret)]`).
    pub(super) returns: AtomicBool,
    /// The mapping of the fields for each kind, and without one; computed when the first such span ends.
    mappings: [OnceLock<Option<Mapping>>; Kind::ALL.len() + 1],
}

impl Plan {
    fn of(metadata: &'static Metadata<'static>) -> Self {
        let mut plan = Self {
            metadata,
            fields: Vec::with_capacity(metadata.fields().len()),
            forwarded: Vec::new(),
            known_target: words().knows_target(metadata.target()),
            clash: false,
            kinds: Vec::new(),
            returns: AtomicBool::new(false),
            mappings: [const { OnceLock::new() }; Kind::ALL.len() + 1],
        };
        for field in metadata.fields() {
            let name = field.name();
            let role = role(name);
            if matches!(role, Role::Forwarded) {
                plan.forwarded.push(field);
            }
            if matches!(role, Role::Kind | Role::StepType) {
                plan.kinds.push(plan.fields.len());
            }
            let slot = plan.fields.iter().position(|have| have.name == name).unwrap_or(plan.fields.len());
            let names = words().is_name(name);
            plan.fields.push(FieldPlan { name, role, slot, names });
        }
        plan.clash = plan.clashes();
        plan
    }

    /// Whether two fields may be written under the same key.
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

    /// The mapping of the fields for this kind; `None` if it depends on more than the kind.
    pub(super) fn mapping(&self, kind: Option<Kind>) -> Option<&Mapping> {
        let place = kind.map_or(Kind::ALL.len(), |kind| kind as usize);
        self.mappings.get(place)?.get_or_init(|| Mapping::of(&self.fields, kind)).as_ref()
    }

    /// The plan of a callsite. Plans live as long as callsites do, that is, forever.
    pub(super) fn get(metadata: &'static Metadata<'static>) -> &'static Self {
        const PLACES: usize = 64;
        thread_local! {
            /// Plans this thread used last, in slots chosen by the address of the metadata.
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
