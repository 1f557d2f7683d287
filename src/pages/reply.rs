//! Responses of pages: headers, and errors as pages.

use axum::body::{Body, to_bytes};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderName, HeaderValue, Request, StatusCode, Uri};
use maud::Markup;
use serde_json::Value;

use super::frame;

/// Scripts, styles, images and requests only from this server, nothing inline, no frames. Text becomes elements only through
/// one policy of our scripts.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types spanbridge";

/// Maximum bytes of a problem.
const PROBLEM: usize = 64 << 10;

pub(crate) const HTML: &str = "text/html; charset=utf-8";

/// A page.
pub(crate) fn page_reply(status: StatusCode, page: Markup) -> Response {
    let mut response = Response::new(Body::from(page.into_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(HTML));
    response
}

/// The address of the front page if a browser asks for it: other programs get the list of paths as text.
#[must_use]
pub(crate) fn addressed<B>(request: &Request<B>) -> Option<Uri> {
    let accepts = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
    let is_front = request.uri().path() == "/" && accepts.is_some_and(|accept| accept.contains("text/html"));
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    is_front.then(|| format!("/runs{query}").parse().ok()).flatten()
}

/// Adds the headers of pages to every answer, and turns a problem of the API into a page.
pub(crate) async fn dressed(request: Request<Body>, next: Next) -> Response {
    let accepts = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
    let wants_page = accepts.is_none_or(|accept| accept.contains("text/html") || accept.contains("*/*"));
    let address = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let mut response = next.run(request).await;
    let is_problem = response.status().is_client_error() || response.status().is_server_error();
    let is_json = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if is_problem && is_json && wants_page {
        response = as_page(response, &address).await;
    }
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer`, browsers would send `Origin: null` with our own forms.
        (REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let _ = headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("private, no-cache"));
    response
}

async fn as_page(response: Response, address: &str) -> Response {
    let (mut parts, body) = response.into_parts();
    let body = to_bytes(body, PROBLEM).await.unwrap_or_default();
    let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = problem.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
    let page = if parts.status == StatusCode::UNAUTHORIZED {
        frame::login(address, None)
    } else {
        frame::problem(parts.status.as_u16(), message)
    };
    let _ = parts.headers.remove(CONTENT_LENGTH);
    // Otherwise the browser would ask for a name and a password itself.
    let _ = parts.headers.remove(http::header::WWW_AUTHENTICATE);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(HTML));
    Response::from_parts(parts, Body::from(page.into_string()))
}
