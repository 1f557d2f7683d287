//! Where commands read from: a running bridge over its API, a bucket, or a data directory.

mod deleting;
mod lists;
mod opening;
mod pages;
mod server;
mod words;

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;

use super::data_dir::default_data_dir;
use super::failure::Failure;
use super::out;
use super::vocabulary::{priced, vocabulary};
use crate::access::Project;
use crate::documents::Vocabulary;
use crate::otlp::{encode, scan};
use crate::run::Run;
use crate::span::{LogRecord, Signal, Span, TraceId, UnixNanos};
use crate::store::{self, Chunk, Filter, Order, Store, Stored, Unwanted};
use crate::web::allowance::Allowance;
use crate::web::cost::Purpose;
use crate::web::listing::Listed;
use crate::web::service::Web;
use crate::web::single;
use crate::web::{NewEvaluation, annotation};
use opening::{To, bucket_of, directory_of};
pub(super) use pages::ids_of;
use pages::page_of_server;
use server::{Server, Token};
pub(super) use server::{is_spanbridge, problem};

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

/// An opened source: a server, or a store in this process.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) vocabulary: Arc<Vocabulary>,
    kind: Kind,
    /// The resources of one request to the server that this process is: reading uses its memory limit.
    allowance: Option<Mutex<Allowance>>,
}

#[derive(Debug)]
enum Kind {
    Server(Server),
    Store {
        /// A data directory, or the URL of a bucket.
        path: PathBuf,
        store: Arc<dyn Store>,
    },
}

/// The source chosen by flags and variables.
enum Chosen<'a> {
    Server(&'a str),
    Bucket(&'a str),
    Directory(&'a Path),
    None,
}

impl Source {
    /// A server's store, for one request to the server.
    pub(super) fn served(web: &Web, allowance: Allowance) -> Self {
        Self {
            vocabulary: Arc::clone(&web.vocabulary),
            kind: Kind::Store {
                path: PathBuf::from("this server"),
                store: Arc::clone(&web.store),
            },
            allowance: Some(Mutex::new(allowance)),
        }
    }

    fn allowance(&self) -> Option<MutexGuard<'_, Allowance>> {
        let allowance = self.allowance.as_ref()?;
        Some(allowance.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reserves memory for processing what was read; only a server has a limit.
    pub(super) fn reserve(&self, bytes: usize) -> Result<(), Failure> {
        Ok(self.allowance().map_or(Ok(()), |mut allowance| allowance.reserve(bytes))?)
    }

    /// A function that returns whether the client still waits.
    pub(super) fn goes_on(&self) -> Box<dyn Fn() -> bool> {
        match self.allowance() {
            Some(allowance) => Box::new(allowance.goes_on(None)),
            None => Box::new(|| true),
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
        self.open_to(To::Read)
    }

    /// The same, without reporting what was found on opening.
    pub(super) fn open_silently(&self) -> Result<Source, Failure> {
        self.open_to(To::ReadSilently)
    }

    /// The same for annotating. A data directory is opened for writing.
    pub(super) fn open_to_annotate(&self) -> Result<Source, Failure> {
        if matches!(self.chosen()?, Chosen::Bucket(_)) {
            return Err(Failure::usage("a bucket is written by its servers: pass one of them with --server"));
        }
        self.open_to(To::Annotate)
    }

    /// The same for deleting. A data directory is opened for writing, a bucket without a database of its own: each server removes
    /// the data from its own.
    pub(super) fn open_to_delete(&self) -> Result<Source, Failure> {
        self.open_to(To::Delete)
    }

    fn open_to(&self, to: To) -> Result<Source, Failure> {
        let prices = self.prices().filter(|_| to != To::Delete);
        let vocabulary = Arc::new(priced(vocabulary(self.semconv())?, prices)?);
        let apart = self.project != Project::default();
        let store = |(path, store)| Kind::Store { path, store };
        let kind = match self.chosen()? {
            Chosen::Server(_) if apart => {
                return Err(Failure::usage(
                    "with a server, the token selects the project; --project is for a data directory or a bucket",
                ));
            }
            Chosen::Server(url) => Kind::Server(self.server(url)?),
            Chosen::Bucket(url) => store(bucket_of(url, &self.project, &vocabulary)?),
            Chosen::Directory(path) => store(directory_of(path, &self.project, &vocabulary, to)?),
            Chosen::None => match self.server(DEFAULT_SERVER) {
                Ok(server) if !apart => Kind::Server(server),
                _ => store(directory_of(&default_data_dir()?, &self.project, &vocabulary, to)?),
            },
        };
        if matches!(kind, Kind::Server(_)) && prices.is_some() {
            out::note(
                "the server uses its own prices, not --prices: start it with `serve --prices FILE`, or read its store with --data-dir",
            );
        }
        Ok(Source {
            vocabulary,
            kind,
            allowance: None,
        })
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

impl Source {
    /// The location of the source, for people.
    pub(super) fn place(&self) -> String {
        match &self.kind {
            Kind::Server(server) => server.url.clone(),
            Kind::Store { path, .. } => path.display().to_string(),
        }
    }

    /// The store, unless a server has it.
    fn store(&self) -> Result<&dyn Store, &Server> {
        match &self.kind {
            Kind::Server(server) => Err(server),
            Kind::Store { store, .. } => Ok(&**store),
        }
    }

    /// Whether there is a trace with this id.
    pub(super) fn has(&self, id: TraceId) -> Result<bool, Failure> {
        match self.store() {
            Ok(store) => Ok(store.row(id)?.is_some()),
            Err(server) => Ok(server.get_ok(&format!("/api/v1/traces/{id}"))?.is_some()),
        }
    }

    /// The run of a trace; `None` if there is no such trace.
    pub(super) fn run(&self, id: TraceId) -> Result<Option<Run>, Failure> {
        let stored = self.trace(id)?;
        Ok(stored.and_then(|stored| self.runs_of(stored.spans, stored.logs).into_iter().next()))
    }

    /// The runs of a listed trace: one, or none.
    pub(super) fn run_of(&self, listed: &Listed) -> Result<Option<Run>, Failure> {
        TraceId::from_hex(&listed.trace_id).map_or(Ok(None), |id| self.run(id))
    }

    /// The runs of what was read.
    pub(super) fn runs_of(&self, spans: Vec<Span>, logs: Vec<LogRecord>) -> Vec<Run> {
        self.vocabulary.stored_runs(spans, logs, UnixNanos(store::now()))
    }

    /// All of one trace; `None` if there is none. Damage is reported, unless the answer to a request has it.
    pub(super) fn trace(&self, id: TraceId) -> Result<Option<Stored>, Failure> {
        let stored = self.stored(id)?;
        for damaged in stored
            .iter()
            .flat_map(|stored| &stored.damaged)
            .filter(|_| self.allowance.is_none())
        {
            out::note(&format!("trace {id}: {damaged}; the damaged part is left out"));
        }
        Ok(stored)
    }

    fn stored(&self, id: TraceId) -> Result<Option<Stored>, Failure> {
        match (self.store(), self.allowance()) {
            (Err(server), _) => server.trace(id),
            (Ok(store), Some(mut allowance)) => Ok(single::stored_alone(store, id, Purpose::Document, &mut allowance)?),
            (Ok(store), None) => Ok(store.read_trace(id)?),
        }
    }

    /// Number of acknowledged records that are lost, until an operator acknowledges the loss.
    pub(super) fn lost_records(&self) -> Result<u64, Failure> {
        match self.store() {
            Ok(store) => Ok(store.lost().iter().map(|lost| lost.records).sum()),
            Err(server) => Ok(page_of_server(server, &Filter::default(), false, 1, None)?.lost_records),
        }
    }

    /// The traces of a session, oldest first. Reports if traces of it were deleted on request.
    pub(super) fn ids_of_session(&self, session: &str, filter: Filter) -> Result<Vec<TraceId>, Failure> {
        let filter = Filter {
            session: Some(session.to_owned()),
            order: Order::OldestFirst,
            ..filter
        };
        let ids = self.ids(&filter)?;
        let before = match self.store() {
            Ok(store) => store
                .deleted(&Unwanted::Session(session.to_owned()))?
                .map_or(0, |before| before.traces),
            Err(server) => {
                let of_session = Filter {
                    session: filter.session,
                    ..Filter::default()
                };
                page_of_server(server, &of_session, false, 1, None)?.deleted_traces
            }
        };
        if before > 0 {
            out::note(&format!(
                "{} of session {} deleted on request; this is what is left",
                out::many(before, "trace"),
                out::shown(session, 64)
            ));
        }
        Ok(ids)
    }

    /// Stores a person's judgement of a run or step.
    pub(super) fn annotate(&self, id: TraceId, said: &NewEvaluation) -> Result<(), Failure> {
        let store = match self.store() {
            Ok(store) => store,
            Err(server) => return server.post(&format!("/api/v1/traces/{id}/evaluations"), said),
        };
        let run = self.run(id)?.ok_or_else(|| Failure::missing(format!("there is no trace {id}")))?;
        let (span, _) = annotation(&run, said).map_err(|problem| Failure::missing(problem.message()))?;
        let bytes = encode::traces(&[span]);
        let keys: Vec<&str> = self.vocabulary.session_keys().iter().map(String::as_str).collect();
        let scanned = scan::scan(&bytes, Signal::Traces, &keys).map_err(|fault| Failure::usage(fault.to_string()))?;
        store.append(Chunk::of_request(scanned, bytes))?;
        Ok(())
    }
}
