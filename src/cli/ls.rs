//! `spanbridge ls`: recent traces.

use std::process::ExitCode;

use clap::Args;

use super::failure::Failure;
use super::out::{self, Style, Table};
use super::select::Select;
use super::source::Where;
use crate::span::UnixNanos;
use crate::store::Filter;
use crate::web::listing::{Listed, Summary};

const EXAMPLES: &str = "\
Examples:
  spanbridge ls
  spanbridge ls --since 1h --service shop
  spanbridge ls --json | jq -r 'select(.status == \"error\") | .trace_id'";

/// List recent traces, newest first.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Ls {
    #[command(flatten)]
    select: Select,
    /// Only traces of this session.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The maximum number of traces; 0 lists all.
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 20)]
    limit: usize,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    from: Where,
}

impl Ls {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let source = self.from.open()?;
        let filter = Filter {
            session: self.session,
            limit: Some(self.limit).filter(|limit| *limit > 0),
            ..self.select.filter()
        };
        let traces = source.list(&filter)?;
        if self.json {
            for listed in &traces {
                let line = serde_json::to_string(listed).unwrap_or_default();
                out::json(&line).map_err(|source| Failure::Output { source })?;
            }
        } else {
            print(&traces)?;
        }
        out::flush().map_err(|source| Failure::Output { source })?;
        Ok(ExitCode::SUCCESS)
    }
}

fn print(traces: &[Listed]) -> Result<(), Failure> {
    if traces.is_empty() {
        out::note("no traces match");
        return Ok(());
    }
    let mut table = Table::new(&[
        "TRACE",
        "STARTED",
        "TOOK",
        "STATUS",
        "AGENT OR ROOT",
        "MODEL",
        "CALLS",
        "TOOLS",
        "TOKENS",
        "SPANS",
        "SESSION",
    ]);
    for listed in traces {
        let summary = &listed.summary;
        let style = match summary.status.as_str() {
            "error" => Style::Bad,
            "running" => Style::Busy,
            _ => Style::Plain,
        };
        let agent = summary.agent.as_deref().filter(|_| summary.agent_work);
        let name = agent.or(listed.root.as_deref()).or(listed.service.as_deref()).unwrap_or("-");
        table.row(vec![
            (out::shown(&listed.trace_id, 32), Style::Dim),
            (started(listed.start_unix_nano), Style::Plain),
            (took(listed), Style::Plain),
            (
                if summary.agent_work {
                    out::shown(&summary.status, 16)
                } else {
                    "-".to_owned()
                },
                style,
            ),
            (out::shown(name, 32), Style::Strong),
            (out::shown(summary.model.as_deref().unwrap_or("-"), 24), Style::Plain),
            (summary.model_calls.to_string(), Style::Plain),
            (summary.tool_calls.to_string(), Style::Plain),
            (tokens(summary), Style::Plain),
            (listed.spans.to_string(), Style::Plain),
            (out::shown(listed.session.as_deref().unwrap_or("-"), 24), Style::Plain),
        ]);
    }
    for line in table.lines() {
        out::line(&line).map_err(|source| Failure::Output { source })?;
    }
    Ok(())
}

/// To the second, in UTC.
fn started(nanos: u64) -> String {
    let text = UnixNanos(nanos).rfc3339();
    text.get(..19)
        .map_or_else(|| text.clone(), |text| format!("{}Z", text.replace('T', " ")))
}

fn took(listed: &Listed) -> String {
    if listed.end_unix_nano == 0 {
        return "-".to_owned();
    }
    out::duration(UnixNanos(listed.end_unix_nano).millis_since(UnixNanos(listed.start_unix_nano)))
}

/// Tokens in and out, as far as the calls say them.
fn tokens(summary: &Summary) -> String {
    let number = |tokens: Option<u64>| tokens.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string());
    match (summary.input_tokens, summary.output_tokens) {
        (None, None) => "-".to_owned(),
        (input, output) => format!("{}/{}", number(input), number(output)),
    }
}
