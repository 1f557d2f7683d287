//! Values that rules could not read, which stay among the attributes.

use crate::dialect::codec::members_read;
use crate::dialect::plan::{KindPlan, Look, Plan};
use crate::dialect::rule::{Codec, Rule};
use crate::dialect::rule_index::RuleIndex;
use crate::hash::HashSet;
use crate::span::Span;
use crate::trace::{Finding, FindingKind};

/// Maximum number of characters of a key in a finding.
pub(super) const MAX_KEY_CHARS: usize = 200;

/// Places that rules looked at but could not read.
#[derive(Default)]
pub(super) struct Unread<'a> {
    /// Places with nothing of use, and the rules that looked there.
    pub(super) looks: Vec<(&'a Look, &'a Rule)>,
    /// Places of attributes that do not fit in the list of their keys.
    pub(super) strays: Vec<usize>,
    /// Places of attributes below a key whose rule does not know their names.
    pub(super) members: Vec<usize>,
}

/// Places of attributes that no rule could read.
#[derive(Default)]
pub(super) struct UnreadPlaces {
    /// The value does not have the form that its key requires.
    pub(super) odd: Vec<usize>,
    /// The JSON text has none of the members that rules look for.
    pub(super) lacking: Vec<usize>,
}

impl Unread<'_> {
    /// Determines the places that no other rule reads.
    pub(super) fn places(self, rules: &RuleIndex, plan: &Plan, of_kind: &KindPlan, reads: impl Fn(&Look, &Rule) -> bool) -> UnreadPlaces {
        let mut found = UnreadPlaces::default();
        // Many rules look into the same texts, and usually one of them reads it.
        let sure = self.looks.iter().filter(|(look, _)| look.is_sure());
        let mut unread_by: Vec<usize> = sure.flat_map(|(look, _)| plan.places_of(look)).collect();
        unread_by.sort_unstable();
        let times_unread = |place: usize| {
            let first = unread_by.partition_point(|other| *other < place);
            unread_by.iter().skip(first).take_while(|other| **other == place).count()
        };
        for (look, rule) in &self.looks {
            let list = if rule.paths.is_empty() {
                &mut found.odd
            } else {
                &mut found.lacking
            };
            list.extend(
                plan.places_of(look)
                    .filter(|place| of_kind.sure_looks(*place) <= times_unread(*place)),
            );
        }
        if found.odd.is_empty() && found.lacking.is_empty() && self.strays.is_empty() && self.members.is_empty() {
            return found;
        }
        let mut lost: Vec<usize> = found.odd.iter().chain(&found.lacking).copied().collect();
        lost.extend(self.strays.iter().chain(&self.members));
        lost.sort_unstable();
        let (mut read, mut read_alone) = (HashSet::default(), HashSet::default());
        for look in plan.looks().iter().filter(|look| !look.of_unknown) {
            // Most rules look elsewhere, which is cheaper to check than whether a rule reads.
            let places = || plan.places_of(look).filter(|place| lost.binary_search(place).is_ok());
            if places().next().is_none() {
                continue;
            }
            let is_unread = self.looks.iter().any(|(unread, _)| std::ptr::eq(*unread, look));
            let Some(rule) = rules.rule(look.rule).filter(|rule| !is_unread && reads(look, rule)) else {
                continue;
            };
            read.extend(places());
            if !matches!(rule.codec, Codec::Flat | Codec::FlatChoices | Codec::Count) && members_read(rule.codec).is_none() {
                read_alone.extend(places());
            }
        }
        let not_in = |read: &HashSet<usize>, places: Vec<usize>| -> Vec<usize> {
            places.into_iter().filter(|place| !read.contains(place)).collect()
        };
        let strays = not_in(&read_alone, self.strays);
        let members = not_in(&read_alone, self.members);
        let mut odd = not_in(&read, found.odd);
        odd.extend(strays);
        odd.sort_unstable();
        odd.dedup();
        let mut lacking = not_in(&read, found.lacking);
        lacking.extend(members);
        UnreadPlaces { odd, lacking }
    }
}

impl UnreadPlaces {
    /// Reports the odd values.
    pub(super) fn finding(&self, span: &Span) -> Option<Finding> {
        let (key, _) = span.attributes.0.get(*self.odd.first()?)?;
        let shown: String = key.chars().take(MAX_KEY_CHARS).collect();
        let (more, them) = match self.odd.len() - 1 {
            0 => (String::new(), "it stays an attribute"),
            more => (format!(" and {more} more"), "they stay attributes"),
        };
        let detail = format!("{shown}{more} could not be read as the key demands: {them}");
        Some(Finding::new(Some(span.span_id), FindingKind::UnreadableValue, detail))
    }
}
