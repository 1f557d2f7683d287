//! OTLP over gRPC and HTTP: transport only.
//!
//! Accepted means durable: the answer leaves after the store's commit. A bad span does not take its batch with it. A
//! request that cannot be taken now is refused with a hint when to come again, and nothing is buffered without bound:
//! bytes of requests in work are counted, decompressed ones too.
//!
//! Both are written on hyper by hand, without a router: there are a few fixed paths, and a body is counted, decompressed and
//! refused while it comes.
//!
//! [`Receiver::handle`] answers both transports, told apart by content type, so either port understands both.

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
pub use documents::{Document, Stored};
pub use health::OpenWatches;
pub use limits::Limits;
pub use refusals::Refusals;
pub use reject::Rejection;
pub use response_body::Body;
pub use service::Receiver;

impl Receiver {
    /// Whether a request is answered without a token: a health check, and what browsers ask before they send one.
    #[must_use]
    pub fn is_open<B>(request: &Request<B>) -> bool {
        request.method() == Method::OPTIONS || (headers::is_grpc(request.headers()) && grpc::is_health(request.uri().path()))
    }

    /// That a request comes from no page in a browser, or from one that may send.
    ///
    /// # Errors
    ///
    /// It may not.
    pub fn origin<B>(&self, request: &Request<B>) -> Result<(), Rejection> {
        self.cors.check(request.method(), request.headers())
    }

    /// Refuses one request without a look at what it carries.
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
