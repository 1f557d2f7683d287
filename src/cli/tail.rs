//! `spanbridge tail`: prints runs as they arrive.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::failure::Failure;
use super::listed;
use super::ls::Work;
use super::out::{self, Style, shown, styled};
use super::source::{Source, Where};
use super::time::second;
use crate::hash::HashMap;
use crate::span::UnixNanos;
use crate::store::{Filter, Order};
use crate::view::text::many;
use crate::web::listing::Listed;

const EXAMPLES: &str = "\
A run is printed when its first span arrives, and again when its status changes. Ctrl-C ends the command.

Examples:
  spanbridge tail
  spanbridge tail -n 5 --status error
  spanbridge tail --json | jq -r 'select(.status == \"error\") | .trace_id'";

/// Print runs as they come.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Tail {
    /// Only traces in which this service (`service.name`) takes part.
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Only traces of this session.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    work: Work,
    /// First print this many of the newest runs.
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 0)]
    last: usize,
    /// Look for new runs this often, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = interval)]
    interval: f64,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    from: Where,
}

fn interval(text: &str) -> Result<f64, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|seconds| (0.05..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "expected a number of seconds from 0.05 to 86400".to_owned())
}

/// Number of latest runs checked each time: if as many others arrive, the end of an older run is not noticed.
const WATCHED: usize = 1_000;

/// What is known of a run from the last round.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    revision: u64,
    /// Its listed status.
    status: String,
    /// Whether it may end without another span: a missing root is not waited for forever.
    is_running: bool,
}

impl Tail {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let source = self.from.open()?;
        let mut seen: HashMap<String, Seen> = HashMap::default();
        let mut before = self.watched(&source)?;
        for listed in &before {
            seen.insert(listed.trace_id.clone(), Seen::of(listed));
        }
        before.retain(|listed| self.work.matches(listed));
        before.truncate(self.last);
        for listed in before.iter().rev() {
            self.print(listed)?;
        }
        out::note(&format!("following {}; Ctrl-C ends", source.place()));
        let mut is_away = false;
        loop {
            std::thread::sleep(Duration::from_secs_f64(self.interval));
            match self.round(&source, &mut seen) {
                Ok(()) => is_away = false,
                // A restarted server still has the earlier runs.
                Err(failure @ Failure::Server { .. }) => {
                    if !is_away {
                        out::note(&format!("{failure}; trying again every {} s", self.interval));
                    }
                    is_away = true;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Prints what is new since the last round.
    fn round(&self, source: &Source, seen: &mut HashMap<String, Seen>) -> Result<(), Failure> {
        if !self.is_changed(source, seen)? {
            return Ok(());
        }
        let watched = self.watched(source)?;
        let had = std::mem::take(seen);
        // Oldest arrival first.
        for listed in watched.into_iter().rev() {
            let now = Seen::of(&listed);
            let is_news = had.get(&listed.trace_id).is_none_or(|had| had.status != now.status);
            if is_news && self.work.matches(&listed) {
                self.print(&listed)?;
            }
            seen.insert(listed.trace_id, now);
        }
        Ok(())
    }

    fn filter(&self) -> Filter {
        Filter {
            service: self.service.clone(),
            session: self.session.clone(),
            limit: Some(WATCHED),
            order: Order::LatestArrivalFirst,
            ..Filter::default()
        }
    }

    fn watched(&self, source: &Source) -> Result<Vec<Listed>, Failure> {
        source.latest(&self.filter(), true)
    }

    /// Whether anything has arrived or may have ended: only then are the agents' summaries requested.
    fn is_changed(&self, source: &Source, seen: &HashMap<String, Seen>) -> Result<bool, Failure> {
        let now = source.latest(&self.filter(), false)?;
        Ok(now.iter().any(|listed| {
            let had = seen.get(&listed.trace_id);
            had.is_none_or(|had| had.revision != listed.revision || had.is_running)
        }))
    }

    fn print(&self, listed: &Listed) -> Result<(), Failure> {
        match self.json {
            true => out::json(serde_json::to_string(listed).unwrap_or_default()),
            false => out::line(&line(listed, out::width())),
        }
    }
}

impl Seen {
    fn of(listed: &Listed) -> Self {
        let status = listed::status(&listed.summary);
        Self {
            revision: listed.revision,
            status: status.to_owned(),
            is_running: status == "running",
        }
    }
}

/// Id, start, status, agent, duration, calls, tokens, cost; unknown values are left out.
fn line(listed: &Listed, width: Option<usize>) -> String {
    let summary = &listed.summary;
    let status = listed::status(summary);
    let id: String = listed.trace_id.chars().take(if width.is_some() { 8 } else { 32 }).collect();
    let started = second(UnixNanos(listed.start_unix_nano));
    let mut facts = Vec::new();
    if listed.end_unix_nano > 0 && status != "running" {
        facts.push(listed::took(listed));
    }
    if summary.agent_work {
        facts.push(many(summary.model_calls, "model call"));
        facts.push(many(summary.tool_calls, "tool call"));
    } else {
        facts.push(many(listed.spans, "span"));
    }
    facts.extend(listed::token_words(summary));
    facts.extend(summary.cost().map(|cost| cost.to_string()));
    if summary.failures > 0 {
        let why = summary.error.as_deref().map_or_else(String::new, |error| format!(": {error}"));
        facts.push(format!("{} failed{why}", summary.failures));
    }
    let head = format!("{}  {started}  ", shown(&id, 32));
    let room = width.map_or(200, |width| width.saturating_sub(head.len() + status.len().max(7) + 2));
    facts.insert(0, shown(&listed::who(listed), 32));
    let rest = shown(&facts.join(" · "), room);
    format!(
        "{}{}  {rest}",
        styled(&head, Style::Dim),
        styled(&format!("{status:<7}"), listed::status_style(summary))
    )
}
