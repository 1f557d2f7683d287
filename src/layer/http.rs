//! The OTLP exporter's HTTP client: blocking, on the batch processor's own thread, so that no async runtime is needed.

use std::future::Future;
use std::io::Read as _;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError, ResponseBodyTooLarge};
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

use super::env::Env;
use super::error::InitError;

const MAX_ANSWER: u64 = 4 * 1024 * 1024;

/// Sends OTLP requests.
#[derive(Debug)]
pub(super) struct Client(ureq::Agent);

impl Client {
    /// With the timeout and the certificates of the environment.
    pub(super) fn of(env: &Env) -> Result<Self, InitError> {
        let timeout = env
            .millis(&["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"])
            .unwrap_or(Duration::from_secs(10));
        let file = |name: &str| {
            let names = [format!("OTEL_EXPORTER_OTLP_TRACES_{name}"), format!("OTEL_EXPORTER_OTLP_{name}")];
            names.iter().find_map(|name| env.text(name)).map(PathBuf::from)
        };
        let mut tls = TlsConfig::builder();
        if let Some(path) = file("CERTIFICATE") {
            tls = tls.root_certs(RootCerts::new_with_certs(&certificates(path)?));
        }
        if let (Some(chain), Some(key)) = (file("CLIENT_CERTIFICATE"), file("CLIENT_KEY")) {
            let cert = ClientCert::new_with_certs(&certificates(chain)?, private_key(key)?);
            tls = tls.client_cert(Some(cert));
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

fn read(path: &PathBuf) -> Result<Vec<u8>, InitError> {
    std::fs::read(path).map_err(|source| InitError::Certificate {
        path: path.clone(),
        source: Box::new(source),
    })
}

fn certificates(path: PathBuf) -> Result<Vec<Certificate<'static>>, InitError> {
    let mut out = Vec::new();
    for item in parse_pem(&read(&path)?) {
        match item {
            Ok(PemItem::Certificate(certificate)) => out.push(certificate),
            Ok(_) => {}
            Err(source) => {
                let source = Box::new(source);
                return Err(InitError::Certificate { path, source });
            }
        }
    }
    if out.is_empty() {
        let source = "no certificate in PEM form is in it".into();
        return Err(InitError::Certificate { path, source });
    }
    Ok(out)
}

fn private_key(path: PathBuf) -> Result<PrivateKey<'static>, InitError> {
    let bytes = read(&path)?;
    PrivateKey::from_pem(&bytes).map_err(|source| InitError::Certificate {
        path,
        source: Box::new(source),
    })
}
