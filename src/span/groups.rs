//! Groups spans or log records by resource and scope, in the order of first appearance.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use super::{Resource, Scope};

/// The items of one scope.
pub(crate) type OfScope<'a, T> = (&'a Arc<Scope>, Vec<&'a T>);
/// The scopes of each resource.
pub(crate) type Groups<'a, T> = Vec<(&'a Arc<Resource>, Vec<OfScope<'a, T>>)>;

/// Groups items by resource, then by scope. Those with equal keys are one group, even across messages.
pub(crate) fn group_by<'a, T, K: Hash + Eq>(
    items: &'a [T],
    of: impl Fn(&'a T) -> (&'a Arc<Resource>, &'a Arc<Scope>),
    resource_key: impl Fn(&Resource) -> K,
    scope_key: impl Fn(&Scope) -> K,
) -> Groups<'a, T> {
    let mut groups: Groups<'a, T> = Vec::new();
    let mut by_address: HashMap<(*const Resource, *const Scope), (usize, usize)> = HashMap::new();
    let mut resources: HashMap<K, usize> = HashMap::new();
    let mut scopes: HashMap<(usize, K), usize> = HashMap::new();
    for item in items {
        let (resource, scope) = of(item);
        let (in_groups, in_scopes) = *by_address.entry((Arc::as_ptr(resource), Arc::as_ptr(scope))).or_insert_with(|| {
            let in_groups = *resources.entry(resource_key(resource)).or_insert_with(|| {
                groups.push((resource, Vec::new()));
                groups.len() - 1
            });
            let in_scopes = *scopes.entry((in_groups, scope_key(scope))).or_insert_with(|| {
                groups.get_mut(in_groups).map_or(0, |(_, scopes)| {
                    scopes.push((scope, Vec::new()));
                    scopes.len() - 1
                })
            });
            (in_groups, in_scopes)
        });
        if let Some((_, items)) = groups.get_mut(in_groups).and_then(|(_, scopes)| scopes.get_mut(in_scopes)) {
            items.push(item);
        }
    }
    groups
}
