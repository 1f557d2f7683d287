//! The connection to a destination: one request, and the body of its answer.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::http::header::{CONTENT_ENCODING, HeaderName, HeaderValue, USER_AGENT};
use ::http::{Request, Response};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio_rustls::rustls::ClientConfig;

use super::outcome::{Class, Failure};
use super::scheme::{self, HAS_NO_TLS};
use super::secrets::Secrets;
use super::tls;
use crate::forward::destination::Destination;
use crate::forward::error::ConfigError;
use crate::forward::settings::{Compression, Protocol};
use crate::forward::via::Via;

/// Maximum bytes of an answer that are read: the protocol's answers are smaller.
const ANSWER_BYTES: usize = 4 << 20;

/// A connection to one destination, opened by the first request.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) destination: Arc<Destination>,
    via: Arc<Via>,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    tls: Arc<ClientConfig>,
    /// Whether a request was ever accepted: if so, the scheme of the URL is right.
    pub(super) accepted: AtomicBool,
}

impl Connection {
    pub(super) fn new(destination: Arc<Destination>, via: Arc<Via>) -> Result<Self, ConfigError> {
        let tls = tls::config(&destination.tls)?;
        let connector = tls::connector(&destination, tls.clone());
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_idle_timeout(Duration::from_secs(60));
        if destination.protocol == Protocol::Grpc {
            builder.http2_only(true);
        }
        Ok(Self {
            client: builder.build(connector),
            tls: Arc::new(tls),
            accepted: AtomicBool::new(false),
            destination,
            via,
        })
    }

    /// Whether a request failed because the URL has `http://` but the port uses TLS.
    pub(super) async fn needs_tls(&self, failure: &Failure) -> bool {
        matches!(failure.class, Class::Transport | Class::Request)
            && !self.destination.is_tls()
            && !self.accepted.load(Ordering::Relaxed)
            && scheme::speaks_tls(&self.destination, &self.tls).await
    }

    fn uri(&self, path: &str) -> Result<::http::Uri, Failure> {
        let uri = &self.destination.uri;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let scheme = uri.scheme_str().unwrap_or("http");
        format!("{scheme}://{authority}{path}")
            .parse()
            .map_err(|_| Failure::new(Class::Refused, format!("{path} is not a valid URL path")))
    }

    pub(super) fn request(&self, path: &str, headers: &[(HeaderName, HeaderValue)], body: Bytes) -> Result<Request<Full<Bytes>>, Failure> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = ::http::Method::POST;
        *request.uri_mut() = self.uri(path)?;
        let own = request.headers_mut();
        own.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("spanbridge/", env!("CARGO_PKG_VERSION"))),
        );
        for header in &self.destination.headers {
            let (name, value) = header.look_up().map_err(|error| Failure::new(Class::Refused, error.to_string()))?;
            own.insert(name, value);
        }
        for (name, value) in headers {
            own.insert(name, value.clone());
        }
        own.extend(self.via.headers());
        Ok(request)
    }

    /// Secrets that must be removed from the destination's messages.
    pub(super) fn secrets(&self) -> Secrets {
        Secrets::of(&self.destination.headers)
    }

    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Failure> {
        self.client.request(request).await.map_err(|error| transport(&error))
    }

    pub(super) fn encoding(&self) -> Option<&'static str> {
        match self.destination.compression {
            Compression::None => None,
            Compression::Gzip => Some("gzip"),
            Compression::Zstd => Some("zstd"),
        }
    }

    pub(super) fn compressed(&self, message: Bytes) -> Result<Bytes, Failure> {
        let failure = |error: std::io::Error| Failure::new(Class::Request, format!("cannot compress: {error}"));
        match self.destination.compression {
            Compression::None => Ok(message),
            Compression::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(&message).map_err(failure)?;
                encoder.finish().map(Bytes::from).map_err(failure)
            }
            Compression::Zstd => zstd::bulk::compress(&message, 1).map(Bytes::from).map_err(failure),
        }
    }
}

/// Builds a failure from a connection error and its causes.
fn transport(error: &(dyn std::error::Error + 'static)) -> Failure {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.ends_with(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    match scheme::is_no_tls(error) {
        true => Failure::new(Class::WrongScheme, format!("{HAS_NO_TLS} ({words})")),
        false => Failure::new(Class::Transport, words),
    }
}

/// Reads the body of an answer, and its trailers.
pub(super) async fn body(response: Response<Incoming>) -> Result<(Bytes, Option<::http::HeaderMap>), Failure> {
    let collected = Limited::new(response.into_body(), ANSWER_BYTES).collect().await;
    let collected = collected.map_err(|error| transport(&*error))?;
    let trailers = collected.trailers().cloned();
    Ok((collected.to_bytes(), trailers))
}

pub(super) fn encoding_header(name: &'static str) -> (HeaderName, HeaderValue) {
    (CONTENT_ENCODING, HeaderValue::from_static(name))
}
