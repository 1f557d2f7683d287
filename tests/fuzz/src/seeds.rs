//! What the fuzzers begin with, made of `tests/corpus` and `semconv`.

use std::fs;
use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Built alone or as a part of the crate's tests.
    if here.ends_with("tests/fuzz") {
        here.join("../..")
    } else {
        here.to_owned()
    }
}

/// The seeds of a target. A seed is at most `largest` bytes long; of long recordings there are enough short ones.
pub fn of(target: &str, largest: usize) -> Vec<Vec<u8>> {
    let mut seeds = match target {
        "wire_scan" => corpus(&[".bin"]),
        "otlp_json" => corpus(&[".traces.json", ".logs.json"]),
        "convert" => corpus(&[".bin", ".traces.json", ".logs.json"]),
        "convert_made" | "cost" | "log_recovery" => noise(),
        "format_read" => documents(),
        "query" => queries(),
        "receive" => requests(),
        "semconv_file" => semconv(),
        _ => Vec::new(),
    };
    seeds.retain(|seed| seed.len() <= largest);
    seeds
}

/// Inputs that once broke a law, from `tests/fuzz/regressions/<target>`.
pub fn regressions(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    files(&root().join("tests/fuzz/regressions").join(target), &mut |_| true)
}

fn files(folder: &Path, wanted: &mut impl FnMut(&str) -> bool) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(files(&path, wanted));
        } else if path.file_name().is_some_and(|name| wanted(&name.to_string_lossy())) {
            let bytes = fs::read(&path).expect("readable");
            found.push((path, bytes));
        }
    }
    found
}

fn corpus(endings: &[&str]) -> Vec<Vec<u8>> {
    let found = files(&root().join("tests/corpus"), &mut |name| {
        endings.iter().any(|ending| name.ends_with(ending))
    });
    found.into_iter().map(|(_, bytes)| bytes).collect()
}

/// A format's number stands before its document.
fn documents() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (number, format) in [
        "contextforge",
        "reflex",
        "openreward",
        "synth",
        "invariant",
        "messages",
        "atif",
        "inspect",
        "verifiers",
        "deepeval",
        "adk",
    ]
    .iter()
    .enumerate()
    {
        let ending = format!(".{format}.json");
        for document in corpus(&[&ending]) {
            seeds.push([&[u8::try_from(number).expect("few")], document.as_slice()].concat());
        }
    }
    seeds
}

fn queries() -> Vec<Vec<u8>> {
    let texts = [
        "\0",
        "\x01service=a&session=b&since=1&until=2&order=oldest&summary=no",
        "\x01limit=2&after=1767261600000000000.01010101010101010101010101010101",
        "\x01limit=18446744073709551615",
        "\x0301010101010101010101010101010101",
        "\x04reflex",
        "\x04contextforge?a.b=%20+%",
        "\x05subagents=inline",
        "\x05limit_msg_bytes=1",
        "\x06container=push",
        "\x07limit=0",
        "\x08reflex.optimize=p",
        "\x09a/synth",
        "\x09%C3%A9/synth",
        "\x0a",
        "\x0bdefault/traces/01010101010101010101010101010101/blocks",
        "\x0c/healthz",
        "\x0c/metrics",
        "\x0c2026-01-01T10:00:00.5+01:00",
        "\x0c2026-01-01",
        "\x0c90s",
        "\x0c584542046090d",
        "\x0c0001-01-01",
        "\x0c9999-12-31T23:59:60Z",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn requests() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (traces, body) in [(true, corpus(&[".traces.bin"])), (false, corpus(&[".logs.bin"]))] {
        for body in body {
            let grpc = if traces { 0x80 } else { 0x81 };
            let http = if traces { 4 } else { 5 };
            seeds.push([&[grpc, 0], body.as_slice()].concat());
            seeds.push([&[http, 0], body.as_slice()].concat());
        }
    }
    for body in corpus(&[".traces.json"]) {
        seeds.push([&[4, 1], body.as_slice()].concat());
    }
    // gzip and zstd of `{}`.
    let gzip = [31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 171, 174, 5, 0, 67, 191, 166, 163, 2, 0, 0, 0];
    let zstd = [40, 181, 47, 253, 32, 2, 17, 0, 0, 123, 125];
    seeds.push([&[4, 1 | 1 << 2], gzip.as_slice()].concat());
    seeds.push([&[4, 1 | 2 << 2], zstd.as_slice()].concat());
    seeds.push([&[0x80, 1 << 2], gzip.as_slice()].concat());
    seeds.push([&[0x80, 2 << 2], zstd.as_slice()].concat());
    seeds
}

fn semconv() -> Vec<Vec<u8>> {
    let found = files(&root().join("semconv"), &mut |name| name == "attributes.yaml");
    found.into_iter().map(|(_, bytes)| bytes).collect()
}

/// Bytes for the targets that build their input out of them: the same on every run.
fn noise() -> Vec<Vec<u8>> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let lengths = [64, 256, 1_024, 4_096];
    (0..240)
        .map(|number| (0..lengths[number % 4] / 8).flat_map(|_| next()).collect())
        .collect()
}

/// A dictionary for libFuzzer: the keys that the dialects' rules wait for.
pub fn dictionary() -> String {
    let mut words: Vec<&str> = spanbridge::dialect::Registry::built_in()
        .rules()
        .iter()
        .flat_map(|rule| {
            std::iter::once(rule.key)
                .chain(rule.values.iter().map(|(word, _)| *word))
                .chain(rule.when.scope.iter().copied())
        })
        .filter(|word| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\')
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    words.iter().map(|word| format!("\"{word}\"\n")).collect()
}
