//! Lists of traces and sessions, read page by page.

use super::Source;
use super::pages::{PAGE, ids_of, page_of_server, pages};
use crate::cli::failure::Failure;
use crate::dataset::Expression;
use crate::run::Run;
use crate::span::TraceId;
use crate::store::{Filter, Order, TraceCursor, TraceRow};
use crate::web::listing::{self, Listed, Summary};
use crate::web::lists::{SessionPage, TracePage};
use crate::web::sessions::{RUNS, SessionListed, SessionSummary};

impl Source {
    /// The traces that match a filter.
    pub(in crate::cli) fn list(&self, filter: &Filter) -> Result<Vec<Listed>, Failure> {
        self.list_where(filter, true, &|_| true)
    }

    /// The same, without what the agents did.
    pub(in crate::cli) fn bare(&self, filter: &Filter) -> Result<Vec<Listed>, Failure> {
        self.list_where(filter, false, &|_| true)
    }

    /// The traces that also satisfy `matches`, up to the filter's limit.
    pub(in crate::cli) fn list_where(
        &self,
        filter: &Filter,
        summaries: bool,
        matches: &dyn Fn(&Listed) -> bool,
    ) -> Result<Vec<Listed>, Failure> {
        pages(filter.limit, |missing, after| {
            let mut page = self.page(filter, summaries, missing, after)?;
            page.traces.retain(matches);
            Ok((page.traces, page.next))
        })
    }

    /// The same, limited to runs for which an expression is true. A trace is read only if the list does not decide that.
    pub(in crate::cli) fn list_of_runs(
        &self,
        filter: &Filter,
        matches: &dyn Fn(&Listed) -> bool,
        expression: &Expression,
    ) -> Result<Vec<Listed>, Failure> {
        let mut left = filter.limit.unwrap_or(usize::MAX);
        pages(filter.limit, |_, after| {
            let page = self.page(filter, true, PAGE, after)?;
            let mut found = Vec::new();
            for listed in page.traces.into_iter().filter(matches) {
                let is_wanted = |run: Option<Run>| run.is_some_and(|run| expression.matches(&run));
                if left > 0 && expression.known(&listed).map_or_else(|| self.run_of(&listed).map(is_wanted), Ok)? {
                    left -= 1;
                    found.push(listed);
                }
            }
            Ok((found, page.next))
        })
    }

    /// The traces whose runs are wanted. Reads each trace.
    pub(in crate::cli) fn ids_of_runs(&self, is_wanted: &dyn Fn(&Run) -> bool) -> Result<Vec<TraceId>, Failure> {
        let mut found = Vec::new();
        for id in self.ids(&Filter::default())? {
            if self.run(id)?.is_some_and(|run| is_wanted(&run)) {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// The ids of the traces that match a filter.
    pub(in crate::cli) fn ids(&self, filter: &Filter) -> Result<Vec<TraceId>, Failure> {
        if let (Ok(store), None) = (self.store(), &self.allowance) {
            return Ok(store.list(filter)?.into_iter().map(|row| row.trace_id).collect());
        }
        Ok(ids_of(&self.bare(filter)?))
    }

    /// The traces that arrived last, at most one page of a server.
    pub(in crate::cli) fn latest(&self, filter: &Filter, summaries: bool) -> Result<Vec<Listed>, Failure> {
        let page = self.page(filter, summaries, filter.limit.unwrap_or(PAGE), None)?;
        Ok(page.traces)
    }

    fn page(&self, filter: &Filter, summaries: bool, limit: usize, after: Option<&str>) -> Result<TracePage, Failure> {
        let store = match self.store() {
            Ok(store) => store,
            Err(server) => return page_of_server(server, filter, summaries, limit, after),
        };
        let filter = Filter {
            limit: Some(limit),
            after: after.and_then(TraceCursor::parse).or(filter.after),
            ..filter.clone()
        };
        let rows = store.list(&filter)?;
        let is_full = rows.len() >= limit && filter.order != Order::LatestArrivalFirst;
        let next = rows.last().filter(|_| is_full).map(|last| last.cursor().to_string());
        let listed = |row| match summaries {
            true => self.listed(row),
            false => Ok(listing::with_summary(row, Summary::default())),
        };
        Ok(TracePage {
            traces: rows.into_iter().map(listed).collect::<Result<_, _>>()?,
            next,
            ..TracePage::default()
        })
    }

    /// A trace with what the agent did in it, computed once for each revision. The memory for one is released before the next.
    fn listed(&self, row: TraceRow) -> Result<Listed, Failure> {
        let Ok(store) = self.store() else {
            return Ok(listing::with_summary(row, Summary::default()));
        };
        let summary = match listing::kept(store, &self.vocabulary, &row)? {
            Some(summary) => summary,
            None => {
                let summary = match self.stored(row.trace_id) {
                    Ok(stored) => listing::summarised(store, &self.vocabulary, &row, stored.unwrap_or_default()),
                    Err(Failure::TooLarge { .. }) => Summary::too_large(),
                    Err(failure) => return Err(failure),
                };
                self.allowance().iter_mut().for_each(|allowance| allowance.shrink_to(0));
                summary
            }
        };
        Ok(listing::with_summary(row, summary))
    }

    /// At most `limit` sessions, newest first. With `summaries`, each has the questions, tokens and failures of its runs.
    pub(in crate::cli) fn sessions(&self, limit: Option<usize>, summaries: bool) -> Result<Vec<SessionListed>, Failure> {
        let store = match self.store() {
            Ok(store) => store,
            Err(server) => {
                return pages(limit, |missing, after| {
                    let page: SessionPage = server.list(
                        "/api/v1/sessions",
                        &[
                            ("limit", Some(missing.to_string())),
                            ("summary", (!summaries).then(|| "no".to_owned())),
                            ("after", after.map(str::to_owned)),
                        ],
                    )?;
                    Ok((page.sessions, page.next))
                });
            }
        };
        let rows = store.sessions(limit.unwrap_or(usize::MAX), None)?;
        let mut sessions: Vec<SessionListed> = rows.into_iter().map(SessionListed::bare).collect();
        for session in sessions.iter_mut().filter(|_| summaries) {
            session.summary = SessionSummary::of(&self.page(&session.runs(), true, RUNS, None)?.traces);
        }
        Ok(sessions)
    }
}
