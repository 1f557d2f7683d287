//! The plan for reading a span: which rules apply, and where. It depends only on the span's scope and keys, so spans with the same ones
//! share a plan.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::conditions::Conditions;
use super::framework::Framework;
use super::rule::{Codec, Condition, Field, Rule};
use super::rule_index::{RuleIndex, head};
use crate::hash::{HashMap, HashSet, Keyed};
use crate::operation::Kind;
use crate::span::Span;

/// Number of recent plans kept. When it is reached, they become the old ones, and the previous old ones are dropped unless used since.
/// Instrumentations write a few dozen sets of keys, times the lengths of their flattened lists.
const YOUNG: usize = 128;
/// Maximum bytes of keys of a cached plan, so that data from strangers cannot fill the memory.
const MAX_KEY_BYTES: usize = 32 << 10;
/// Estimated overhead per key in bytes.
const KEY_OVERHEAD: usize = 64;

/// Where rules look in a span with these keys.
#[derive(Debug)]
pub(super) struct Plan {
    scope: String,
    keys: Vec<String>,
    /// Places of the attributes. Of equal keys the last wins, in the position of the first.
    pub(super) places: Vec<usize>,
    /// Sorted by field and rank.
    looks: Vec<Look>,
    members: Vec<Member>,
    /// Whether an attribute may identify the framework.
    pub(super) shows_framework: bool,
    /// Per kind: first without the rules for unknown keys unless the key is foreign, then with all of them.
    of_kinds: [[OnceLock<KindPlan>; Kind::ALL.len()]; 2],
}

/// The part of a plan for operations of one kind.
#[derive(Debug)]
pub(super) struct KindPlan {
    /// Indices of the plan's looks.
    looks: Vec<u32>,
    /// JSON texts that rules look into, by place.
    pub(super) texts: Vec<JsonText>,
    /// Places that no rule reads for certain; the span's values or name may decide otherwise.
    pub(super) maybe_unmapped: Vec<usize>,
    /// For each place, the number of rules that look there whatever the span's values and name are.
    sure_looks: Vec<u32>,
}

/// An attribute whose text may be JSON.
#[derive(Debug)]
pub(super) struct JsonText {
    pub(super) place: usize,
    /// The number of rules that may look into it.
    pub(super) askers: usize,
}

/// A rule that looks at one place.
#[derive(Debug)]
pub(super) struct Look {
    /// The rule's number in the [`RuleIndex`].
    pub(super) rule: usize,
    pub(super) source: Source,
    pub(super) turn: Turn,
    /// Whether it depends on the span's values or name, not only on scope, keys and kind.
    pub(super) conditional: bool,
    /// Whether reading it depends on the word found.
    by_word: bool,
    /// Place of the attribute whose text may be JSON to the rule.
    pub(super) text: Option<usize>,
    /// [`Rule::opens_json`].
    pub(super) opens_json: bool,
    /// Whether the rule reads keys that no dialect knows.
    pub(super) of_unknown: bool,
    /// Whether no dialect reads the key.
    pub(super) foreign: bool,
}

#[derive(Debug)]
pub(super) enum Source {
    /// The attribute at this place, and the place of its sibling `<..>.mime_type` if that matters.
    Attribute { place: usize, mime: Option<usize> },
    /// A range of [`Plan::members`].
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

/// The order of rules: by field and rank, then attributes before events, and events before the span's name and resource.
pub(super) type Turn = (Field, u16, u8);

/// The turn of a rule that looks at an event or log record.
pub(super) fn turn_of_event(rule: &Rule) -> Turn {
    (rule.field, rule.rank, 1)
}

impl Plan {
    /// The looks that determine the kind of the operation, by rank.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &Look> {
        self.looks.iter().take_while(|look| look.turn.0 == Field::Kind)
    }

    /// The part for this kind.
    #[expect(clippy::indexing_slicing, reason = "there is one for each kind")]
    pub(super) fn of_kind(&self, rules: &RuleIndex, kind: Kind, of_unknown: bool) -> &KindPlan {
        self.of_kinds[usize::from(of_unknown)][kind as usize].get_or_init(|| KindPlan::new(self, rules, kind, of_unknown))
    }

    /// The looks for an operation of this kind, by field and rank.
    pub(super) fn looks_of<'a>(&'a self, plan: &'a KindPlan) -> impl Iterator<Item = &'a Look> {
        plan.looks.iter().filter_map(|number| self.looks.get(*number as usize))
    }

    /// All looks, by field and rank.
    pub(super) fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// Places of the attributes that a look reads.
    pub(super) fn places_of(&self, look: &Look) -> impl Iterator<Item = usize> {
        let (one, members) = match &look.source {
            Source::Attribute { place, .. } => (Some(*place), &[][..]),
            Source::Group(range) => (None, self.members(range)),
            Source::Name | Source::Resource => (None, &[][..]),
        };
        one.into_iter().chain(members.iter().map(|member| member.place))
    }

    pub(super) fn members(&self, range: &Range<usize>) -> &[Member] {
        self.members.get(range.clone()).unwrap_or(&[])
    }

    fn is_of(&self, span: &Span) -> bool {
        self.keys.len() == span.attributes.len()
            && self.scope == span.scope.name
            && self.keys.iter().zip(span.attributes.iter()).all(|(key, (have, _))| key == have)
    }

    fn new(rules: &RuleIndex, span: &Span) -> Self {
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
        let conditions = Conditions::of(rules, span);
        let mut looks: Vec<Look> = Vec::new();
        // The members for each prefix rule, and for each list and rule for a list's ending.
        let mut groups: Keyed<(usize, Option<&str>), Vec<Member>> = Keyed::default();
        let mut unclaimed_lists: HashSet<Option<&str>> = HashSet::default();
        // `true` for a key that no dialect reads on such a span, whether or not a dialect has keys with that beginning.
        let keyed = places.iter().filter_map(|place| Some((*place, keys.get(*place)?)));
        let keyed: Vec<(usize, &String, bool)> = keyed.map(|(place, key)| (place, key, !conditions.claim(key))).collect();
        let heads_of_agents = heads_of_agents(rules, &keyed);
        let is_of_nobody = keyed.iter().all(|(.., unclaimed)| *unclaimed);
        for (place, key, unclaimed) in keyed {
            for (index, rule) in rules.exact(key) {
                let mime = (rule.codec == Codec::ByMime)
                    .then(|| key.rsplit_once('.'))
                    .flatten()
                    .and_then(|(group, _)| place_of(&format!("{group}.mime_type")));
                looks.push(Look::new(index, rule, Source::Attribute { place, mime }));
            }
            for (index, rule) in rules.prefixed(key) {
                let member = Member {
                    place,
                    prefix: rule.key.len(),
                };
                groups.get_or_insert_with(&(index, None), Vec::new).push(member);
            }
            let suffixed = rules.suffixed(key);
            for (index, rule) in suffixed.rules {
                let Some(before) = suffixed.before else {
                    // A dialect that reads the kind from this key takes precedence.
                    let known = |(index, rule): (usize, &Rule)| rule.field == Field::Kind && conditions.hold(index);
                    let foreign = !rules.knows_head(key);
                    // Other keys make an operation of a span only if no dialect has such keys, or none reads this span.
                    let marks = rule.has_words() && !rules.exact(key).any(known) || foreign || is_of_nobody && !rule.has_words();
                    if rule.field != Field::Kind || marks {
                        let look = Look::new(index, rule, Source::Attribute { place, mime: None });
                        let may_be = suffixed.is_of_operation
                            || rule.field.is_content()
                            || is_of_scope(key, &span.scope.name)
                            || heads_of_agents.contains(head(key));
                        looks.push(look.with_foreign(foreign && may_be || !foreign && unclaimed && rule.field.is_known_by_shape()));
                    }
                    continue;
                };
                let list = key.get(..before);
                let member = Member { place, prefix: before + 1 };
                if unclaimed {
                    let _ = unclaimed_lists.insert(list);
                }
                groups.get_or_insert_with(&(index, list), Vec::new).push(member);
            }
        }
        let mut members: Vec<Member> = Vec::new();
        for ((index, list), group) in groups.into_list() {
            let Some(rule) = rules.rule(index) else { continue };
            let foreign = list.is_some_and(|list| !rules.knows_head(list));
            if rule.is_of_unknown() && rule.field == Field::Kind && !foreign && !is_of_nobody {
                continue;
            }
            let foreign = foreign || list.is_some() && unclaimed_lists.contains(&list) && rule.field.is_known_by_shape();
            let first = members.len();
            members.extend(group);
            let look = Look::new(index, rule, Source::Group(first..members.len()));
            looks.push(look.with_foreign(foreign));
        }
        looks.extend(rules.name_rules().map(|(index, rule)| Look::new(index, rule, Source::Name)));
        looks.extend(rules.resource_rules().map(|(index, rule)| Look::new(index, rule, Source::Resource)));
        looks.retain(|look| conditions.hold(look.rule));
        // Merged fields keep the order of the span's attributes.
        let tie = |look: &Look| if look.turn.0.is_merged() { 0 } else { look.rule };
        looks.sort_by_key(|look| (look.turn, tie(look)));
        Self {
            scope: span.scope.name.clone(),
            places,
            looks,
            members,
            shows_framework: keys.iter().any(|key| Framework::is_shown_by(key)),
            keys,
            of_kinds: [const { [const { OnceLock::new() }; Kind::ALL.len()] }; 2],
        }
    }
}

/// First parts of keys that no dialect knows but that agents use, since another key with that part names a model, a tool or content:
/// `acme.prompt_tokens` counts tokens of a model call if there is also `acme.request.model`.
fn heads_of_agents<'k>(rules: &RuleIndex, keyed: &[(usize, &'k String, bool)]) -> HashSet<&'k str> {
    let marks = |key: &str| {
        let mut found = rules.suffixed(key).rules;
        found.any(|(_, rule)| {
            rule.field.is_content() || matches!(rule.field, Field::ModelRequested | Field::ModelResponse | Field::ToolName)
        })
    };
    let foreign = keyed.iter().map(|(_, key, _)| *key).filter(|key| !rules.knows_head(key));
    foreign.filter(|key| marks(key)).map(|key| head(key)).collect()
}

/// Whether the first part of a key is the instrumented package named by the scope: `crewai.task.agent` of
/// `opentelemetry.instrumentation.crewai`.
fn is_of_scope(key: &str, scope: &str) -> bool {
    let head = head(key);
    scope.split(['.', '/', '-', '_', '@']).any(|part| part.eq_ignore_ascii_case(head))
}

impl KindPlan {
    fn new(plan: &Plan, rules: &RuleIndex, kind: Kind, of_unknown: bool) -> Self {
        let mut of_kind = Self {
            looks: Vec::new(),
            texts: Vec::new(),
            maybe_unmapped: plan.places.clone(),
            sure_looks: vec![0; plan.keys.len()],
        };
        let mut read: HashSet<usize> = HashSet::default();
        let mut askers: Keyed<usize, usize> = Keyed::default();
        for (number, look) in (0_u32..).zip(&plan.looks) {
            let Some(rule) = rules.rule(look.rule).filter(|rule| rule.when.applies_to_kind(kind)) else {
                continue;
            };
            if look.of_unknown && (rule.field == Field::Kind || !look.foreign && !of_unknown) {
                continue;
            }
            if !look.may_leave() {
                read.extend(plan.places_of(look));
            }
            if look.is_sure() {
                for place in plan.places_of(look) {
                    if let Some(count) = of_kind.sure_looks.get_mut(place) {
                        *count += 1;
                    }
                }
            }
            // The kind is known by now; the only question left is whether its key was read.
            if rule.field == Field::Kind && (!look.may_leave() || matches!(look.source, Source::Name | Source::Resource)) {
                continue;
            }
            of_kind.looks.push(number);
            let Some(place) = look.text.filter(|_| look.opens_json) else {
                continue;
            };
            *askers.get_or_insert_with(&place, || 0) += 1;
        }
        let texts = askers.into_list().into_iter();
        of_kind.texts = texts.map(|(place, askers)| JsonText { place, askers }).collect();
        of_kind.texts.sort_unstable_by_key(|text| text.place);
        of_kind.maybe_unmapped.retain(|place| !read.contains(place));
        of_kind
    }

    /// The number of rules that look there whatever the span's values and name are.
    pub(super) fn sure_looks(&self, place: usize) -> usize {
        self.sure_looks.get(place).map_or(0, |count| *count as usize)
    }
}

impl Look {
    fn new(index: usize, rule: &Rule, source: Source) -> Self {
        let last = matches!(source, Source::Name | Source::Resource);
        let opens_json = rule.opens_json();
        let text = match source {
            Source::Attribute { place, .. } if opens_json || rule.keeps_json() => Some(place),
            _ => None,
        };
        Self {
            rule: index,
            source,
            turn: (rule.field, rule.rank, if last { 2 } else { 0 }),
            conditional: !(rule.when.name.is_empty() && rule.when.attribute.is_empty()),
            by_word: rule.field == Field::Kind && rule.when != Condition::ALWAYS,
            text,
            opens_json,
            of_unknown: rule.is_of_unknown(),
            foreign: false,
        }
    }

    fn with_foreign(self, foreign: bool) -> Self {
        Self { foreign, ..self }
    }

    /// Whether this span's values or name may cause the value to stay unread.
    pub(super) fn may_leave(&self) -> bool {
        self.conditional || self.by_word || self.of_unknown
    }

    /// Whether it looks whatever the span's values and name are. The value of a kind's key may not be a kind.
    pub(super) fn is_sure(&self) -> bool {
        !self.may_leave() && self.turn.0 != Field::Kind
    }
}

/// A cache of plans.
#[derive(Debug, Default)]
pub(super) struct Plans {
    hasher: foldhash::fast::RandomState,
    made: RwLock<PlanCache>,
}

#[derive(Debug, Default)]
struct PlanCache {
    recent: HashMap<u64, Arc<Plan>>,
    old: HashMap<u64, Arc<Plan>>,
}

impl PlanCache {
    fn keep(&mut self, hash: u64, plan: &Arc<Plan>) {
        if self.recent.len() >= YOUNG {
            self.old = std::mem::take(&mut self.recent);
        }
        let _ = self.recent.insert(hash, Arc::clone(plan));
    }
}

impl Plans {
    /// The plan for a span.
    pub(super) fn of(&self, rules: &RuleIndex, span: &Span) -> Arc<Plan> {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(span.scope.name.as_bytes());
        let mut length = span.scope.name.len();
        for (key, _) in span.attributes.iter() {
            hasher.write(key.as_bytes());
            length += key.len() + KEY_OVERHEAD;
        }
        let hash = hasher.finish();
        let is_it = |plan: &&Arc<Plan>| plan.is_of(span);
        let made = self.made.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = made.recent.get(&hash).filter(is_it) {
            return Arc::clone(plan);
        }
        let old = made.old.get(&hash).filter(is_it).map(Arc::clone);
        drop(made);
        let plan = old.unwrap_or_else(|| Arc::new(Plan::new(rules, span)));
        if length <= MAX_KEY_BYTES {
            self.made.write().unwrap_or_else(PoisonError::into_inner).keep(hash, &plan);
        }
        plan
    }
}

impl Clone for Plans {
    /// Starts empty, as the plans of other rules differ.
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Registry;
    use crate::span::{SpanId, TraceId};

    #[test]
    fn what_is_used_is_kept_whatever_else_comes() {
        let span = |key: &str| {
            let (trace, id) = (TraceId::from_bytes(&[1; 16]), SpanId::from_bytes(&[1; 8]));
            let mut span = Span::new(trace.expect("an id"), id.expect("an id"), "step");
            span.attributes.push(key, "value");
            span
        };
        let registry = Registry::built_in();
        let used = registry.plan(&span("used"));
        let once = registry.plan(&span("once"));
        for number in 0..10 * YOUNG {
            let _ = registry.plan(&span(&format!("other {number}")));
            assert!(Arc::ptr_eq(&used, &registry.plan(&span("used"))), "{number}");
        }
        assert!(!Arc::ptr_eq(&once, &registry.plan(&span("once"))), "forgotten");
    }
}
