//! A format of your own: a transcript of what was said, in Markdown.
//!
//! A format reads runs and nothing else: no attribute keys, so it works for every dialect.
#![expect(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::fmt::Write as _;

use spanbridge::documents::Vocabulary;
use spanbridge::formats::{Assembled, Format, Loss, LossReason, Options};
use spanbridge::run::{EntryKind, Run};
use spanbridge::span::json;

struct Transcript;

impl Format for Transcript {
    const ID: &'static str = "transcript";
    const KEEPS: &'static str = "transcript: what was said, as Markdown";
    const LOSES: &'static str = "times, tokens and everything else that is not said";
    type Document<'a> = String;

    fn assemble(runs: &[Run], _: &Options) -> Vec<Assembled<String>> {
        runs.iter().map(transcript).collect()
    }
}

fn transcript(run: &Run) -> Assembled<String> {
    let (mut document, mut losses) = (String::new(), Vec::new());
    for scope in &run.scopes {
        let _ = writeln!(document, "# {}", scope.agent.as_deref().unwrap_or("agent"));
        for entry in &scope.conversation {
            match &entry.kind {
                EntryKind::Message(message) | EntryKind::Turn(message) => {
                    if message.has_media() {
                        let span = entry.step.and_then(|step| run.steps.get(step)).and_then(|step| step.span_id);
                        losses.push(Loss::new(span, "an image or a sound", LossReason::NoPlace));
                    }
                    let _ = writeln!(document, "**{}** {}", message.role.name(), message.content());
                    for call in &message.tool_calls {
                        let _ = writeln!(document, "- calls {} with {}", call.name, call.arguments_json());
                    }
                }
                EntryKind::Call(call) => {
                    let _ = writeln!(document, "- a tool ran as {}", call.call_id);
                }
                EntryKind::Result(result) => {
                    let failed = if result.failure.is_some() { " failed:" } else { "" };
                    let _ = writeln!(document, "- {}{failed} {}", result.call_id, result.result);
                }
            }
        }
    }
    Assembled { document, losses }
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/oi-langchain-agent/001.traces.json");
    let spans = json::traces(&std::fs::read(file)?)?.items;
    let runs = Vocabulary::built_in().runs(spans, Vec::new());
    for assembled in Transcript::assemble(&runs, &Options::default()) {
        println!("{}{} losses", assembled.document, assembled.losses.len());
    }
    Ok(())
}
