//! Counts spans that OTLP did not deliver. They are reported on standard error at the end, since the program may have no subscriber that
//! shows warnings.

use std::cell::RefCell;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry::trace::SpanContext;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, Span as SdkSpan, SpanData, SpanExporter, SpanProcessor};

use super::parts;

/// Counts of ended, delivered and dropped spans, and the reason of the latest failure.
#[derive(Debug, Clone, Default)]
pub(super) struct Undelivered(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    ended: AtomicUsize,
    delivered: AtomicUsize,
    /// Spans waiting for the exporter.
    queued: AtomicUsize,
    /// Spans dropped because the queue was full.
    dropped: AtomicUsize,
    failure: Mutex<Option<String>>,
    address: Mutex<String>,
}

/// Writes a line to standard error and ignores failures, which are not the program's concern.
pub(super) fn report_line(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "spanbridge: {line}");
}

impl Undelivered {
    /// Counts the exporter's deliveries to an address, and reports missing ones when the program ends at the latest.
    pub(super) fn count<E: SpanExporter + 'static>(&self, exporter: E, address: String, queue: usize) -> Counted {
        *self.0.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
        AtExit::watch(self);
        let exporter = CountingExporter {
            inner: exporter,
            undelivered: self.clone(),
        };
        let config = BatchConfigBuilder::default().with_max_queue_size(queue).build();
        Counted {
            inner: BatchSpanProcessor::builder(exporter).with_batch_config(config).build(),
            undelivered: self.clone(),
            queue,
        }
    }

    /// Reports spans that the queue dropped. Returns the number of other undelivered spans, for a single report; `None` if there are none.
    fn take(&self) -> Option<usize> {
        let delivered = self.0.delivered.swap(0, Ordering::Relaxed);
        let dropped = self.0.dropped.swap(0, Ordering::Relaxed);
        let spans = self.0.ended.swap(0, Ordering::Relaxed).saturating_sub(delivered + dropped);
        if dropped > 0 {
            report_line(format_args!(
                "{dropped} span{} dropped: they ended faster than they could be sent, and the queue was full (OTEL_BSP_MAX_QUEUE_SIZE)",
                plural(dropped)
            ));
        }
        (spans > 0).then_some(spans)
    }

    /// Reports undelivered spans once; `within` is the time limit that applied.
    pub(super) fn report(&self, within: Duration) {
        let Some(spans) = self.take() else { return };
        let counts = &self.0;
        let plural = plural(spans);
        let address = counts.address.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(reason) => report_line(format_args!(
                "{spans} span{plural} not sent: {address}: {reason}{}",
                advice(&address, &reason)
            )),
            None => report_line(format_args!(
                "{spans} span{plural} not sent: {address} did not answer within {within:?}{}",
                advice(&address, "")
            )),
        }
    }
}

fn plural(spans: usize) -> &'static str {
    if spans == 1 { " was" } else { "s were" }
}

thread_local! {
    static AT_EXIT: RefCell<Vec<AtExit>> = const { RefCell::new(Vec::new()) };
}

/// Reports when the main thread ends, in case the guard was leaked or `exit` was called.
struct AtExit(Weak<Counts>);

impl AtExit {
    /// Registers a report for the end of the program, if this is the main thread; the end of another thread says nothing.
    fn watch(undelivered: &Undelivered) {
        if std::thread::current().name() == Some("main") {
            let _ = AT_EXIT.try_with(|list| {
                let mut list = list.try_borrow_mut().ok()?;
                list.retain(|known| known.0.strong_count() > 0);
                list.push(Self(Arc::downgrade(&undelivered.0)));
                Some(())
            });
        }
    }
}

impl Drop for AtExit {
    fn drop(&mut self) {
        if let Some(spans) = self.0.upgrade().and_then(|counts| Undelivered(counts).take()) {
            report_line(format_args!(
                "{spans} span{} not sent: the guard of spanbridge::init() was never dropped; keep it in a variable of main",
                plural(spans)
            ));
        }
    }
}

/// Guesses what is wrong with an address that refused spans for this reason.
fn advice(address: &str, reason: &str) -> &'static str {
    let authority = address.split_once("://").map_or(address, |(_, rest)| rest);
    let port = authority
        .split('/')
        .next()
        .and_then(|host| host.rsplit_once(':'))
        .map(|(_, port)| port);
    match port {
        _ if !address.contains("://") => " (the address has no scheme: write http:// or https:// before it)",
        Some("4319") => " (4319 is the port of spanbridge's API; it receives OTLP over HTTP on 4318, over gRPC on 4317)",
        Some("4317") if authority.contains("/v1/") => {
            " (4317 is usually the port of OTLP over gRPC; OTLP over HTTP is on 4318, or set OTEL_EXPORTER_OTLP_PROTOCOL=grpc)"
        }
        Some("4318") if !authority.contains("/v1/") => " (4318 is usually the port of OTLP over HTTP; OTLP over gRPC is on 4317)",
        _ if ["404", "405"]
            .iter()
            .any(|status| reason.contains(&format!("status code: {status}"))) =>
        {
            " (no OTLP receiver is at this address: correct its port or its path)"
        }
        _ if reason.contains("network error") => " (is something listening there?)",
        _ => "",
    }
}

/// A batch processor that counts its spans.
#[derive(Debug)]
pub(super) struct Counted {
    inner: BatchSpanProcessor,
    undelivered: Undelivered,
    /// Maximum number of spans in the queue.
    queue: usize,
}

impl SpanProcessor for Counted {
    fn on_start(&self, span: &mut SdkSpan, context: &Context) {
        self.inner.on_start(span, context);
    }

    fn on_end(&self, data: SpanData) {
        if data.span_context.is_sampled() {
            let counts = &self.undelivered.0;
            counts.ended.fetch_add(1, Ordering::Relaxed);
            // The processor would drop it too, but silently.
            if counts.queued.fetch_add(1, Ordering::Relaxed) >= self.queue {
                counts.queued.fetch_sub(1, Ordering::Relaxed);
                counts.dropped.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
        self.inner.on_end(data);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

/// An exporter that counts delivered spans.
#[derive(Debug)]
struct CountingExporter<E> {
    inner: E,
    undelivered: Undelivered,
}

impl<E: SpanExporter> SpanExporter for CountingExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let counts = &self.undelivered.0;
        counts.queued.fetch_sub(batch.len(), Ordering::Relaxed);
        let sent = |part: Vec<()>| {
            counts.delivered.fetch_add(part.len(), Ordering::Relaxed);
        };
        let result = parts::export(&self.inner, batch, |_| (), sent).await;
        if let Err(error) = &result {
            *counts.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

/// Whether a guard of this process was dropped.
static ENDED: AtomicBool = AtomicBool::new(false);

/// From now on, reports spans of a provider that was shut down.
pub(super) fn guard_dropped() {
    ENDED.store(true, Ordering::Relaxed);
}

/// Reports once that spans are created after the guard was dropped. `context` belongs to a span that is not recorded: a provider that was
/// shut down gives it no ids.
pub(super) fn check_not_recorded(context: &SpanContext) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if ENDED.load(Ordering::Relaxed) && !context.is_valid() && !REPORTED.swap(true, Ordering::Relaxed) {
        report_line(format_args!(
            "spans made after the guard of spanbridge::init() was dropped are not sent: keep the guard until the program ends"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::advice;

    #[test]
    fn advice_names_what_is_wrong_with_an_address() {
        for (address, reason, expected) in [
            ("127.0.0.1:4318", "", "scheme"),
            ("http://127.0.0.1:4319/v1/traces", "", "API"),
            ("http://localhost:4317/v1/traces", "", "gRPC"),
            ("http://localhost:4318", "", "over HTTP"),
            (
                "http://localhost:14319/v1/traces",
                "HTTP export failed with status code: 405",
                "no OTLP receiver",
            ),
            ("http://localhost:4318/v1/traces", "HTTP export failed: network error", "listening"),
        ] {
            assert!(advice(address, reason).contains(expected), "{address} {reason}");
        }
        assert_eq!(advice("http://localhost:4318/v1/traces", ""), "");
        assert_eq!(
            advice("https://collector.example/v1/traces", "HTTP export failed with status code: 500"),
            ""
        );
    }
}
