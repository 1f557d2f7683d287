//! One request in progress: its limits, whether the client still waits, and where the answer goes.

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use axum::body::Body;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LOCATION, VARY};
use hyper::{HeaderMap, Response, StatusCode};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use super::allowance::Allowance;
use super::reply::{Outcome, Problem};
use super::request::Asked;

/// Bytes buffered before the head is sent: until then, an error can still have a status.
const HEAD_BUFFER_BYTES: usize = 128 << 10;
/// Bytes sent to the client at a time.
const PART_BYTES: usize = 64 << 10;

/// One request being answered by its own thread.
#[derive(Debug)]
pub(crate) struct Answer {
    allowance: Allowance,
    head: Option<Head>,
    status: StatusCode,
    headers: HeaderMap,
    buffer: Vec<u8>,
    /// Compresses what is written.
    packer: Option<GzEncoder<Vec<u8>>>,
}

impl Answer {
    pub(super) fn new(allowance: Allowance, head: Head) -> Self {
        Self {
            allowance,
            head: Some(head),
            status: StatusCode::OK,
            headers: HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]),
            buffer: Vec::new(),
            packer: None,
        }
    }

    /// Sets the content type.
    pub(crate) fn of_type(&mut self, content_type: &'static str) {
        self.header(CONTENT_TYPE, content_type);
    }

    /// Sets a header; has no effect once the first bytes were sent.
    pub(crate) fn header(&mut self, name: HeaderName, value: &'static str) {
        self.headers.insert(name, HeaderValue::from_static(value));
    }

    /// Compresses everything written from now on, if the client accepts that. Answers mix no secrets with content of others,
    /// so the compressed length reveals nothing.
    pub(crate) fn pack(&mut self, asked: &Asked) {
        self.header(VARY, "accept-encoding");
        if asked.takes_gzip() && self.packer.is_none() {
            self.header(CONTENT_ENCODING, "gzip");
            self.packer = Some(GzEncoder::new(Vec::new(), Compression::fast()));
        }
    }

    /// Answers with these bytes, or with 304 if the client has them.
    pub(crate) fn whole(&mut self, asked: &Asked, bytes: &[u8]) -> Outcome {
        let digest = Sha256::digest(bytes);
        let tag = format!("W/\"{}\"", crate::span::ids::hex(digest.get(..12).unwrap_or_default()));
        if asked.knows(&tag) {
            self.status = StatusCode::NOT_MODIFIED;
            self.headers.clear();
        }
        if let Ok(value) = HeaderValue::from_str(&tag) {
            self.headers.insert(ETAG, value);
        }
        if self.status == StatusCode::NOT_MODIFIED {
            self.header(VARY, "accept-encoding");
            return Ok(());
        }
        self.pack(asked);
        Ok(io::Write::write_all(self, bytes)?)
    }

    /// Adds a header with the number of traces missing from the answer because they were deleted on request.
    pub(crate) fn lacks_traces(&mut self, deleted: u64) {
        if deleted > 0 {
            self.headers.insert(DELETED_TRACES, deleted.into());
        }
    }

    /// Redirects to another path.
    pub(crate) fn see_other(&mut self, path: &str) -> Outcome {
        let location = HeaderValue::from_str(path).map_err(|_| Problem::internal("there is no such path"))?;
        self.status = StatusCode::SEE_OTHER;
        self.headers.clear();
        self.headers.insert(LOCATION, location);
        Ok(())
    }

    /// Writes a value as JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Problem> {
        serde_json::to_writer(&mut *self, value).map_err(|error| io::Error::from(error).into())
    }

    fn send_head(&mut self) -> io::Result<()> {
        let Some(head) = self.head.take() else { return Ok(()) };
        let mut response = Response::new(self.allowance.delivery().body());
        *response.status_mut() = self.status;
        *response.headers_mut() = std::mem::take(&mut self.headers);
        head.send(response).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Ends the answer, or sends the error.
    pub(crate) fn end(mut self, outcome: Outcome) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let packed = self.packer.take().map(GzEncoder::finish).transpose();
        buffer.extend(packed.ok().flatten().unwrap_or_default());
        let delivery = Arc::clone(self.allowance.delivery());
        let reservation = self.allowance.split(usize::MAX);
        match (outcome, &self.head) {
            (Ok(()), _) => {
                let is_whole = buffer.is_empty() || delivery.put(buffer).is_ok();
                delivery.end(is_whole, reservation);
                let _ = self.send_head();
            }
            (Err(problem), Some(_)) => {
                delivery.end(false, reservation);
                if let Some(head) = self.head.take() {
                    let _ = head.send(problem.reply());
                }
            }
            // Part of it was sent: breaking off is the only way to signal the error.
            (Err(_), None) => delivery.end(false, reservation),
        }
    }
}

impl Deref for Answer {
    type Target = Allowance;

    fn deref(&self) -> &Allowance {
        &self.allowance
    }
}

impl DerefMut for Answer {
    fn deref_mut(&mut self) -> &mut Allowance {
        &mut self.allowance
    }
}

type Head = oneshot::Sender<Response<Body>>;

/// The number of traces missing from the answer because they were deleted on request.
const DELETED_TRACES: HeaderName = HeaderName::from_static("spanbridge-deleted-traces");

impl io::Write for Answer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = bytes.get(..PART_BYTES).unwrap_or(bytes);
        match &mut self.packer {
            Some(packer) => {
                packer.write_all(bytes)?;
                self.buffer.append(packer.get_mut());
            }
            None => self.buffer.extend_from_slice(bytes),
        }
        let enough = if self.head.is_some() { HEAD_BUFFER_BYTES } else { PART_BYTES };
        if self.buffer.len() >= enough {
            self.send_head()?;
            let part = std::mem::replace(&mut self.buffer, Vec::with_capacity(PART_BYTES + 1_024));
            self.allowance.delivery().put(part).map_err(io::Error::other)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
