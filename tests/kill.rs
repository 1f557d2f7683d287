//! What was acknowledged is there after `kill -9`, byte by byte: the real program, killed in the middle of its work.
//!
//! 20 times; 500 with `SPANBRIDGE_FULL=1`.
#![expect(clippy::expect_used, reason = "a test")]
#![cfg(feature = "server")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use spanbridge::otlp::encode;
use spanbridge::store::{Local, OpenOptions, Read as _};

use crate::load::{Acknowledged, Traces, load};
use crate::serving::Serving;

fn check(directory: &Path, acknowledged: &Traces) {
    let opened = Local::open(&OpenOptions::new(directory)).expect("opens");
    assert_eq!(opened.recovery.damaged, []);
    for (trace_id, bytes) in acknowledged {
        let stored = opened.store.read_trace(*trace_id).expect("reads");
        let stored = stored.unwrap_or_else(|| panic!("trace {trace_id} was acknowledged and is gone"));
        assert!(encode::traces(&stored.spans) == *bytes, "trace {trace_id} has other bytes");
    }
}

#[test]
fn kill_nine() {
    let rounds = if crate::long_form::is_long_form() { 500 } else { 20 };
    let directory = tempfile::tempdir().expect("a directory");
    let next = Arc::new(AtomicU64::new(0));
    let mut all = Traces::new();
    for round in 0..rounds {
        let mut serving = Serving::start(directory.path());
        let (acknowledged, stop) = (Acknowledged::default(), Arc::default());
        let clients = load(&serving.http, &next, &acknowledged, &stop);
        std::thread::sleep(Duration::from_millis(60 + round * 53 % 240));
        serving.child.kill().expect("kills");
        stop.store(true, Ordering::Relaxed);
        serving.wait();
        clients.into_iter().for_each(|client| client.join().expect("ends"));
        let round_acknowledged = std::mem::take(&mut *acknowledged.lock().expect("no panic"));
        check(directory.path(), &round_acknowledged);
        all.extend(round_acknowledged);
    }
    check(directory.path(), &all);
    assert!(all.len() > rounds as usize, "something was acknowledged");
}

#[test]
fn sigterm_under_load_ends_in_order() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut serving = Serving::start(directory.path());
    let (next, acknowledged, stop) = (Arc::default(), Acknowledged::default(), Arc::default());
    let clients = load(&serving.http, &next, &acknowledged, &stop);
    std::thread::sleep(Duration::from_millis(400));
    serving.terminate();
    let status = serving.wait();
    stop.store(true, Ordering::Relaxed);
    clients.into_iter().for_each(|client| client.join().expect("ends"));
    assert_eq!(status.code(), Some(0));
    let acknowledged = acknowledged.lock().expect("no panic");
    assert!(!acknowledged.is_empty());
    check(directory.path(), &acknowledged);
}
