//! The text of `/metrics`: counts of the receiver, the process, the ports and each project's store.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Instant;

use super::listen::Ports;
use super::projects::{Open, Stores};
use crate::forward::Forwarder;
use crate::forward::counts::{Health, Sample};
use crate::receiver::prometheus::{Kind, Text};
use crate::receiver::{Receiver, Refusals};
use crate::store::{Count, Maintained, Usage};
use crate::web::{Metrics, Readers};

pub(super) fn writer(
    receiver: &Arc<Receiver>,
    stores: &Stores,
    readers: &Arc<Readers>,
    ports: &Arc<Ports>,
    refused: &Arc<Refusals>,
    forwarding: &Arc<OnceLock<Arc<Forwarder>>>,
) -> Metrics {
    let (receiver, stores, readers) = (Arc::clone(receiver), Arc::clone(stores), Arc::clone(readers));
    let (ports, refused, forwarding) = (Arc::clone(ports), Arc::clone(refused), Arc::clone(forwarding));
    let started = Instant::now();
    Arc::new(move || {
        let mut out = Text::default();
        receiver.counters().write(&mut out);
        process(&mut out, started);
        requests(&mut out, &receiver, &readers, &ports, &refused);
        of_destinations(&mut out, &forwarding.get().map(|forwarder| forwarder.samples()).unwrap_or_default());
        let stores = stores.read().unwrap_or_else(PoisonError::into_inner);
        of_stores(&mut out, &stores);
        out.finish()
    })
}

/// Name, kind, help, and value.
type OfDestination = (&'static str, Kind, &'static str, fn(&Sample) -> u64);

/// The first ones use the names of the Collector's exporters.
const DESTINATION: &[OfDestination] = &[
    (
        "otelcol_exporter_sent_spans",
        Kind::Counter,
        "Spans that the destination accepted.",
        |of| of.sent[0],
    ),
    (
        "otelcol_exporter_sent_log_records",
        Kind::Counter,
        "Log records that the destination accepted.",
        |of| of.sent[1],
    ),
    (
        "otelcol_exporter_sent_metric_points",
        Kind::Counter,
        "Data points of metrics that the destination accepted.",
        |of| of.sent[2],
    ),
    (
        "otelcol_exporter_send_failed_spans",
        Kind::Counter,
        "Spans that the destination refused for good.",
        |of| of.failed[0],
    ),
    (
        "otelcol_exporter_send_failed_log_records",
        Kind::Counter,
        "Log records that the destination refused for good.",
        |of| of.failed[1],
    ),
    (
        "otelcol_exporter_send_failed_metric_points",
        Kind::Counter,
        "Data points of metrics that the destination refused for good.",
        |of| of.failed[2],
    ),
    (
        "otelcol_exporter_queue_size",
        Kind::Gauge,
        "Bytes of the log that are not sent yet.",
        |of| of.backlog_bytes,
    ),
    (
        "otelcol_exporter_in_flight_requests",
        Kind::Gauge,
        "Requests that wait for an answer.",
        |of| of.in_flight,
    ),
    (
        "spanbridge_forward_up",
        Kind::Gauge,
        "1 while the destination accepts requests.",
        |of| (of.health == Health::Up).into(),
    ),
    (
        "spanbridge_forward_retries_total",
        Kind::Counter,
        "Attempts that failed and were repeated.",
        |of| of.retries,
    ),
    (
        "spanbridge_forward_unfinished_spans_total",
        Kind::Counter,
        "Spans without an end that were held back.",
        |of| of.held,
    ),
    (
        "spanbridge_forward_unsupported_log_records_total",
        Kind::Counter,
        "Log records that the destination does not take.",
        |of| of.not_taken[1],
    ),
    (
        "spanbridge_forward_unsupported_metric_points_total",
        Kind::Counter,
        "Data points of metrics that the destination does not take.",
        |of| of.not_taken[2],
    ),
    (
        "spanbridge_forward_left_out_log_records_total",
        Kind::Counter,
        "Log records that were neither sent nor written onto a span.",
        |of| of.left_out,
    ),
    (
        "spanbridge_forward_not_chosen_spans_total",
        Kind::Counter,
        "Spans that were not chosen for the destination.",
        |of| of.not_chosen[0],
    ),
    (
        "spanbridge_forward_not_chosen_log_records_total",
        Kind::Counter,
        "Log records that were not chosen for the destination.",
        |of| of.not_chosen[1],
    ),
    (
        "spanbridge_forward_not_chosen_metric_points_total",
        Kind::Counter,
        "Data points of metrics that were not chosen for the destination.",
        |of| of.not_chosen[2],
    ),
    (
        "spanbridge_forward_as_received_spans_total",
        Kind::Counter,
        "Spans that were sent as received, because translating them would take too much memory.",
        |of| of.as_received,
    ),
    (
        "spanbridge_forward_removed_segments_total",
        Kind::Counter,
        "Segments that retention removed before they were sent.",
        |of| of.removed_segments,
    ),
    (
        "spanbridge_forward_damaged_bytes_total",
        Kind::Counter,
        "Bytes of the log that could not be read and were not sent.",
        |of| of.damaged_bytes,
    ),
];

fn of_destinations(out: &mut Text, samples: &[Sample]) {
    if samples.is_empty() {
        return;
    }
    // Destinations of two projects may share a name.
    let projects: Vec<String> = samples.iter().map(|sample| sample.project.to_string()).collect();
    for (name, kind, help, number) in DESTINATION {
        let rows = samples.iter().zip(&projects).map(|(sample, project)| {
            let labels = vec![("exporter", sample.name.as_str()), ("project", project.as_str())];
            (labels, number(sample))
        });
        out.metric(name, *kind, help, rows);
    }
}

fn process(out: &mut Text, started: Instant) {
    let version = vec![("version", env!("CARGO_PKG_VERSION"))];
    out.metric("spanbridge_build_info", Kind::Gauge, "The version that runs.", [(version, 1)]);
    let uptime = started.elapsed().as_secs_f64();
    out.one("otelcol_process_uptime", Kind::Counter, "Uptime of the process.", uptime);
    // If the system does not report it, leave the metric out.
    if let Some(bytes) = resident() {
        let help = "Physical memory of the process.";
        out.one("otelcol_process_memory_rss", Kind::Gauge, help, bytes);
    }
}

fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1_024)
}

fn requests(out: &mut Text, receiver: &Receiver, readers: &Readers, ports: &Ports, refused: &Refusals) {
    let in_flight = receiver.in_flight_bytes();
    out.one(
        "spanbridge_receiver_in_flight_bytes",
        Kind::Gauge,
        "Bytes of requests in progress.",
        in_flight,
    );
    out.one(
        "spanbridge_api_reserved_bytes",
        Kind::Gauge,
        "Bytes of memory that API requests in progress and runs kept for the next ones have reserved.",
        readers.reserved_bytes(),
    );
    let (refused, closed, found) = (refused.counts(), ports.closed.counts(), receiver.redaction().found());
    out.metric(
        "spanbridge_api_refused_requests_total",
        Kind::Counter,
        "Requests to the API refused before they were answered.",
        refused.iter().map(|(reason, count)| (vec![("reason", *reason)], count)),
    );
    let open = ports.open.load(Ordering::Relaxed);
    out.one(
        "spanbridge_connections",
        Kind::Gauge,
        "Connections that are open, of all ports.",
        open,
    );
    let accepted = ports.accepted.load(Ordering::Relaxed);
    out.one(
        "spanbridge_connections_total",
        Kind::Counter,
        "Connections that were let in.",
        accepted,
    );
    out.metric(
        "spanbridge_closed_connections_total",
        Kind::Counter,
        "Connections closed by the server.",
        closed.iter().map(|(reason, count)| (vec![("reason", *reason)], count)),
    );
    out.metric(
        "spanbridge_redactions_total",
        Kind::Counter,
        "Attributes and texts taken out before they were stored.",
        found.iter().map(|(rule, count)| (vec![("rule", rule.as_str())], count)),
    );
}

/// The state of one store for one answer.
struct Asked {
    project: String,
    usage: Usage,
    maintained: Maintained,
    appended: u64,
    counts: Vec<Count>,
    ready: bool,
    /// Acknowledged records that are lost.
    lost: u64,
    /// Found when the store was opened: torn and damaged places, replayed records, and whether the index was rebuilt.
    found: [u64; 4],
}

impl Asked {
    fn of(open: &Open) -> Self {
        let (store, recovery) = (&open.store, &open.recovery);
        Self {
            project: open.project.to_string(),
            usage: store.usage().unwrap_or_default(),
            maintained: store.maintained(),
            appended: store.appended_bytes(),
            counts: store.counts(),
            ready: store.ready().is_ok(),
            lost: store.lost().iter().map(|lost| lost.records).sum(),
            found: [
                u64::from(recovery.torn.is_some()),
                recovery.damaged.len() as u64,
                recovery.replayed as u64,
                u64::from(recovery.index_rebuilt.is_some()),
            ],
        }
    }
}

/// Name after `spanbridge_store_`, kind, help, and value.
type Row = (&'static str, Kind, &'static str, fn(&Asked) -> u64);

const STORE: &[Row] = &[
    ("ready", Kind::Gauge, "1 while it can be written to.", |of| of.ready.into()),
    (
        "appended_bytes_total",
        Kind::Counter,
        "Bytes of messages written to the log.",
        |of| of.appended,
    ),
    (
        "lost_records",
        Kind::Gauge,
        "Acknowledged records that are lost, until an operator acknowledges the loss (spanbridge doctor --acknowledge).",
        |of| of.lost,
    ),
    ("segments", Kind::Gauge, "Segments of the log.", |of| of.usage.segments),
    ("log_bytes", Kind::Gauge, "Bytes of these on the disk.", |of| of.usage.log_bytes),
    ("index_bytes", Kind::Gauge, "Bytes of the index on the disk.", |of| {
        of.usage.index_bytes
    }),
    ("free_bytes", Kind::Gauge, "Bytes that the file system has left.", |of| {
        of.usage.free_bytes
    }),
    ("capacity_bytes", Kind::Gauge, "Bytes of the file system.", |of| {
        of.usage.capacity_bytes
    }),
    ("compressed_segments_total", Kind::Counter, "Segments that were compressed.", |of| {
        of.maintained.compressed_segments
    }),
    ("compressed_from_bytes_total", Kind::Counter, "Their bytes before.", |of| {
        of.maintained.compressed_from_bytes
    }),
    ("compressed_to_bytes_total", Kind::Counter, "Their bytes after.", |of| {
        of.maintained.compressed_to_bytes
    }),
    (
        "damaged_segments_total",
        Kind::Counter,
        "Segments that stay uncompressed because parts of them are damaged.",
        |of| of.maintained.damaged_segments,
    ),
    ("removed_segments_total", Kind::Counter, "Segments that retention removed.", |of| {
        of.maintained.removed_segments
    }),
    ("removed_bytes_total", Kind::Counter, "Their bytes.", |of| {
        of.maintained.removed_bytes
    }),
    (
        "maintenance_failed",
        Kind::Gauge,
        "1 while compression or retention fails; it is retried, and the server's log has the reason.",
        |of| of.maintained.failure.is_some().into(),
    ),
    (
        "recovery_torn",
        Kind::Gauge,
        "1 if an unfinished write was cut off at the start; nothing acknowledged was in it.",
        |of| of.found[0],
    ),
    (
        "recovery_damaged",
        Kind::Gauge,
        "Damaged places that were skipped at the start.",
        |of| of.found[1],
    ),
    (
        "recovery_replayed_records",
        Kind::Gauge,
        "Records read again into the index at the start.",
        |of| of.found[2],
    ),
    (
        "recovery_index_rebuilt",
        Kind::Gauge,
        "1 if the index was rebuilt at startup.",
        |of| of.found[3],
    ),
];

fn of_stores(out: &mut Text, stores: &[Open]) {
    let asked: Vec<Asked> = stores.iter().map(Asked::of).collect();
    for (name, kind, help, number) in STORE {
        let samples = asked.iter().map(|of| (vec![("project", of.project.as_str())], number(of)));
        out.metric(&format!("spanbridge_store_{name}"), *kind, help, samples);
    }
    // All stores have the same engine, and so the same counts.
    for (index, count) in asked.first().map_or(&[][..], |of| &of.counts).iter().enumerate() {
        let kind = if count.is_total { Kind::Counter } else { Kind::Gauge };
        let samples = asked
            .iter()
            .filter_map(|of| Some((vec![("project", of.project.as_str())], of.counts.get(index)?.value)));
        out.metric(&format!("spanbridge_store_{}", count.name), kind, count.help, samples);
    }
}
