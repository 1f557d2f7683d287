//! The text of `/metrics`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError};

use super::listen::Ports;
use super::projects::Stores;
use crate::receiver::{Receiver, Refusals};
use crate::web::Metrics;

pub(super) fn writer(receiver: &Arc<Receiver>, stores: &Stores, ports: &Arc<Ports>, refused: &Arc<Refusals>) -> Metrics {
    let (receiver, stores) = (Arc::clone(receiver), Arc::clone(stores));
    let (ports, refused) = (Arc::clone(ports), Arc::clone(refused));
    Arc::new(move || {
        let mut out = receiver.counters().prometheus();
        let appended = stores.read().unwrap_or_else(PoisonError::into_inner);
        for (name, help, kind, value) in [
            (
                "receiver_in_flight_bytes",
                "Bytes of requests in work.",
                "gauge",
                receiver.in_flight_bytes() as u64,
            ),
            (
                "store_appended_bytes_total",
                "Bytes of messages written to the log.",
                "counter",
                appended.iter().map(|store| store.appended_bytes()).sum(),
            ),
        ] {
            let _ = writeln!(out, "# HELP spanbridge_{name} {help}");
            let _ = writeln!(out, "# TYPE spanbridge_{name} {kind}");
            let _ = writeln!(out, "spanbridge_{name} {value}");
        }
        let help = "Requests to the API refused before they were answered.";
        counts(&mut out, "api_refused_requests_total", help, "reason", &owned(&refused.counts()));
        let help = "Connections closed by the bridge.";
        counts(&mut out, "closed_connections_total", help, "reason", &owned(&ports.closed.counts()));
        let help = "Attributes and texts taken out before they were stored.";
        counts(&mut out, "redactions_total", help, "rule", &receiver.redaction().found());
        out
    })
}

fn owned(counts: &BTreeMap<&'static str, u64>) -> Vec<(String, u64)> {
    counts.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect()
}

fn counts(out: &mut String, name: &str, help: &str, label: &str, counts: &[(String, u64)]) {
    let _ = writeln!(out, "# HELP spanbridge_{name} {help}");
    let _ = writeln!(out, "# TYPE spanbridge_{name} counter");
    for (value, count) in counts {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = writeln!(out, "spanbridge_{name}{{{label}=\"{value}\"}} {count}");
    }
}
