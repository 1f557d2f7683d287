//! Requests for the blocks of one trace.

use std::fmt;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::block::Block;
use super::error::ClientError;

/// The endpoint for reading and writing the blocks of one trace.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) agent: ureq::Agent,
    pub(super) url: String,
    pub(super) authorization: Option<String>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never print the token.
        f.debug_struct("Endpoint").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Endpoint {
    fn authorized<B>(&self, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        match &self.authorization {
            Some(token) => request.header("authorization", token),
            None => request,
        }
    }

    pub(super) fn blocks(&self) -> Result<Vec<Block>, ClientError> {
        self.answer(self.authorized(self.agent.get(&self.url)).call())
    }

    pub(super) fn store(&self, block: &Map<String, Value>) -> Result<Block, ClientError> {
        let request = self.agent.post(&self.url).header("content-type", "application/json");
        let request = self.authorized(request);
        let body = serde_json::to_vec(block).map_err(|source| ClientError::NotJson {
            url: self.url.clone(),
            status: 0,
            source,
        })?;
        self.answer(request.send(body.as_slice()))
    }

    fn answer<T: DeserializeOwned>(&self, answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<T, ClientError> {
        /// A trace may have many blocks.
        const MAX_RESPONSE: u64 = 1 << 30;
        let transport = |source| ClientError::Transport {
            url: self.url.clone(),
            source: Box::new(source),
        };
        let mut response = answer.map_err(transport)?;
        let status = response.status();
        let again = response
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok()?.parse().ok());
        let text = response
            .body_mut()
            .with_config()
            .limit(MAX_RESPONSE)
            .read_to_string()
            .map_err(transport)?;
        if status.is_success() {
            return serde_json::from_str(&text).map_err(|source| ClientError::NotJson {
                url: self.url.clone(),
                status: status.as_u16(),
                source,
            });
        }
        Err(ClientError::refused(status.as_u16(), again.map(Duration::from_secs), &text))
    }
}
