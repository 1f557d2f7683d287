//! Reads a body into memory that grows with what has arrived: an announced length is only a hint. Bytes count as in flight
//! once they have arrived.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use tokio::time::Instant;

use super::admission::Reservation;
use super::buffer::room;
use super::limits::{Limits, MIN_BYTES_PER_SECOND, timeout};
use super::reject::Rejection;
use super::service::Receiver;

impl Receiver {
    /// Reads a body up to the limit. `length` determines the total length from the first bytes, if possible.
    pub(super) async fn read_body<B>(
        &self,
        body: &mut B,
        reservation: &mut Reservation,
        limit: usize,
        length: impl Fn(&[u8]) -> Option<usize>,
    ) -> Result<Vec<u8>, Rejection>
    where
        B: hyper::body::Body<Data = Bytes> + Unpin,
    {
        let too_large = || Rejection::TooLarge {
            limit: self.limits.request_bytes,
        };
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > limit {
            return Err(too_large());
        }
        let mut reserved = 0;
        let mut reported = Some(announced).filter(|announced| *announced > 0);
        let mut bytes = Vec::new();
        let Limits {
            body_seconds,
            request_seconds,
            ..
        } = self.limits;
        let begin = Instant::now();
        let last = begin + timeout(request_seconds);
        loop {
            let patience = Instant::now() + timeout(body_seconds);
            let on_the_whole = begin + timeout(body_seconds) + Duration::from_secs((bytes.len() / MIN_BYTES_PER_SECOND) as u64);
            let until = patience.min(on_the_whole);
            let frame = tokio::time::timeout_at(until.min(last), body.frame()).await;
            let frame = frame.map_err(|_| match until < last {
                true => Rejection::Slow { seconds: body_seconds },
                false => Rejection::Late { seconds: request_seconds },
            })?;
            let frame = match frame {
                None => return Ok(bytes),
                Some(Err(_)) => return Err(Rejection::Broken),
                Some(Ok(frame)) => frame,
            };
            let Ok(data) = frame.into_data() else { continue };
            let total = bytes.len() + data.len();
            if total > limit {
                return Err(too_large());
            }
            if total > reserved {
                reservation.grow(total - reserved)?;
                reserved = total;
            }
            // Memory that was never written to is not allocated by the system yet.
            if total > bytes.capacity() {
                let capacity = room(bytes.capacity(), total, reported).min(limit);
                bytes.reserve_exact(capacity - bytes.len());
            }
            bytes.extend_from_slice(&data);
            if reported.is_none() {
                reported = length(&bytes);
                if reported.is_some_and(|reported| reported > limit) {
                    return Err(too_large());
                }
            }
        }
    }
}
