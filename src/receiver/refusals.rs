//! Counts of rejected requests by reason. Each reason is logged at most once a minute.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a reason is not logged again.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Refused requests by reason.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<BTreeMap<&'static str, Reason>>);

#[derive(Debug, Default)]
struct Reason {
    count: u64,
    /// When it was last logged, and the count at that time.
    last_logged: Option<(Instant, u64)>,
}

impl Refusals {
    /// Counts a request, and logs the reason. Neither content nor token of the request is logged.
    pub(crate) fn add(&self, port: &'static str, reason: &'static str) {
        let mut reasons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = reasons.entry(reason).or_default();
        of.count += 1;
        let last_logged = of.last_logged.map_or(0, |(_, count)| count);
        if of.last_logged.is_none_or(|(when, _)| when.elapsed() >= LOG_INTERVAL) {
            of.last_logged = Some((Instant::now(), of.count));
            let requests = of.count - last_logged;
            drop(reasons);
            tracing::warn!(port, reason, requests, "refused");
        }
    }

    /// Counts a request without logging it.
    pub(crate) fn count(&self, reason: &'static str) {
        let mut reasons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.entry(reason).or_default().count += 1;
    }

    /// Number of requests by reason.
    #[must_use]
    pub(crate) fn counts(&self) -> BTreeMap<&'static str, u64> {
        let reasons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.iter().map(|(reason, of)| (*reason, of.count)).collect()
    }
}
