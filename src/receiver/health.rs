//! `grpc.health.v1`: serving until shutdown begins. All services have the same status.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use hyper::header::HeaderMap;
use prost::Message;
use tokio::sync::watch;

use super::reject::Rejection;

/// The service a client asks about; empty: the whole program.
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

/// Whether a service of this name exists.
pub(super) fn known(service: &str) -> bool {
    matches!(
        service,
        "" | "grpc.health.v1.Health"
            | "opentelemetry.proto.collector.trace.v1.TraceService"
            | "opentelemetry.proto.collector.logs.v1.LogsService"
            | "opentelemetry.proto.collector.metrics.v1.MetricsService"
    )
}

/// Maximum open `Watch` calls on all connections together.
const MAX_WATCHES: usize = 1_024;
/// Maximum open `Watch` calls on one connection.
const MAX_CONNECTION_WATCHES: usize = 8;

/// The number of open `Watch` calls, of the process or of one connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenWatches(Arc<AtomicUsize>);

impl OpenWatches {
    fn open(&self, limit: usize) -> Option<OpenWatch> {
        let fits = |open: usize| (open < limit).then_some(open + 1);
        let counted = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        counted.ok().map(|_| OpenWatch(Arc::clone(&self.0)))
    }
}

/// Counts one `Watch` call as open until it is dropped.
#[derive(Debug)]
pub(super) struct OpenWatch(Arc<AtomicUsize>);

impl Drop for OpenWatch {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts a `Watch` call, for the process and for its connection.
pub(super) fn open_watch(process: &OpenWatches, connection: Option<&OpenWatches>) -> Result<Vec<OpenWatch>, Rejection> {
    let too_many = |place, limit| Rejection::Watches { place, limit };
    let on_connection = connection.map(|watches| watches.open(MAX_CONNECTION_WATCHES));
    let in_process = process.open(MAX_WATCHES);
    match (on_connection, in_process) {
        (Some(None), _) => Err(too_many("on this connection", MAX_CONNECTION_WATCHES)),
        (_, None) => Err(too_many("on all connections together", MAX_WATCHES)),
        (on_connection, in_process) => Ok(on_connection.flatten().into_iter().chain(in_process).collect()),
    }
}

/// The answer to `Watch`: the current status, then at shutdown the other status and trailers.
pub(super) struct Watch {
    first: Option<Bytes>,
    ended: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    last: Option<Bytes>,
    trailers: Option<HeaderMap>,
    _open: Vec<OpenWatch>,
}

impl Watch {
    pub(super) fn new(
        mut serving: watch::Receiver<bool>,
        open: Vec<OpenWatch>,
        first: Bytes,
        last: Option<Bytes>,
        trailers: HeaderMap,
    ) -> Self {
        let ended = async move {
            // An error means that the receiver is gone, which is a shutdown, too.
            let _ = serving.wait_for(|serving| !serving).await;
        };
        Self {
            first: Some(first),
            ended: Some(Box::pin(ended)),
            last,
            trailers: Some(trailers),
            _open: open,
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
