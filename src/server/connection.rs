//! One connection: HTTP/1.1 or HTTP/2, closed when it wastes its slot.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use super::config::Connections;
use crate::receiver::OpenWatches;
use crate::receiver::limits::timeout;
use crate::web::SlowClient;

/// How long a connection may take to announce that it is closing.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a connection was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// The head of a request took too long.
    SlowHead,
    /// Nothing happened for too long.
    Idle,
    /// A response was not read in time.
    SlowReader,
    /// It was idle, and its slot was needed.
    Crowded,
}

/// Closes idle connections when there is no room for more.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    wanted: AtomicUsize,
    asked: Notify,
}

impl Crowd {
    /// Asks this many idle connections to close.
    pub(super) fn ask(&self, connections: usize) {
        self.wanted.store(connections, Ordering::Relaxed);
        self.asked.notify_waiters();
    }

    /// Waits until this connection is asked to close.
    async fn asks(&self, activity: &Activity) {
        loop {
            self.asked.notified().await;
            let takes = |wanted: usize| wanted.checked_sub(1);
            if activity.is_idle() && self.wanted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, takes).is_ok() {
                return;
            }
        }
    }
}

/// The body of a response.
pub(super) trait Answered: Body<Data = Bytes, Error: std::error::Error + Send + Sync> + Send + 'static {}

impl<B: Body<Data = Bytes, Error: std::error::Error + Send + Sync> + Send + 'static> Answered for B {}

pub(super) fn protocol(limits: &Connections) -> auto::Builder<TokioExecutor> {
    /// hyper's minimum.
    const LEAST_BUFFER: usize = 8 << 10;
    let mut http = auto::Builder::new(TokioExecutor::new());
    // Heads are timed by `Activity`: hyper's own timer also runs between requests, and starts only with the first byte.
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_headers(limits.headers)
        .max_buf_size(limits.header_bytes.max(LEAST_BUFFER));
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(60))
        .keep_alive_timeout(Duration::from_secs(20))
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20)
        .max_frame_size(1 << 16)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        .max_concurrent_streams(limits.streams);
    http
}

/// Serves one connection until it ends. `Some`: it was closed for this reason.
pub(super) async fn serve<S, A, F, B>(
    http: &auto::Builder<TokioExecutor>,
    limits: &Connections,
    crowd: &Crowd,
    stream: S,
    answer: A,
    mut stopped: watch::Receiver<bool>,
) -> Option<Cut>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Answered,
{
    let (watches, slow) = (OpenWatches::default(), SlowClient::default());
    let activity = Arc::new(Activity::new(limits));
    let io = TokioIo::new(Watched {
        stream,
        activity: Arc::clone(&activity),
    });
    let service = service_fn(|mut request: Request<Incoming>| {
        request.extensions_mut().insert(watches.clone());
        request.extensions_mut().insert(slow.clone());
        let work = Work::begin(&activity);
        // An idle connection keeps room for its service future, so box it: only a pointer stays.
        let answered = Box::pin(answer(request));
        async move {
            let response = answered.await;
            drop(work);
            Ok::<_, Infallible>(response)
        }
    });
    let mut connection = pin!(http.serve_connection(io, service));
    let mut timer = pin!(sleep_until(activity.due().0));
    let ended = poll_fn(|context| {
        // A client that breaks its connection is not reported.
        if connection.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        loop {
            let (due, cut) = activity.due();
            if due < timer.deadline() {
                timer.as_mut().reset(due);
            }
            if timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            if due <= Instant::now() {
                return Poll::Ready(Some(cut));
            }
            timer.as_mut().reset(due);
        }
    });
    let cut = tokio::select! {
        biased;
        // Drops what the client does not read, at once.
        () = slow.found() => return Some(Cut::SlowReader),
        cut = ended => cut?,
        () = crowd.asks(&activity) => return Some(Cut::Crowded),
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            // The caller, which waits for all connections to end, applies the time limit.
            let _ = connection.await;
            return None;
        }
    };
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, connection).await;
    Some(cut)
}

/// The client's HTTP/2 preface and the head of the frame after it. Until both have arrived, they are timed like a head.
const PREFACE_BYTES: usize = 24 + 9;

/// The activity of a connection, to tell whether it wastes its slot.
#[derive(Debug)]
struct Activity {
    header: Duration,
    idle: Duration,
    state: Mutex<ActivityState>,
}

#[derive(Debug)]
struct ActivityState {
    /// Number of requests being answered.
    in_work: usize,
    /// When the last request began or ended, or a slow reader read something.
    last: Instant,
    /// When the first byte of a head arrived; for the first head, when it could have.
    head: Option<Instant>,
    protocol: Protocol,
    /// Bytes of the HTTP/2 preface that have not arrived.
    preface: usize,
    /// The peer does not read what we write.
    blocked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Unknown,
    Http1,
    /// Frames arrive between requests, too, so bytes do not mean that a head has begun.
    Http2,
}

impl Activity {
    fn new(limits: &Connections) -> Self {
        let now = Instant::now();
        Self {
            header: timeout(limits.header_seconds),
            idle: timeout(limits.idle_seconds),
            state: Mutex::new(ActivityState {
                in_work: 0,
                last: now,
                head: Some(now),
                protocol: Protocol::Unknown,
                preface: PREFACE_BYTES,
                blocked: false,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, ActivityState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the connection is waiting for a request.
    fn is_idle(&self) -> bool {
        let state = self.state();
        state.in_work == 0 && !state.blocked
    }

    /// When, and why, the connection is to be closed if nothing happens until then.
    fn due(&self) -> (Instant, Cut) {
        let state = self.state();
        if state.in_work > 0 {
            return (Instant::now() + self.idle, Cut::Idle);
        }
        let idle = state.last + self.idle;
        match state.head.map(|head| head + self.header) {
            Some(head) if head < idle => (head, Cut::SlowHead),
            _ => (idle, Cut::Idle),
        }
    }

    fn read(&self, bytes: &[u8]) {
        let mut state = self.state();
        if state.protocol == Protocol::Unknown && !bytes.is_empty() {
            // HTTP/2 begins with PRI, which no HTTP/1.1 method does.
            let http2 = bytes.starts_with(b"PRI");
            state.protocol = if http2 { Protocol::Http2 } else { Protocol::Http1 };
            if !http2 {
                state.head = None;
            }
        }
        if state.protocol == Protocol::Http2 && state.preface > 0 {
            state.preface = state.preface.saturating_sub(bytes.len());
            if state.preface == 0 {
                state.head = None;
            }
        }
        if state.protocol == Protocol::Http1 && state.in_work == 0 && state.head.is_none() && !bytes.is_empty() {
            state.head = Some(Instant::now());
        }
    }

    fn wrote(&self, result: &Poll<io::Result<usize>>) {
        match result {
            Poll::Pending => self.state().blocked = true,
            Poll::Ready(_) => {
                let mut state = self.state();
                if state.blocked {
                    state.blocked = false;
                    state.last = Instant::now();
                }
            }
        }
    }
}

/// A request being answered.
struct Work(Arc<Activity>);

impl Work {
    fn begin(activity: &Arc<Activity>) -> Self {
        let mut state = activity.state();
        state.in_work += 1;
        state.last = Instant::now();
        state.head = None;
        drop(state);
        Self(Arc::clone(activity))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.in_work = state.in_work.saturating_sub(1);
        state.last = Instant::now();
    }
}

/// A stream whose activity is recorded.
struct Watched<S> {
    stream: S,
    activity: Arc<Activity>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let result = Pin::new(&mut this.stream).poll_read(context, buffer);
        this.activity.read(buffer.filled().get(before..).unwrap_or_default());
        result
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.activity.wrote(&result);
        result
    }

    fn poll_write_vectored(self: Pin<&mut Self>, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.activity.wrote(&result);
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
