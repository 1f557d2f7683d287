//! One request in progress: its limits, whether the client still waits, and where the answer goes.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use hyper::Response;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde::Serialize;
use tokio::sync::oneshot;

use super::delivery::Delivery;
use super::readers::{Readers, Refusal, Reservation};
use super::reply::Problem;

/// Bytes of an answer that are made before its head is sent: until then, what goes wrong has a status.
const FIRST: usize = 128 << 10;
/// Bytes that go to the client at once.
const PART: usize = 64 << 10;

/// One request being answered by its own thread.
#[derive(Debug)]
pub(crate) struct Answer {
    delivery: Arc<Delivery>,
    reservation: Reservation,
    head: Option<Head>,
    content_type: &'static str,
    /// Traces that were deleted on request and would be in the answer.
    deleted: u64,
    buffer: Vec<u8>,
}

impl Answer {
    pub(crate) fn new(readers: &Arc<Readers>, delivery: &Arc<Delivery>, head: Head) -> Self {
        Self {
            delivery: Arc::clone(delivery),
            reservation: Reservation::new(readers),
            head: Some(head),
            content_type: "application/json",
            deleted: 0,
            buffer: Vec::new(),
        }
    }

    /// What the bytes of the answer are.
    pub(crate) fn of_type(&mut self, content_type: &'static str) {
        self.content_type = content_type;
    }

    /// That so many traces were deleted on request that would be in the answer: a header reports that.
    pub(crate) fn lacks_traces(&mut self, deleted: u64) {
        self.deleted = deleted;
    }

    /// That anybody still waits for the answer.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.delivery.is_wanted() {
            Ok(())
        } else {
            Err(Refusal::Cancelled)
        }
    }

    /// Reserves this many more bytes of memory.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.check()?;
        self.reservation.grow(bytes)
    }

    /// Reserves this many bytes of memory in total, if that is more than it has.
    pub(crate) fn reserve_in_all(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.check()?;
        self.reservation.grow_to(bytes)
    }

    /// Checks that this many bytes of memory could be reserved if no other request was in progress.
    pub(crate) fn can_reserve(&self, bytes: usize) -> Result<(), Refusal> {
        match self.most_bytes() {
            limit if bytes > limit => Err(Refusal::TooLarge { bytes, limit }),
            _ => Ok(()),
        }
    }

    /// Bytes of memory that all requests together may take.
    pub(crate) fn most_bytes(&self) -> usize {
        self.delivery.readers().limits().bytes
    }

    /// Bytes of memory that it has reserved.
    pub(crate) fn reserved(&self) -> usize {
        self.reservation.bytes()
    }

    /// Takes a part of the reserved memory out, for what outlasts this answer.
    pub(crate) fn split(&mut self, bytes: usize) -> Reservation {
        self.reservation.split(bytes)
    }

    /// Releases all reserved memory but this many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        self.reservation.shrink_to(bytes);
    }

    /// Writes a value as JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Problem> {
        serde_json::to_writer(&mut *self, value).map_err(|error| io::Error::from(error).into())
    }

    /// Ends the answer, or reports why there is none.
    pub(crate) fn end(mut self, outcome: Result<(), Problem>) {
        let buffer = std::mem::take(&mut self.buffer);
        match (outcome, &self.head) {
            (Ok(()), _) => {
                let is_whole = buffer.is_empty() || self.delivery.put(buffer).is_ok();
                self.delivery.end(is_whole, self.reservation);
                let _ = send_head(&mut self.head, &self.delivery, (self.content_type, self.deleted));
            }
            (Err(problem), Some(_)) => {
                self.delivery.end(false, self.reservation);
                if let Some(head) = self.head.take() {
                    let _ = head.send(problem.reply());
                }
            }
            // Its beginning has left: that it does not end is the only possible signal.
            (Err(_), None) => self.delivery.end(false, self.reservation),
        }
    }
}

type Head = oneshot::Sender<Response<Body>>;

/// Set where traces that were deleted on request would be in the answer, to their number.
const DELETED_TRACES: HeaderName = HeaderName::from_static("spanbridge-deleted-traces");

fn send_head(head: &mut Option<Head>, delivery: &Arc<Delivery>, (content_type, deleted): (&'static str, u64)) -> io::Result<()> {
    let Some(head) = head.take() else { return Ok(()) };
    let mut response = Response::new(delivery.body());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if deleted > 0 {
        response.headers_mut().insert(DELETED_TRACES, deleted.into());
    }
    head.send(response).map_err(|_| io::ErrorKind::BrokenPipe.into())
}

impl io::Write for Answer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = bytes.get(..PART).unwrap_or(bytes);
        self.buffer.extend_from_slice(bytes);
        let enough = if self.head.is_some() { FIRST } else { PART };
        if self.buffer.len() >= enough {
            send_head(&mut self.head, &self.delivery, (self.content_type, self.deleted))?;
            let part = std::mem::replace(&mut self.buffer, Vec::with_capacity(PART + 1_024));
            self.delivery.put(part).map_err(io::Error::other)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
