//! One store per project, each with its own receiver and API. A request never reaches two projects.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use super::config::Config;
use super::log_sessions::LogSessions;
use crate::access::Project;
use crate::documents::Vocabulary;
use crate::formats::Options;
use crate::forward::{self, dead_letters};
use crate::receiver::Receiver;
use crate::redact::Rules;
use crate::search::Search;
use crate::span::TraceId;
use crate::store::{self, Opened, Recovery, Store};
use crate::web::{Metrics, Readers, Web};

/// The separate services of a project.
#[derive(Debug)]
pub(super) struct ProjectServices {
    pub(super) name: Project,
    /// Directory for files outside the store.
    pub(super) directory: PathBuf,
    pub(super) log_sessions: LogSessions,
    pub(super) store: Arc<dyn Store>,
    pub(super) receiver: Arc<Receiver>,
    pub(super) web: Arc<Web>,
}

impl ProjectServices {
    /// Removes the dead letters of deleted traces.
    pub(super) fn letters(&self) -> impl FnMut(&[TraceId]) -> Result<(), store::Error> + Send + use<> {
        let folder = forward::folder(&self.directory);
        move |traces| {
            dead_letters::forget(&folder, traces).map_err(|source| store::Error::Beside {
                what: "the dead letters",
                source: Arc::new(source),
            })
        }
    }
}

/// The open stores.
pub(super) type Stores = Arc<RwLock<Vec<Open>>>;

/// An open store, and what was found when it was opened.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) project: Project,
    pub(super) store: Arc<dyn Store>,
    pub(super) recovery: Recovery,
}

/// The projects of a bridge: the default one always exists; the others are those named by tokens.
pub(super) struct Projects {
    first: Arc<ProjectServices>,
    others: RwLock<BTreeMap<Project, Arc<ProjectServices>>>,
    stores: Stores,
    vocabulary: Arc<Vocabulary>,
    options: Options,
    metrics: Metrics,
    readers: Arc<Readers>,
}

impl std::fmt::Debug for Projects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Projects").field("others", &self.others).finish_non_exhaustive()
    }
}

/// Spans contain people's words, so a directory that we create is readable only by its owner.
fn open_store(config: &Config, project: &Project) -> Result<Opened<Arc<dyn Store>>, store::Error> {
    let options = config.store_options(project);
    // If this fails, opening the store reports it.
    let _ = DirBuilder::new().recursive(true).mode(0o700).create(&options.directory);
    store::open(&options)
}

/// A function that returns the redaction rules in force.
fn rules_of(receiver: &Arc<Receiver>) -> impl Fn() -> Option<Arc<Rules>> + Send + use<> {
    let receiver = Arc::clone(receiver);
    move || receiver.redaction().rules()
}

/// A function that returns the number of requests with log records.
fn log_requests_of(receiver: &Arc<Receiver>) -> impl Fn() -> u64 + Send + use<> {
    let counters = receiver.counters();
    move || counters.log_requests()
}

/// Starts the search index if it is enabled. Without it search reads the log, so a failure does not prevent the start.
fn search(config: &Config, project: &Project, store: &Arc<dyn Store>) -> Option<Arc<Search>> {
    let directory = config.search.then(|| config.store_options(project).directory)?;
    let started = Search::start(Arc::clone(store), &directory);
    started
        .inspect_err(|error| tracing::error!(%error, project = %project, "there is no index of words"))
        .ok()
        .map(Arc::new)
}

/// Completes interrupted deletions in the background. Deleted data is hidden already.
fn finish_deletions(project: &ProjectServices) {
    let (web, letters, name) = (Arc::clone(&project.web), project.letters(), project.name.clone());
    let finish = move || {
        if let Err(error) = web.finish_deletions(letters) {
            tracing::error!(%error, project = %name, "a deletion that was interrupted is not finished; it is tried again at the next start");
        }
    };
    if let Err(error) = std::thread::Builder::new().name("deletions".to_owned()).spawn(finish) {
        tracing::error!(%error, "no thread can be started to finish deletions that were interrupted");
    }
}

impl Projects {
    /// Opens the default project. `metrics` builds the text of `/metrics` from the receiver and the stores.
    pub(super) fn open(
        config: &Config,
        readers: &Arc<Readers>,
        metrics: impl FnOnce(&Arc<Receiver>, &Stores) -> Metrics,
    ) -> Result<(Self, Recovery), store::Error> {
        let project = Project::default();
        let Opened { store, recovery } = open_store(config, &project)?;
        let stores: Stores = Arc::new(RwLock::new(vec![Open {
            project: project.clone(),
            store: Arc::clone(&store),
            recovery: recovery.clone(),
        }]));
        let receiver = Receiver::new(
            Arc::<dyn Store>::clone(&store),
            config.vocabulary.session_keys().to_vec(),
            config.limits,
        );
        let receiver = Arc::new(
            receiver
                .with_cors(config.cors.clone())
                .keeping_metrics(config.wants_metrics(&project)),
        );
        let metrics = metrics(&receiver, &stores);
        let vocabulary = Arc::clone(&config.vocabulary);
        let web = Web::new(
            Arc::clone(&store),
            Arc::clone(&vocabulary),
            project.organization(),
            Arc::clone(&metrics),
            Arc::clone(readers),
        )
        .with_options(config.options.clone())
        .with_search(search(config, &project, &store))
        .with_views(&config.store_options(&project).directory);
        let first = ProjectServices {
            name: project.clone(),
            directory: config.store_options(&project).directory,
            log_sessions: LogSessions::start(
                &project,
                &store,
                &config.vocabulary,
                readers,
                rules_of(&receiver),
                log_requests_of(&receiver),
            ),
            store,
            receiver,
            web: Arc::new(web),
        };
        finish_deletions(&first);
        let projects = Self {
            first: Arc::new(first),
            others: RwLock::default(),
            stores,
            vocabulary,
            options: config.options.clone(),
            metrics,
            readers: Arc::clone(readers),
        };
        Ok((projects, recovery))
    }

    /// Opens the projects that tokens name and that are not open. Projects no longer named stay open: a store closed during
    /// a read could not answer.
    pub(super) fn open_others(&self, config: &Config) -> Result<Vec<(Project, Recovery)>, store::Error> {
        let mut recoveries = Vec::new();
        for grant in config.security.tokens.grants() {
            let project = &grant.project;
            if self.of(project).is_some() {
                continue;
            }
            let Opened { store, recovery } = open_store(config, project)?;
            let search = search(config, project, &store);
            let directory = config.store_options(project).directory;
            self.add(project, directory, store, (recovery.clone(), config.wants_metrics(project), search));
            recoveries.push((project.clone(), recovery));
        }
        Ok(recoveries)
    }

    fn add(
        &self,
        project: &Project,
        directory: PathBuf,
        store: Arc<dyn Store>,
        (recovery, keeps_metrics, search): (Recovery, bool, Option<Arc<Search>>),
    ) {
        let (vocabulary, metrics) = (Arc::clone(&self.vocabulary), Arc::clone(&self.metrics));
        let readers = Arc::clone(&self.readers);
        let web = Web::new(Arc::clone(&store), vocabulary, project.organization(), metrics, readers)
            .with_options(self.options.clone())
            .with_search(search)
            .with_views(&directory);
        self.stores.write().unwrap_or_else(PoisonError::into_inner).push(Open {
            project: project.clone(),
            store: Arc::clone(&store),
            recovery,
        });
        let receiver = self
            .first
            .receiver
            .beside(Arc::<dyn Store>::clone(&store))
            .keeping_metrics(keeps_metrics);
        let receiver = Arc::new(receiver);
        let services = ProjectServices {
            name: project.clone(),
            directory,
            log_sessions: LogSessions::start(
                project,
                &store,
                &self.vocabulary,
                &self.readers,
                rules_of(&receiver),
                log_requests_of(&receiver),
            ),
            receiver,
            store,
            web: Arc::new(web),
        };
        finish_deletions(&services);
        let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
        others.insert(project.clone(), Arc::new(services));
    }

    pub(super) fn stores(&self) -> Stores {
        Arc::clone(&self.stores)
    }

    pub(super) fn first(&self) -> &Arc<ProjectServices> {
        &self.first
    }

    pub(super) fn of(&self, project: &Project) -> Option<Arc<ProjectServices>> {
        if *project == Project::default() {
            return Some(Arc::clone(&self.first));
        }
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        others.get(project).cloned()
    }

    /// Cancels all reading.
    pub(super) fn stop_reading(&self) {
        self.readers.stop();
    }

    pub(super) fn close(&self) {
        let others = std::mem::take(&mut *self.others.write().unwrap_or_else(PoisonError::into_inner));
        for project in others.values().chain([&self.first]) {
            project.log_sessions.stop();
            project.web.stop_search();
            project.store.close();
        }
    }
}
