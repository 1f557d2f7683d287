//! The fuzzers' targets without a fuzzer: every seed, every input that once broke a law, and changed copies of the seeds.
//!
//! `SPANBRIDGE_FULL=1 .ci/run` runs the fuzzers themselves; `tests/fuzz/README.md` says how to by hand.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used, reason = "a test")]
#![cfg(feature = "server")]

use crate::support;

#[path = "fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "a crate of its own elsewhere")]
pub(crate) mod fuzz;

use support::Chance;

/// Seeds beyond this size take long in a debug build.
const LARGEST: usize = 24 << 10;

/// Runs a target over its regressions, some of its seeds and changed copies of these.
fn replay(name: &str, seeds: usize, changed: u64) {
    let (_, run) = fuzz::TARGETS.into_iter().find(|(have, _)| *have == name).expect("a target");
    for (path, bytes) in fuzz::seeds::regressions(name) {
        assert!(std::panic::catch_unwind(|| run(&bytes)).is_ok(), "{}", path.display());
    }
    let all = fuzz::seeds::of(name, LARGEST);
    assert!(!all.is_empty(), "{name} has no seeds");
    let step = all.len().div_ceil(seeds);
    for (number, seed) in all.into_iter().step_by(step).enumerate() {
        run(&seed);
        for round in 0..changed {
            let mut bytes = seed.clone();
            change(&mut bytes, &mut Chance::new(number as u64 * 64 + round + 1));
            run(&bytes);
        }
    }
}

/// Changes a few bytes, as a fuzzer does.
fn change(bytes: &mut Vec<u8>, chance: &mut Chance) {
    for _ in 0..=chance.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = chance.below(bytes.len());
        match chance.below(5) {
            0 => bytes[at] ^= 1 << chance.below(8),
            1 => bytes[at] = u8::try_from(chance.below(256)).unwrap(),
            2 => bytes.insert(at, u8::try_from(chance.below(256)).unwrap()),
            3 => bytes.truncate(at),
            _ => {
                let to = bytes.len().min(at + 1 + chance.below(64));
                drop(bytes.drain(at..to));
            }
        }
    }
}

macro_rules! replays {
    ($($name:ident: $seeds:literal, $changed:literal;)*) => {
        $(#[test] fn $name() { replay(stringify!($name), $seeds, $changed); })*

        #[test]
        fn every_target_is_replayed() {
            let replayed = [$(stringify!($name)),*];
            assert_eq!(replayed, fuzz::TARGETS.map(|(name, _)| name));
        }
    };
}

/// The head of one record inside the message of another whose own head is damaged: no record may be skipped by its length.
#[test]
fn a_head_inside_a_message_hides_no_record() {
    let (_, bytes) = fuzz::seeds::regressions("log_recovery").remove(0);
    fuzz::log_recovery::run(&bytes);
}

/// `UPDATE=1` fills `tests/fuzz/corpus`, which the fuzzers begin with; it is not committed.
#[test]
fn seeds_fit_the_targets() {
    let corpus = fuzz::seeds::root().join("tests/fuzz/corpus");
    for (name, _) in fuzz::TARGETS {
        let regressions = fuzz::seeds::regressions(name).into_iter().map(|(_, bytes)| bytes);
        let seeds: Vec<Vec<u8>> = fuzz::seeds::of(name, 2 * LARGEST).into_iter().chain(regressions).collect();
        assert!(seeds.len() >= 20, "{name}: {} seeds", seeds.len());
        if std::env::var_os("UPDATE").is_some() {
            let folder = corpus.join(name);
            std::fs::create_dir_all(&folder).unwrap();
            for (number, seed) in seeds.iter().enumerate() {
                std::fs::write(folder.join(format!("seed-{number:04}")), seed).unwrap();
            }
        }
    }
    let dictionary = fuzz::seeds::dictionary();
    assert!(dictionary.lines().count() > 500);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(corpus.join("keys.dict"), dictionary).unwrap();
    }
}

replays! {
    wire_scan: 60, 12;
    otlp_json: 60, 6;
    convert: 40, 2;
    convert_made: 240, 4;
    cost: 30, 1;
    format_read: 60, 12;
    log_recovery: 240, 8;
    query: 100, 12;
    receive: 60, 6;
    semconv_file: 40, 3;
}
