//! One law for every way out of a server and every shape of what came in: memory at most 8 times what came in and 64 MB, at most 3 times
//! of it on the disk, work that grows no faster than n log n, and an end within a second after the client left.
//!
//! The ways are taken from the tables of routes and tools, so a new one is in this test. `SPANBRIDGE_FULL=1` takes 8 times the sizes.
//! The short form takes a quarter of the sizes and every third shape. It omits the shapes whose documents grow with the square of the
//! number of calls: these alone take minutes.
//!
//! [`commands`] has the same law for the commands.

mod commands;
mod law;
mod shapes;

use std::collections::BTreeMap;
use std::time::Duration;

use law::{Guarded, Took, most};
use shapes::Shape;
use spanbridge::formats;
use spanbridge::span::TraceId;

use crate::long_form::is_long_form;

/// The larger size of two.
const TIMES: u64 = 4;
/// Linear work takes as many times the time as there are times the items. Caches and a busy machine make it more.
const MORE: f64 = 1.75;
/// Below this a time says nothing.
const LEAST: Duration = Duration::from_millis(1_000);

fn trace(number: u8) -> TraceId {
    TraceId::from_bytes(&[number; 16]).unwrap()
}

/// Of these a document with whole inputs has as many messages as the square; they are reserved and not part of the law.
fn is_square(shape: &str) -> bool {
    matches!(shape, "conversation that goes on" | "all go on with one call")
}

/// The shapes of a short or a long test, with the sizes to begin with.
fn short_or_long(shapes: &'static [Shape]) -> impl Iterator<Item = Shape> {
    let step = if is_long_form() { 1 } else { 3 };
    shapes
        .iter()
        .step_by(step)
        .filter_map(|&(shape, size, make)| match (is_square(shape), is_long_form()) {
            (true, true) => Some((shape, size, make)),
            (true, false) => None,
            (false, true) => Some((shape, size * 8, make)),
            (false, false) => Some((shape, size / TIMES, make)),
        })
}

#[test]
fn every_way_out_keeps_the_law() {
    let mut broken = Vec::new();
    for (shape, size, make) in short_or_long(shapes::SHAPES) {
        let items = if is_square(shape) { TIMES * TIMES } else { TIMES };
        let mut before: BTreeMap<String, (Duration, u64)> = BTreeMap::new();
        for size in [size, size * TIMES] {
            let guarded = Guarded::start();
            let empty = guarded.stored();
            let came = [1, 2].map(|number| guarded.store(&make(trace(number), size)));
            let mut look = |name: &str, came: u64, took: &Took| {
                let mut breaks = |what: String| broken.push(format!("{shape} of {size} ({came} bytes), {name}: {what}"));
                if !matches!(took.status, 200 | 303 | 400 | 404 | 405 | 409 | 413 | 422) {
                    breaks(format!("status {}", took.status));
                }
                if took.memory > most(came) {
                    breaks(format!(
                        "{} MB of memory, for an answer of {} bytes",
                        took.memory / 1_000_000,
                        took.bytes
                    ));
                }
                if let Some((before, made)) = before.insert(name.to_owned(), (took.processor, took.made))
                    && took.processor > LEAST
                    && took.processor.as_secs_f64() > MORE * before.as_secs_f64().max(0.05) * items.max(took.made / made.max(1)) as f64
                {
                    breaks(format!("{before:?}, and {:?} for {TIMES} times as much", took.processor));
                }
            };
            for ask in guarded.asks(trace(1), trace(2)) {
                look(&ask.name, 2 * came[0], &guarded.ask(&ask));
            }
            let stored = guarded.stored() - empty;
            for format in formats::all().filter(|format| format.is_read()) {
                if let Some((came, took)) = guarded.import(trace(1), format.id) {
                    look(&format!("import of {}", format.id), came, &took);
                }
            }
            if stored > 3 * (came[0] + came[1]) + (1 << 20) {
                broken.push(format!("{shape} of {size}: {stored} bytes on the disk of {}", came[0] + came[1]));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_way_out_ends_soon_after_its_client_left() {
    let guarded = Guarded::start();
    let (_, size, make) = shapes::SHAPES
        .iter()
        .find(|(name, ..)| *name == "conversation that goes on")
        .unwrap();
    let size = if is_long_form() { size * 16 } else { size * 2 };
    for number in [1, 2] {
        guarded.store(&make(trace(number), size));
    }
    let mut slow = Vec::new();
    for ask in guarded.asks(trace(1), trace(2)) {
        let took = guarded.leave(&ask);
        if took > Duration::from_secs(1) {
            slow.push(format!("{}: {took:?}", ask.name));
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}
