//! OTLP over gRPC and HTTP: transport only.
//!
//! A request is acknowledged once its spans are on disk. An invalid span is rejected by itself; the rest of its request is
//! stored. A request that cannot be stored now is rejected with a hint when to retry. The memory of all requests in progress
//! is limited, including decompressed data.
//!
//! Both transports are built on hyper without a router: there are only a few fixed paths, and bodies are counted,
//! decompressed and rejected while they arrive.
//!
//! [`Receiver::handle`] answers both transports on any port, distinguished by content type.

pub mod admission;
mod body;
mod buffer;
mod cors;
pub mod counters;
mod documents;
mod export;
mod grpc;
mod headers;
mod health;
mod http;
mod intake;
pub mod limits;
pub mod prometheus;
mod refusals;
mod reject;
mod response_body;
mod service;
mod status;

use std::sync::Arc;

use bytes::Bytes;
use hyper::{Method, Request, Response, Version};

pub use cors::Cors;
pub use documents::{Cost, Document, Stored};
pub(crate) use health::OpenWatches;
pub use limits::Limits;
pub(crate) use refusals::Refusals;
pub use reject::Rejection;
pub use response_body::Body;
pub use service::Receiver;

impl Receiver {
    /// Whether a request needs no token: a health check, or a browser's preflight request.
    #[must_use]
    pub fn is_open<B>(request: &Request<B>) -> bool {
        request.method() == Method::OPTIONS || (headers::is_grpc(request.headers()) && grpc::is_health(request.uri().path()))
    }

    /// Checks that a request does not come from a web page, or from an allowed one.
    ///
    /// # Errors
    ///
    /// The page is not allowed.
    pub fn origin<B>(&self, request: &Request<B>) -> Result<(), Rejection> {
        self.cors.check(request.method(), request.headers())
    }

    /// Rejects one request without processing its body.
    pub async fn refuse<B>(&self, request: Request<B>, rejection: &Rejection) -> Response<Body>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
    {
        self.counters.refused(rejection);
        if headers::is_grpc(request.headers()) {
            grpc::refuse(rejection)
        } else {
            http::refuse_unread(self, request, rejection).await
        }
    }

    /// Answers one request.
    pub async fn handle<B>(self: Arc<Self>, request: Request<B>) -> Response<Body>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        let is_grpc = headers::is_grpc(request.headers());
        if is_grpc && request.version() == Version::HTTP_2 && request.method() == Method::POST {
            grpc::handle(self, request).await
        } else {
            http::handle(self, request).await
        }
    }
}
