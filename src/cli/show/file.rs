//! The runs in files, without a store.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{Show, otlp_json};
use crate::cli::failure::{Failure, exit_status};
use crate::cli::file_runs::FileRuns;
use crate::cli::out;
use crate::redact::Rules;
use crate::store::Stored;
use crate::trace::Trace;

impl Show {
    /// Shows one run like a trace, several like a session.
    pub(super) fn show_files(&self, files: &[PathBuf], rules: Option<&Rules>) -> Result<ExitCode, Failure> {
        let (read, clean) = FileRuns::read(files, &self.from, &self.form, rules)?;
        if self.spans && self.json {
            let stored = Stored {
                spans: read.spans().cloned().collect(),
                logs: read.logs.clone(),
                ..Stored::default()
            };
            out::json(otlp_json(&stored))?;
            return Ok(exit_status(clean));
        }
        let traces = self.spans.then(|| read.traces());
        let logs = read.logs.clone();
        let runs = read.into_runs();
        let name = |file: &PathBuf| match file.as_os_str() == "-" {
            true => "standard input".to_owned(),
            false => file.display().to_string(),
        };
        let name = files.iter().map(name).collect::<Vec<_>>().join(", ");
        match (runs.as_slice(), traces) {
            ([], _) if clean => return Err(Failure::missing(format!("{name} has no spans"))),
            ([], _) => {}
            (runs, Some(mut traces)) => {
                let mut shown = Vec::new();
                for run in runs {
                    let (spans, logs) = traces.remove(&run.trace_id).unwrap_or_default();
                    shown.extend(self.span_lines(run.trace_id, &Trace::from_spans(spans), &run.findings, &logs));
                }
                // What a client exported of a session is part of the session's run.
                let mut others: Vec<_> = traces.into_iter().collect();
                others.sort_by_key(|(id, _)| *id);
                for (id, (spans, logs)) in others {
                    let trace = Trace::from_spans(spans);
                    shown.extend(self.span_lines(id, &trace, &trace.findings, &logs));
                }
                out::paged(&shown)?;
            }
            ([run], None) => self.show(run, &logs)?,
            (runs, None) => self.show_runs("file", &name, runs)?,
        }
        Ok(exit_status(clean))
    }
}
