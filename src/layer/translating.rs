//! Translates spans of any instrumentation to the vocabulary of a backend.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::Status;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

use super::convert;
use super::words::words;
use crate::dialect::translate::{Becomes, Translator};
use crate::dialect::write::Vocabulary;
use crate::span::Resource;

/// A [`SpanExporter`] that adds each span's attributes in another vocabulary and passes the span to an inner exporter. It does not need
/// `tracing`: it works with any instrumentation for `opentelemetry_sdk`.
///
/// The span's own attributes stay unchanged. Missing keys of the vocabulary are added, as in forwarding; a failure found only in attributes
/// becomes the status. Spans that are not agent operations pass unchanged.
///
/// ```no_run
/// use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
/// use opentelemetry_sdk::trace::SdkTracerProvider;
/// use spanbridge::dialect::write::Vocabulary;
/// use spanbridge::layer::Translating;
///
/// let phoenix = SpanExporter::builder().with_http().with_endpoint("http://localhost:6006/v1/traces").build()?;
/// let exporter = Translating::new(phoenix, Vocabulary::OpenInference);
/// let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).build();
/// # drop(provider);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Translating<E> {
    inner: E,
    translator: Translator,
    resource: Arc<Resource>,
}

impl<E: SpanExporter> Translating<E> {
    /// Translates into `vocabulary`, then exports with `inner`.
    #[must_use]
    pub fn new(inner: E, vocabulary: Vocabulary) -> Self {
        Self {
            inner,
            translator: Translator::new(vocabulary),
            resource: Arc::default(),
        }
    }

    fn translated(&self, mut data: SpanData) -> SpanData {
        let Some(mut span) = convert::span(data.clone(), &self.resource) else {
            return data;
        };
        let (had, code) = (span.attributes.0.len(), span.status.code);
        if self.translator.translate(words().registry(), &mut span, &[]) == Becomes::Changed {
            let added = span.attributes.iter().skip(had);
            data.attributes
                .extend(added.map(|(key, value)| KeyValue::new(key.clone(), convert::sdk_value(value))));
            if span.status.code != code {
                data.status = Status::error(span.status.message);
            }
        }
        data
    }
}

impl<E: SpanExporter> SpanExporter for Translating<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let batch = batch.into_iter().map(|data| self.translated(data)).collect();
        self.inner.export(batch).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &opentelemetry_sdk::Resource) {
        self.resource = Arc::new(convert::resource(resource));
        self.inner.set_resource(resource);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use std::sync::Mutex;

    use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
    use opentelemetry_sdk::trace::SdkTracerProvider;

    use super::*;

    #[derive(Debug, Clone, Default)]
    struct Kept(Arc<Mutex<Vec<SpanData>>>);

    impl SpanExporter for Kept {
        async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
            self.0.lock().unwrap().extend(batch);
            Ok(())
        }
    }

    /// What a backend gets of a span with these attributes.
    fn received(vocabulary: Vocabulary, attributes: Vec<KeyValue>) -> SpanData {
        let kept = Kept::default();
        let provider = SdkTracerProvider::builder()
            .with_simple_exporter(Translating::new(kept.clone(), vocabulary))
            .build();
        provider
            .tracer("agent")
            .span_builder("work")
            .with_attributes(attributes)
            .start(&provider.tracer("agent"))
            .end();
        let mut spans = kept.0.lock().unwrap();
        assert_eq!(spans.len(), 1);
        spans.remove(0)
    }

    fn text(span: &SpanData, key: &str) -> Option<String> {
        let pair = span.attributes.iter().find(|pair| pair.key.as_str() == key)?;
        Some(pair.value.to_string())
    }

    #[test]
    fn what_a_span_has_stays_and_what_a_backend_reads_is_added() {
        let own = vec![
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("gen_ai.tool.name", "weather"),
            KeyValue::new("gen_ai.tool.call.result", "-3 C"),
            KeyValue::new("error.type", "timeout"),
        ];
        let span = received(Vocabulary::OpenInference, own.clone());
        assert_eq!(span.attributes.get(..own.len()), Some(&own[..]));
        assert_eq!(text(&span, "openinference.span.kind").as_deref(), Some("TOOL"));
        assert_eq!(text(&span, "tool.name").as_deref(), Some("weather"));
        assert_eq!(text(&span, "output.value").as_deref(), Some("-3 C"));
        assert!(matches!(span.status, Status::Error { .. }), "{:?}", span.status);
    }

    #[test]
    fn a_span_that_is_no_operation_stays_as_it_is() {
        let own = vec![KeyValue::new("http.request.method", "GET"), KeyValue::new("url.path", "/")];
        let span = received(Vocabulary::Both, own.clone());
        assert_eq!((span.attributes, span.status), (own, Status::Unset));
    }
}
