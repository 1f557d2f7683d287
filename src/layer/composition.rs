//! Detects filters that keep all spans from the Layer, and a tracing-opentelemetry layer that would export them twice.

use std::any::type_name;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use opentelemetry_sdk::trace::SdkTracer;
use tracing::level_filters::LevelFilter;
use tracing::{Dispatch, Level, Metadata, Subscriber};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::layer::Layered;
use tracing_subscriber::registry::LookupSpan;

use super::span_layer::Layer;
use super::undelivered::report_line;

/// How long a program may take to open its first span.
pub(super) const FIRST_SPANS: Duration = Duration::from_secs(60);

/// The spans that the Layers of this process received.
pub(super) static PROCESS: Seen = Seen::new();

/// Counts what the Layers received and what a filter kept from them.
#[derive(Debug)]
pub(super) struct Seen {
    has_spans: AtomicBool,
    /// Number of callsites that create spans of level INFO or above.
    places: AtomicUsize,
}

impl Seen {
    const fn new() -> Self {
        Self {
            has_spans: AtomicBool::new(false),
            places: AtomicUsize::new(0),
        }
    }

    pub(super) fn place(&self, metadata: &Metadata<'_>) {
        if metadata.is_span() && *metadata.level() <= Level::INFO {
            self.places.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn span(&self) {
        if !self.has_spans.load(Ordering::Relaxed) {
            self.has_spans.store(true, Ordering::Relaxed);
        }
    }

    /// Explains which filter kept all spans from the Layers, if one did. `most` is the most verbose level that all filters let through.
    fn missing(&self, most: LevelFilter) -> Option<String> {
        if self.has_spans.load(Ordering::Relaxed) {
            return None;
        }
        const ADVICE: &str = "give the Layer a filter of its own: `guard.layer().with_filter(LevelFilter::INFO)`";
        let places = self.places.load(Ordering::Relaxed);
        match most {
            LevelFilter::OFF => Some("no span has reached the Layer: there is no subscriber with `guard.layer()`".to_owned()),
            _ if most < LevelFilter::INFO => Some(format!(
                "no span has reached the Layer: the filters of the subscriber let only level {most} through. Set RUST_LOG=info, or {ADVICE}"
            )),
            _ if places > 0 => Some(format!(
                "no span has reached the Layer: a filter of the subscriber keeps out all spans, made in {places} places of the program. Name their targets in RUST_LOG, or {ADVICE}"
            )),
            _ => None,
        }
    }
}

/// Reports after `wait` that no span has reached a Layer, if a filter is the reason. Only one thread per process waits for that.
pub(super) fn watch(wait: Duration, report: impl FnOnce(&str) + Send + 'static) -> std::io::Result<()> {
    static IS_WATCHED: AtomicBool = AtomicBool::new(false);
    if IS_WATCHED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let watch = std::thread::Builder::new().name("spanbridge-first-spans".to_owned());
    let watched = watch.spawn(move || {
        std::thread::sleep(wait);
        if let Some(missing) = PROCESS.missing(LevelFilter::current()) {
            report(&missing);
        }
    });
    watched.map(drop)
}

/// Whether a tracing-opentelemetry layer is below the Layer or directly above it. A boxed one is not found.
pub(super) fn has_other_layer<S, T>(dispatch: &Dispatch) -> bool
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    T: 'static,
{
    type Above<S, T> = OpenTelemetryLayer<Layered<Layer<S, T>, S>, SdkTracer>;
    type_name::<S>().contains("::OpenTelemetryLayer<") || dispatch.downcast_ref::<Above<S, T>>().is_some()
}

/// Warns once about such a layer.
pub(super) fn report_other_layer() {
    static IS_REPORTED: AtomicBool = AtomicBool::new(false);
    if !IS_REPORTED.swap(true, Ordering::Relaxed) {
        report_line(format_args!(
            "the subscriber also has a layer of tracing-opentelemetry, so spans may be exported twice. Remove that layer: \
             `OpenTelemetrySpanExt` works with this one alone"
        ));
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn a_filter_that_keeps_all_spans_out_is_named() {
        let seen = Seen::new();
        assert_eq!(seen.missing(LevelFilter::INFO), None, "an idle program");
        let missing = |seen: &Seen, most| seen.missing(most).unwrap_or_default();
        assert!(missing(&seen, LevelFilter::OFF).contains("there is no subscriber"));
        assert!(missing(&seen, LevelFilter::ERROR).contains("only level error through"));
        seen.places.fetch_add(2, Ordering::Relaxed);
        assert!(missing(&seen, LevelFilter::INFO).contains("made in 2 places"));
        seen.span();
        assert_eq!(seen.missing(LevelFilter::ERROR), None);
    }

    fn other<S>() -> OpenTelemetryLayer<S, SdkTracer>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        tracing_opentelemetry::layer().with_tracer(SdkTracerProvider::builder().build().tracer("test"))
    }

    fn is_found<S>(below: S, top: impl FnOnce(Layered<Layer<S, SdkTracer>, S>) -> Dispatch) -> bool
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        let tracer = SdkTracerProvider::builder().build().tracer("test");
        let dispatch = top(below.with(crate::layer().with_tracer(tracer)));
        has_other_layer::<S, SdkTracer>(&dispatch)
    }

    #[test]
    fn a_layer_of_tracing_opentelemetry_is_found_in_any_order() {
        let registry = tracing_subscriber::registry;
        assert!(!is_found(registry(), Dispatch::new));
        assert!(!is_found(registry().with(LevelFilter::INFO), Dispatch::new));
        assert!(is_found(registry().with(other()).with(LevelFilter::INFO), Dispatch::new));
        assert!(is_found(registry(), |ours| Dispatch::new(ours.with(other()))));
    }
}
