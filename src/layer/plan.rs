//! The plan of a callsite, made before its first span: the role and the mapping of each field.

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

/// A callsite.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) metadata: &'static Metadata<'static>,
    pub(super) fields: Vec<FieldPlan>,
    /// `otel.name` and `otel.kind`, which a span has from its beginning.
    pub(super) forwarded: Vec<Field>,
    /// A dialect recognises its spans by this target.
    pub(super) known_target: bool,
    /// Two fields may be written under one key.
    pub(super) clash: bool,
    /// The fields with the kind in words.
    pub(super) kinds: Vec<usize>,
    /// The function tells what it returns (`#[instrument(ret)]`): it has done so once.
    pub(super) returns: AtomicBool,
    /// What the fields become: on spans of each kind, and of none. Made when the first such span ends.
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

    /// What the fields become on spans of this kind; `None` if that depends on more than the kind.
    pub(super) fn mapping(&self, kind: Option<Kind>) -> Option<&Mapping> {
        let place = kind.map_or(Kind::ALL.len(), |kind| kind as usize);
        self.mappings.get(place)?.get_or_init(|| Mapping::of(&self.fields, kind)).as_ref()
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
