//! Sets up the export of spans from the environment: [`init`], [`Setup`] and [`Guard`].

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{KeyValue, global};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, SpanExporter, SpanLimits, TracerProviderBuilder};
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::documents::{self, Attach, Inbox};
use super::env::{Env, bad};
use super::error::InitError;
use super::exit::Exit;
use super::open::OpenSpans;
use super::privacy::Privacy;
use super::scope::own_scope;
use super::span_layer::Layer;
use super::undelivered::{Undelivered, report_line};
use super::{composition, console, global as shared, otlp, panics, signal, spool};

/// Sends this program's spans to the destination named in the environment, until the guard is dropped.
///
/// The same as `Setup::from_env().init()`: an OTLP exporter behind a batch processor, and a global subscriber with only the Layer. To add
/// `fmt` or filters, [build](Setup::build) and compose.
///
/// ```no_run
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let _guard = spanbridge::init()?;
///     // the program
///     Ok(())
/// }
/// ```
///
/// # Errors
/// When the exporter cannot be built, or the program already has a global subscriber.
pub fn init() -> Result<Guard, InitError> {
    Setup::from_env().init()
}

/// The limits that [`Setup`] uses: none, unless `OTEL_ATTRIBUTE_COUNT_LIMIT`, `OTEL_{SPAN,EVENT,LINK}_ATTRIBUTE_COUNT_LIMIT` or
/// `OTEL_SPAN_{EVENT,LINK}_COUNT_LIMIT` are set.
#[must_use]
pub fn span_limits() -> SpanLimits {
    limits(&Env::process())
}

fn limits(env: &Env) -> SpanLimits {
    let limit = |name| env.number(name).unwrap_or(u32::MAX);
    let attributes = |name| env.number(name).unwrap_or_else(|| limit("OTEL_ATTRIBUTE_COUNT_LIMIT"));
    SpanLimits {
        max_attributes_per_span: attributes("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"),
        max_events_per_span: limit("OTEL_SPAN_EVENT_COUNT_LIMIT"),
        max_links_per_span: limit("OTEL_SPAN_LINK_COUNT_LIMIT"),
        max_attributes_per_event: attributes("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT"),
        max_attributes_per_link: attributes("OTEL_LINK_ATTRIBUTE_COUNT_LIMIT"),
    }
}

/// Configures in code where spans go.
///
/// ```
/// use spanbridge::layer::{Documents, Setup};
/// use tracing_subscriber::layer::SubscriberExt as _;
///
/// let guard = Setup::from_env()
///     .with_service_name("planner")
///     .without_otlp()
///     .with_documents(Documents::to_callback("openreward", |document| println!("{}", document.text))?)
///     .build()?;
/// let subscriber = tracing_subscriber::registry().with(guard.layer());
/// # drop(subscriber);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Setup {
    env: Env,
    service_name: Option<String>,
    resource: Vec<KeyValue>,
    otlp: bool,
    signals: bool,
    bound: Duration,
    privacy: Option<Privacy>,
    spool: Option<PathBuf>,
    exporters: Vec<Attach>,
    documents: Vec<(Inbox, Attach)>,
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("service_name", &self.service_name)
            .field("otlp", &self.otlp)
            .field("exporters", &self.exporters.len())
            .finish_non_exhaustive()
    }
}

impl Setup {
    /// Starts with the settings of the environment.
    #[must_use]
    pub fn from_env() -> Self {
        Self {
            env: Env::process(),
            service_name: None,
            resource: Vec::new(),
            otlp: true,
            signals: true,
            bound: Duration::from_secs(5),
            privacy: None,
            spool: None,
            exporters: Vec::new(),
            documents: Vec::new(),
        }
    }

    /// Sets `service.name`, unless the environment names the service.
    #[must_use]
    pub fn with_service_name(mut self, name: impl Into<String>) -> Self {
        self.service_name = Some(name.into());
        self
    }

    /// Adds an attribute to the resource.
    #[must_use]
    pub fn with_resource_attribute(mut self, attribute: KeyValue) -> Self {
        self.resource.push(attribute);
        self
    }

    /// Writes documents in the process. They include up to 65,536 spans that are still open when the guard is dropped or a signal ends the
    /// process, so runs that never end keep their roots.
    #[cfg(feature = "documents")]
    #[must_use]
    pub fn with_documents(mut self, documents: documents::Documents) -> Self {
        self.documents.push(documents.attached());
        self
    }

    /// Adds an exporter behind its own batch processor.
    #[must_use]
    pub fn with_exporter<E: SpanExporter + 'static>(mut self, exporter: E) -> Self {
        self.exporters.push(Box::new(|builder| builder.with_batch_exporter(exporter)));
        self
    }

    /// Disables OTLP, whatever `OTEL_TRACES_EXPORTER` says.
    #[must_use]
    pub fn without_otlp(mut self) -> Self {
        self.otlp = false;
        self
    }

    /// Keeps spans in this folder until OTLP has delivered them, and sends those left by earlier processes. The folder is limited to 256
    /// MiB; further spans are not kept, with a message. Records survive a crash of the process, but not of the machine.
    #[must_use]
    pub fn with_spool(mut self, folder: impl Into<PathBuf>) -> Self {
        self.spool = Some(folder.into());
        self
    }

    /// Does not handle SIGTERM and SIGINT (Ctrl-C). Use it if the program shuts down in order on these (`tokio::signal::ctrl_c`) but
    /// installs its handlers after the Layer; dropping the guard sends the spans too.
    #[must_use]
    pub fn without_signals(mut self) -> Self {
        self.signals = false;
        self
    }

    /// How long the guard and signals wait for spans to be sent; 5 seconds by default.
    #[must_use]
    pub fn with_flush_bound(mut self, bound: Duration) -> Self {
        self.bound = bound;
        self
    }

    /// Hides content by these rules instead of those in the environment.
    #[must_use]
    pub fn with_privacy(mut self, privacy: Privacy) -> Self {
        self.privacy = Some(privacy);
        self
    }

    /// Creates a provider and makes it the global one, without a subscriber: compose one with [`Guard::layer`].
    ///
    /// # Errors
    /// When the exporter cannot be built from the environment.
    pub fn build(self) -> Result<Guard, InitError> {
        let (guard, env, signals) = self.prepare()?;
        guard.install(&env, signals)?;
        Ok(guard)
    }

    /// Creates a provider without making it known to the process.
    fn prepare(self) -> Result<(Guard, Env, bool), InitError> {
        let env = self.env;
        let from_env = Privacy::of(&env);
        let privacy = match self.privacy {
            Some(privacy) => privacy.limited_as(Some(&from_env)),
            None => from_env,
        };
        if env.flag("OTEL_SDK_DISABLED") {
            return Ok((Guard { exit: None, privacy }, env, false));
        }
        let mut resource = Resource::builder().with_attributes(self.resource);
        if let (Some(name), false) = (self.service_name, named(&env)) {
            resource = resource.with_service_name(name);
        }
        let mut builder = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_span_limits(limits(&env));
        // Processors are shut down in this order, so a backend that hangs until the time limit costs no documents.
        let mut inboxes = Vec::new();
        for (inbox, attach) in self.documents.into_iter().chain(documents::of_env(&env)) {
            inboxes.push(inbox);
            builder = attach(builder);
        }
        let undelivered = Undelivered::default();
        if self.otlp {
            let spool = self.spool.or_else(|| env.text("SPANBRIDGE_SPOOL").map(PathBuf::from));
            builder = by_name(builder, &env, spool.as_deref(), &undelivered)?;
        }
        for attach in self.exporters {
            builder = attach(builder);
        }
        let exit = Exit::new(builder.build(), self.bound, inboxes, privacy.clone().shared(), undelivered);
        let guard = Guard { exit: Some(exit), privacy };
        Ok((guard, env, self.signals))
    }

    /// Like [`build`](Self::build), and also sets a global subscriber with only the Layer, filtered by `RUST_LOG` (levels by target, as
    /// [`Targets`] reads them; `info` by default).
    ///
    /// # Errors
    /// When the exporter cannot be built, or the program already has a global subscriber.
    pub fn init(self) -> Result<Guard, InitError> {
        let (guard, env, signals) = self.prepare()?;
        if guard.exit.is_some() {
            // First, before any other global is changed: a failed second `init` must leave the first one untouched.
            tracing_subscriber::registry()
                .with(guard.layer().with_filter(targets(&env)))
                .try_init()
                .map_err(|error| InitError::Subscriber(Box::new(error)))?;
        }
        guard.install(&env, signals)?;
        Ok(guard)
    }
}

fn named(env: &Env) -> bool {
    env.text("OTEL_SERVICE_NAME").is_some()
        || env
            .text("OTEL_RESOURCE_ATTRIBUTES")
            .is_some_and(|list| list.split(',').any(|pair| pair.trim_start().starts_with("service.name=")))
}

/// Adds the exporters named by `OTEL_TRACES_EXPORTER`.
fn by_name(
    mut builder: TracerProviderBuilder,
    env: &Env,
    spool: Option<&Path>,
    undelivered: &Undelivered,
) -> Result<TracerProviderBuilder, InitError> {
    let names = env.text("OTEL_TRACES_EXPORTER").unwrap_or_else(|| "otlp".to_owned());
    for name in names.split(',').map(|name| name.trim().to_ascii_lowercase()) {
        match name.as_str() {
            "otlp" => {
                let exporter = otlp::exporter(env)?;
                builder = match spool {
                    Some(folder) => builder.with_span_processor(spooling(folder, exporter, env)?),
                    None => builder.with_span_processor(undelivered.count(exporter, otlp::address(env), queue(env))),
                };
            }
            "console" | "logging" => builder = builder.with_simple_exporter(console::Console::default()),
            "none" | "" => {}
            _ => bad("OTEL_TRACES_EXPORTER", &name),
        }
    }
    Ok(builder)
}

/// Maximum number of spans waiting for the exporter.
fn queue(env: &Env) -> usize {
    let named = env.text("OTEL_BSP_MAX_QUEUE_SIZE").and_then(|size| size.parse().ok());
    named.filter(|size| *size > 0).unwrap_or(2_048)
}

/// Maximum size of the spool, including what earlier processes left.
const SPOOL_BYTES: u64 = 256 * 1024 * 1024;

fn spooling(folder: &Path, exporter: otlp::Exporter, env: &Env) -> Result<spool::Spooling, InitError> {
    let failed = |source| InitError::Io {
        what: "the crash spool",
        source,
    };
    let spool = Arc::new(spool::Spool::open(folder, SPOOL_BYTES).map_err(failed)?);
    let (earlier, env) = (Arc::clone(&spool), env.clone());
    let left = std::thread::Builder::new().name("spanbridge-spool".to_owned());
    let (done, wait) = std::sync::mpsc::channel();
    let left = left.spawn(move || {
        earlier.send_leftovers(|| otlp::exporter(&env).ok());
        let _ = done.send(());
    });
    left.map_err(failed)?;
    Ok(spool::Spooling::new(&spool, exporter, wait))
}

fn propagate(env: &Env) {
    use opentelemetry::propagation::{TextMapCompositePropagator, TextMapPropagator};
    let names = env.text("OTEL_PROPAGATORS").unwrap_or_else(|| "tracecontext,baggage".to_owned());
    let mut list: Vec<Box<dyn TextMapPropagator + Send + Sync>> = Vec::new();
    for name in names.split(',').map(|name| name.trim().to_ascii_lowercase()) {
        match name.as_str() {
            "tracecontext" => list.push(Box::new(TraceContextPropagator::new())),
            "baggage" => list.push(Box::new(BaggagePropagator::new())),
            "none" | "" => {}
            _ => bad("OTEL_PROPAGATORS", &name),
        }
    }
    global::set_text_map_propagator(TextMapCompositePropagator::new(list));
}

fn targets(env: &Env) -> Targets {
    let from_env = env.text("RUST_LOG").and_then(|text| {
        let targets = text.parse::<Targets>();
        if targets.is_err() {
            bad("RUST_LOG", &text);
        }
        targets.ok()
    });
    // Crates that transport spans must not create any.
    [
        "h2",
        "hyper",
        "hyper_util",
        "opentelemetry",
        "reqwest",
        "rustls",
        "tonic",
        "tower",
        "ureq",
    ]
    .iter()
    .fold(
        from_env.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO)),
        |targets, name| targets.with_target(*name, LevelFilter::OFF),
    )
}

/// Flushes when dropped, within a time limit. Keep it until the program ends.
#[must_use = "spans stop leaving when the guard is dropped"]
pub struct Guard {
    /// `None` if `OTEL_SDK_DISABLED` is set.
    exit: Option<Exit>,
    privacy: Privacy,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("exit", &self.exit).finish_non_exhaustive()
    }
}

impl Guard {
    /// Makes the provider the global one and installs the panic and signal handlers.
    fn install(&self, env: &Env, signals: bool) -> Result<(), InitError> {
        let Some(exit) = &self.exit else { return Ok(()) };
        propagate(env);
        shared::continue_from(env);
        shared::set(exit.provider.clone());
        panics::listen();
        let failed = |source| InitError::Io {
            what: "the watch for the first spans",
            source,
        };
        composition::watch(composition::FIRST_SPANS, |missing| report_line(format_args!("{missing}"))).map_err(failed)?;
        if signals {
            signal::leave_on_signals(exit)?;
        }
        Ok(())
    }

    /// A layer that sends its spans to this guard's provider.
    #[must_use]
    pub fn layer<S>(&self) -> Layer<S, SdkTracer>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let provider = self.provider().cloned().unwrap_or_else(|| {
            let none = SdkTracerProvider::builder().with_sampler(opentelemetry_sdk::trace::Sampler::AlwaysOff);
            none.build()
        });
        let open = self.exit.as_ref().and_then(|exit| exit.watch(OpenSpans::default));
        let tracer = provider.tracer_with_scope(own_scope());
        Layer::ours(tracer, self.privacy.clone().shared(), open)
    }

    /// The provider, for code that uses OpenTelemetry's own API; `None` if `OTEL_SDK_DISABLED` is set.
    #[must_use]
    pub fn provider(&self) -> Option<&SdkTracerProvider> {
        self.exit.as_ref().map(|exit| &exit.provider)
    }

    /// Sends the spans ended so far; returns whether all were sent within the time limit.
    pub fn flush(&self) -> bool {
        self.exit.as_ref().is_none_or(Exit::flush)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.exit.as_ref().is_some_and(|exit| !exit.shut_down()) {
            tracing::debug!(target: "spanbridge", "not every span left in time");
        }
    }
}
