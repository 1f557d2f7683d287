//! The text of `/metrics`.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::receiver::Receiver;
use crate::store::Local;

pub(super) fn writer(receiver: &Arc<Receiver>, store: &Arc<Local>) -> Box<dyn Fn() -> String + Send + Sync> {
    let (receiver, store) = (Arc::clone(receiver), Arc::clone(store));
    Box::new(move || {
        let mut out = receiver.counters().prometheus();
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
                store.appended_bytes(),
            ),
        ] {
            let _ = writeln!(out, "# HELP spanbridge_{name} {help}");
            let _ = writeln!(out, "# TYPE spanbridge_{name} {kind}");
            let _ = writeln!(out, "spanbridge_{name} {value}");
        }
        out
    })
}
