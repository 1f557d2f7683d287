//! The traces that contain words: a server searches with its index, if it has one; a directory is read.

use std::collections::HashSet;

use serde::Deserialize;

use super::Source;
use super::pages::{ids_of, pages};
use crate::cli::failure::Failure;
use crate::dataset::expression::moment_text;
use crate::span::{TraceId, UnixNanos};
use crate::store::Filter;
use crate::view::seeking::Sought;
use crate::web::listing::Listed;
use crate::web::words;

/// Which traces contain the words.
#[derive(Debug)]
pub(in crate::cli) enum Having {
    /// All: no words were given.
    All,
    /// These traces.
    Traces(HashSet<String>),
    /// Traces with these words in their payloads.
    Words(Box<Sought>),
}

#[derive(Deserialize)]
struct Found {
    runs: Vec<Listed>,
    next: Option<String>,
}

impl Source {
    /// Searches words in the traces that match a filter.
    pub(in crate::cli) fn having(&self, text: Option<&str>, filter: &Filter) -> Result<Having, Failure> {
        let Some(text) = text else { return Ok(Having::All) };
        let words = Sought::of(text).ok_or_else(|| Failure::usage("there are no words to look for"))?;
        let Err(server) = self.store() else {
            return Ok(Having::Words(Box::new(words)));
        };
        let moment = |at: Option<u64>| at.map(|at| moment_text(UnixNanos(at)));
        let traces = pages(None, |_, after| {
            let page: Found = server.list(
                "/api/v1/runs",
                &[
                    ("all", Some("1".to_owned())),
                    ("q", Some(text.to_owned())),
                    ("service", filter.service.clone()),
                    ("session", filter.session.clone()),
                    ("since", moment(filter.since)),
                    ("until", moment(filter.until)),
                    ("after", after.map(str::to_owned)),
                ],
            )?;
            Ok((page.runs.into_iter().map(|listed| listed.trace_id).collect(), page.next))
        })?;
        Ok(Having::Traces(traces.into_iter().collect()))
    }

    /// The traces of a filter that have words.
    pub(in crate::cli) fn ids_having(&self, text: Option<&str>, filter: &Filter) -> Result<Vec<TraceId>, Failure> {
        let having = self.having(text, filter)?;
        if let Having::All = having {
            return self.ids(filter);
        }
        let found = self.list_where(filter, false, &|listed| self.has_words(&having, listed))?;
        Ok(ids_of(&found))
    }

    /// Whether a trace has them.
    pub(in crate::cli) fn has_words(&self, having: &Having, listed: &Listed) -> bool {
        let words = match having {
            Having::All => return true,
            Having::Traces(traces) => return traces.contains(&listed.trace_id),
            Having::Words(words) => words,
        };
        let Ok(store) = self.store() else { return false };
        let goes_on = self.goes_on();
        let id = TraceId::from_hex(&listed.trace_id);
        id.is_some_and(|id| words::are_in_payloads(store, id, words, &*goes_on) == Some(true))
    }
}
