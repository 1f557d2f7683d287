//! Counts of received data for `/metrics`: with the names of the OpenTelemetry Collector where the meaning is the same, so
//! that its dashboards work, and as `spanbridge_*` otherwise.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::export::{Taken, Transport};
use super::prometheus::{Kind, Text};
use super::refusals::Refusals;
use super::reject::Rejection;
use crate::span::Signal;

/// Counts since the start.
#[derive(Debug, Default)]
pub struct Counters {
    signals: [[Flow; 2]; 3],
    requests_refused: Refusals,
    items_refused: Mutex<BTreeMap<&'static str, u64>>,
}

/// Counts of one signal over one transport.
#[derive(Debug, Default)]
struct Flow {
    requests: AtomicU64,
    bytes: AtomicU64,
    stored: AtomicU64,
    duplicates: AtomicU64,
    refused: AtomicU64,
}

fn add(counter: &AtomicU64, number: usize) {
    counter.fetch_add(number as u64, Ordering::Relaxed);
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Flow {
    /// As the Collector counts: answered with success, whether new or repeated.
    fn accepted(&self) -> u64 {
        load(&self.stored) + load(&self.duplicates)
    }
}

type Number = fn(&Flow) -> u64;

impl Counters {
    fn of(&self, signal: Signal, transport: Transport) -> &Flow {
        let [traces, logs, metrics] = &self.signals;
        let [grpc, http] = match signal {
            Signal::Traces => traces,
            Signal::Logs => logs,
            Signal::Metrics => metrics,
        };
        match transport {
            Transport::Grpc => grpc,
            Transport::Http => http,
        }
    }

    pub(super) fn took(&self, signal: Signal, transport: Transport, bytes: usize, taken: &Taken) {
        let of = self.of(signal, transport);
        add(&of.requests, 1);
        add(&of.bytes, bytes);
        add(&of.stored, taken.stored);
        add(&of.duplicates, taken.duplicates);
        add(&of.refused, taken.refused_count + taken.deleted);
        let mut reasons = self.items_refused.lock().unwrap_or_else(PoisonError::into_inner);
        for refused in &taken.refused {
            *reasons.entry(refused.reason.name()).or_default() += 1;
        }
        if taken.deleted > 0 {
            *reasons.entry("deleted").or_default() += taken.deleted as u64;
        }
    }

    /// Counts the items of a request that could not be stored; the request itself is counted by [`Counters::refused`].
    pub(super) fn not_stored(&self, signal: Signal, transport: Transport, items: usize) {
        add(&self.of(signal, transport).refused, items);
    }

    pub(super) fn refused(&self, rejection: &Rejection) {
        self.requests_refused.add("OTLP", rejection.name());
    }

    /// Spans and log records stored, and those that were repeats.
    #[must_use]
    pub fn accepted(&self) -> (u64, u64) {
        let [traces, logs, _] = &self.signals;
        let sum = |of: fn(&Flow) -> &AtomicU64| traces.iter().chain(logs).map(|flow| load(of(flow))).sum();
        (sum(|of| &of.stored), sum(|of| &of.duplicates))
    }

    /// Number of successful requests with log records.
    pub(crate) fn log_requests(&self) -> u64 {
        let [_, logs, _] = &self.signals;
        logs.iter().map(|flow| load(&flow.requests)).sum()
    }

    /// Writes all counts.
    pub fn write(&self, out: &mut Text) {
        for (signal, items) in [
            (Signal::Traces, "spans"),
            (Signal::Logs, "log_records"),
            (Signal::Metrics, "metric_points"),
        ] {
            let samples = |number: Number| {
                Transport::ALL.map(|transport| {
                    let labels = vec![("receiver", "otlp"), ("transport", transport.name())];
                    (labels, number(self.of(signal, transport)))
                })
            };
            let (accepted, refused) = match signal {
                Signal::Metrics => (
                    "Accepted. Stored if a destination takes metrics, otherwise only counted.",
                    "Refused.",
                ),
                _ => (
                    "Accepted and stored on disk, duplicates included.",
                    "Rejected because they are invalid, or with a request that could not be stored.",
                ),
            };
            out.metric(
                &format!("otelcol_receiver_accepted_{items}"),
                Kind::Counter,
                accepted,
                samples(Flow::accepted),
            );
            out.metric(
                &format!("otelcol_receiver_refused_{items}"),
                Kind::Counter,
                refused,
                samples(|of| load(&of.refused)),
            );
            if signal != Signal::Metrics {
                out.metric(
                    &format!("spanbridge_receiver_duplicate_{items}_total"),
                    Kind::Counter,
                    "Received again with the same bytes and stored once; also counted as accepted.",
                    samples(|of| load(&of.duplicates)),
                );
            }
        }
        let by_signal = |number: Number| {
            [Signal::Traces, Signal::Logs, Signal::Metrics]
                .into_iter()
                .flat_map(move |signal| Transport::ALL.map(|transport| (signal, transport)))
                .map(move |(signal, transport)| {
                    let labels = vec![("signal", signal.name()), ("transport", transport.name())];
                    (labels, number(self.of(signal, transport)))
                })
        };
        out.metric(
            "spanbridge_receiver_requests_total",
            Kind::Counter,
            "Requests that were accepted.",
            by_signal(|of| load(&of.requests)),
        );
        out.metric(
            "spanbridge_receiver_bytes_total",
            Kind::Counter,
            "Bytes of accepted requests after decompression.",
            by_signal(|of| load(&of.bytes)),
        );
        let items = self.items_refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (name, help, counts) in [
            (
                "refused_requests",
                "Requests that were rejected as a whole.",
                self.requests_refused.counts(),
            ),
            ("rejected_items", "Rejected items by reason (the first 100 of each request).", items),
        ] {
            let name = format!("spanbridge_receiver_{name}_total");
            let counts = counts.iter().map(|(reason, value)| (vec![("reason", *reason)], value));
            out.metric(&name, Kind::Counter, help, counts);
        }
    }
}
