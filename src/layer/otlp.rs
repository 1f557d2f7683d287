//! The OTLP exporter configured by the environment.

use std::collections::HashMap;

use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};

use super::env::{Env, bad};
use super::error::InitError;
use super::http::Client;

/// Builds the exporter from `OTEL_EXPORTER_OTLP_*`, or from Phoenix's own variables if those are not set.
pub(super) fn exporter(env: &Env) -> Result<Exporter, InitError> {
    let names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
    let protocol = match env.first(&names).map(|word| word.to_ascii_lowercase()).as_deref() {
        Some("grpc") => return grpc(env),
        Some("http/json") => Protocol::HttpJson,
        Some("http/protobuf") | None => Protocol::HttpBinary,
        Some(other) => {
            bad("OTEL_EXPORTER_OTLP_PROTOCOL", other);
            Protocol::HttpBinary
        }
    };
    let mut builder = SpanExporter::builder()
        .with_http()
        .with_protocol(protocol)
        .with_http_client(Client::of(env)?);
    if let Some(endpoint) = phoenix(env) {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(key) = env.text("PHOENIX_API_KEY") {
        builder = builder.with_headers(HashMap::from([("authorization".to_owned(), format!("Bearer {key}"))]));
    }
    builder.build().map(Exporter::Http).map_err(InitError::Exporter)
}

/// Phoenix's endpoint, if the OTLP variables set none.
fn phoenix(env: &Env) -> Option<String> {
    if env
        .first(&["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"])
        .is_some()
    {
        return None;
    }
    let endpoint = env.text("PHOENIX_COLLECTOR_ENDPOINT")?;
    let base = endpoint.trim_end_matches('/');
    let path = if base.ends_with("/v1/traces") { "" } else { "/v1/traces" };
    Some(format!("{base}{path}"))
}

/// The address spans are sent to, for messages.
pub(super) fn address(env: &Env) -> String {
    let names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
    let is_grpc = env.first(&names).is_some_and(|word| word.eq_ignore_ascii_case("grpc"));
    let base = env.text("OTEL_EXPORTER_OTLP_ENDPOINT");
    if let Some(endpoint) = env.text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(|| phoenix(env)) {
        endpoint
    } else if is_grpc {
        base.unwrap_or_else(|| "http://localhost:4317".to_owned())
    } else {
        let base = base.unwrap_or_else(|| "http://localhost:4318".to_owned());
        format!("{}/v1/traces", base.trim_end_matches('/'))
    }
}

#[cfg(not(feature = "layer-grpc"))]
fn grpc(_: &Env) -> Result<Exporter, InitError> {
    Err(InitError::NoGrpc)
}

#[cfg(feature = "layer-grpc")]
fn grpc(env: &Env) -> Result<Exporter, InitError> {
    use opentelemetry_otlp::WithTonicConfig as _;
    use opentelemetry_otlp::tonic_types::transport::{Certificate, ClientTlsConfig, Identity};

    let configured = super::tls::Tls::of(env)?;
    let mut tls = match configured.authorities {
        Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem.bytes)),
        None => ClientTlsConfig::new().with_enabled_roots(),
    };
    if let Some((chain, key)) = configured.client {
        tls = tls.identity(Identity::from_pem(chain.bytes, key.bytes));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("spanbridge-otlp")
        .enable_all()
        .build()
        .map_err(|source| InitError::Io {
            what: "the thread of the gRPC exporter",
            source,
        })?;
    let inner = {
        let _in_runtime = runtime.enter();
        let builder = SpanExporter::builder().with_tonic().with_tls_config(tls);
        builder.build().map_err(InitError::Exporter)?
    };
    Ok(Exporter::Grpc(inner, std::sync::Arc::new(runtime)))
}

/// An OTLP exporter over either transport.
#[derive(Debug)]
pub(super) enum Exporter {
    Http(SpanExporter),
    #[cfg(feature = "layer-grpc")]
    Grpc(SpanExporter, std::sync::Arc<tokio::runtime::Runtime>),
}

impl Exporter {
    fn inner(&self) -> &SpanExporter {
        match self {
            Self::Http(inner) => inner,
            #[cfg(feature = "layer-grpc")]
            Self::Grpc(inner, _) => inner,
        }
    }
}

impl opentelemetry_sdk::trace::SpanExporter for Exporter {
    async fn export(&self, batch: Vec<opentelemetry_sdk::trace::SpanData>) -> opentelemetry_sdk::error::OTelSdkResult {
        match self {
            Self::Http(inner) => inner.export(batch).await,
            // The batch processor's thread belongs to no runtime, so it may block.
            #[cfg(feature = "layer-grpc")]
            Self::Grpc(inner, runtime) => runtime.block_on(inner.export(batch)),
        }
    }

    fn shutdown_with_timeout(&self, timeout: std::time::Duration) -> opentelemetry_sdk::error::OTelSdkResult {
        self.inner().shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> opentelemetry_sdk::error::OTelSdkResult {
        self.inner().force_flush()
    }

    fn set_resource(&mut self, resource: &opentelemetry_sdk::Resource) {
        match self {
            Self::Http(inner) => inner.set_resource(resource),
            #[cfg(feature = "layer-grpc")]
            Self::Grpc(inner, _) => inner.set_resource(resource),
        }
    }
}
