//! Orders of an operator: skip, send again, retry dead letters.

use std::sync::Arc;

use super::{Ended, Worker, blocking};
use crate::forward::dead_letters::{self, Retry};
use crate::forward::order::{self, Order};

impl Worker {
    pub(super) async fn obey(&mut self, order: Order) -> Result<(), Ended> {
        match order {
            Order::Skip => {
                let end = *self.end.borrow();
                self.move_to(end);
                tracing::warn!(
                    destination = self.destination.name,
                    "skipping everything that was not sent yet (spanbridge forward skip)"
                );
            }
            Order::Rewind(since) => {
                self.known_letters.clear();
                let store = Arc::clone(&self.store);
                let position = blocking(move || store.position_at(since)).await??;
                self.move_to(position.min(self.progress.position()));
                tracing::info!(
                    destination = self.destination.name,
                    "sending again from an earlier position (spanbridge forward rewind)"
                );
            }
            Order::Retry => {
                let retried = self.retry().await;
                if matches!(retried, Err(Ended::Stopped)) && order::waiting(&self.folder, &self.destination.name).is_none() {
                    // The next start continues.
                    order::give(&self.folder, &self.destination.name, Order::Retry)?;
                }
                retried?;
            }
        }
        self.save().await?;
        Ok(())
    }

    /// Sends the dead letters again; those refused again stay.
    async fn retry(&mut self) -> Result<(), Ended> {
        const GONE: &str = " (the log no longer has it)";
        self.known_letters.clear();
        let mut retry = Retry::begin(&self.folder, &self.destination.name)?;
        while let Some(mut letter) = retry.next()? {
            let (prepare, store) = (Arc::clone(&self.prepare), Arc::clone(&self.store));
            let asked = letter.clone();
            let made = match blocking(move || prepare.of_letter(&asked, &*store)).await {
                Ok(Ok(made)) => made,
                Ok(Err(error)) => {
                    retry.end(Some(letter))?;
                    return Err(error.into());
                }
                Err(ended) => {
                    retry.end(Some(letter))?;
                    return Err(ended);
                }
            };
            let mut left = made.dead;
            if made.payloads.is_empty() && left.is_empty() {
                letter.reason = format!("{}{GONE}", letter.reason.trim_end_matches(GONE));
                left.push(letter.clone());
            }
            for payload in made.payloads {
                if let Err(interrupted) = self.delivery.deliver(payload, false, &mut left).await {
                    retry.end(Some(letter))?;
                    return Err(interrupted.into());
                }
            }
            if !left.is_empty() {
                dead_letters::append(&self.folder, &self.destination.name, &left)?;
            }
        }
        Ok(retry.end(None)?)
    }
}
