//! The traces that contain words: a server searches with its index, if it has one; a directory is read.

use std::collections::HashSet;

use serde::Deserialize;

use super::{Kind, Source};
use crate::cli::failure::Failure;
use crate::dataset::expression::moment_text;
use crate::span::{TraceId, UnixNanos};
use crate::store::Filter;
use crate::view::seeking::Sought;
use crate::web::listing::Listed;
use crate::web::{percent_encoded, words};

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
        let Kind::Server(server) = &self.kind else {
            return Ok(Having::Words(Box::new(words)));
        };
        let moment = |at: Option<u64>| at.map(|at| moment_text(UnixNanos(at)));
        let mut path = format!("/api/v1/runs?all=1&q={}", percent_encoded(text));
        for (name, value) in [
            ("service", filter.service.clone()),
            ("session", filter.session.clone()),
            ("since", moment(filter.since)),
            ("until", moment(filter.until)),
        ] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", percent_encoded(&value)));
            }
        }
        let (mut traces, mut after) = (HashSet::new(), String::new());
        loop {
            let body = server.get_ok(&format!("{path}{after}"))?.unwrap_or_default();
            let page: Found = serde_json::from_slice(&body).map_err(|error| server.unreadable(error.to_string()))?;
            traces.extend(page.runs.into_iter().map(|listed| listed.trace_id));
            match page.next.map(|next| format!("&after={}", percent_encoded(&next))) {
                Some(next) if next != after => after = next,
                _ => return Ok(Having::Traces(traces)),
            }
        }
    }

    /// The traces of a filter that have words.
    pub(in crate::cli) fn ids_having(&self, text: Option<&str>, filter: &Filter) -> Result<Vec<TraceId>, Failure> {
        let having = self.having(text, filter)?;
        if let Having::All = having {
            return self.ids(filter);
        }
        let found = self.list_where(filter, false, &|listed| self.has_words(&having, listed))?;
        Ok(found.iter().filter_map(|listed| TraceId::from_hex(&listed.trace_id)).collect())
    }

    /// Whether a trace has them.
    pub(in crate::cli) fn has_words(&self, having: &Having, listed: &Listed) -> bool {
        let words = match having {
            Having::All => return true,
            Having::Traces(traces) => return traces.contains(&listed.trace_id),
            Having::Words(words) => words,
        };
        let store = match &self.kind {
            Kind::Directory { store, .. } => store,
            Kind::Served(served) => served.store(),
            Kind::Server(_) => return false,
        };
        let goes_on = self.goes_on();
        let id = TraceId::from_hex(&listed.trace_id);
        id.is_some_and(|id| words::are_in_payloads(&**store, id, words, &*goes_on) == Some(true))
    }
}
