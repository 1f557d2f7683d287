//! The routes of the API with their required rights.

use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any, get};
use axum::{Extension, Router};
use hyper::service::Service as _;
use hyper::{Method, Request, Uri};
use hyper_util::service::TowerToHyperService;

use super::reply::{self, Problem, json_reply, reply};
use super::route::{OfProject, Route};
use super::service::Web;
use super::{blocks, lists, openapi, single};
use crate::formats;
use crate::store::Filter;

/// All read routes. Paths that can only be written refuse to be read.
#[must_use]
pub fn routes() -> Vec<Route> {
    vec![
        Route::bare("/", None, reply::GET, get(front_page)),
        openapi::HEALTH.bare(get(healthz)),
        openapi::READY.bare(get(readyz)),
        openapi::OPENAPI.bare(get(of_openapi)),
        openapi::METRICS.bare(get(metrics)),
        openapi::TRACES.reads(lists::traces),
        openapi::TRACE.reads(single::trace),
        openapi::TRACE_DOCUMENT.reads(single::trace_document),
        openapi::SESSIONS.reads(lists::sessions),
        openapi::SESSION.bare(MethodRouter::new()),
        openapi::SESSION_DOCUMENT.reads(single::session_document),
        openapi::BLOCKS.reads(|web, named, asked, answer| blocks::blocks(web, named, false, asked, answer)),
        openapi::STITCHED_BLOCKS.reads(|web, named, asked, answer| blocks::blocks(web, named, true, asked, answer)),
        openapi::IMPORT.bare(MethodRouter::new()),
        openapi::IMPORT_OF_FORMAT.bare(MethodRouter::new()),
        openapi::EVALUATIONS.bare(MethodRouter::new()),
    ]
}

/// The handler for unknown paths; it requires the right to read.
pub(crate) fn elsewhere_route() -> MethodRouter {
    any(elsewhere)
}

impl Web {
    /// Answers one read request. Does not check rights: that is up to the server.
    pub async fn handle<B>(self: Arc<Self>, request: Request<B>) -> Response {
        let router = routes()
            .into_iter()
            .fold(Router::new(), |router, route| router.route(route.path, route.methods()));
        let router = router.fallback_service(elsewhere_route()).layer(Extension(self));
        let mut request = request.map(|_| Body::empty());
        *request.uri_mut() = normalized(request.uri());
        let Ok(response) = TowerToHyperService::new(router).call(request).await;
        response
    }
}

/// The URI with letters, digits, `-`, `.`, `_` and `~` of the path unescaped (RFC 3986, 6.2.2.2): axum compares paths
/// literally, and a path must have the same right however it is written.
#[must_use]
pub(crate) fn normalized(uri: &Uri) -> Uri {
    let mut parts = uri.path().split('%');
    let mut path = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        let byte = digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(digits);
        match byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if digits.len() == 2 && (byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)) => {
                path.push(char::from(byte));
                path.push_str(rest);
            }
            _ => {
                path.push('%');
                path.push_str(part);
            }
        }
    }
    if path == uri.path() {
        return uri.clone();
    }
    if let Some(query) = uri.query() {
        path.push('?');
        path.push_str(query);
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = path.parse().ok();
    Uri::from_parts(parts).unwrap_or_else(|_| uri.clone())
}

async fn elsewhere(method: Method, uri: Uri) -> Response {
    if method != Method::GET && method != Method::HEAD {
        return Problem::method(&method, reply::GET).reply();
    }
    let path = uri.path();
    Problem::not_found(format!("there is nothing at {path}; GET / lists the paths")).reply()
}

async fn healthz() -> Response {
    reply("text/plain", "ok\n".to_owned())
}

/// Access to the disk runs on a detached thread.
async fn readyz(OfProject(web): OfProject) -> Response {
    let first = Filter {
        limit: Some(1),
        ..Filter::default()
    };
    let readers = Arc::clone(&web.readers);
    let asked = readers.states.run(move || web.store.list(&first).and_then(|_| web.store.ready()));
    match asked.await {
        Some(Ok(())) => reply("text/plain", "ready\n".to_owned()),
        Some(Err(error)) => Problem::unready(&error).reply(),
        None => Problem::internal("the response could not be made").reply(),
    }
}

async fn metrics(OfProject(web): OfProject) -> Response {
    let readers = Arc::clone(&web.readers);
    match readers.states.run(move || (web.metrics)()).await {
        Some(text) => reply("text/plain; version=0.0.4", text),
        None => Problem::internal("the response could not be made").reply(),
    }
}

/// The API's description, for programs.
async fn of_openapi() -> Response {
    json_reply(openapi::document().to_string())
}

async fn front_page() -> Response {
    let formats: Vec<&str> = formats::FORMATS.iter().map(|format| format.id).collect();
    let (version, paths, formats) = (env!("CARGO_PKG_VERSION"), openapi::listed(), formats.join(", "));
    let text = format!("spanbridge {version}\n\n{paths}\nformats: {formats}\n");
    reply("text/plain", text)
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.reply()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test")]
    use super::*;

    #[test]
    fn a_path_is_the_same_however_it_is_written() {
        for (written, same) in [
            ("/%6detrics", "/metrics"),
            ("/%6Detric%73?a=%62", "/metrics?a=%62"),
            ("/api/v1/sessions/a%2Fb%20%7E/reflex", "/api/v1/sessions/a%2Fb%20~/reflex"),
            ("/%", "/%"),
            ("/%6", "/%6"),
            ("/%zz%2", "/%zz%2"),
            ("/%2564", "/%2564"),
            ("//", "//"),
        ] {
            assert_eq!(normalized(&written.parse().unwrap()), same.parse::<Uri>().unwrap(), "{written}");
        }
    }
}
