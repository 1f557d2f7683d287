//! `grpc.health.v1`: serving until the end begins. All services stand and fall together.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use hyper::header::HeaderMap;
use prost::Message;
use tokio::sync::watch;

/// What a client asks for; empty: the whole program.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CheckRequest {
    #[prost(string, tag = "1")]
    pub(super) service: String,
}

/// `HealthCheckResponse.ServingStatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Serving {
    Yes = 1,
    No = 2,
    UnknownService = 3,
}

impl Serving {
    /// A `HealthCheckResponse`.
    pub(super) fn response(self) -> Vec<u8> {
        vec![0x08, self as u8]
    }
}

/// Whether there is a service of this name.
pub(super) fn known(service: &str) -> bool {
    matches!(
        service,
        "" | "grpc.health.v1.Health"
            | "opentelemetry.proto.collector.trace.v1.TraceService"
            | "opentelemetry.proto.collector.logs.v1.LogsService"
            | "opentelemetry.proto.collector.metrics.v1.MetricsService"
    )
}

/// The answer to `Watch`: the state now, then, when the end begins, the other one, and trailers.
pub(super) struct Watch {
    first: Option<Bytes>,
    ended: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    last: Option<Bytes>,
    trailers: Option<HeaderMap>,
}

impl Watch {
    pub(super) fn new(mut serving: watch::Receiver<bool>, first: Bytes, last: Option<Bytes>, trailers: HeaderMap) -> Self {
        let ended = async move {
            // An error: the receiver is gone, which is an end too.
            let _ = serving.wait_for(|serving| !serving).await;
        };
        Self {
            first: Some(first),
            ended: Some(Box::pin(ended)),
            last,
            trailers: Some(trailers),
        }
    }
}

impl Body for Watch {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        if let Some(ended) = &mut self.ended {
            if ended.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.ended = None;
        }
        let last = self.last.take().map(Frame::data);
        let frame = last.or_else(|| self.trailers.take().map(Frame::trailers));
        Poll::Ready(frame.map(Ok))
    }
}
