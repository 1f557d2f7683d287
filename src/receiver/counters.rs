//! What was received, for `/metrics`. Names in the style of the OpenTelemetry Collector.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::intake::Taken;
use super::{Refusals, Rejection};
use crate::span::Signal;

/// Counts since the start.
#[derive(Debug, Default)]
pub struct Counters {
    signals: [OfSignal; 3],
    requests_refused: Refusals,
    items_refused: Mutex<BTreeMap<&'static str, u64>>,
}

#[derive(Debug, Default)]
struct OfSignal {
    requests: AtomicU64,
    bytes: AtomicU64,
    accepted: AtomicU64,
    duplicates: AtomicU64,
    refused: AtomicU64,
}

fn add(counter: &AtomicU64, number: usize) {
    counter.fetch_add(number as u64, Ordering::Relaxed);
}

impl Counters {
    fn of(&self, signal: Signal) -> &OfSignal {
        let [traces, logs, metrics] = &self.signals;
        match signal {
            Signal::Traces => traces,
            Signal::Logs => logs,
            Signal::Metrics => metrics,
        }
    }

    pub(super) fn took(&self, signal: Signal, bytes: usize, taken: &Taken) {
        let of = self.of(signal);
        add(&of.requests, 1);
        add(&of.bytes, bytes);
        add(&of.accepted, taken.stored);
        add(&of.duplicates, taken.duplicates);
        add(&of.refused, taken.refused_count);
        let mut reasons = self.items_refused.lock().unwrap_or_else(PoisonError::into_inner);
        for refused in &taken.refused {
            *reasons.entry(refused.reason.name()).or_default() += 1;
        }
    }

    pub(super) fn refused(&self, rejection: &Rejection) {
        self.requests_refused.add("OTLP", rejection.name());
    }

    /// Spans and log records that are stored, and those that were there already.
    #[must_use]
    pub fn accepted(&self) -> (u64, u64) {
        let sum = |of: fn(&OfSignal) -> &AtomicU64| {
            let [traces, logs, _] = &self.signals;
            of(traces).load(Ordering::Relaxed) + of(logs).load(Ordering::Relaxed)
        };
        (sum(|of| &of.accepted), sum(|of| &of.duplicates))
    }

    /// All counts in the text format of Prometheus.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let mut out = String::new();
        let names = [
            (Signal::Traces, "spans"),
            (Signal::Logs, "log_records"),
            (Signal::Metrics, "metrics"),
        ];
        for (signal, items) in names {
            let of = self.of(signal);
            let signal = signal.name();
            for (name, help, counter) in [
                (format!("accepted_{items}"), "Accepted and stored (metrics: counted).", &of.accepted),
                (
                    format!("duplicate_{items}"),
                    "Sent again, byte by byte, and stored once.",
                    &of.duplicates,
                ),
                (format!("refused_{items}"), "Refused one by one, without their batch.", &of.refused),
                (
                    format!("{signal}_requests"),
                    "Requests that were answered with success.",
                    &of.requests,
                ),
                (format!("{signal}_bytes"), "Bytes of those requests, decompressed.", &of.bytes),
            ] {
                let value = counter.load(Ordering::Relaxed);
                let _ = writeln!(out, "# HELP spanbridge_receiver_{name}_total {help}");
                let _ = writeln!(out, "# TYPE spanbridge_receiver_{name}_total counter");
                let _ = writeln!(out, "spanbridge_receiver_{name}_total {value}");
            }
        }
        let items = self.items_refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (name, help, counts) in [
            ("refused_requests", "Requests refused as a whole.", self.requests_refused.counts()),
            (
                "rejected_items",
                "Items refused, by what is wrong (the first 100 a request).",
                items,
            ),
        ] {
            let _ = writeln!(out, "# HELP spanbridge_receiver_{name}_total {help}");
            let _ = writeln!(out, "# TYPE spanbridge_receiver_{name}_total counter");
            for (reason, value) in &counts {
                let _ = writeln!(out, "spanbridge_receiver_{name}_total{{reason=\"{reason}\"}} {value}");
            }
        }
        out
    }
}
