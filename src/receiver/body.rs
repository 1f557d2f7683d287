//! The bytes of a body, in memory that grows with what has come: what a request announces is a hint, never an order. Bytes
//! count as in flight once they have come.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use tokio::time::Instant;

use super::admission::Reservation;
use super::limits::{Limits, SLOWEST};
use super::{Receiver, Rejection};

/// So much memory is taken for what is announced and has not come: most requests are smaller.
const TRUSTED: usize = 4 << 20;

/// How large memory of `now` bytes becomes that must hold `needed`; `told`: how many there will be, as somebody says.
pub(super) fn room(now: usize, needed: usize, told: Option<usize>) -> usize {
    let doubled = now.saturating_mul(2);
    match told {
        Some(told) if told >= needed => needed.max(told.min(doubled.max(TRUSTED))),
        _ => needed.max(doubled),
    }
}

impl Receiver {
    /// Reads a body, never more of it than the limit. `length` says how long it is from how it begins, if that tells.
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
        let mut told = Some(announced).filter(|announced| *announced > 0);
        let mut bytes = Vec::new();
        let Limits {
            body_seconds,
            request_seconds,
            ..
        } = self.limits;
        let begin = Instant::now();
        let last = begin + Duration::from_secs(request_seconds);
        loop {
            let patience = Instant::now() + Duration::from_secs(body_seconds);
            let on_the_whole = begin + Duration::from_secs(body_seconds + (bytes.len() / SLOWEST) as u64);
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
            // Memory that nothing was written to is none yet.
            if total > bytes.capacity() {
                let capacity = room(bytes.capacity(), total, told).min(limit);
                bytes.reserve_exact(capacity - bytes.len());
            }
            bytes.extend_from_slice(&data);
            if told.is_none() {
                told = length(&bytes);
                if told.is_some_and(|told| told > limit) {
                    return Err(too_large());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TRUSTED, room};

    #[test]
    fn memory_for_what_is_announced_comes_with_the_bytes() {
        const MIB: usize = 1 << 20;
        assert_eq!(room(0, 100, Some(3 * MIB)), 3 * MIB);
        assert_eq!(room(0, 100, Some(64 * MIB)), TRUSTED);
        assert_eq!(room(TRUSTED, TRUSTED + 1, Some(64 * MIB)), 2 * TRUSTED);
        assert_eq!(room(32 * MIB, 32 * MIB + 1, Some(40 * MIB)), 40 * MIB);
    }

    #[test]
    fn memory_for_what_is_not_announced_doubles() {
        assert_eq!(room(0, 100, None), 100);
        assert_eq!(room(100, 150, None), 200);
        assert_eq!(room(100, 150, Some(120)), 200, "more came than was told");
        assert_eq!(room(100, 1_000, Some(120)), 1_000);
    }
}
