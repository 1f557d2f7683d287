//! Answers requests about one store, on threads of its own.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Weak};

use axum::body::Body;
use hyper::Response;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::allowance::Allowance;
use super::answer::Answer;
use super::blocks::ledger::Ledger;
use super::delivery::Delivery;
use super::facets::Facets;
use super::kept::SentDigests;
use super::live::Live;
use super::readers::{self, Readers};
use super::reply::{Outcome, Problem};
use super::request::Asked;
use super::runs::{self, Runs};
use super::views::Views;
use crate::access::Denied;
use crate::blocks::limits::Limits;
use crate::documents::Vocabulary;
use crate::formats::Options;
use crate::search::Search;
use crate::store::Store;

/// The read side of one store.
pub struct Web {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(super) organization: String,
    pub(crate) metrics: Metrics,
    pub(crate) options: Options,
    pub(crate) readers: Arc<Readers>,
    pub(super) ledger: Arc<Ledger>,
    pub(crate) runs: Arc<Runs>,
    pub(crate) facets: Arc<Facets>,
    pub(crate) live: Arc<Live>,
    pub(crate) kept: Arc<SentDigests>,
    pub(crate) search: Option<Arc<Search>>,
    pub(crate) views: Arc<Views>,
}

/// Returns the text of `/metrics`.
pub type Metrics = Arc<dyn Fn() -> String + Send + Sync>;

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Web").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Web {
    /// The read side of a project's store; the project belongs to this organization.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, vocabulary: Arc<Vocabulary>, organization: &str, metrics: Metrics, readers: Arc<Readers>) -> Self {
        let runs = Arc::new(Runs::default());
        let spare: Weak<Runs> = Arc::downgrade(&runs);
        readers.add_spare(spare);
        Self {
            runs,
            facets: Arc::default(),
            live: Arc::default(),
            kept: Arc::default(),
            search: None,
            views: Arc::default(),
            ledger: Arc::new(Ledger::new(Arc::clone(&store), Limits::default(), Arc::clone(&readers))),
            store,
            vocabulary,
            organization: organization.to_owned(),
            metrics,
            options: Options::default(),
            readers,
        }
    }

    /// Sets the search index, if there is one.
    #[must_use]
    pub(crate) fn with_search(self, search: Option<Arc<Search>>) -> Self {
        Self { search, ..self }
    }

    /// Stores saved views in this directory.
    #[must_use]
    pub(crate) fn with_views(self, directory: &Path) -> Self {
        let views = Arc::new(Views::of(directory));
        Self { views, ..self }
    }

    /// Stops feeding the search index.
    pub(crate) fn stop_search(&self) {
        if let Some(search) = &self.search {
            search.stop();
        }
    }

    /// Sets the default options for documents.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        let ledger = Ledger::new(Arc::clone(&self.store), Limits::from_options(&options), Arc::clone(&self.readers));
        Self {
            options,
            ledger: Arc::new(ledger),
            ..self
        }
    }

    pub(crate) fn is_of(&self, organization: &str) -> Result<(), Problem> {
        if organization == self.organization {
            return Ok(());
        }
        Err(Problem::not_found(format!(
            "there is no organization {organization}; spans belong to {}",
            self.organization
        )))
    }

    /// Refuses a request without the required right.
    #[must_use]
    pub fn refuse(denied: &Denied) -> Response<Body> {
        Problem::denied(denied).reply()
    }

    /// Refuses a request whose head is larger than allowed.
    #[must_use]
    pub fn too_large_head(message: String) -> Response<Body> {
        Problem::head(message).reply()
    }

    /// Refuses a request for a host name that does not belong to this machine.
    #[must_use]
    pub fn foreign_host(message: String) -> Response<Body> {
        Problem::forbidden(message).reply()
    }

    /// Answers on a reader thread.
    pub(crate) async fn read(
        self: Arc<Self>,
        asked: Asked,
        read: impl FnOnce(&Self, &Asked, &mut Answer) -> Outcome + Send + 'static,
    ) -> Response<Body> {
        self.answer(asked, read).await.unwrap_or_else(|problem| problem.reply())
    }

    async fn answer(
        self: Arc<Self>,
        asked: Asked,
        read: impl FnOnce(&Self, &Asked, &mut Answer) -> Outcome + Send + 'static,
    ) -> Result<Response<Body>, Problem> {
        let slow = asked.slow.clone();
        let (readers, runs) = (Arc::clone(&self.readers), Arc::clone(&self.runs));
        let delivery = Delivery::new(&readers);
        let (head, answered) = oneshot::channel();
        let making = Making(Arc::clone(&delivery));
        let waiting = WaitingClient(Some(Arc::clone(&delivery)));
        let work = move |web: &Arc<Self>, allowance| {
            let _making = making;
            let mut answer = Answer::new(allowance, head);
            let outcome = read(web, &asked, &mut answer);
            answer.end(outcome);
        };
        self.on_thread(&delivery, work).await?;
        let response = tokio::select! {
            response = answered => response.map_err(|_| Problem::internal("the response could not be made"))?,
            () = readers.stopping() => return Err(Problem::refused(readers::Refusal::Cancelled)),
        };
        waiting.end();
        tokio::spawn(async move {
            delivery.watch(slow).await;
            tokio::time::sleep(runs::CACHE_LIFETIME).await;
            if runs.forget_idle() {
                readers.free.give_back_soon(&Handle::current());
            }
        });
        Ok(response)
    }

    /// The only way to build something from stored data for a client: on a reader thread, with an allowance. It is not a
    /// thread of the runtime: reading must not occupy the receiver's threads, nor delay the end of the process.
    async fn on_thread(
        self: Arc<Self>,
        delivery: &Arc<Delivery>,
        work: impl FnOnce(&Arc<Self>, Allowance) + Send + 'static,
    ) -> Result<(), Problem> {
        let permit = self.readers.thread().await?;
        let allowance = Allowance::new(&self.readers, delivery);
        let runtime = Handle::current();
        let thread = std::thread::Builder::new().name("read".to_owned()).spawn(move || {
            let _held = permit;
            work(&self, allowance);
            self.readers.free.give_back_soon(&runtime);
        });
        thread.map_err(|_| Problem::refused(readers::Refusal::Busy)).map(drop)
    }
}

/// A client whose answer is built as a whole.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    web: Arc<Web>,
    delivery: Arc<Delivery>,
}

impl Caller {
    /// A client, and a guard to be held while it waits.
    pub(crate) fn new(web: &Arc<Web>) -> (Self, WaitingClient) {
        let delivery = Delivery::new(&web.readers);
        let caller = Self {
            web: Arc::clone(web),
            delivery: Arc::clone(&delivery),
        };
        (caller, WaitingClient(Some(delivery)))
    }

    /// Runs work for the client.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Web>, Allowance) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (done, made) = oneshot::channel();
        let work = move |web: &Arc<Web>, allowance| {
            let _ = done.send(work(web, allowance));
        };
        Arc::clone(&self.web).on_thread(&self.delivery, work).await?;
        tokio::select! {
            made = made => made.map_err(|_| Problem::internal("the answer could not be made")),
            () = self.web.readers.stopping() => Err(Problem::refused(readers::Refusal::Cancelled)),
        }
    }
}

/// Runs a request; a panic still closes the response.
struct Making(Arc<Delivery>);

impl Drop for Making {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// A client waiting for the head of an answer. On drop, the client is gone.
#[derive(Debug)]
pub(crate) struct WaitingClient(Option<Arc<Delivery>>);

impl WaitingClient {
    pub(crate) fn end(mut self) {
        self.0 = None;
    }
}

impl Drop for WaitingClient {
    fn drop(&mut self) {
        if let Some(delivery) = &self.0 {
            delivery.leave();
        }
    }
}
