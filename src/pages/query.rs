//! Which runs a list shows: the filters in its address.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::readings::{Fault, Readings};
use crate::dataset::Expression;
use crate::run::Run;
use crate::search::{Hits, SearchError};
use crate::store::{Filter, Order, TraceCursor, TraceRow};
use crate::view::seeking::{LONGEST, Sought};
use crate::web::allowance::PATIENCE;
use crate::web::answer::Answer;
use crate::web::facets::Facet;
use crate::web::listing::Listed;
use crate::web::lists;
use crate::web::reply::Problem;
use crate::web::request::Asked;
use crate::web::service::Web;
use crate::web::single;
use crate::web::url::{percent_encoded, query_pairs};
use crate::web::words;

/// Runs on one page.
pub(crate) const PAGE: usize = 100;
/// Runs of which the log has more bytes are listed before they are read.
const LONG: u64 = 4 << 20;
/// After this time, so are the others.
const SOON: Duration = Duration::from_millis(400);
/// Rows that are read from the index at once.
const BATCH: usize = 200;

/// With more runs that may have the words, the list is gone through instead.
const MAX_CANDIDATES: usize = 500;

/// What an address asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query {
    /// Words that names, questions and payloads have.
    pub(crate) words: String,
    /// `ok`, `error`, `cancelled` or `running`.
    pub(crate) status: String,
    /// An agent's whole name.
    pub(crate) agent: String,
    /// A model's whole name.
    pub(crate) model: String,
    /// `service.name`.
    pub(crate) service: String,
    /// A session.
    pub(crate) session: String,
    /// The whole version.
    pub(crate) version: String,
    /// A label or a score, as `feedback=good` or `good`.
    pub(crate) label: String,
    /// `no`: only runs without a judgement; `yes`: only runs with one.
    pub(crate) judged: String,
    /// A moment, or how long ago.
    pub(crate) since: String,
    /// A moment, or how long ago.
    pub(crate) until: String,
    /// An expression in the language of `export --where`.
    pub(crate) expression: String,
    /// Also traces in which no agent did anything.
    pub(crate) all: bool,
    /// Oldest first.
    pub(crate) oldest: bool,
    /// The page begins behind this trace.
    after: Option<TraceCursor>,
    /// Rows of runs that take long to read come without what their agents did; the page asks for it then.
    pub(crate) at_once: bool,
    /// Another run that one of these is to be compared with.
    pub(crate) compare: String,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The runs.
    pub(crate) runs: Vec<Listed>,
    /// Bytes of the names in them.
    names: usize,
    /// Where the next page begins.
    pub(crate) next: Option<TraceCursor>,
    /// The search gave up here: the start of the last trace that was looked at.
    pub(crate) searched_to: Option<u64>,
    /// About how many bytes that came are not searched yet.
    pub(crate) behind: u64,
    /// Which filter cannot be read, and why.
    pub(crate) fault: Option<Fault>,
    /// Whether the store has any trace at all.
    pub(crate) has_any: bool,
}

impl Query {
    /// Of a request.
    pub(crate) fn of(asked: &Asked) -> Result<Self, Problem> {
        Self::read(asked, &[])
    }

    /// Of a request for some rows of a list.
    pub(crate) fn of_rows(asked: &Asked) -> Result<Self, Problem> {
        Self::read(asked, &["ids"])
    }

    /// Of a request for something made of a list, which has parameters of its own.
    pub(crate) fn of_more(asked: &Asked, own: &[&str]) -> Result<Self, Problem> {
        Self::read(asked, own)
    }

    fn read(asked: &Asked, own: &[&str]) -> Result<Self, Problem> {
        let mut query = Self::default();
        for (name, value) in query_pairs(asked.query()) {
            let value = value.trim().to_owned();
            match name.as_str() {
                "q" => query.words = sought(value)?,
                "status" => query.status = one_of(&name, value, &["", "ok", "error", "cancelled", "running"])?,
                "agent" => query.agent = value,
                "model" => query.model = value,
                "service" => query.service = value,
                "session" => query.session = value,
                "version" => query.version = value,
                "label" => query.label = value,
                "judged" => query.judged = one_of(&name, value, &["", "no", "yes"])?,
                "since" => query.since = value,
                "until" => query.until = value,
                "where" => query.expression = value,
                "all" => query.all = one_of(&name, value, &["", "0", "1"])? == "1",
                "order" => query.oldest = one_of(&name, value, &["", "newest", "oldest"])? == "oldest",
                "a" => query.compare = value,
                name if own.contains(&name) => {}
                "after" if value.is_empty() => {}
                "after" => {
                    let cursor = TraceCursor::parse(&value);
                    query.after = Some(cursor.ok_or_else(|| Problem::invalid(format!("after={value} is not a place in the list")))?);
                }
                _ => return Err(Problem::invalid(format!("there is no parameter {name}"))),
            }
        }
        Ok(query)
    }

    /// The filters as pairs of names and values, for links.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, &str)> {
        let pairs = [
            ("q", self.words.as_str()),
            ("status", &self.status),
            ("agent", &self.agent),
            ("model", &self.model),
            ("service", &self.service),
            ("session", &self.session),
            ("version", &self.version),
            ("label", &self.label),
            ("judged", &self.judged),
            ("since", &self.since),
            ("until", &self.until),
            ("where", &self.expression),
            ("all", if self.all { "1" } else { "" }),
            ("order", if self.oldest { "oldest" } else { "" }),
            ("a", &self.compare),
        ];
        pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    /// Goes on behind a place in the list.
    pub(crate) fn go_on(&mut self, behind: TraceCursor) {
        self.after = Some(behind);
    }

    /// The address of the list without one of its filters, or with a place added.
    pub(crate) fn address(&self, without: &str, after: Option<TraceCursor>) -> String {
        self.address_of(if self.compare.is_empty() { "/" } else { "/compare" }, without, after)
    }

    /// The same of another page over the same runs.
    pub(crate) fn address_of(&self, path: &str, without: &str, after: Option<TraceCursor>) -> String {
        let mut address = path.to_owned();
        let mut sign = '?';
        for (name, value) in self.pairs() {
            if name != without {
                let _ = write!(address, "{sign}{name}={}", percent_encoded(value));
                sign = '&';
            }
        }
        if let Some(after) = after {
            let _ = write!(address, "{sign}after={after}");
        }
        address
    }

    /// The runs that it asks for, a page of them.
    pub(crate) fn find(&self, web: &Web, answer: &mut Answer) -> Result<Found, Problem> {
        self.find_up_to(PAGE, web, answer)
    }

    /// The same, at most so many.
    pub(crate) fn find_up_to(&self, most: usize, web: &Web, answer: &mut Answer) -> Result<Found, Problem> {
        let mut found = Found::default();
        let Readings { since, until, expression } = match Readings::of(&self.since, &self.until, &self.expression) {
            Ok(readings) => readings,
            Err(fault) => {
                found.fault = Some(fault);
                return Ok(found);
            }
        };
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let mut filter = Filter {
            service: text(&self.service),
            session: text(&self.session),
            since,
            until,
            after: self.after,
            limit: Some(BATCH),
            name_bytes: Some(lists::NAME_BYTES),
            order: if self.oldest { Order::OldestFirst } else { Order::NewestFirst },
            ..Filter::default()
        };
        let began = Instant::now();
        let given_up = began + PATIENCE;
        answer.reserve_in_all(lists::MEMORY)?;
        let hits = self.hits(web, answer.goes_on(Some(given_up)));
        if let Some(search) = web.search.as_ref().filter(|_| hits.is_some()) {
            found.behind = search.behind();
        }
        // Which runs have the words is known; a phrase is looked for in what they hold.
        let words = if hits.is_some() { self.phrase() } else { Sought::of(&self.words) };
        let few = hits
            .as_ref()
            .map(|hits| hits.few(MAX_CANDIDATES))
            .transpose()
            .map_err(unsearched)?
            .flatten();
        match few {
            Some(ids) if ids.is_empty() => return self.with_any(web, found),
            Some(ids) => filter.traces = ids,
            None => {}
        }
        loop {
            let (mut looked_at, mut is_cut) = (None, false);
            let rows = web.store.list_wanted(&filter, &mut |cursor, revision| {
                // The first trace is looked at in any case: whoever goes on gets further.
                if looked_at.is_some() && (Instant::now() > given_up || answer.check().is_err()) {
                    is_cut = true;
                    return ControlFlow::Break(());
                }
                looked_at = Some(cursor);
                let facet = web.facets.get(cursor.trace_id, revision);
                ControlFlow::Continue(facet.is_none_or(|facet| self.matches(&facet)))
            })?;
            found.has_any |= looked_at.is_some();
            let is_last = rows.len() < BATCH && lists::names(&rows) < lists::NAME_BYTES;
            for row in rows {
                answer.check()?;
                let cursor = row.cursor();
                if found.runs.len() == most || found.names >= lists::NAME_BYTES {
                    found.next = filter.after;
                    return Ok(found);
                }
                if filter.after != self.after && Instant::now() > given_up {
                    found.next = filter.after;
                    found.searched_to = Some(row.start);
                    return Ok(found);
                }
                if filter.traces.is_empty()
                    && let Some(hits) = &hits
                    && !hits.contains(row.trace_id).map_err(unsearched)?
                {
                    filter.after = Some(cursor);
                    continue;
                }
                // A filter needs to know the run; a list without one shows it at once.
                let at_once = self.at_once && words.is_none() && expression.is_none() && self.takes_any();
                let most = if began.elapsed() < SOON { LONG } else { 0 };
                if let Some(unread) = at_once.then(|| lists::unread(web, &row, most)).transpose()?.flatten() {
                    filter.after = Some(cursor);
                    found.names += unread.names();
                    found.runs.push(unread);
                    continue;
                }
                let listed = lists::listed(web, row.clone(), answer)?;
                let mut matches = self.matches(&Facet::of(&listed.summary));
                if let Some(words) = words.as_ref().filter(|_| matches && !self.has_words(&listed)) {
                    // The first trace is looked through in any case: whoever goes on gets further.
                    let until = (filter.after != self.after).then_some(given_up);
                    match words::are_in_payloads(&*web.store, row.trace_id, words, &answer.goes_on(until)) {
                        Some(found) => matches = found,
                        None => {
                            answer.check()?;
                            found.next = filter.after;
                            found.searched_to = Some(row.start);
                            return Ok(found);
                        }
                    }
                }
                filter.after = Some(cursor);
                if matches && self.expression_matches(web, &row, &listed, expression.as_ref(), answer)? {
                    found.names += listed.names();
                    found.runs.push(listed);
                }
            }
            answer.check()?;
            if let Some(last) = looked_at.filter(|_| is_cut) {
                found.next = Some(last);
                found.searched_to = Some(last.start);
                return Ok(found);
            }
            if is_last {
                break;
            }
        }
        self.with_any(web, found)
    }

    /// Says whether the store has any trace, if that is not known yet.
    fn with_any(&self, web: &Web, mut found: Found) -> Result<Found, Problem> {
        if found.runs.is_empty() && !found.has_any {
            let first = Filter {
                limit: Some(1),
                ..Filter::default()
            };
            found.has_any = !web.store.list(&first)?.is_empty();
        }
        Ok(found)
    }

    /// A run that is in the list now, as far as its place in time does not matter.
    pub(crate) fn of_row(&self, web: &Web, row: TraceRow, until: Instant, answer: &mut Answer) -> Result<Option<Listed>, Problem> {
        let is = |wanted: &str, has: &Option<String>| wanted.is_empty() || has.as_deref() == Some(wanted);
        if !is(&self.service, &row.service) || !is(&self.session, &row.session) {
            return Ok(None);
        }
        let Ok(Readings { expression, .. }) = Readings::of(&self.since, &self.until, &self.expression) else {
            return Ok(None);
        };
        let listed = lists::listed(web, row.clone(), answer)?;
        let is_known = |hits: Hits| hits.contains(row.trace_id).unwrap_or(false);
        let goes_on = || answer.goes_on(Some(until));
        // What has just come may not be in the index yet.
        let has_words = Sought::of(&self.words).is_none_or(|words| {
            self.has_words(&listed)
                || self.hits(web, goes_on()).is_some_and(is_known)
                || words::are_in_payloads(&*web.store, row.trace_id, &words, &goes_on()) == Some(true)
        });
        let fits = has_words
            && self.matches(&Facet::of(&listed.summary))
            && self.expression_matches(web, &row, &listed, expression.as_ref(), answer)?;
        Ok(fits.then_some(listed))
    }

    /// Whether the filters let every run of the index through.
    fn takes_any(&self) -> bool {
        let filters = [&self.status, &self.agent, &self.model, &self.version, &self.label, &self.judged];
        filters.iter().all(|filter| filter.is_empty())
    }

    /// Whether a run has what the filters ask for.
    fn matches(&self, facet: &Facet) -> bool {
        let is_unknown = facet.status == "too_large";
        (self.all || facet.agent_work || is_unknown)
            && (self.status.is_empty() || self.status == facet.status)
            && (self.agent.is_empty() || facet.agents.contains(&self.agent))
            && (self.model.is_empty() || facet.models.contains(&self.model))
            && (self.version.is_empty() || facet.version.as_ref() == Some(&self.version))
            && (self.judged.is_empty() || facet.judged == (self.judged == "yes"))
            && (self.label.is_empty() || facet.labels.iter().any(|label| is_label(label, &self.label)))
    }

    /// The runs that have the words; `None`: there is no index of words, or it cannot be read in time, so the log is.
    fn hits(&self, web: &Web, goes_on: impl Fn() -> bool + Clone + Send + 'static) -> Option<Hits> {
        let search = web.search.as_ref().filter(|_| !self.words.is_empty())?;
        let found = search.find(&self.words, &goes_on);
        found
            .inspect_err(|error| tracing::warn!(%error, "search reads the log"))
            .ok()
            .flatten()
    }

    /// The text between quotes, which has to be there as it is.
    fn phrase(&self) -> Option<Sought> {
        let phrase = self.words.split('"').nth(1).filter(|phrase| !phrase.trim().is_empty())?;
        Sought::of(phrase)
    }

    fn has_words(&self, listed: &Listed) -> bool {
        let Some(words) = Sought::of(&self.words) else { return true };
        let summary = &listed.summary;
        let texts = [&listed.root, &listed.service, &listed.session, &summary.agent, &summary.question]
            .into_iter()
            .flatten();
        texts.chain(&summary.agents).chain(&summary.models).any(|text| words.is_in(text))
            || listed.trace_id.starts_with(&self.words.to_lowercase())
    }

    /// What the run must be asked for where the list does not decide it. The memory that this takes is given back.
    fn expression_matches(
        &self,
        web: &Web,
        row: &TraceRow,
        listed: &Listed,
        expression: Option<&Expression>,
        answer: &mut Answer,
    ) -> Result<bool, Problem> {
        let Some(expression) = expression else { return Ok(true) };
        if let Some(known) = expression.known(listed) {
            return Ok(known);
        }
        let built = single::built(web, row, answer);
        answer.shrink_to(lists::MEMORY);
        match built {
            Err(problem) if problem.is_too_large() => Ok(false),
            built => {
                let built: Arc<_> = built?;
                Ok(built.run.as_ref().is_some_and(|run: &Run| expression.matches(run)))
            }
        }
    }
}

/// Whether `feedback=good` is the wanted label, by its name or without.
fn is_label(label: &str, wanted: &str) -> bool {
    label == wanted || label.split_once('=').is_some_and(|(_, value)| value == wanted)
}

/// Words that are looked for.
pub(crate) fn sought(words: String) -> Result<String, Problem> {
    match words.len() {
        0..=LONGEST => Ok(words),
        bytes => Err(Problem::invalid(format!(
            "q has {bytes} bytes; words that are looked for have at most {LONGEST}"
        ))),
    }
}

fn one_of(name: &str, value: String, words: &[&str]) -> Result<String, Problem> {
    if words.contains(&value.as_str()) {
        return Ok(value);
    }
    let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    Err(Problem::invalid(format!("{name}={value} is not {}", words.join(" or "))))
}

fn unsearched(error: SearchError) -> Problem {
    Problem::internal(format!("the words cannot be looked up: {error}"))
}
