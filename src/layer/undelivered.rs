//! Spans that OTLP did not deliver. The program may have no subscriber that shows warnings, so they are reported on standard
//! error when it ends.

use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// How many spans were not delivered, and why the last of them were not.
#[derive(Debug, Clone, Default)]
pub(super) struct Undelivered(Arc<Mutex<Option<Failed>>>);

#[derive(Debug)]
struct Failed {
    spans: usize,
    reason: String,
}

impl Undelivered {
    fn add(&self, spans: usize, reason: String) {
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = failed.as_ref().map_or(0, |failed| failed.spans);
        *failed = Some(Failed {
            spans: before + spans,
            reason,
        });
    }

    /// Reports them, once.
    pub(super) fn report(&self) {
        let failed = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Failed { spans, reason }) = failed {
            let plural = if spans == 1 { " was" } else { "s were" };
            // Whether standard error can be written is not the program's concern at its end.
            let _ = writeln!(std::io::stderr(), "spanbridge: {spans} span{plural} not sent: {reason}");
        }
    }
}

/// An exporter that counts what it could not deliver.
#[derive(Debug)]
pub(super) struct Counting<E> {
    inner: E,
    undelivered: Undelivered,
}

impl<E> Counting<E> {
    pub(super) fn new(inner: E, undelivered: Undelivered) -> Self {
        Self { inner, undelivered }
    }
}

impl<E: SpanExporter> SpanExporter for Counting<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let result = self.inner.export(batch).await;
        if let Err(error) = &result {
            self.undelivered.add(spans, error.to_string());
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
