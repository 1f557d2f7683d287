//! `OTEL_TRACES_EXPORTER=console` writes each batch as one line of OTLP/JSON to standard output.

use std::io::Write as _;
use std::sync::{Arc, Mutex};

use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

use super::convert;
use crate::span::{Resource, json};

/// Writes spans for people to read, and for `spanbridge convert`.
#[derive(Debug, Default)]
pub(super) struct Console(Mutex<Arc<Resource>>);

impl SpanExporter for Console {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let resource = self.0.lock().map(|resource| Arc::clone(&resource)).unwrap_or_default();
        let spans: Vec<_> = batch.into_iter().filter_map(|data| convert::span(data, &resource)).collect();
        let line = json::spans(&spans).to_string();
        writeln!(std::io::stdout().lock(), "{line}").map_err(|error| OTelSdkError::InternalFailure(error.to_string()))
    }

    fn set_resource(&mut self, resource: &opentelemetry_sdk::Resource) {
        self.0 = Mutex::new(Arc::new(convert::resource(resource)));
    }
}
