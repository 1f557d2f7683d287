//! Logs background work of the stores.

use std::sync::PoisonError;
use std::time::Duration;

use super::projects::Stores;
use crate::store::Maintained;

/// How often to check.
const POLL_INTERVAL: Duration = Duration::from_secs(30);

/// Logs what maintenance did and what failed, each once. Never returns.
pub(super) async fn log_upkeep(stores: Stores) {
    let mut before: Vec<Maintained> = Vec::new();
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let stores = stores.read().unwrap_or_else(PoisonError::into_inner);
        before.resize_with(stores.len(), Maintained::default);
        for (open, before) in stores.iter().zip(&mut before) {
            let now = open.store.maintained();
            tell_change(&open.project.to_string(), before, &now);
            *before = now;
        }
    }
}

fn tell_change(project: &str, before: &Maintained, now: &Maintained) {
    let compressed = now.compressed_segments - before.compressed_segments;
    if compressed > 0 {
        let from = now.compressed_from_bytes - before.compressed_from_bytes;
        let to = now.compressed_to_bytes - before.compressed_to_bytes;
        tracing::info!(
            project,
            segments = compressed,
            from_bytes = from,
            to_bytes = to,
            "sealed segments were compressed"
        );
    }
    let removed = now.removed_segments - before.removed_segments;
    if removed > 0 {
        let bytes = now.removed_bytes - before.removed_bytes;
        tracing::info!(project, segments = removed, bytes, "retention removed segments");
    }
    if now.damaged_segments > before.damaged_segments {
        tracing::error!(
            project,
            "a sealed segment is damaged and is not compressed; check the disk, then run: spanbridge reindex"
        );
    }
    let text = |maintained: &Maintained| maintained.failure.as_ref().map(ToString::to_string);
    if let Some(error) = text(now)
        && text(before).as_ref() != Some(&error)
    {
        tracing::error!(project, error, "maintenance of the store failed; it is tried again");
    }
}
