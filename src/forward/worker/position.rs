//! The position of a destination in the log: saved in the store, and in the folder for commands.

use std::sync::Arc;
use std::time::Instant;

use super::ended::{Ended, broken};
use super::{SAVE_FACTOR, SAVE_INTERVAL, Worker};
use crate::forward::counts::Health;
use crate::forward::progress;
use crate::store::{Position, now};

impl Worker {
    pub(super) fn move_to(&mut self, next: Position) {
        self.progress.set_position(next);
        self.counts.set_position(next);
    }

    /// Saves the progress in the store, then in the folder, where commands read it.
    pub(super) async fn save(&mut self) -> Result<(), Ended> {
        // An earlier position must not overwrite this one, nor may its task keep the store alive after a stop.
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
        self.save_at = Some(Instant::now() + SAVE_INTERVAL.max(begin.elapsed() * SAVE_FACTOR));
        Ok(())
    }

    /// Waits until the store has saved the last position.
    pub(super) async fn kept(&mut self) -> Result<(), Ended> {
        let Some(keeping) = &mut self.keeping else { return Ok(()) };
        let kept = keeping.await;
        self.keeping = None;
        Ok(kept.map_err(|error| broken(&error))??)
    }
}
