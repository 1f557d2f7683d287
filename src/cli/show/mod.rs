//! `spanbridge show`: one trace as a tree of what the agent did.

mod file;
mod full;
mod line;
mod overview;
mod runs;
mod spans;
mod tree;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::failure::{Failure, exit_status};
use super::file_runs::{is_input, missing_file};
use super::own_form::OwnForm;
use super::redaction::{Redaction, redacted};
use super::select::trace_id;
use super::source::{Source, Where};
use super::{complete, new_file, out};
use crate::pages;
use crate::redact::Rules;
use crate::run::{Run, Step};
use crate::span::{LogRecord, TraceId, json as otlp};
use crate::store::{Filter, Stored};
use crate::trace::{Finding, Trace};
use crate::transcript::calls::Results;
use crate::transcript::content;
use crate::view::conversation::readable;
use crate::view::{self, json::WholeRun};

pub(in crate::cli) use tree::Only;

const EXAMPLES: &str = "\
START is the time since the start of the run: rows that overlap ran in parallel. A time with ~ was not recorded: it lies \
between the times around it.

Examples:
  spanbridge show 5b8efff798038103d269b633813fc60c
  spanbridge show 5b8e              the first digits of the id are enough
  spanbridge show 5b8e --errors     what failed, and what it is in
  spanbridge show 5b8e --step 0005  a step: what went in, what came out, what is below it
  spanbridge show 5b8e --hide-working     what people asked, and the last answers
  spanbridge show 5b8e --full       all conversations, results and stack traces
  spanbridge show 5b8e --spans      all spans, with problems found in the data
  spanbridge show 5b8e --spans -v   the same with attributes, events and log records
  spanbridge show spans.json        the runs of a file, without a store
  spanbridge show traces.json logs.json     those of several files, which are one set
  spanbridge show ~/.claude/projects/-home-me-project     the runs of a folder of session files
  spanbridge show 5b8e --html run.html
  spanbridge show 5b8e --html run.html --redact rules.toml     for others to read
  spanbridge show --session chat-17     the runs of a session
  spanbridge show 5b8e --json | jq '.models[] | {name, cost_usd}'";

/// Show one trace as a tree of agents, model calls, tools and errors.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Show {
    /// The trace's id, or at least its first four digits; the name that a document or a client gave it; or a file with spans, documents
    /// or a session, or a folder with sessions, which are not stored (`-`: standard input).
    /// Several files are read as one set of spans.
    #[arg(value_name = "TRACE|FILE|FOLDER", add = complete::traces(), required_unless_present = "session", conflicts_with = "session")]
    traces: Vec<String>,
    /// Show the runs of this session, oldest first: what was asked and answered in each, its steps, and their sums.
    #[arg(long, value_name = "ID", add = complete::sessions(), conflicts_with_all = ["spans", "verbose"])]
    session: Option<String>,
    /// Show messages, results and errors in full.
    #[arg(long)]
    full: bool,
    /// Show only what people said and the last answers to it, in full, without the work between.
    #[arg(long, conflicts_with_all = ["full", "spans", "json", "html", "session"])]
    hide_working: bool,
    /// Show the tree of spans and the problems found in the data.
    #[arg(long)]
    spans: bool,
    /// With --spans: show attributes, events, links and log records too.
    #[arg(long, short, requires = "spans")]
    verbose: bool,
    /// Print JSON: the run, or with --spans its spans and log records as OTLP/JSON.
    #[arg(long, conflicts_with_all = ["full", "verbose"])]
    json: bool,
    /// Write a page for browsers to this file (`-`: standard output). It needs no server and loads nothing.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "spans", "full"])]
    html: Option<PathBuf>,
    /// Let --html replace a file that spanbridge did not write.
    #[arg(long, requires = "html")]
    force: bool,
    #[command(flatten)]
    only: Only,
    #[command(flatten)]
    redaction: Redaction,
    #[command(flatten)]
    form: OwnForm,
    #[command(flatten)]
    from: Where,
}

impl Show {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let rules = self.redaction.rules()?;
        let trace = self.traces.first();
        if self.traces.iter().any(|text| is_input(text)) {
            let missing = self
                .traces
                .iter()
                .filter(|text| !is_input(text))
                .find_map(|text| missing_file(text));
            let files: Vec<PathBuf> = self.traces.iter().map(PathBuf::from).collect();
            return missing.map_or_else(|| self.show_files(&files, rules.as_ref()), Err);
        }
        if let [_, _, ..] = self.traces.as_slice() {
            let wrong = "shows one trace of a store, or files; `spanbridge compare` takes two traces";
            return Err(Failure::usage(wrong));
        }
        let no_file = |failure| trace.map(String::as_str).and_then(missing_file).unwrap_or(failure);
        let source = self.from.open().map_err(no_file)?;
        let Some(name) = trace else {
            return self.show_session(&source, rules.as_ref(), self.session.as_deref().unwrap_or_default());
        };
        let id = trace_id(&source, name).map_err(no_file)?;
        let Some(mut stored) = source.trace(id)? else {
            return Err(Failure::missing(format!(
                "there is no trace {id}; `spanbridge ls` lists the traces"
            )));
        };
        (stored.spans, stored.logs) = redacted(rules.as_ref(), stored.spans, stored.logs)?;
        let clean = stored.damaged.is_empty();
        if self.spans && self.json {
            out::json(otlp_json(&stored))?;
            return Ok(exit_status(clean));
        }
        let trace = self.spans.then(|| Trace::from_spans(stored.spans.clone()));
        let logs = stored.logs.clone();
        let run = source.runs_of(stored.spans, stored.logs).into_iter().next();
        match (run, trace) {
            (run, Some(trace)) => {
                let findings = run.map_or_else(|| trace.findings.clone(), |run| run.findings);
                out::paged(&self.span_lines(id, &trace, &findings, &logs))?;
            }
            (Some(run), None) => self.show(&run, &logs)?,
            (None, None) => out::paged(&[format!("trace {id} has no spans")])?,
        }
        Ok(exit_status(clean))
    }

    /// The spans of a trace as a tree.
    fn span_lines(&self, id: TraceId, trace: &Trace, findings: &[Finding], logs: &[LogRecord]) -> Vec<String> {
        let verbosity = spans::Verbosity {
            attributes: self.verbose,
            full: self.full,
        };
        spans::lines(id, trace, findings, logs, verbosity)
    }

    /// The runs of a session with agent work, oldest first.
    fn show_session(&self, source: &Source, rules: Option<&Rules>, session: &str) -> Result<ExitCode, Failure> {
        let ids = source.ids_of_session(session, Filter::default())?;
        if ids.is_empty() {
            return Err(Failure::missing(format!(
                "there is no session {session}; `spanbridge ls --sessions` lists the sessions"
            )));
        }
        let (mut spans, mut logs, mut clean) = (Vec::new(), Vec::new(), true);
        for id in ids {
            let stored = source.trace(id)?.unwrap_or_default();
            clean &= stored.damaged.is_empty();
            spans.extend(stored.spans);
            logs.extend(stored.logs);
        }
        let (spans, logs) = redacted(rules, spans, logs)?;
        let mut runs = source.runs_of(spans, logs);
        runs.sort_by_key(|run| (run.started_at, run.trace_id));
        self.show_runs("session", session, &runs)?;
        Ok(exit_status(clean))
    }

    /// Several runs. `what`: what they belong to, called `name`.
    fn show_runs(&self, what: &str, name: &str, shown: &[Run]) -> Result<(), Failure> {
        if self.json {
            let runs: Vec<_> = shown.iter().map(|run| WholeRun { run, logs: &[] }).collect();
            return out::json(serde_json::to_string_pretty(&json!({ what: name, "runs": runs })).unwrap_or_default());
        }
        let title = format!("{what} {}", out::shown(name, overview::NAME));
        match &self.html {
            Some(path) => write_page(path, self.force, &title, &|out| pages::write_runs(what, name, shown, out)),
            None => out::paged(&runs::lines(&title, shown, out::width(), self.full, &self.only)),
        }
    }

    fn show(&self, run: &Run, logs: &[LogRecord]) -> Result<(), Failure> {
        if self.json {
            let text = serde_json::to_string_pretty(&WholeRun { run, logs }).unwrap_or_default();
            return out::json(&text);
        }
        if let Some(path) = &self.html {
            return write_page(path, self.force, &format!("trace {}", run.trace_id), &|out| pages::write(run, out));
        }
        let width = out::width();
        if self.hide_working {
            let mut lines = overview::head(run, width, false);
            lines.extend(full::talks(run, width));
            lines.extend(overview::files(run, width));
            return out::paged(&lines);
        }
        if let Some(step) = self.only.step(run)? {
            return out::paged(&step_lines(run, step, width, &self.only));
        }
        let mut lines = overview(run, width, self.full, &self.only);
        if self.full {
            lines.extend(conversations(run, width));
        }
        lines.extend(overview::hints(run, logs));
        out::paged(&lines)
    }
}

/// An overview of a run: agent, question and answer, tree, errors, totals.
pub(super) fn overview(run: &Run, width: Option<usize>, full: bool, only: &Only) -> Vec<String> {
    let mut lines = overview::head(run, width, full);
    lines.push(String::new());
    lines.extend(tree::lines(run, width, only));
    if !run.has_agent_work() {
        lines.push(view::no_work(run));
        lines.extend(
            run.told_by_session()
                .map(|session| format!("Use --session {} to see them.", out::shown(session, overview::NAME))),
        );
        lines.push("Use --spans to see its spans.".to_owned());
    }
    lines.extend(overview::errors(run, width, full));
    lines.extend(overview::totals(run, width));
    lines.extend(overview::files(run, width));
    lines
}

/// A step with its descendants, and its input and output in full.
fn step_lines(run: &Run, step: &Step, width: Option<usize>, only: &Only) -> Vec<String> {
    let mut lines = tree::lines(run, width, only);
    let results = Results::of(run);
    let texts = [("input", content::input(run, step)), ("output", content::output(&results, step))];
    for (what, value) in texts.into_iter().filter_map(|(what, value)| Some((what, value?))) {
        lines.extend([String::new(), out::styled(what, out::Style::Strong)]);
        lines.extend(overview::indented(&view::text::block(&readable(value)), 2, width));
    }
    if let Some(failure) = &step.operation.failure {
        lines.extend([String::new(), out::styled("error", out::Style::Strong)]);
        lines.extend(overview::failure_lines(failure, width, true));
    }
    lines
}

/// All conversations of a run, with messages in full.
pub(super) fn conversations(run: &Run, width: Option<usize>) -> Vec<String> {
    full::lines(run, width)
}

fn otlp_json(stored: &Stored) -> String {
    let mut text = Vec::new();
    // Writing to a vector cannot fail.
    let _ = otlp::write_trace(&stored.spans, &stored.logs, &stored.damaged, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn write_page(path: &Path, force: bool, what: &str, write: &dyn Fn(&mut dyn io::Write) -> io::Result<()>) -> Result<(), Failure> {
    if path == Path::new("-") {
        let mut page = Vec::new();
        out::written(write(&mut page))?;
        return out::line(&String::from_utf8_lossy(&page));
    }
    let mut file = io::BufWriter::new(new_file::named(path, force, pages::is_page)?);
    write(&mut file).and_then(|()| file.flush()).map_err(Failure::write(path))?;
    out::note(&format!("{what} is in {}; open it in a browser", path.display()));
    Ok(())
}
