//! Payload generation shared by the load generator, the floor servers and the
//! decode benchmarks.
//!
//! * [`generate`] builds `ExportTraceServiceRequest` bodies that look like what
//!   an OpenInference-instrumented agent exports.
//! * [`scan`] is a zero-copy walk over an encoded request which finds ids,
//!   name and timestamps per span without decoding anything else.
//! * [`Template`] is an encoded body plus the places of its ids and times, so that
//!   they can be rewritten in place and every request sent is new to the server.

pub mod generate;
pub mod scan;

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};

/// An encoded request plus the byte offsets of every id in it.
pub struct Template {
    pub body: Bytes,
    pub spans: u32,
    /// (offset of 16 id bytes, trace index within the group)
    trace_ids: Vec<(u32, u32)>,
    /// (offset of 8 id bytes, span index within the group); span and parent ids
    span_ids: Vec<(u32, u32)>,
    /// (offset of 8 bytes of a span's start or end, nanoseconds before the latest)
    times: Vec<(u32, u64)>,
    /// distinct trace indexes in this body
    pub traces: Vec<u32>,
}

/// splitmix64
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[inline]
pub fn trace_id(nonce: u64, idx: u32) -> [u8; 16] {
    let a = mix(nonce) | 1;
    let b = mix(nonce ^ 0x5555_5555_5555_5555 ^ ((idx as u64) << 40));
    let mut out = [0; 16];
    out[..8].copy_from_slice(&a.to_be_bytes());
    out[8..].copy_from_slice(&b.to_be_bytes());
    out
}

#[inline]
pub fn span_id(nonce: u64, idx: u32) -> [u8; 8] {
    (mix(nonce.wrapping_mul(0x1_0000_0001) ^ ((idx as u64) << 32)) | 1).to_be_bytes()
}

impl Template {
    /// `body` holds placeholder ids as `generate` writes them: the index in the
    /// last four bytes.
    pub fn new(body: Vec<u8>) -> Template {
        let mut trace_ids = Vec::new();
        let mut span_ids = Vec::new();
        let mut times = Vec::new();
        let mut spans = 0;
        let base = body.as_ptr() as usize;
        let off = |s: &[u8]| (s.as_ptr() as usize - base) as u32;
        let idx = |s: &[u8]| u32::from_be_bytes(s[s.len() - 4..].try_into().unwrap());
        scan::scan(&body, |s| {
            spans += 1;
            trace_ids.push((off(s.trace_id), idx(s.trace_id)));
            span_ids.push((off(s.span_id), idx(s.span_id)));
            if !s.parent_span_id.is_empty() {
                span_ids.push((off(s.parent_span_id), idx(s.parent_span_id)));
            }
            for time in [s.start, s.end].into_iter().filter(|time| !time.is_empty()) {
                times.push((off(time), u64::from_le_bytes(time.try_into().unwrap())));
            }
        })
        .expect("own payload scans");
        let latest = times.iter().map(|time| time.1).max().unwrap_or_default();
        times.iter_mut().for_each(|time| time.1 = latest - time.1);
        let mut traces: Vec<u32> = trace_ids.iter().map(|t| t.1).collect();
        traces.sort_unstable();
        traces.dedup();
        Template { body: Bytes::from(body), spans, trace_ids, span_ids, times, traces }
    }

    /// Every span gets a trace of its own.
    pub fn lone(mut self) -> Template {
        for (index, (_, trace)) in (0..).zip(&mut self.trace_ids) {
            *trace = index;
        }
        self.traces = (0..self.spans).collect();
        self
    }

    /// Rewrites every id as a function of `nonce`, and the spans' times so that the
    /// last ends now; in place where nothing else holds the buffer any more, in a
    /// copy otherwise.
    pub fn stamp(&mut self, prefix: usize, nonce: u64) -> Bytes {
        let body = std::mem::take(&mut self.body);
        let mut buf = match body.try_into_mut() {
            Ok(buf) => buf,
            Err(shared) => BytesMut::from(&shared[..]),
        };
        for &(off, idx) in &self.trace_ids {
            let off = off as usize + prefix;
            buf[off..off + 16].copy_from_slice(&trace_id(nonce, idx));
        }
        for &(off, idx) in &self.span_ids {
            let off = off as usize + prefix;
            buf[off..off + 8].copy_from_slice(&span_id(nonce, idx));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        for &(off, before) in &self.times {
            let off = off as usize + prefix;
            buf[off..off + 8].copy_from_slice(&(now - before).to_le_bytes());
        }
        self.body = buf.freeze();
        self.body.clone()
    }
}
