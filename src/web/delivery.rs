//! An answer on its way to the client: a thread writes it, a connection reads it, with a bounded buffer in between.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as _, Frame, SizeHint};
use tokio::sync::Notify;

use super::readers::{Readers, Reservation};

/// Maximum bytes written but not yet sent to the client.
const MAX_OUTSTANDING: usize = 1 << 20;
/// Minimum average rate at which a client must read, in bytes per second.
const MIN_BYTES_PER_SECOND: u64 = 16 << 10;
/// How often to check whether the client still waits.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Closes connections whose clients do not read their answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct SlowClient(Arc<Notify>);

impl SlowClient {
    /// Waits until a client of this connection is too slow.
    pub(crate) async fn found(&self) {
        self.0.notified().await;
    }
}

/// The answer was abandoned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer was given up")]
pub struct GivenUp;

/// One answer on its way.
#[derive(Debug)]
pub(crate) struct Delivery {
    readers: Arc<Readers>,
    state: Mutex<DeliveryState>,
    /// Signalled when the client has read something, or is gone.
    taken: Condvar,
    /// Signalled when there is nothing left to wait for.
    over: Notify,
}

#[derive(Debug, Default)]
struct DeliveryState {
    waiting: VecDeque<Vec<u8>>,
    /// Bytes written and not yet sent to the client: waiting ones, and those buffered by the connection.
    outstanding: usize,
    written: u64,
    made: Option<AnswerEnd>,
    /// The client has left.
    is_left: bool,
    /// The reservation for the outstanding bytes, once no thread works on this answer.
    reservation: Option<Reservation>,
    waker: Option<Waker>,
}

impl DeliveryState {
    /// Wakes the connection, if it waits.
    fn wake(&mut self) {
        self.waker.take().into_iter().for_each(Waker::wake);
    }
}

/// How the answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerEnd {
    Whole,
    InPart,
}

impl Delivery {
    pub(crate) fn new(readers: &Arc<Readers>) -> Arc<Self> {
        Arc::new(Self {
            readers: Arc::clone(readers),
            state: Mutex::default(),
            taken: Condvar::new(),
            over: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, DeliveryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn readers(&self) -> &Arc<Readers> {
        &self.readers
    }

    /// Whether the client waits for the answer.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.state().is_left && !self.readers.is_stopped()
    }

    /// Records that the client has left.
    pub(crate) fn leave(&self) {
        let mut state = self.state();
        state.is_left = true;
        let waiting: usize = state.waiting.drain(..).map(|chunk| chunk.len()).sum();
        self.less(&mut state, waiting);
        state.wake();
    }

    fn less(&self, state: &mut DeliveryState, bytes: usize) {
        state.outstanding = state.outstanding.saturating_sub(bytes);
        let outstanding = state.outstanding;
        if let Some(reservation) = &mut state.reservation {
            reservation.shrink_to(outstanding);
        }
        self.taken.notify_all();
        if state.made.is_some() && outstanding == 0 {
            self.over.notify_one();
        }
    }

    /// Appends a part; blocks while too much is outstanding.
    pub(crate) fn put(&self, part: Vec<u8>) -> Result<(), GivenUp> {
        let mut state = self.state();
        while state.outstanding >= MAX_OUTSTANDING && !state.is_left {
            if self.readers.is_stopped() {
                return Err(GivenUp);
            }
            state = self
                .taken
                .wait_timeout(state, POLL_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        if state.is_left || self.readers.is_stopped() {
            return Err(GivenUp);
        }
        state.outstanding += part.len();
        state.waiting.push_back(part);
        state.wake();
        Ok(())
    }

    /// Ends the answer if its thread has not.
    pub(crate) fn abandon(&self) {
        let mut state = self.state();
        if state.made.is_none() {
            state.made = Some(AnswerEnd::InPart);
            self.less(&mut state, 0);
            state.wake();
        }
    }

    /// Ends the answer. What is outstanding keeps its share of the reservation.
    pub(crate) fn end(&self, is_whole: bool, reservation: Reservation) {
        let mut state = self.state();
        state.made = Some(if is_whole { AnswerEnd::Whole } else { AnswerEnd::InPart });
        state.reservation = Some(reservation);
        self.less(&mut state, 0);
        state.wake();
    }

    /// Whether the client has something to read, and how many bytes it has read.
    fn progress(&self) -> (bool, u64) {
        let state = self.state();
        (state.outstanding > 0, state.written)
    }

    /// Watches the answer until the client has it, and gives up a client that is too slow.
    pub(crate) async fn watch(self: Arc<Self>, slow: SlowClient) {
        // Measured only while there was something to read: a slow answer is not the client's fault.
        let (mut waited, mut stalled, mut taken) = (Duration::ZERO, Duration::ZERO, 0);
        let patience = Duration::from_secs(self.readers.limits().write_seconds);
        loop {
            let begin = Instant::now();
            tokio::select! {
                () = self.over.notified() => return,
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            let (has_more, written) = self.progress();
            if has_more {
                waited += begin.elapsed();
                stalled += begin.elapsed();
            }
            if !has_more || written > taken {
                (stalled, taken) = (Duration::ZERO, written);
            }
            let is_slow = stalled > patience || waited > patience.saturating_add(Duration::from_secs(written / MIN_BYTES_PER_SECOND));
            if is_slow || self.readers.is_stopped() {
                // Notify first: otherwise the connection only sees an answer that breaks off.
                slow.0.notify_one();
                self.leave();
                return;
            }
        }
    }

    /// The body of the response.
    pub(crate) fn body(self: &Arc<Self>) -> Body {
        Body::new(Parts(Arc::clone(self)))
    }
}

struct Parts(Arc<Delivery>);

impl hyper::body::Body for Parts {
    type Data = Bytes;
    type Error = GivenUp;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, GivenUp>>> {
        let mut state = self.0.state();
        if let Some(part) = state.waiting.pop_front() {
            let held = BufferedPart {
                part,
                delivery: Arc::clone(&self.0),
            };
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(held)))));
        }
        match state.made {
            Some(AnswerEnd::Whole) if !state.is_left => Poll::Ready(None),
            Some(AnswerEnd::InPart) => Poll::Ready(Some(Err(GivenUp))),
            _ if state.is_left => Poll::Ready(Some(Err(GivenUp))),
            _ => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        let state = self.0.state();
        state.waiting.is_empty() && state.made == Some(AnswerEnd::Whole) && !state.is_left
    }

    fn size_hint(&self) -> SizeHint {
        let state = self.0.state();
        let waiting = state.waiting.iter().map(Vec::len).sum::<usize>() as u64;
        match state.made {
            Some(AnswerEnd::Whole) => SizeHint::with_exact(waiting),
            _ => SizeHint::default(),
        }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        if !self.is_end_stream() {
            self.0.leave();
        }
    }
}

/// A part buffered by the connection until it is sent.
struct BufferedPart {
    part: Vec<u8>,
    delivery: Arc<Delivery>,
}

impl AsRef<[u8]> for BufferedPart {
    fn as_ref(&self) -> &[u8] {
        &self.part
    }
}

impl Drop for BufferedPart {
    fn drop(&mut self) {
        let mut state = self.delivery.state();
        state.written += self.part.len() as u64;
        self.delivery.less(&mut state, self.part.len());
    }
}
