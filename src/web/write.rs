//! Requests that write: the outcomes of their bodies.

use std::sync::Arc;

use axum::body::Body;
use hyper::{Response, StatusCode};

use super::blocks::{Name, Posted};
use super::import::{self, Imported};
use super::reply::{Problem, json_reply};
use super::service::Web;
use crate::redact::Rules;
use crate::span::UnixNanos;

/// Maximum bytes of a body read on the async thread; larger ones are read on another thread.
const SMALL: usize = 16 << 10;

/// Maximum bytes of a trace's name in a path. The specification has no limit; this one bounds index and memory.
const LONGEST_NAME: usize = 256;

impl Web {
    /// Refuses a write request with the message of the reader or the store. `retry`: seconds after which to retry.
    #[must_use]
    pub fn refuse_write(status: u16, message: String, retry: Option<u64>) -> Response<Body> {
        Problem::unread(status, message, retry).reply()
    }

    /// Adds blocks to a trace. Returns the answer, once they are on disk, and their number.
    pub async fn write_blocks(
        &self,
        organization: &str,
        trace: &str,
        body: bytes::Bytes,
        rules: Option<Arc<Rules>>,
    ) -> (Response<Body>, usize) {
        match self.add_blocks(organization, trace, body, rules).await {
            Ok((text, count)) => {
                let mut response = json_reply(text);
                *response.status_mut() = StatusCode::CREATED;
                (response, count)
            }
            Err(problem) => (problem.reply(), 0),
        }
    }

    async fn add_blocks(
        &self,
        organization: &str,
        trace: &str,
        body: bytes::Bytes,
        rules: Option<Arc<Rules>>,
    ) -> Result<(String, usize), Problem> {
        self.is_of(organization)?;
        if !trace.starts_with("tr_") || trace.len() <= 3 || trace.len() > LONGEST_NAME {
            let message = format!("a trace id is tr_ and 1 to {} bytes more", LONGEST_NAME - 3);
            return Err(Problem::of_field("trace_id", message));
        }
        let name = Name::of(trace);
        let posted = if body.len() <= SMALL {
            Posted::read(body, &name, rules.as_deref())?
        } else {
            let name = name.clone();
            let work = self.readers.blocks.run(move || Posted::read(body, &name, rules.as_deref()));
            work.await.ok_or_else(|| Problem::internal("the body could not be read"))??
        };
        let count = posted.len();
        Ok((self.ledger.post(name, posted).await?, count))
    }

    /// Reads documents whose spans are to be stored.
    ///
    /// # Errors
    ///
    /// The response that refuses them.
    pub(crate) async fn read_documents(&self, format: Option<String>, body: bytes::Bytes) -> Result<Imported, Response<Body>> {
        let (store, now) = (Arc::clone(&self.store), UnixNanos(crate::store::now()));
        // A document that was stored before keeps its start: submitting it again changes nothing.
        let begin = move |trace_id| match store.row(trace_id) {
            Ok(Some(row)) => UnixNanos(row.start),
            _ => now,
        };
        let work = self.readers.documents.run(move || import::read(format.as_deref(), &body, begin));
        let read = work.await.ok_or_else(|| Problem::internal("the documents could not be read"));
        read.and_then(|read| read).map_err(|problem| problem.reply())
    }
}
