//! Spans of a file in, documents out: no server (`cargo run --no-default-features --features documents --example convert_file`).
//!
//! Takes files of OTLP/JSON; without any, a recorded run of a LangChain agent.
#![expect(clippy::print_stdout, reason = "an example")]

use std::error::Error;

use spanbridge::documents::{self, Vocabulary};
use spanbridge::formats::{FORMATS, Layout, Options};
use spanbridge::span::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        files.push(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/oi-langchain-agent/001.traces.json").to_owned());
    }
    let mut spans = Vec::new();
    for file in &files {
        spans.extend(json::traces(&std::fs::read(file)?)?.items);
    }
    println!("{} spans", spans.len());
    for run in Vocabulary::built_in().runs(spans, Vec::new()) {
        let agent = run.agent.name.as_deref().unwrap_or("an agent without a name");
        println!(
            "trace {}: {agent}, {} steps, {} findings",
            run.trace_id,
            run.steps.len(),
            run.findings.len()
        );
        for format in FORMATS {
            for document in documents::of_run(&run, format, &Options::default()).documents {
                let bytes = document.text(Layout::Compact)?.len();
                println!("  {}: {bytes} bytes, {} losses", format.id, document.losses.len());
                for loss in document.losses {
                    println!("    {:?}: {}", loss.reason, loss.what);
                }
            }
        }
    }
    Ok(())
}
