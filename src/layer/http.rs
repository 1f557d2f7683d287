//! The HTTP client of the OTLP exporter: blocking, on the batch processor's own thread, so that no async runtime is needed.

use std::future::Future;
use std::io::Read as _;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError, ResponseBodyTooLarge};
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

use super::env::Env;
use super::error::InitError;
use super::tls::{Pem, Tls, bad};

const MAX_ANSWER: u64 = 4 * 1024 * 1024;

/// Sends OTLP requests.
#[derive(Debug)]
pub(super) struct Client(ureq::Agent);

impl Client {
    /// A client with the timeout and certificates from the environment.
    pub(super) fn of(env: &Env) -> Result<Self, InitError> {
        let timeout = env
            .millis(&["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"])
            .unwrap_or(Duration::from_secs(10));
        let files = Tls::of(env)?;
        let mut tls = TlsConfig::builder();
        if let Some(pem) = files.authorities {
            tls = tls.root_certs(RootCerts::new_with_certs(&certificates(&pem)?));
        }
        if let Some((chain, key)) = files.client {
            let key_read = PrivateKey::from_pem(&key.bytes).map_err(|source| bad(&key.path, source))?;
            tls = tls.client_cert(Some(ClientCert::new_with_certs(&certificates(&chain)?, key_read)));
        }
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .tls_config(tls.build())
            .user_agent(concat!("spanbridge-layer/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Ok(Self(agent))
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (parts, body) = request.into_parts();
        let answer = self.0.run(Request::from_parts(parts, body.as_ref()))?;
        let (parts, body) = answer.into_parts();
        let mut bytes = Vec::new();
        body.into_reader().take(MAX_ANSWER + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_ANSWER {
            return Err(Box::new(ResponseBodyTooLarge::new()));
        }
        Ok(Response::from_parts(parts, bytes.into()))
    }
}

impl HttpClient for Client {
    fn send_bytes<'a, 'b>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.send(request) })
    }
}

fn certificates(pem: &Pem) -> Result<Vec<Certificate<'static>>, InitError> {
    let mut out = Vec::new();
    for item in parse_pem(&pem.bytes) {
        if let PemItem::Certificate(certificate) = item.map_err(|source| bad(&pem.path, source))? {
            out.push(certificate);
        }
    }
    if out.is_empty() {
        return Err(bad(&pem.path, "no certificate in PEM form is in it"));
    }
    Ok(out)
}
