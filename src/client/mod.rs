//! A client for OpenReward blocks: logs an agent's work to the API of a `spanbridge` server, block by block.
//!
//! ```no_run
//! use serde_json::json;
//! use spanbridge::client::{Client, Role};
//!
//! # fn main() -> Result<(), spanbridge::client::ClientError> {
//! let trace = Client::new("http://127.0.0.1:4319").trace("tr_run-1");
//! let question = trace.log_message(Role::User, "Weather in Oslo?").send()?;
//! trace.log_think(&question, "A tool knows the weather.").send()?;
//! let call = trace.log_act(&question, "call_1", "weather", json!({"city": "Oslo"})).send()?;
//! trace.log_observe(&call, "-3 °C").reward(1.0).send()?;
//! # Ok(())
//! # }
//! ```
//!
//! Each method creates one block. [`Draft::send`] stores it and returns it as stored: by then the block is on the server's disk.
//! A call can only be under a message, and a result only under a call: other parents do not compile. Everything else is checked
//! by the server, and the error has its [`Code`].
//!
//! Requests block the thread. The client has no queue and never retries by itself: after [`Code::NotStored`] or
//! [`ClientError::Transport`] the block may or may not be stored. Send it again with the same [`Draft::id`]; [`Code::Validation`]
//! with the field `id` then means that it is stored.

mod block;
mod draft;
mod endpoint;
mod error;

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use endpoint::Endpoint;

pub use block::{Block, MessageBlock, Role, ThinkBlock, ToolCallBlock, ToolResultBlock};
pub use draft::Draft;
pub use error::{ClientError, Code};

/// A server, with the organization and token to write there.
#[derive(Clone)]
pub struct Client {
    agent: ureq::Agent,
    url: String,
    organization: String,
    authorization: Option<String>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never print the token.
        f.debug_struct("Client")
            .field("url", &self.url)
            .field("organization", &self.organization)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client for a server's API, for example `http://127.0.0.1:4319`, with the organization `default`.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        const TIMEOUT: Duration = Duration::from_secs(30);
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("spanbridge-client/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Self {
            agent,
            url: url.into().trim_end_matches('/').to_owned(),
            organization: "default".to_owned(),
            authorization: None,
        }
    }

    /// Sets another organization: the one of the token's project.
    #[must_use]
    pub fn with_organization(mut self, organization: impl Into<String>) -> Self {
        self.organization = organization.into();
        self
    }

    /// Sets a token with the right `ingest`.
    #[must_use]
    pub fn with_token(mut self, token: &str) -> Self {
        self.authorization = Some(format!("Bearer {token}"));
        self
    }

    /// A trace with this id, `tr_` and up to 253 bytes. The first block creates it.
    #[must_use]
    pub fn trace(&self, id: impl Into<String>) -> Trace {
        let id = id.into();
        let (url, organization) = (&self.url, escaped(&self.organization));
        Trace {
            endpoint: Endpoint {
                agent: self.agent.clone(),
                url: format!("{url}/v1/organizations/{organization}/traces/{}/blocks", escaped(&id)),
                authorization: self.authorization.clone(),
            },
            id,
        }
    }
}

/// A trace to log to.
#[derive(Debug, Clone)]
pub struct Trace {
    endpoint: Endpoint,
    id: String,
}

impl Trace {
    /// The trace's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A message. The content is text, or any JSON value that is not empty.
    pub fn log_message(&self, role: Role, content: impl Into<Value>) -> Draft<'_, MessageBlock> {
        let payload = json!({"role": role.name(), "content": content.into()});
        Draft::new(&self.endpoint, ["MESSAGE", "MESSAGE"], payload, None)
    }

    /// A tool call under a message. The arguments are an object.
    pub fn log_act(
        &self,
        parent: &MessageBlock,
        call_id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<Value>,
    ) -> Draft<'_, ToolCallBlock> {
        let payload = json!({"call_id": call_id.into(), "name": name.into(), "arguments": arguments.into()});
        Draft::new(&self.endpoint, ["ACT", "TOOL_CALL"], payload, Some(parent))
    }

    /// The result of a call.
    pub fn log_observe(&self, call: &ToolCallBlock, output: impl Into<Value>) -> Draft<'_, ToolResultBlock> {
        let payload = json!({"call_id": call.call_id(), "output": output.into()});
        Draft::new(&self.endpoint, ["OBSERVE", "TOOL_RESULT"], payload, Some(call))
    }

    /// A piece of a call's result. `seq` is its index among the pieces.
    pub fn log_observe_delta(&self, call: &ToolCallBlock, delta: impl Into<Value>, seq: u64) -> Draft<'_, ToolResultBlock> {
        let payload = json!({"call_id": call.call_id(), "delta": delta.into(), "seq": seq});
        Draft::new(&self.endpoint, ["OBSERVE", "TOOL_RESULT"], payload, Some(call))
    }

    /// A thought under a message.
    pub fn log_think(&self, parent: &MessageBlock, text: impl Into<String>) -> Draft<'_, ThinkBlock> {
        Draft::new(&self.endpoint, ["ACT", "THINK"], json!({"text": text.into()}), Some(parent))
    }

    /// All blocks of the trace, in the order they were stored.
    ///
    /// # Errors
    ///
    /// The trace does not exist, or the server cannot be reached.
    pub fn blocks(&self) -> Result<Vec<Block>, ClientError> {
        self.endpoint.blocks()
    }
}

/// Percent-encodes one segment of a path.
fn escaped(segment: &str) -> String {
    let mut out = String::with_capacity(segment.len());
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_escaped_and_tokens_are_not_shown() {
        let client = Client::new("http://localhost:1/").with_organization("a b").with_token("secret");
        let url = client.trace("tr_ü/1").endpoint.url;
        assert_eq!(url, "http://localhost:1/v1/organizations/a%20b/traces/tr_%C3%BC%2F1/blocks");
        assert!(!format!("{client:?} {:?}", client.trace("tr_1")).contains("secret"));
    }
}
