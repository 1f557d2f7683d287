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

/// Bytes that may be made and not yet written to the client.
const AHEAD: usize = 1 << 20;
/// Bytes a second that a client must take on the whole.
const SLOWEST: u64 = 16 << 10;
/// How often to check whether the client still waits.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Cuts a connection whose client does not take its answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct SlowClient(Arc<Notify>);

impl SlowClient {
    /// Waits until a client of this connection is too slow.
    pub(crate) async fn found(&self) {
        self.0.notified().await;
    }
}

/// Why an answer does not get to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer was given up")]
pub struct GivenUp;

/// One answer on its way.
#[derive(Debug)]
pub(crate) struct Delivery {
    readers: Arc<Readers>,
    state: Mutex<State>,
    /// The client has taken something, or is gone.
    taken: Condvar,
    /// Nothing is left to wait for.
    over: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    /// Bytes that were made and are not written to the client: those that wait, and those that the connection buffers.
    outstanding: usize,
    written: u64,
    made: Option<Made>,
    /// The client does not wait for more.
    is_left: bool,
    /// What the bytes that are outstanding have reserved, once no thread works for this answer.
    reservation: Option<Reservation>,
    waker: Option<Waker>,
}

/// How the making ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn readers(&self) -> &Arc<Readers> {
        &self.readers
    }

    /// Whether anybody waits for the answer.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.state().is_left && !self.readers.is_stopped()
    }

    /// The client no longer waits for it.
    pub(crate) fn leave(&self) {
        let mut state = self.state();
        state.is_left = true;
        let waiting: usize = state.waiting.drain(..).map(|chunk| chunk.len()).sum();
        self.less(&mut state, waiting);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    fn less(&self, state: &mut State, bytes: usize) {
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

    /// Puts a part behind those that are there; waits while too much of them has not been taken.
    pub(crate) fn put(&self, part: Vec<u8>) -> Result<(), GivenUp> {
        let mut state = self.state();
        while state.outstanding >= AHEAD && !state.is_left {
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
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        Ok(())
    }

    /// If its making has not ended in order, it has ended now.
    pub(crate) fn abandon(&self) {
        let mut state = self.state();
        if state.made.is_none() {
            state.made = Some(Made::InPart);
            self.less(&mut state, 0);
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        }
    }

    /// No part follows. What is outstanding keeps its share of the reservation.
    pub(crate) fn end(&self, is_whole: bool, reservation: Reservation) {
        let mut state = self.state();
        state.made = Some(if is_whole { Made::Whole } else { Made::InPart });
        state.reservation = Some(reservation);
        self.less(&mut state, 0);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// Whether the client has something to take, and how many bytes it has taken.
    fn progress(&self) -> (bool, u64) {
        let state = self.state();
        (state.outstanding > 0, state.written)
    }

    /// Looks after the answer until the client has it, and gives the client up if it is too slow.
    pub(crate) async fn watch(self: Arc<Self>, slow: SlowClient) {
        // While it had something to take: making the answer is no fault of the client.
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
            let is_slow = stalled > patience || waited > patience.saturating_add(Duration::from_secs(written / SLOWEST));
            if is_slow || self.readers.is_stopped() {
                // First, or the connection sees no more than an answer that breaks off.
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
            let held = Held {
                part,
                delivery: Arc::clone(&self.0),
            };
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(held)))));
        }
        match state.made {
            Some(Made::Whole) if !state.is_left => Poll::Ready(None),
            Some(Made::InPart) => Poll::Ready(Some(Err(GivenUp))),
            _ if state.is_left => Poll::Ready(Some(Err(GivenUp))),
            _ => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        let state = self.0.state();
        state.waiting.is_empty() && state.made == Some(Made::Whole) && !state.is_left
    }

    fn size_hint(&self) -> SizeHint {
        let state = self.0.state();
        let waiting = state.waiting.iter().map(Vec::len).sum::<usize>() as u64;
        match state.made {
            Some(Made::Whole) => SizeHint::with_exact(waiting),
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

/// A part that the connection buffers until it is written.
struct Held {
    part: Vec<u8>,
    delivery: Arc<Delivery>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.part
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.delivery.state();
        state.written += self.part.len() as u64;
        self.delivery.less(&mut state, self.part.len());
    }
}
