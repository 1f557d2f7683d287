//! In-process documents: an exporter that assembles finished runs and writes documents to a sink, without a server.

use std::fmt;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter, TracerProviderBuilder};

use super::collect::{Collector, Limits};
use super::convert;
use super::env::Env;
use super::private;
use super::run_document::{RunDocument, RunSnapshot};
use super::sink::{self, Sink};
use super::undelivered::report_line;
use crate::documents::{self, UnknownFormat};
use crate::formats::{AnyFormat, Options};

/// Why a [`Documents`] exporter cannot be created.
#[derive(Debug)]
#[non_exhaustive]
pub enum DocumentsError {
    /// No format has this name.
    Format(String),
    /// The folder or file cannot be created.
    Sink {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

impl fmt::Display for DocumentsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(name) => UnknownFormat(name.clone()).fmt(f),
            Self::Sink { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl std::error::Error for DocumentsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Format(_) => None,
            Self::Sink { source, .. } => Some(source),
        }
    }
}

/// A [`SpanExporter`] that writes documents of finished runs on a separate thread.
///
/// A run is finished once its root has ended and none of its spans has arrived for a while ([`with_quiet`](Self::with_quiet));
/// [`flush`](opentelemetry_sdk::trace::SdkTracerProvider::force_flush) does not wait for that. Shutdown writes every run and marks
/// unfinished ones as such. With [`Setup::with_documents`](super::Setup::with_documents), those include the spans that are still open, as
/// far as they are known.
///
/// ```
/// use opentelemetry::KeyValue;
/// use spanbridge::layer::{Documents, Setup};
/// use tracing_subscriber::layer::SubscriberExt as _;
///
/// # let temporary = tempfile::tempdir()?;
/// # let folder = temporary.path();
/// let documents = Documents::to_directory("contextforge", folder.join("runs"))?.with_memory(10_000, 64 << 20);
/// let guard = Setup::from_env()
///     .without_otlp()
///     .with_resource_attribute(KeyValue::new("deployment.environment.name", "trial"))
///     .with_documents(documents)
///     .with_exporter(Documents::to_file("reflex", folder.join("runs.jsonl"))?)
///     .build()?;
/// // Without this, `tracing` events become events of the span.
/// let layer = guard.layer().with_events(false);
/// tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
///     let _call = tracing::info_span!("weather", step_type = "tool_call", tool_name = "weather").entered();
///     tracing::info!("a detail");
/// });
/// drop(guard); // writes what is still to be written
///
/// let file = std::fs::read_dir(folder.join("runs"))?.next().expect("one file a run")?;
/// let document = std::fs::read_to_string(file.path())?;
/// assert!(document.contains(r#""tool_name": "weather""#) && document.contains("trial"), "{document}");
/// assert!(!document.contains("a detail"), "{document}");
/// assert_eq!(std::fs::read_to_string(folder.join("runs.jsonl"))?.lines().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Documents {
    inbox: Inbox,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents").finish_non_exhaustive()
    }
}

/// Sends orders to the thread of a [`Documents`].
pub(super) type Inbox = SyncSender<Order>;

pub(super) enum Order {
    /// Spans that have ended.
    Spans(Vec<SpanData>),
    /// Spans still open when the program ends; only `Stop` follows.
    Open(Vec<SpanData>),
    Tune(Box<dyn FnOnce(&mut Collector) + Send>),
    Flush(SyncSender<()>),
    Stop(SyncSender<()>),
}

/// Attaches an exporter to a provider.
pub(super) type Attach = Box<dyn FnOnce(TracerProviderBuilder) -> TracerProviderBuilder + Send>;

/// The exporter requested by the environment, for one or more comma-separated formats.
pub(super) fn of_env(env: &Env) -> Option<(Inbox, Attach)> {
    let documents = match (env.text("SPANBRIDGE_DOCUMENTS"), env.text("SPANBRIDGE_FORMAT")) {
        (Some(folder), Some(formats)) => Documents::to_directory_of(formats.split(',').map(str::trim), folder)
            .inspect_err(|error: &DocumentsError| report_line(format_args!("no documents are written: {error}")))
            .ok(),
        (Some(_), None) => {
            report_line(format_args!(
                "no documents are written: SPANBRIDGE_DOCUMENTS needs SPANBRIDGE_FORMAT, for example atif"
            ));
            None
        }
        (None, Some(_)) => {
            report_line(format_args!(
                "no documents are written: SPANBRIDGE_FORMAT needs SPANBRIDGE_DOCUMENTS, a folder"
            ));
            None
        }
        (None, None) => None,
    };
    documents.map(Documents::attached)
}

impl Documents {
    /// Writes documents as indented files `<trace id>.<format>.json` in a folder, and replaces them if late spans change them.
    ///
    /// # Errors
    /// When the format does not exist, or the folder cannot be created.
    pub fn to_directory(format: &str, folder: impl Into<PathBuf>) -> Result<Self, DocumentsError> {
        Self::to_directory_of([format], folder)
    }

    pub(super) fn to_directory_of<'a>(
        names: impl IntoIterator<Item = &'a str>,
        folder: impl Into<PathBuf>,
    ) -> Result<Self, DocumentsError> {
        let formats = names.into_iter().map(known).collect::<Result<Vec<_>, _>>()?;
        let folder = folder.into();
        private::make_folders(&folder).map_err(|source| DocumentsError::Sink {
            path: folder.clone(),
            source,
        })?;
        Ok(Self::start(formats, sink::directory(folder)))
    }

    /// Appends documents to a file, one per line.
    ///
    /// # Errors
    /// When the format does not exist, or the file cannot be opened.
    pub fn to_file(format: &str, path: impl Into<PathBuf>) -> Result<Self, DocumentsError> {
        let format = known(format)?;
        let path = path.into();
        let file = private::options().create(true).append(true).open(&path);
        let file = file.map_err(|source| DocumentsError::Sink {
            path: path.clone(),
            source,
        })?;
        Ok(Self::start(vec![format], sink::lines(path, file)))
    }

    /// Passes documents to a function. If the function panics, only that document is lost.
    ///
    /// # Errors
    /// When the format does not exist.
    pub fn to_callback(format: &str, callback: impl FnMut(&RunDocument) + Send + 'static) -> Result<Self, DocumentsError> {
        Ok(Self::start(vec![known(format)?], sink::callback(callback)))
    }

    /// Passes runs to a function, for a format of your own or anything else that needs no document. If the function panics, only that run
    /// is lost. [`and_format`](Self::and_format) and [`with_options`](Self::with_options) have no effect here.
    ///
    /// ```
    /// use spanbridge::layer::{Documents, Setup};
    ///
    /// let runs = Documents::to_runs(|snapshot| {
    ///     println!("{}: {} steps", snapshot.trace_id, snapshot.run.steps.len());
    /// });
    /// let guard = Setup::from_env().without_otlp().with_documents(runs).build()?;
    /// # drop(guard);
    /// # Ok::<(), spanbridge::layer::InitError>(())
    /// ```
    #[must_use]
    pub fn to_runs(callback: impl FnMut(&RunSnapshot<'_>) + Send + 'static) -> Self {
        Self::start(Vec::new(), sink::runs(callback))
    }

    fn start(formats: Vec<&'static AnyFormat>, sink: Sink) -> Self {
        // Bounded, so that the batch processor slows down instead of memory growing while documents are written.
        let (inbox, orders) = mpsc::sync_channel(4);
        let thread = std::thread::Builder::new()
            .name("spanbridge-documents".to_owned())
            .spawn(move || work(&orders, &mut Collector::new(formats, sink)));
        if let Err(error) = &thread {
            tracing::error!(target: "spanbridge", "no thread for documents: {error}");
        }
        Self {
            inbox,
            thread: Mutex::new(thread.ok()),
        }
    }

    /// Its inbox, and a function that attaches it to a provider.
    pub(super) fn attached(self) -> (Inbox, Attach) {
        (self.inbox(), Box::new(|builder| builder.with_batch_exporter(self)))
    }

    pub(super) fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }

    fn tuned(self, change: impl FnOnce(&mut Collector) + Send + 'static) -> Self {
        let _ = self.inbox.send(Order::Tune(Box::new(change)));
        self
    }

    /// Adds a format for the same sink.
    ///
    /// # Errors
    /// When the format does not exist.
    pub fn and_format(self, format: &str) -> Result<Self, DocumentsError> {
        let format = known(format)?;
        Ok(self.tuned(move |collector| collector.formats.push(format)))
    }

    /// Options of the formats, by `<format>.<name>`.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        self.tuned(move |collector| collector.options = options)
    }

    /// How long to wait for late spans once a run's root has ended; 250 milliseconds by default.
    #[must_use]
    pub fn with_quiet(self, quiet: Duration) -> Self {
        self.tuned(move |collector| collector.limits.quiet = quiet)
    }

    /// Maximum number of spans kept, and their approximate size in bytes (100,000 and 256 MiB by default). Beyond that, the run that has
    /// been quiet longest is written, as unfinished if its root has not ended.
    #[must_use]
    pub fn with_memory(self, spans: usize, bytes: usize) -> Self {
        self.tuned(move |collector| {
            let quiet = collector.limits.quiet;
            collector.limits = Limits { quiet, spans, bytes };
        })
    }

    fn ask(&self, order: impl FnOnce(SyncSender<()>) -> Order, timeout: Duration) -> OTelSdkResult {
        let (done, wait) = mpsc::sync_channel(1);
        if self.inbox.send(order(done)).is_err() {
            return Err(OTelSdkError::AlreadyShutdown);
        }
        wait.recv_timeout(timeout).map_err(|_| OTelSdkError::Timeout(timeout))
    }
}

fn known(name: &str) -> Result<&'static AnyFormat, DocumentsError> {
    documents::format(name).map_err(|UnknownFormat(name)| DocumentsError::Format(name))
}

impl SpanExporter for Documents {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.inbox.send(Order::Spans(batch)).map_err(|_| OTelSdkError::AlreadyShutdown)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.ask(Order::Flush, Duration::from_secs(5))
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.ask(Order::Stop, timeout)?;
        if let Some(thread) = self.thread.lock().ok().and_then(|mut thread| thread.take()) {
            let _ = thread.join();
        }
        Ok(())
    }

    fn set_resource(&mut self, resource: &opentelemetry_sdk::Resource) {
        let resource = Arc::new(convert::resource(resource));
        let _ = self
            .inbox
            .send(Order::Tune(Box::new(move |collector| collector.resource = resource)));
    }
}

fn work(orders: &Receiver<Order>, collector: &mut Collector) {
    loop {
        let wait = collector.next_due(Instant::now()).unwrap_or(Duration::from_secs(3600));
        match orders.recv_timeout(wait) {
            Ok(Order::Spans(batch)) => {
                let resource = Arc::clone(&collector.resource);
                let spans = batch.into_iter().filter_map(|data| convert::span(data, &resource));
                collector.take(spans, Instant::now());
            }
            Ok(Order::Open(spans)) => {
                let resource = Arc::clone(&collector.resource);
                collector.take_open(spans.into_iter().filter_map(|data| convert::span(data, &resource)), Instant::now());
            }
            Ok(Order::Tune(change)) => change(collector),
            Ok(Order::Flush(done)) => {
                collector.write_finished();
                let _ = done.send(());
            }
            Ok(Order::Stop(done)) => {
                collector.write_all();
                let _ = done.send(());
                return;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                collector.write_all();
                return;
            }
        }
        collector.write_due(Instant::now());
    }
}
