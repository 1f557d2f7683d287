//! Groups the failures of many runs: by error class, operation, and message without numbers.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::listing::{FailedAs, Listed};
use crate::hash::HashMap;

/// Failures of one kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Failures {
    /// The kind of failure; its count is that of all operations.
    #[serde(flatten)]
    pub(crate) failed: FailedAs,
    /// Number of runs with such a failure.
    pub(crate) runs: u64,
    /// Start of the first such run.
    pub(crate) first_unix_nano: u64,
    /// Start of the last such run.
    pub(crate) last_unix_nano: u64,
    /// The last such run.
    pub(crate) last_trace_id: String,
    /// For each version with such a run: the number of runs with the failure, and of all runs; empty: runs without a version.
    pub(crate) versions: BTreeMap<String, (u64, u64)>,
}

/// Groups that runs are added to.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    places: HashMap<FailedAs, usize>,
    list: Vec<Failures>,
    /// Number of runs of each version.
    versions: BTreeMap<String, u64>,
}

impl Groups {
    /// Adds a run.
    pub(crate) fn add(&mut self, listed: &Listed) {
        let version = listed.summary.version.clone().unwrap_or_default();
        *self.versions.entry(version.clone()).or_default() += 1;
        for failed in &listed.summary.failed {
            let key = FailedAs {
                count: 0,
                ..failed.clone()
            };
            let place = *self.places.entry(key).or_insert_with_key(|key| {
                self.list.push(Failures {
                    failed: key.clone(),
                    first_unix_nano: u64::MAX,
                    ..Failures::default()
                });
                self.list.len() - 1
            });
            let Some(group) = self.list.get_mut(place) else { continue };
            group.failed.count += failed.count;
            group.runs += 1;
            group.first_unix_nano = group.first_unix_nano.min(listed.start_unix_nano);
            if group.last_trace_id.is_empty() || listed.start_unix_nano > group.last_unix_nano {
                group.last_unix_nano = listed.start_unix_nano;
                group.last_trace_id.clone_from(&listed.trace_id);
            }
            group.versions.entry(version.clone()).or_default().0 += 1;
        }
    }

    /// The groups, those with the most failures first.
    pub(crate) fn into_list(self) -> Vec<Failures> {
        let Self { mut list, versions, .. } = self;
        for group in &mut list {
            for (version, (_, all)) in &mut group.versions {
                *all = versions.get(version).copied().unwrap_or_default();
            }
        }
        list.sort_by_key(|group| (Reverse(group.failed.count), Reverse(group.last_unix_nano)));
        list
    }
}

impl Failures {
    /// `2.1: 12 of 40 runs`, by version.
    pub(crate) fn shares(&self) -> String {
        let share = |(version, (with, all)): (&String, &(u64, u64))| {
            let version = if version.is_empty() { "no version" } else { version };
            format!("{version}: {with} of {all}")
        };
        self.versions.iter().map(share).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
#[path = "failures_tests.rs"]
mod tests;
