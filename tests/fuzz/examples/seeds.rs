//! Fills `corpus/<target>` from `tests/corpus`, and writes `corpus/keys.dict`.

use std::fs;
use std::path::Path;

use spanbridge_fuzz::{TARGETS, seeds};

/// Longer seeds slow the fuzzers down.
const LARGEST: usize = 48 << 10;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (target, _) in TARGETS {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder)?;
        let found = seeds::of(target, LARGEST);
        let regressions = seeds::regressions(target).into_iter().map(|(_, bytes)| bytes);
        let all: Vec<Vec<u8>> = found.into_iter().chain(regressions).collect();
        for (number, seed) in all.iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:04}")), seed)?;
        }
        println!("{target}: {} seeds", all.len());
    }
    fs::write(corpus.join("keys.dict"), seeds::dictionary())
}
