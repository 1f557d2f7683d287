//! What a request costs in memory and in work, counted in bytes allocated: no time is asserted.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
#![cfg(feature = "server")]

use arbitrary::Unstructured;
use bodies::Body;
use spanbridge::otlp::scan;
use spanbridge::span::Signal;
use spanbridge::store::Chunk;
use support::Chance;

mod support;

#[path = "fuzz/src/bodies.rs"]
#[allow(dead_code, unreachable_pub, clippy::cast_possible_truncation, reason = "shared with the fuzzers")]
mod bodies;

/// What one request took.
struct Cost {
    length: usize,
    /// Bytes that were asked for before they were taken.
    asked: usize,
    /// Bytes that are taken once the request is chunks, without its own.
    kept: usize,
    /// Bytes allocated on the way, freed ones too.
    work: usize,
}

fn cost(body: &Body) -> Cost {
    let request = body.protobuf();
    let length = request.len();
    let signal = if body.logs { Signal::Logs } else { Signal::Traces };
    let mut asked = 0;
    let mut divided = None;
    let allocations = allocation_counter::measure(|| {
        let scanned = scan::scan_within(&request, signal, &["session.id"], &mut |more| {
            asked += more;
            true
        });
        divided = Some(Chunk::divide(scanned.expect("a request"), request));
    });
    let cost = Cost {
        length,
        asked,
        kept: usize::try_from(allocations.bytes_current).unwrap_or_default(),
        work: usize::try_from(allocations.bytes_total).expect("a count"),
    };
    drop(divided);
    cost
}

fn bodies(count: u64) -> impl Iterator<Item = Body> {
    (0..count).map(|seed| {
        let mut chance = Chance::new(seed + 1);
        let bytes: Vec<u8> = (0..32).map(|_| u8::try_from(chance.below(256)).expect("a byte")).collect();
        Body::of(&mut Unstructured::new(&bytes)).expect("enough bytes")
    })
}

#[test]
fn what_is_kept_was_asked_for() {
    for body in bodies(120) {
        let Cost { length, asked, kept, .. } = cost(&body);
        assert!(kept <= asked + 4_096, "{kept} bytes kept, {asked} asked for, of {length}: {body:?}");
    }
}

#[test]
fn four_times_the_request_is_four_times_the_work() {
    for body in bodies(30).filter(|body| body.traces > 20) {
        let small = cost(&body);
        let large = cost(&Body { scale: 4, ..body });
        assert!(
            large.work < 6 * small.work + 10_000,
            "{} bytes allocated for {}, then {} for {}: {body:?}",
            small.work,
            small.length,
            large.work,
            large.length
        );
    }
}
