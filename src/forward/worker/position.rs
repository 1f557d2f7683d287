//! The position of a destination in the log: kept in the store, and in the folder for commands.

use std::sync::Arc;
use std::time::Instant;

use super::ended::{Ended, broken};
use super::{SAVE, SAVE_SHARE, Worker};
use crate::forward::counts::Health;
use crate::forward::progress;
use crate::store::{Position, now};

impl Worker {
    pub(super) fn move_to(&mut self, next: Position) {
        self.progress.set_position(next);
        self.counts.set_position(next);
    }

    /// Keeps how far the destination is, in the store and then in the folder, where commands look.
    pub(super) async fn save(&mut self) -> Result<(), Ended> {
        // An earlier position must not come after this one, and the store is not held behind a stop.
        let _ = self.kept().await;
        let sample = self.counts.sample(&self.destination);
        let [spans, records, points] = sample.sent;
        let mut now_at = self.progress.clone();
        now_at.sent_spans += spans;
        now_at.sent_log_records += records;
        now_at.sent_metric_points += points;
        now_at.as_received_spans += sample.as_received;
        now_at.last_error = match sample.health {
            Health::Down(reason) => Some(reason),
            Health::Up => None,
            Health::Unknown => self.progress.last_error.clone(),
        };
        let begin = Instant::now();
        let written = progress::read(&self.folder, &self.destination.name)
            .ok()
            .flatten()
            .unwrap_or_default();
        now_at.updated = written.updated;
        if written != now_at {
            now_at.updated = now();
            let (store, name, bytes) = (Arc::clone(&self.store), self.destination.name.clone(), progress::to_bytes(&now_at));
            self.keeping = Some(tokio::task::spawn_blocking(move || store.keep_progress(&name, &bytes)));
            self.kept().await?;
            progress::write(&self.folder, &self.destination.name, &now_at)?;
        }
        self.save_at = Some(Instant::now() + SAVE.max(begin.elapsed() * SAVE_SHARE));
        Ok(())
    }

    /// Waits until the store has kept what it was given.
    pub(super) async fn kept(&mut self) -> Result<(), Ended> {
        let Some(keeping) = &mut self.keeping else { return Ok(()) };
        let kept = keeping.await;
        self.keeping = None;
        Ok(kept.map_err(|error| broken(&error))??)
    }
}
