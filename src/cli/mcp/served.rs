//! The tools on the port of a server's API. Requests are stateless: there are no sessions, and answers are JSON.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::tools::{From, Tools};
use crate::access::Right;
use crate::server::Mount;
use crate::web::service::Caller;

/// Maximum bytes of a request: a call names a run, a step and a page.
const REQUEST_BYTES: usize = 64 << 10;

/// The tools at `/mcp`.
pub(in crate::cli) fn mount() -> Mount {
    // The server has already checked host, origin and token.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(REQUEST_BYTES);
    let sessions = Arc::new(NeverSessionManager::default());
    Mount {
        path: "/mcp",
        right: Right::Read,
        answer: Arc::new(move |web, request| {
            let (caller, waiting) = Caller::new(&web);
            let tools = move || Ok(Tools::new(From::Server(caller.clone())));
            let service = StreamableHttpService::new(tools, Arc::clone(&sessions), config.clone());
            Box::pin(async move {
                let response: Response = service.handle(request).await.map(Body::new);
                waiting.end();
                response
            })
        }),
    }
}
