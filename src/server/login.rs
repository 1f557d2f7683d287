//! Logging in with a browser: if there are tokens, a page asks for one and keeps it in a cookie that only this server sees.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use http::header::{LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};

use super::cookie::{self, is_same_origin};
use super::gate::Gate;
use crate::access::Right;
use crate::pages::{frame, page_reply};
use crate::web::percent_encoded;

/// Maximum bytes of a login form.
const MAX_FORM_BYTES: usize = 8 << 10;

/// Shows the login page.
pub(super) async fn ask() -> Response {
    page_reply(StatusCode::OK, frame::login("/", None))
}

/// Accepts a token with the right to read, and redirects to where the browser wanted to go.
pub(super) async fn log_in(State((gate, tls)): State<(Arc<Gate>, bool)>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    if !is_same_origin(&uri, &headers) || body.len() > MAX_FORM_BYTES {
        return of_another_page(&gate);
    }
    let (mut token, mut next) = (String::new(), String::new());
    for (name, value) in form_urlencoded::parse(&body) {
        match &*name {
            "token" => token = value.trim().to_owned(),
            "next" => next = value.into_owned(),
            _ => {}
        }
    }
    let next = local(&next);
    let bearer = format!("Bearer {token}");
    if let Err(denied) = gate.tokens().allow([bearer.as_bytes()], Right::Read) {
        gate.refused("unknown_token");
        return page_reply(StatusCode::UNAUTHORIZED, frame::login(&next, Some(&denied.to_string())));
    }
    goes_on(cookie::with(&percent_encoded(&token), tls), next)
}

/// Removes the cookie.
pub(super) async fn log_out(State((gate, tls)): State<(Arc<Gate>, bool)>, uri: Uri, headers: HeaderMap) -> Response {
    if !is_same_origin(&uri, &headers) {
        return of_another_page(&gate);
    }
    goes_on(cookie::with("", tls), "/login".to_owned())
}

fn of_another_page(gate: &Gate) -> Response {
    gate.refused("origin");
    page_reply(
        StatusCode::FORBIDDEN,
        frame::problem(403, "This form was not sent by a page of this server."),
    )
}

/// Sets a cookie and redirects to another page.
fn goes_on(cookie: String, next: String) -> Response {
    let mut response = Response::new(axum::body::Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    for (name, value) in [(SET_COOKIE, cookie), (LOCATION, next)] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The path, if it is on this server; else the front page.
fn local(next: &str) -> String {
    let is_path =
        next.starts_with('/') && !next.starts_with("//") && !next.contains('\\') && next.bytes().all(|byte| (0x21..0x7f).contains(&byte));
    if is_path { next.to_owned() } else { "/".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_goes_on_at_this_server_alone() {
        for (next, goes) in [
            ("/runs/1?span=2", "/runs/1?span=2"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("/a\r\nset-cookie: x", "/"),
            ("", "/"),
        ] {
            assert_eq!(local(next), goes);
        }
    }
}
