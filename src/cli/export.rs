//! `spanbridge export`: documents from the store.

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::data_set::EXPRESSIONS;
use super::failure::{Failure, exit_status};
use super::select::{Select, trace_id};
use super::source::{Source, Where};
use super::target::{DocumentWriter, Target};
use super::{complete, out};
use crate::dataset::Source as Selected;
use crate::run::Run;
use crate::span::TraceId;
use crate::store::{Filter, Order, Stored};

const EXAMPLES: &str = "\
Without --trace and --session, export writes one document for each trace, oldest first. The document is byte for byte the one \
that `spanbridge convert` writes for the same spans.

Examples:
  spanbridge export --to reflex --since 2h                           traces of the last two hours
  spanbridge export --to contextforge --trace 5b8efff798038103d269b633813fc60c
  spanbridge export --to openreward --session chat-17 --output out/  out/chat-17.openreward.json
  spanbridge export --to synth --service shop --since 2026-11-01 --until 2026-12-01 --output out/
  spanbridge export --to codex --trace 5b8e --until-step 00f067aa0ba902b7 --output fork/
  spanbridge export --to messages --search 'no such city' --jsonl --output set/
  spanbridge export --to messages --where 'reward > 0' --split train:0.9,test:0.1 --jsonl --output set/

Exit status: 1 if a trace is damaged or cannot be read, or if acknowledged records of the store are lost, which may belong to any \
trace. All other documents are written. A loss counts until you run: spanbridge doctor --acknowledge.

With --output and a flag of \"Data sets\", manifest.json in the directory counts what was selected, left out and lost.";

/// The examples, and the language of expressions.
fn help() -> String {
    format!("{EXAMPLES}\n\n{EXPRESSIONS}")
}

/// Write documents from the store.
#[derive(Debug, Args)]
#[command(after_help = help())]
pub(super) struct Export {
    #[command(flatten)]
    target: Target,
    /// Export this trace, given by its id or the first digits of it. Repeatable.
    #[arg(long = "trace", value_name = "ID", conflicts_with = "session", add = complete::traces())]
    traces: Vec<String>,
    /// Export the runs of this session together, as one document where the format allows it.
    #[arg(long, value_name = "ID", add = complete::sessions())]
    session: Option<String>,
    /// Export only traces with these words in names, keys, values or payloads, in any case.
    #[arg(long, value_name = "WORDS", conflicts_with_all = ["traces", "session"])]
    search: Option<String>,
    #[command(flatten)]
    select: Select,
    #[command(flatten)]
    from: Where,
}

impl Export {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        if self.session.is_some() && self.target.is_for_single_runs() {
            return Err(Failure::usage(
                "--session writes the runs of a session as one document; for a data set, select its runs: --where 'session = ID'",
            ));
        }
        if self.target.is_cut() && self.session.is_none() && self.traces.len() != 1 {
            return Err(Failure::usage(
                "--until-step needs the trace of the step, or its session: --trace ID",
            ));
        }
        let source = self.from.open()?;
        let mut writer = self.target.open()?;
        writer.set_source(Selected {
            traces: self.traces.clone(),
            search: self.search.clone(),
            ..self.select.source()
        });
        let mut missing = Missing::default();
        if let Some(session) = &self.session {
            let ids = source.ids_of_session(session, self.select.filter())?;
            if ids.is_empty() {
                return Err(Failure::missing(format!("there is no trace of session {session}")));
            }
            let (mut spans, mut logs) = (Vec::new(), Vec::new());
            for id in ids {
                let stored = missing.read(&source, id, &mut writer)?;
                spans.extend(stored.spans);
                logs.extend(stored.logs);
            }
            writer.session(session, source.runs_of(spans, logs))?;
        } else {
            let ids = if self.traces.is_empty() {
                let filter = Filter {
                    order: Order::OldestFirst,
                    ..self.select.filter()
                };
                source.ids_having(self.search.as_deref(), &filter)?
            } else {
                self.traces.iter().map(|text| trace_id(&source, text)).collect::<Result<_, _>>()?
            };
            if ids.is_empty() {
                out::note("no traces match, so there are no documents");
            }
            let mut progress = out::Progress::new("exported", ids.len());
            for id in ids {
                let stored = missing.read(&source, id, &mut writer)?;
                for run in source.runs_of(stored.spans, stored.logs) {
                    let mut runs = match run.session_id.as_deref().filter(|_| writer.needs_earlier()) {
                        Some(session) => missing.earlier(&source, &run, session, &mut writer)?,
                        None => Vec::new(),
                    };
                    let name = run.trace_id.to_string();
                    runs.push(run);
                    if writer.is_cut() {
                        writer.session(&name, runs)?;
                    } else {
                        writer.last_of(&runs)?;
                    }
                }
                progress.step();
            }
            progress.finish();
        }
        writer.finish()?;
        missing.report();
        let lost = source.lost_records()?;
        if lost > 0 {
            out::note(&format!(
                "{} of the store are lost, so traces may be missing or incomplete; see: spanbridge doctor",
                out::many(lost, "acknowledged record")
            ));
        }
        Ok(exit_status(missing.is_empty() && lost == 0))
    }
}

/// Traces that could not be read, or only in part.
#[derive(Debug, Default)]
struct Missing {
    asked: BTreeSet<TraceId>,
    traces: BTreeSet<TraceId>,
}

impl Missing {
    /// Reads a trace. Failures are reported and counted, but do not keep others from being exported.
    fn read(&mut self, source: &Source, id: TraceId, writer: &mut DocumentWriter) -> Result<Stored, Failure> {
        self.asked.insert(id);
        let (mut stored, whys) = match source.trace(id) {
            Ok(Some(stored)) => {
                let whys = stored.damaged.clone();
                (stored, whys)
            }
            Ok(None) => {
                let why = format!("there is no trace {id}");
                out::note(&why);
                (Stored::default(), vec![why])
            }
            Err(failure @ Failure::Answer { .. }) => {
                let why = out::with_causes(&failure);
                out::note(&format!("trace {id}: {why}"));
                (Stored::default(), vec![why])
            }
            Err(failure) => return Err(failure),
        };
        if !whys.is_empty() {
            self.traces.insert(id);
            writer.damaged();
        }
        writer.redact(&mut stored.spans, &mut stored.logs)?;
        for why in whys {
            writer.note_loss(|| json!({ "trace_id": id.to_string(), "kind": "damaged", "what": why }))?;
        }
        Ok(stored)
    }

    /// Earlier runs of the same session.
    fn earlier(&mut self, source: &Source, run: &Run, session: &str, writer: &mut DocumentWriter) -> Result<Vec<Run>, Failure> {
        let filter = Filter {
            session: Some(session.to_owned()),
            until: Some(run.started_at.0),
            order: Order::OldestFirst,
            ..Filter::default()
        };
        let mut runs = Vec::new();
        for id in source.ids(&filter)? {
            let stored = self.read(source, id, writer)?;
            runs.extend(source.runs_of(stored.spans, stored.logs));
        }
        Ok(runs)
    }

    fn is_empty(&self) -> bool {
        self.traces.is_empty()
    }

    fn report(&self) {
        const TOLD: usize = 10;
        if self.traces.is_empty() {
            return;
        }
        let ids: Vec<String> = self.traces.iter().take(TOLD).map(ToString::to_string).collect();
        let more = self.traces.len().saturating_sub(TOLD);
        out::note(&format!(
            "{} of {} traces are damaged or could not be read, and are missing from the documents in whole or in part: {}{}",
            self.traces.len(),
            self.asked.len(),
            ids.join(", "),
            if more == 0 {
                String::new()
            } else {
                format!(" and {more} more, each named above")
            }
        ));
    }
}
