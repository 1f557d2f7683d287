//! Where time, tokens and cost went in several runs: sums by tool, model, agent or kind of step.

use super::sessions::Sort;
use crate::hash::HashMap;
use crate::run::Run;
use crate::view::totals::{Group, Totals};

/// The sums of one tool, model, agent or kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Share {
    /// Its name; empty if no span names it.
    pub(crate) name: String,
    /// Number of runs that have it.
    pub(crate) runs: u64,
    /// Its sums.
    pub(crate) totals: Totals,
}

/// Sort orders of such sums.
pub(crate) const SHARE_SORTS: &[Sort<Share>] = &[
    ("time", |share| Some(share.totals.busy_nanos as f64)),
    ("steps", |share| Some(share.totals.steps as f64)),
    ("runs", |share| Some(share.runs as f64)),
    ("failures", |share| Some(share.totals.failures as f64)),
    ("in", |share| share.totals.tokens.input.map(|tokens| tokens as f64)),
    ("out", |share| share.totals.tokens.output.map(|tokens| tokens as f64)),
    ("cost", |share| share.totals.cost.map(|cost| cost.dollars)),
];

/// Sums that runs are added to.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    places: HashMap<String, usize>,
    /// In order of first occurrence.
    pub(crate) list: Vec<Share>,
}

impl Shares {
    /// Adds the totals of a run, grouped by one of [`BY`](crate::view::totals::BY).
    pub(crate) fn add(&mut self, run: &Run, by: fn(&Run) -> Vec<Group<'_>>) {
        for Group { name, totals } in by(run) {
            let name = name.unwrap_or_default();
            let place = match self.places.get(name) {
                Some(place) => *place,
                None => {
                    self.list.push(Share {
                        name: name.to_owned(),
                        runs: 0,
                        totals: Totals::default(),
                    });
                    self.places.insert(name.to_owned(), self.list.len() - 1);
                    self.list.len() - 1
                }
            };
            if let Some(share) = self.list.get_mut(place) {
                share.runs += 1;
                share.totals.join(&totals);
            }
        }
    }
}
