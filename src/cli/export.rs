//! `spanbridge export`: documents from the store.

use std::process::ExitCode;

use clap::Args;

use super::convert::Target;
use super::failure::Failure;
use super::select::{Select, trace_id};
use super::source::Where;
use super::{out, status};
use crate::store::Filter;

const EXAMPLES: &str = "\
Without --trace and --session: every trace, one document each, oldest first. A trace's document is the same, byte by byte,
as `spanbridge convert` makes from the same spans.

Examples:
  spanbridge export --to reflex --since 2h                                traces of the last two hours
  spanbridge export --to contextforge --trace 5b8efff798038103d269b633813fc60c
  spanbridge export --to openreward --session chat-17 --output out/       out/chat-17.openreward.json
  spanbridge export --to synth --service shop --since 2026-11-01 --until 2026-12-01 --output out/";

/// Documents from the store.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Export {
    #[command(flatten)]
    target: Target,
    /// This trace: its id or the first digits of it; may be given several times.
    #[arg(long = "trace", value_name = "ID", conflicts_with = "session")]
    traces: Vec<String>,
    /// The runs of this session together, as one document.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    select: Select,
    #[command(flatten)]
    from: Where,
}

impl Export {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let source = self.from.open()?;
        let mut writer = self.target.open()?;
        let mut clean = true;
        if let Some(session) = &self.session {
            let filter = Filter {
                session: Some(session.clone()),
                oldest_first: true,
                ..self.select.filter()
            };
            let ids = source.ids(&filter)?;
            if ids.is_empty() {
                return Err(Failure::missing(format!("no trace of session {session} is there")));
            }
            let (mut spans, mut logs) = (Vec::new(), Vec::new());
            for id in ids {
                let stored = source.trace(id)?.unwrap_or_default();
                spans.extend(stored.spans);
                logs.extend(stored.logs);
            }
            writer.session(session, &source.vocabulary.runs(spans, logs))?;
        } else {
            let ids = if self.traces.is_empty() {
                let filter = Filter {
                    oldest_first: true,
                    ..self.select.filter()
                };
                source.ids(&filter)?
            } else {
                self.traces.iter().map(|text| trace_id(&source, text)).collect::<Result<_, _>>()?
            };
            if ids.is_empty() {
                out::note("no trace fits, so no documents");
            }
            let mut progress = out::Progress::new("exported", ids.len());
            for id in ids {
                let Some(stored) = source.trace(id)? else {
                    out::note(&format!("there is no trace {id}"));
                    clean = false;
                    continue;
                };
                for run in source.vocabulary.runs(stored.spans, stored.logs) {
                    writer.run(&run)?;
                }
                progress.step();
            }
            progress.finish();
        }
        writer.finish()?;
        Ok(status(clean))
    }
}
