//! Which rules look at a span, and where: the same for all spans that have the same scope and the same keys, so it is worked out
//! once for them.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use super::registry::Registry;
use super::rule::{Codec, Field, Rule};
use crate::hash::HashMap;
use crate::span::Span;

/// So many plans are kept: instrumentations write a few dozen sets of keys, times the lengths of their flattened lists.
const KEPT: usize = 256;
/// Plans for more bytes of keys are not kept: what strangers send does not fill the memory.
const LONGEST: usize = 32 << 10;
/// What a key costs beside its bytes.
const A_KEY: usize = 64;

/// Where rules look in a span with these keys.
#[derive(Debug)]
pub(super) struct Plan {
    scope: String,
    keys: Vec<String>,
    /// Places of the attributes. Of equal keys the last one holds, in the turn of the first.
    pub(super) places: Vec<usize>,
    /// By field and rank.
    pub(super) looks: Vec<Look>,
    members: Vec<Member>,
}

/// One rule that looks at one place.
#[derive(Debug)]
pub(super) struct Look {
    /// The rule's number in the registry.
    pub(super) rule: usize,
    pub(super) source: Source,
    pub(super) turn: Turn,
    /// Whether values, the name or the kind say if it holds: what keys and scope say is known to.
    pub(super) conditional: bool,
    /// [`Rule::opens_json`].
    pub(super) opens_json: bool,
}

#[derive(Debug)]
pub(super) enum Source {
    /// The attribute in this place; the place of the sibling `<..>.mime_type` where that matters.
    Attribute { place: usize, mime: Option<usize> },
    /// [`Plan::members`] of these numbers.
    Group(Range<usize>),
    /// The span's name.
    Name,
    /// An attribute of the resource.
    Resource,
}

/// An attribute below a prefix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) place: usize,
    /// The length of the prefix.
    pub(super) prefix: usize,
}

/// When a rule's turn is: among those of one field and rank events come before the span's name and its resource.
pub(super) type Turn = (Field, u16, u8);

/// The turn of a rule that looks at an event or a log record.
pub(super) fn turn_of_event(rule: &Rule) -> Turn {
    (rule.field, rule.rank, 1)
}

impl Plan {
    pub(super) fn members(&self, range: &Range<usize>) -> &[Member] {
        self.members.get(range.clone()).unwrap_or(&[])
    }

    fn is_of(&self, span: &Span) -> bool {
        self.keys.len() == span.attributes.len()
            && self.scope == span.scope.name
            && self.keys.iter().zip(span.attributes.iter()).all(|(key, (have, _))| key == have)
    }

    fn new(registry: &Registry, span: &Span) -> Self {
        let keys: Vec<String> = span.attributes.iter().map(|(key, _)| key.clone()).collect();
        let mut turns: HashMap<&str, usize> = HashMap::default();
        let mut places: Vec<usize> = Vec::with_capacity(keys.len());
        for (place, key) in keys.iter().enumerate() {
            match turns.get(key.as_str()).and_then(|turn| places.get_mut(*turn)) {
                Some(known) => *known = place,
                None => {
                    let _ = turns.insert(key, places.len());
                    places.push(place);
                }
            }
        }
        let place_of = |key: &str| turns.get(key).and_then(|turn| places.get(*turn)).copied();
        let mut looks: Vec<Look> = Vec::new();
        let mut groups: Vec<(usize, Vec<Member>)> = Vec::new();
        for (place, key) in places.iter().filter_map(|place| Some((*place, keys.get(*place)?))) {
            for (index, rule) in registry.exact(key) {
                let mime = (rule.codec == Codec::ByMime)
                    .then(|| key.rsplit_once('.'))
                    .flatten()
                    .and_then(|(group, _)| place_of(&format!("{group}.mime_type")));
                looks.push(Look::new(index, rule, Source::Attribute { place, mime }));
            }
            for (index, rule) in registry.prefixed(key) {
                let member = Member {
                    place,
                    prefix: rule.key.len(),
                };
                match groups.iter_mut().find(|(have, _)| *have == index) {
                    Some((_, members)) => members.push(member),
                    None => groups.push((index, vec![member])),
                }
            }
        }
        let mut members: Vec<Member> = Vec::new();
        for (index, group) in groups {
            let Some(rule) = registry.rule(index) else { continue };
            let first = members.len();
            members.extend(group);
            looks.push(Look::new(index, rule, Source::Group(first..members.len())));
        }
        looks.extend(registry.name_rules().map(|(index, rule)| Look::new(index, rule, Source::Name)));
        looks.extend(
            registry
                .resource_rules()
                .map(|(index, rule)| Look::new(index, rule, Source::Resource)),
        );
        looks.retain(|look| registry.rule(look.rule).is_some_and(|rule| rule.when.holds_for_keys(span)));
        looks.sort_by_key(|look| look.turn);
        Self {
            scope: span.scope.name.clone(),
            places,
            looks,
            members,
            keys,
        }
    }
}

impl Look {
    fn new(index: usize, rule: &Rule, source: Source) -> Self {
        let when = &rule.when;
        let last = matches!(source, Source::Name | Source::Resource);
        Self {
            rule: index,
            source,
            turn: (rule.field, rule.rank, if last { 2 } else { 0 }),
            opens_json: rule.opens_json(),
            conditional: !(when.kinds.is_empty() && when.name.is_empty() && when.attribute.is_empty()),
        }
    }
}

/// The plans that were made.
#[derive(Debug, Default)]
pub(super) struct Plans {
    hasher: foldhash::fast::RandomState,
    made: RwLock<HashMap<u64, Arc<Plan>>>,
}

impl Plans {
    /// The plan for a span.
    pub(super) fn of(&self, registry: &Registry, span: &Span) -> Arc<Plan> {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(span.scope.name.as_bytes());
        let mut length = span.scope.name.len();
        for (key, _) in span.attributes.iter() {
            hasher.write(key.as_bytes());
            length += key.len() + A_KEY;
        }
        let hash = hasher.finish();
        if let Some(plan) = self.made.read().unwrap_or_else(PoisonError::into_inner).get(&hash)
            && plan.is_of(span)
        {
            return Arc::clone(plan);
        }
        let plan = Arc::new(Plan::new(registry, span));
        if length <= LONGEST {
            let mut made = self.made.write().unwrap_or_else(PoisonError::into_inner);
            if made.len() >= KEPT {
                made.clear();
            }
            let _ = made.insert(hash, Arc::clone(&plan));
        }
        plan
    }
}

impl Clone for Plans {
    /// None: those of other rules are others.
    fn clone(&self) -> Self {
        Self::default()
    }
}
