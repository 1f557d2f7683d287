//! Where commands read from: a running bridge over its API, a bucket, or a data directory.

mod annotating;
pub(super) mod deleting;
mod lists;
mod opening;
mod served;
mod server;
mod sessions;
mod words;

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::data_dir::default_data_dir;
use super::failure::Failure;
use super::out;
use super::vocabulary::{priced, vocabulary};
use crate::access::Project;
use crate::dataset::Expression;
use crate::documents::Vocabulary;
use crate::run::Run;
use crate::span::json::Message;
use crate::span::{TraceId, UnixNanos};
use crate::store::log::Recovery;
use crate::store::{self, Filter, Order, Store, Stored, TraceCursor, Unwanted};
use crate::web::allowance::Allowance;
use crate::web::listing::{self, Listed};
use crate::web::service::Web;
use lists::{PAGE, Page, page_of_server};
use opening::{Open, bucket_of, directory_of};
use served::Served;
pub(super) use server::is_spanbridge;
use server::{Server, Token};

/// The default address of the API.
pub(super) const DEFAULT_SERVER: &str = "http://127.0.0.1:4319";

/// Names of the variables for the flags.
const SERVER: &str = "SPANBRIDGE_SERVER";
const DATA_DIR: &str = "SPANBRIDGE_DATA_DIR";
const STORE: &str = "SPANBRIDGE_STORE";

/// Where to read from.
#[derive(Debug, Clone, Args)]
pub(super) struct Where {
    /// The URL of a running server [default: http://127.0.0.1:4319 if it responds, else the default data directory].
    #[arg(long, value_name = "URL", env = SERVER)]
    server: Option<String>,
    /// A data directory to read directly, whether or not a server is running.
    #[arg(long, value_name = "DIR", env = DATA_DIR)]
    data_dir: Option<PathBuf>,
    /// A bucket to read directly, as `spanbridge serve --store` has it: s3://BUCKET/PREFIX, gs://, az:// or file://.
    #[arg(long, value_name = "URL", env = STORE)]
    store: Option<String>,
    /// The project to read in a data directory or a bucket. With a server, the token selects the project.
    #[arg(long, value_name = "ORG/PROJECT", env = "SPANBRIDGE_PROJECT", default_value_t = Project::default())]
    project: Project,
    /// The token for the server. Prefer the environment variable: other users can see the flags of a process.
    #[arg(long, value_name = "TOKEN", env = "SPANBRIDGE_TOKEN", hide_env_values = true)]
    token: Option<Token>,
    /// The authority of the server's certificate, in PEM, if the system does not trust it.
    #[arg(long, value_name = "FILE", env = "SPANBRIDGE_CA")]
    ca: Option<PathBuf>,
    /// A file with attribute keys of your own, in the form of semconv/<dialect>/attributes.yaml.
    #[arg(long, value_name = "FILE")]
    semconv: Option<PathBuf>,
    /// A YAML file with prices of models, for calls whose spans record tokens and no cost. A line is a model and its US dollars for a
    /// million tokens: `gpt-4o*: { input: 2.5, cache_read: 1.25, output: 10 }`. With a server, the server's own are used.
    #[arg(long, value_name = "FILE", env = "SPANBRIDGE_PRICES")]
    prices: Option<PathBuf>,
}

/// An opened source.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) vocabulary: Arc<Vocabulary>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Server(Server),
    Directory {
        path: PathBuf,
        store: Arc<dyn Store>,
    },
    /// The store of a server, in its process.
    Served(Served),
}

/// The source chosen by flags and variables.
enum Chosen<'a> {
    Server(&'a str),
    Bucket(&'a str),
    Directory(&'a Path),
    None,
}

impl Source {
    /// A server's store, for one request to the server: reading uses the server's memory limit.
    pub(super) fn served(web: &Web, allowance: Allowance) -> Self {
        Self {
            vocabulary: Arc::clone(&web.vocabulary),
            kind: Kind::Served(Served::new(web, allowance)),
        }
    }

    /// Reserves memory for processing what was read; only a server has a limit.
    pub(super) fn reserve(&self, bytes: usize) -> Result<(), Failure> {
        match &self.kind {
            Kind::Served(served) => served.allowance().reserve(bytes).map_err(served::refused),
            Kind::Server(_) | Kind::Directory { .. } => Ok(()),
        }
    }

    /// A function that returns whether the client still waits.
    pub(super) fn goes_on(&self) -> Box<dyn Fn() -> bool> {
        match &self.kind {
            Kind::Served(served) => Box::new(served.allowance().goes_on(None)),
            Kind::Server(_) | Kind::Directory { .. } => Box::new(|| true),
        }
    }
}

impl Where {
    /// A file with the user's attribute keys.
    pub(super) fn semconv(&self) -> Option<&Path> {
        self.semconv.as_deref()
    }

    /// A file with the user's prices.
    pub(super) fn prices(&self) -> Option<&Path> {
        self.prices.as_deref()
    }

    pub(super) fn open(&self) -> Result<Source, Failure> {
        self.open_by(out::recovery, store::open_up_to_date)
    }

    /// The same, without reporting what was found on opening.
    pub(super) fn open_silently(&self) -> Result<Source, Failure> {
        self.open_by(|_| {}, store::open_up_to_date)
    }

    /// The same, with a data directory opened by `open`.
    fn open_by(&self, tell: fn(&Recovery), open: Open) -> Result<Source, Failure> {
        let vocabulary = Arc::new(priced(vocabulary(self.semconv.as_deref())?, self.prices())?);
        let apart = self.project != Project::default();
        let directory = |(path, store)| Kind::Directory { path, store };
        let kind = match self.chosen()? {
            Chosen::Server(_) if apart => {
                return Err(Failure::usage(
                    "with a server, the token selects the project; --project is for a data directory or a bucket",
                ));
            }
            Chosen::Server(url) => self.priced_by(self.server(url)?),
            Chosen::Bucket(url) => directory(bucket_of(url, &self.project, &vocabulary)?),
            Chosen::Directory(path) => directory(directory_of(path, &self.project, &vocabulary, (tell, open))?),
            Chosen::None => match self.server(DEFAULT_SERVER) {
                Ok(server) if !apart => self.priced_by(server),
                _ => directory(directory_of(&default_data_dir()?, &self.project, &vocabulary, (tell, open))?),
            },
        };
        Ok(Source { vocabulary, kind })
    }

    /// A server, which computes costs with its own prices.
    fn priced_by(&self, server: Server) -> Kind {
        if self.prices.is_some() {
            out::note(
                "the server uses its own prices, not --prices: start it with `serve --prices FILE`, or read its store with --data-dir",
            );
        }
        Kind::Server(server)
    }

    /// The chosen source: a flag precedes a variable, and a server precedes a bucket and a directory.
    fn chosen(&self) -> Result<Chosen<'_>, Failure> {
        let server = self.server.as_deref().map(|url| (SERVER, OsStr::new(url), Chosen::Server(url)));
        let bucket = self.store.as_deref().map(|url| (STORE, OsStr::new(url), Chosen::Bucket(url)));
        let directory = self.data_dir.as_deref();
        let directory = directory.map(|path| (DATA_DIR, path.as_os_str(), Chosen::Directory(path)));
        let given = [server, bucket, directory].into_iter().flatten();
        let is_variable = |name: &str, value: &OsStr| env::var_os(name).is_some_and(|set| set == value);
        let (variables, flags): (Vec<_>, Vec<_>) = given.partition(|(name, value, _)| is_variable(name, value));
        match flags.len() {
            0 => Ok(variables.into_iter().next().map_or(Chosen::None, |(.., chosen)| chosen)),
            1 => Ok(flags.into_iter().next().map_or(Chosen::None, |(.., chosen)| chosen)),
            _ => Err(Failure::usage(
                "--server, --store and --data-dir exclude each other: pass one of them",
            )),
        }
    }

    fn server(&self, url: &str) -> Result<Server, Failure> {
        Server::connect(url, self.token.clone(), self.ca.as_deref())
    }
}

/// The bridge's report of a trace that is damaged on disk.
#[derive(serde::Deserialize)]
struct Damage {
    damaged: Vec<String>,
}

impl Damage {
    /// The end of an answer about an undamaged trace.
    const NONE: &[u8] = br#""damaged":[]}"#;

    fn of(body: &[u8]) -> Vec<String> {
        if body.ends_with(Self::NONE) {
            return Vec::new();
        }
        // A span may nest too deeply for this parser, so errors are ignored; the trace itself is read with a higher limit.
        serde_json::from_slice(body).map_or_else(|_| Vec::new(), |damage: Self| damage.damaged)
    }
}

impl Source {
    /// The location of the source, for people.
    pub(super) fn place(&self) -> String {
        match &self.kind {
            Kind::Server(server) => server.url.clone(),
            Kind::Directory { path, .. } => path.display().to_string(),
            Kind::Served(_) => "this server".to_owned(),
        }
    }

    /// The traces that match a filter.
    pub(super) fn list(&self, filter: &Filter) -> Result<Vec<Listed>, Failure> {
        self.list_where(filter, true, &|_| true)
    }

    /// The same, without what the agents did.
    pub(super) fn bare(&self, filter: &Filter) -> Result<Vec<Listed>, Failure> {
        self.list_where(filter, false, &|_| true)
    }

    /// The traces that also satisfy `matches`, up to the filter's limit. Reads page by page.
    pub(super) fn list_where(&self, filter: &Filter, summaries: bool, matches: &dyn Fn(&Listed) -> bool) -> Result<Vec<Listed>, Failure> {
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let missing = filter.limit.map_or(PAGE, |limit| limit.saturating_sub(listed.len()));
            if missing == 0 {
                return Ok(listed);
            }
            let page = self.page(filter, summaries, missing.min(PAGE), after.as_deref())?;
            listed.extend(page.traces.into_iter().filter(|listed| matches(listed)));
            match page.next {
                Some(next) if after.as_ref() != Some(&next) => after = Some(next),
                _ => break,
            }
        }
        listed.truncate(filter.limit.unwrap_or(usize::MAX));
        Ok(listed)
    }

    /// The same, limited to runs for which an expression is true. A trace is read only if the list does not decide that.
    pub(super) fn list_of_runs(
        &self,
        filter: &Filter,
        matches: &dyn Fn(&Listed) -> bool,
        expression: &Expression,
    ) -> Result<Vec<Listed>, Failure> {
        let all = Filter {
            limit: None,
            ..filter.clone()
        };
        let mut found = Vec::new();
        for listed in self.list_where(&all, true, matches)? {
            if filter.limit.is_some_and(|limit| found.len() >= limit) {
                break;
            }
            let is_wanted = match expression.known(&listed) {
                Some(known) => known,
                None => {
                    let run = TraceId::from_hex(&listed.trace_id).map(|id| self.run(id)).transpose()?.flatten();
                    run.is_some_and(|run| expression.matches(&run))
                }
            };
            if is_wanted {
                found.push(listed);
            }
        }
        Ok(found)
    }

    /// The traces whose runs are wanted. Reads each trace.
    pub(super) fn ids_of_runs(&self, is_wanted: &dyn Fn(&Run) -> bool) -> Result<Vec<TraceId>, Failure> {
        let mut found = Vec::new();
        for id in self.ids(&Filter::default())? {
            if self.run(id)?.is_some_and(|run| is_wanted(&run)) {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// Whether there is a trace with this id.
    pub(super) fn has(&self, id: TraceId) -> Result<bool, Failure> {
        match &self.kind {
            Kind::Directory { store, .. } => Ok(store.row(id)?.is_some()),
            Kind::Served(served) => Ok(served.store().row(id)?.is_some()),
            Kind::Server(server) => Ok(server.get_ok(&format!("/api/v1/traces/{id}"))?.is_some()),
        }
    }

    /// The run of a trace; `None` if there is no such trace.
    pub(super) fn run(&self, id: TraceId) -> Result<Option<Run>, Failure> {
        let Some(stored) = self.trace(id)? else { return Ok(None) };
        let runs = self.vocabulary.stored_runs(stored.spans, stored.logs, UnixNanos(store::now()));
        Ok(runs.into_iter().next())
    }

    /// The traces that arrived last, at most one page of a server.
    pub(super) fn latest(&self, filter: &Filter, summaries: bool) -> Result<Vec<Listed>, Failure> {
        let page = self.page(filter, summaries, filter.limit.unwrap_or(PAGE), None)?;
        Ok(page.traces)
    }

    fn page(&self, filter: &Filter, summaries: bool, limit: usize, after: Option<&str>) -> Result<Page, Failure> {
        let store = match &self.kind {
            Kind::Directory { store, .. } => store,
            Kind::Served(served) => served.store(),
            Kind::Server(server) => return page_of_server(server, filter, summaries, limit, after),
        };
        let filter = Filter {
            limit: Some(limit),
            after: after.and_then(TraceCursor::parse).or(filter.after),
            ..filter.clone()
        };
        let traces = if let (Kind::Served(served), true) = (&self.kind, summaries) {
            served.list(&filter, &self.vocabulary)?
        } else if summaries {
            listing::list(&**store, &self.vocabulary, &filter)?
        } else {
            listing::bare(&**store, &filter)?
        };
        let last = traces
            .last()
            .filter(|_| traces.len() >= limit && filter.order != Order::LatestArrivalFirst);
        let next = last.map(|last| format!("{}.{}", last.start_unix_nano, last.trace_id));
        Ok(Page {
            traces,
            next,
            lost_records: 0,
            deleted_traces: 0,
        })
    }

    /// Number of acknowledged records that are lost, until an operator acknowledges the loss.
    pub(super) fn lost_records(&self) -> Result<u64, Failure> {
        match &self.kind {
            Kind::Directory { store, .. } => Ok(store.lost().iter().map(|lost| lost.records).sum()),
            Kind::Served(served) => Ok(served.store().lost().iter().map(|lost| lost.records).sum()),
            Kind::Server(server) => Ok(page_of_server(server, &Filter::default(), false, 1, None)?.lost_records),
        }
    }

    /// Number of a session's traces that were deleted on request.
    pub(super) fn deleted_traces(&self, session: &str) -> Result<u64, Failure> {
        let filter = Filter {
            session: Some(session.to_owned()),
            ..Filter::default()
        };
        let store = match &self.kind {
            Kind::Directory { store, .. } => store,
            Kind::Served(served) => served.store(),
            Kind::Server(server) => return Ok(page_of_server(server, &filter, false, 1, None)?.deleted_traces),
        };
        let before = store.deleted(&Unwanted::Session(session.to_owned()))?;
        Ok(before.map_or(0, |before| before.traces))
    }

    /// Reports if traces of a session were deleted on request.
    pub(super) fn tell_deleted(&self, session: &str) -> Result<(), Failure> {
        match self.deleted_traces(session)? {
            0 => {}
            deleted => out::note(&format!(
                "{} of session {} deleted on request; this is what is left",
                out::many(usize::try_from(deleted).unwrap_or(usize::MAX), "trace"),
                out::shown(session, 64)
            )),
        }
        Ok(())
    }

    /// The ids of the traces that match a filter.
    pub(super) fn ids(&self, filter: &Filter) -> Result<Vec<TraceId>, Failure> {
        if let Kind::Directory { store, .. } = &self.kind {
            return Ok(store.list(filter)?.into_iter().map(|row| row.trace_id).collect());
        }
        let listed = self.bare(filter)?;
        Ok(listed.iter().filter_map(|listed| TraceId::from_hex(&listed.trace_id)).collect())
    }

    /// All of one trace; `None` if there is none.
    pub(super) fn trace(&self, id: TraceId) -> Result<Option<Stored>, Failure> {
        match &self.kind {
            Kind::Directory { store, .. } => {
                let stored = store.read_trace(id)?;
                tell_damage(id, stored.as_ref());
                Ok(stored)
            }
            Kind::Served(served) => served.trace(id),
            Kind::Server(server) => {
                let Some(body) = server.get_ok(&format!("/api/v1/traces/{id}"))? else {
                    return Ok(None);
                };
                let message = Message::parse(&body).map_err(|error| server.unreadable(out::with_causes(&error)))?;
                let (spans, logs) = message.into_parts();
                let stored = Some(Stored {
                    spans: spans.items,
                    logs: logs.items,
                    damaged: Damage::of(&body),
                    ends: Vec::new(),
                });
                tell_damage(id, stored.as_ref());
                Ok(stored)
            }
        }
    }
}

fn tell_damage(id: TraceId, stored: Option<&Stored>) {
    for damaged in stored.iter().flat_map(|stored| &stored.damaged) {
        out::note(&format!("trace {id}: {damaged}; the damaged part is left out"));
    }
}
