//! Delivers payloads: retries, splits, and gives up only single items.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::watch;

use super::counts::{Counts, Health};
use super::dead_letters::DeadLetter;
use super::destination::Destination;
use super::export::{Accepted, Class, Exporter, Failure};
use super::order;
use super::payload::Payload;
use super::progress;
use super::settings::Logs;
use crate::span::Signal;
use crate::store::now;

/// The first pause; each further one is twice as long, up to the destination's maximum.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// After this many attempts without an answer, or with a server error, a probe tests whether the request itself is the cause.
const PROBE_AFTER: u32 = 5;
/// How often to look for orders while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How often a failure is recorded for `spanbridge forward status`: a different one, and the same one.
const NOTE_OTHER: Duration = Duration::from_secs(2);
const NOTE_SAME: Duration = Duration::from_secs(10);
/// Minimum time between two log lines about rejections.
pub(super) const LOG_REJECTIONS: Duration = Duration::from_secs(10);
/// How long a request in flight may take to be answered once the bridge stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum pause that a destination may ask for.
const MAX_HINT: Duration = Duration::from_secs(600);

/// Delivers the payloads of one destination.
#[derive(Debug)]
pub(super) struct Delivery {
    destination: Arc<Destination>,
    exporter: Exporter,
    counts: Arc<Counts>,
    stop: watch::Receiver<bool>,
    /// Whether it accepted anything since the start: if so, a refused request is itself at fault.
    accepted: bool,
    mode: DeliveryMode,
    /// Signals it does not support, each reported once.
    reported_unsupported: Vec<Signal>,
    /// Whether unreadable answers were reported.
    reported_unreadable: bool,
    /// The failure recorded in the progress file, and when.
    noted: Option<(Instant, String)>,
    /// Attempts so far to send the deferred payload.
    tries: u32,
    rejections: Rejections,
}

/// Rejections to be logged in one line.
#[derive(Debug, Default)]
struct Rejections {
    /// Items rejected since the last line, and the reason for the last one.
    waiting: Option<(u64, String)>,
    logged: Option<Instant>,
}

/// The purpose of a delivery.
#[derive(Debug)]
pub(super) enum DeliveryMode {
    /// Stored data is forwarded, however long it takes: the log keeps it meanwhile, and an operator may fix the destination.
    Forward {
        /// The folder of the destination's progress and orders.
        folder: PathBuf,
    },
    /// A user waits for files to be sent.
    SendFiles,
}

/// Why a payload was not delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Interrupted {
    /// The bridge stops: the payload is delivered after the next start.
    Stopped,
    /// An order is waiting that may make it needless.
    Ordered,
    /// The payload must be prepared again after this time: it is too large to be kept meanwhile.
    PutOff(Duration),
    /// Nothing can be sent until the configuration is fixed, and a user is waiting who can fix it.
    Refused(String),
}

/// What to do after a failure.
enum Reaction {
    Wait,
    Divide,
    /// Drop the items: the destination does not support them.
    Leave,
}

impl Delivery {
    /// Creates a delivery to a destination.
    pub(super) fn new(
        destination: Arc<Destination>,
        exporter: Exporter,
        counts: Arc<Counts>,
        stop: watch::Receiver<bool>,
        mode: DeliveryMode,
    ) -> Self {
        Self {
            destination,
            exporter,
            counts,
            stop,
            accepted: false,
            mode,
            reported_unsupported: Vec::new(),
            reported_unreadable: false,
            noted: None,
            tries: 0,
            rejections: Rejections::default(),
        }
    }

    /// Delivers a payload, however long that takes. Items that are given up are added to `dead`, even if delivery is
    /// interrupted later. A payload that `is_large` is deferred instead of kept until the destination accepts it.
    ///
    /// # Errors
    ///
    /// Delivery was interrupted.
    pub(super) async fn deliver(&mut self, payload: Payload, is_large: bool, dead: &mut Vec<DeadLetter>) -> Result<(), Interrupted> {
        let mut waiting = vec![payload];
        while let Some(payload) = waiting.pop() {
            let Some(failure) = self.attempt(&payload, is_large, dead).await? else {
                continue;
            };
            match payload.halves() {
                // Popped from the end, so the first half is sent first.
                Some([first, second]) => waiting.extend([second, first]),
                None => {
                    let items = payload.items();
                    self.counts.failed.add(payload.signal, items);
                    self.rejected(items, &failure.reason);
                    dead.push(payload.dead_letter(items, &failure.reason, now()));
                }
            }
        }
        Ok(())
    }

    /// Sends one payload until it is accepted, dropped, or must be divided; in that case returns the failure.
    async fn attempt(&mut self, payload: &Payload, is_large: bool, dead: &mut Vec<DeadLetter>) -> Result<Option<Failure>, Interrupted> {
        let message = payload.message();
        let items = payload.items();
        let mut tries = if is_large { std::mem::take(&mut self.tries) } else { 0 };
        loop {
            match self.answer(payload.signal, message.clone()).await? {
                Ok(answer) => {
                    self.is_up();
                    if let Some(fault) = &answer.unreadable
                        && !std::mem::replace(&mut self.reported_unreadable, true)
                    {
                        tracing::warn!(
                            destination = self.destination.name,
                            fault,
                            "the destination accepts requests, but its answers are not export responses; check the URL"
                        );
                    }
                    let rejected = answer.rejected.min(items);
                    self.counts.sent.add(payload.signal, items - rejected);
                    if rejected > 0 {
                        self.counts.failed.add(payload.signal, rejected);
                        let reason = if rejected == items {
                            answer.message
                        } else {
                            format!("{rejected} of {items} refused: {}", answer.message)
                        };
                        self.rejected(rejected, &reason);
                        dead.push(payload.dead_letter(rejected, &reason, now()));
                    } else if !answer.message.is_empty() {
                        tracing::warn!(
                            destination = self.destination.name,
                            answer = answer.message,
                            "the destination warns"
                        );
                    }
                    return Ok(None);
                }
                Err(failure) => {
                    tries += 1;
                    match self.next(&failure, payload, tries).await? {
                        Reaction::Wait => {
                            let pause = self.failed(&failure, tries);
                            if is_large {
                                self.tries = tries;
                                return Err(Interrupted::PutOff(pause));
                            }
                            self.pause(pause).await?;
                        }
                        Reaction::Divide => return Ok(Some(failure)),
                        Reaction::Leave => {
                            self.counts.not_taken.add(payload.signal, items);
                            if !self.reported_unsupported.contains(&payload.signal) {
                                self.reported_unsupported.push(payload.signal);
                                let destination = &self.destination.name;
                                tracing::warn!(
                                    destination,
                                    reason = failure.reason,
                                    signal = payload.signal.name(),
                                    "the destination does not accept this signal; it is no longer sent there"
                                );
                            }
                            return Ok(None);
                        }
                    }
                }
            }
        }
    }

    /// Sends a request once. When the bridge stops, a request in flight gets a moment for its answer: otherwise the
    /// destination would get the same items again after the next start.
    async fn answer(&mut self, signal: Signal, message: Bytes) -> Result<Result<Accepted, Failure>, Interrupted> {
        if *self.stop.borrow() {
            return Err(Interrupted::Stopped);
        }
        self.counts.in_flight.fetch_add(1, Ordering::Relaxed);
        let mut export = std::pin::pin!(self.exporter.export(signal, message));
        let stopped = async { drop(self.stop.wait_for(|stop| *stop).await) };
        let answer = tokio::select! {
            biased;
            answer = &mut export => Ok(answer),
            () = stopped => tokio::time::timeout(STOP_TIMEOUT, export).await.map_err(|_| Interrupted::Stopped),
        };
        self.counts.in_flight.fetch_sub(1, Ordering::Relaxed);
        answer
    }

    /// Logs rejections, combining many into one line.
    pub(super) fn rejected(&mut self, items: u64, reason: &str) {
        let (waiting, _) = self.rejections.waiting.take().unwrap_or_default();
        self.rejections.waiting = Some((waiting + items, reason.to_owned()));
        self.log_rejections(LOG_REJECTIONS);
    }

    /// Logs the pending rejections, if the last line is at least this old.
    pub(super) fn log_rejections(&mut self, age: Duration) {
        if self.rejections.logged.is_some_and(|logged| logged.elapsed() < age) {
            return;
        }
        let Some((items, reason)) = self.rejections.waiting.take() else {
            return;
        };
        self.rejections.logged = Some(Instant::now());
        tracing::warn!(
            destination = self.destination.name,
            items,
            reason,
            "the destination rejected items permanently; they were added to the dead letters"
        );
    }

    fn is_up(&mut self) {
        self.accepted = true;
        if self.counts.set_health(Health::Up) {
            tracing::info!(destination = self.destination.name, "the destination accepts requests");
        }
    }

    async fn next(&mut self, failure: &Failure, payload: &Payload, tries: u32) -> Result<Reaction, Interrupted> {
        let single = payload.is_single();
        Ok(match failure.class {
            Class::Unsupported if payload.signal != Signal::Traces => Reaction::Leave,
            // By the specification these must not be retried. Forwarding does so on purpose: nothing is lost while it waits,
            // and a token or URL can be corrected. For files the error is reported at once.
            Class::Refused | Class::WrongScheme | Class::Unsupported => match self.mode {
                DeliveryMode::SendFiles => return Err(Interrupted::Refused(failure.reason.clone())),
                DeliveryMode::Forward { .. } => Reaction::Wait,
            },
            Class::Overloaded => Reaction::Wait,
            Class::Exhausted if tries <= self.destination.exhausted_retries => Reaction::Wait,
            Class::Exhausted | Class::Request if !single || self.accepted => Reaction::Divide,
            Class::Exhausted | Class::Request if tries <= 1 => match self.takes_others(payload.signal).await? {
                true => Reaction::Divide,
                false => Reaction::Wait,
            },
            // It may get fixed, or may accept other requests meanwhile.
            Class::Exhausted | Class::Request => match tries.is_multiple_of(PROBE_AFTER) && self.takes_others(payload.signal).await? {
                true => Reaction::Divide,
                false => Reaction::Wait,
            },
            Class::Transport | Class::Server if tries.is_multiple_of(PROBE_AFTER) => match self.takes_others(payload.signal).await? {
                true => Reaction::Divide,
                false => Reaction::Wait,
            },
            Class::Transport | Class::Server => Reaction::Wait,
        })
    }

    /// Whether the destination accepts a request without items: if so, it is not itself at fault.
    async fn takes_others(&mut self, signal: Signal) -> Result<bool, Interrupted> {
        tokio::select! {
            biased;
            _ = self.stop.wait_for(|stop| *stop) => Err(Interrupted::Stopped),
            answer = self.exporter.probe(signal) => Ok(answer.is_ok()),
        }
    }

    /// Tests with an empty request whether the destination accepts requests.
    pub(super) async fn probe(&mut self) -> Result<(), Interrupted> {
        let signal = match (self.destination.traces, self.destination.logs) {
            (true, _) => Signal::Traces,
            (false, Logs::Send) => Signal::Logs,
            (false, _) => Signal::Metrics,
        };
        let answer = tokio::select! {
            biased;
            _ = self.stop.wait_for(|stop| *stop) => return Err(Interrupted::Stopped),
            answer = self.exporter.probe(signal) => answer,
        };
        match answer {
            Ok(_) => {
                if self.counts.set_health(Health::Up) {
                    tracing::info!(destination = self.destination.name, "the destination accepts requests");
                }
            }
            Err(failure) => {
                if self.counts.set_health(Health::Down(failure.reason.clone())) {
                    let destination = &self.destination.name;
                    tracing::warn!(destination, reason = failure.reason, "the destination does not accept requests");
                }
            }
        }
        Ok(())
    }

    /// Records the reason for a failure in the progress file: the failure may last for days, during which nothing else is written.
    fn note(&mut self, reason: &str) {
        let DeliveryMode::Forward { folder } = &self.mode else { return };
        let is_noted = self.noted.as_ref().is_some_and(|(at, noted)| {
            let time = if noted == reason { NOTE_SAME } else { NOTE_OTHER };
            at.elapsed() < time
        });
        if is_noted {
            return;
        }
        self.noted = Some((Instant::now(), reason.to_owned()));
        if let Err(error) = progress::note_failure(folder, &self.destination.name, reason, now()) {
            tracing::warn!(destination = self.destination.name, %error, "cannot write how the destination does");
        }
    }

    /// Counts a failure; returns how long to wait.
    fn failed(&mut self, failure: &Failure, tries: u32) -> Duration {
        self.counts.retries.fetch_add(1, Ordering::Relaxed);
        let pause = pause(tries, self.destination.max_backoff, failure.retry_after);
        if self.counts.set_health(Health::Down(failure.reason.clone())) {
            let destination = &self.destination.name;
            tracing::warn!(
                destination,
                reason = failure.reason,
                "the destination does not accept requests; they are retried until it does"
            );
        }
        self.note(&failure.reason);
        pause
    }

    /// Waits, unless an order arrives.
    pub(super) async fn pause(&mut self, pause: Duration) -> Result<(), Interrupted> {
        let until = Instant::now() + pause;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            if let DeliveryMode::Forward { folder } = &self.mode
                && order::waiting(folder, &self.destination.name).is_some()
            {
                return Err(Interrupted::Ordered);
            }
            tokio::select! {
                biased;
                _ = self.stop.wait_for(|stop| *stop) => return Err(Interrupted::Stopped),
                () = tokio::time::sleep(left.min(POLL_INTERVAL)) => {}
            }
        }
    }
}

/// Exponential with jitter, and at least what the destination asks for: `Retry-After: 0` or a past date is no reason to hurry.
fn pause(tries: u32, longest: Duration, hint: Option<Duration>) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(longest);
    let random = getrandom::u32().unwrap_or_default();
    let jitter = 0.5 + f64::from(random) / f64::from(u32::MAX) / 2.0;
    let own = doubled.mul_f64(jitter);
    match hint.map(|hint| hint.min(MAX_HINT)) {
        Some(hint) => own.max(hint + own.min(FIRST_PAUSE).mul_f64(jitter)),
        None => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest_and_follow_hints() {
        let longest = Duration::from_secs(30);
        for tries in 1..100 {
            let pause = pause(tries, longest, None);
            assert!(pause >= FIRST_PAUSE / 2 && pause <= longest, "{tries}: {pause:?}");
        }
        assert!(pause(10, longest, None) >= longest / 2);
        let hint = Duration::from_secs(7);
        assert!(pause(1, longest, Some(hint)) >= hint);
        assert!(pause(1, longest, Some(Duration::from_secs(1 << 40))) <= MAX_HINT + FIRST_PAUSE);
        for hint in [Duration::ZERO, Duration::from_secs(1)] {
            assert!(
                pause(10, longest, Some(hint)) >= longest / 2,
                "a short hint does not end the doubling"
            );
        }
    }
}
