//! `spanbridge grep`: words in what runs say, with the step and the place.

use std::cell::Cell;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::complete;
use super::failure::{Failure, exit_status};
use super::ls::Work;
use super::out::{self, Style, shown, styled};
use super::select::Select;
use super::source::Where;
use crate::run::Run;
use crate::store::Filter;
use crate::view::found::{self, Hit};
use crate::web::listing::Listed;

const EXAMPLES: &str = "\
A line is the trace, the step, the place in it and the text around the words. `spanbridge show TRACE --step STEP` shows the step.

Examples:
  spanbridge grep 'no such city'
  spanbridge grep refund --since 7d --status error
  spanbridge grep 'order 4711' --json | jq -r .trace_id

Exit status: 0 if the words were found, 1 if not.";

/// Find words in names, messages, arguments, results, errors and attributes of runs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Grep {
    /// The words, in any case.
    words: String,
    #[command(flatten)]
    select: Select,
    /// Only traces of this session.
    #[arg(long, value_name = "ID", add = complete::sessions())]
    session: Option<String>,
    #[command(flatten)]
    work: Work,
    /// Print at most this many steps of each run; 0 prints all.
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 10)]
    limit: usize,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    from: Where,
}

impl Grep {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let source = self.from.open()?;
        let filter = Filter {
            session: self.session.clone(),
            ..self.select.filter()
        };
        let having = source.having(Some(&self.words), &filter)?;
        let searched = Cell::new(0);
        let matches = |listed: &Listed| {
            self.work.matches(listed) && {
                searched.set(searched.get() + 1);
                source.has_words(&having, listed)
            }
        };
        let most = if self.limit == 0 { usize::MAX } else { self.limit };
        let mut is_found = false;
        for listed in source.list_where(&filter, true, &matches)? {
            let Some(run) = source.run_of(&listed)? else { continue };
            for hit in found::hits(&run, &self.words, most, &|| true) {
                is_found = true;
                self.print(&run, &hit)?;
            }
        }
        if !is_found {
            out::note(&format!(
                "{}: not found in {} of {}",
                shown(&self.words, 64),
                out::many(searched.get(), "trace"),
                source.place()
            ));
        }
        Ok(exit_status(is_found))
    }

    fn print(&self, run: &Run, hit: &Hit<'_>) -> Result<(), Failure> {
        let trace = run.trace_id.to_string();
        if self.json {
            let line = json!({
                "trace_id": trace,
                "step": hit.step.id,
                "of": hit.of(run),
                "place": hit.place,
                "before": hit.before,
                "words": hit.words,
                "behind": hit.behind,
            });
            return out::json(line.to_string());
        }
        out::line(&format!(
            "{}  {}  {}  {}: {}{}{}",
            styled(trace.get(..8).unwrap_or(&trace), Style::Dim),
            styled(&shown(&hit.step.id, 40), Style::Dim),
            shown(&hit.of(run), 40),
            shown(&hit.place, 60),
            hit.before,
            styled(&hit.words, Style::Strong),
            hit.behind
        ))
    }
}
