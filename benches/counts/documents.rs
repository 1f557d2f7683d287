//! Traces into documents, and documents into spans.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use spanbridge::documents::Vocabulary;
use spanbridge::formats::{self, FORMATS, Layout, Options};
use spanbridge::otlp::decode;
use spanbridge::run::Run;

use super::Case;

/// A recording of each shape of a run.
const SHAPES: [(&str, &str); 6] = [
    ("one agent", "oi-langchain-agent"),
    ("sub-agents", "oi-langchain-subagents-par"),
    ("ADK's tools", "adk-tools"),
    ("GenAI's messages", "otel-agentsv2-tools"),
    ("a retry", "pyd-retryprompt"),
    ("steps of a framework", "vercel5-tools"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// The files of a folder and of those in it, in order of name.
fn files(folder: &Path, ends: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ends));
        } else if path.to_string_lossy().ends_with(ends) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn runs(bodies: &[Vec<u8>]) -> Vec<Run> {
    let spans = bodies.iter().flat_map(|body| decode::traces(body).unwrap().items);
    Vocabulary::built_in().runs(spans.collect(), Vec::new())
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (shape, folder) in SHAPES {
        let paths = files(&root().join("corpus").join(folder), ".traces.bin");
        assert!(!paths.is_empty(), "{folder} has no traces");
        let bodies: Rc<Vec<Vec<u8>>> = Rc::new(paths.iter().map(|path| std::fs::read(path).unwrap()).collect());
        let of_shape = Rc::clone(&bodies);
        let work = move || drop(black_box(runs(&of_shape)));
        cases.push((format!("run: {shape}"), Box::new(work)));
        let made = Rc::new(runs(&bodies));
        for format in FORMATS {
            let made = Rc::clone(&made);
            let work = move || drop(black_box(format.assemble(&made, &Options::default(), Layout::Compact)));
            cases.push((format!("document: {shape}, {}", format.id), Box::new(work)));
        }
    }
    let (_, folder) = SHAPES.first().unwrap();
    let bodies = files(&root().join("corpus").join(folder), ".traces.bin");
    let bodies: Vec<Vec<u8>> = bodies.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let made = runs(&bodies);
    for format in FORMATS {
        let documents = format.assemble(&made, &Options::default(), Layout::Compact);
        let text: String = documents.into_iter().map(|made| made.document + "\n").collect();
        if formats::disassemble(Some(format), &text).is_ok() {
            let work = move || drop(black_box(formats::disassemble(Some(format), &text)));
            cases.push((format!("import: {}", format.id), Box::new(work)));
        }
    }
    cases
}
