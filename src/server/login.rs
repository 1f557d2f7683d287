//! Logging in with a browser: where there are tokens, a page asks for one and keeps it in a cookie that only this server sees.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use http::header::{COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Request, StatusCode};

use super::gate::Gate;
use crate::access::Right;
use crate::pages::{frame, page_reply};
use crate::web::{percent_decoded, percent_encoded};

/// The name of the cookie.
const NAME: &str = "spanbridge";
/// A form is this short.
const FORM: usize = 8 << 10;

/// What the cookie of a request stands for: the value of an `Authorization` header. What changes something must come from a page of
/// this server.
pub(super) fn of_cookie<B>(request: &Request<B>) -> Option<Vec<u8>> {
    if !request.method().is_safe() && !is_same_origin(request.headers()) {
        return None;
    }
    let cookies = request.headers().get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, token) = pairs.find(|(name, _)| *name == NAME)?;
    Some(format!("Bearer {}", percent_decoded(token)?).into_bytes())
}

/// Whether a request comes from a page of the server that it goes to.
pub(super) fn is_same_origin(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    let of_origin = origin.and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    of_origin.is_some() && of_origin == host && site.is_none_or(|site| site == "same-origin")
}

/// Asks for a token.
pub(super) async fn ask() -> Response {
    page_reply(StatusCode::OK, frame::login("/", None))
}

/// Takes a token that may read, and goes on where the browser wanted to.
pub(super) async fn log_in(State((gate, tls)): State<(Arc<Gate>, bool)>, headers: HeaderMap, body: Bytes) -> Response {
    if !is_same_origin(&headers) || body.len() > FORM {
        gate.refused("origin");
        return page_reply(StatusCode::FORBIDDEN, frame::problem(403, "This form was not sent by a page of this server."));
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
    let secure = if tls { "; Secure" } else { "" };
    let cookie = format!("{NAME}={}; HttpOnly; SameSite=Strict; Path=/{secure}", percent_encoded(&token));
    let mut response = Response::new(axum::body::Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    for (name, value) in [(SET_COOKIE, cookie), (LOCATION, next)] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// A path of this server; anything else is its front page.
fn local(next: &str) -> String {
    let is_path = next.starts_with('/') && !next.starts_with("//") && !next.contains('\\') && next.bytes().all(|byte| (0x21..0x7f).contains(&byte));
    if is_path { next.to_owned() } else { "/".to_owned() }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
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

    #[test]
    fn a_cookie_counts_for_what_changes_something_only_from_our_own_pages() {
        let request = |method: &str, origin: Option<&str>| {
            let mut request = Request::builder().method(method).header(HOST, "localhost:4319").header(COOKIE, "a=b; spanbridge=sb%5Fx");
            if let Some(origin) = origin {
                request = request.header(ORIGIN, origin);
            }
            of_cookie(&request.body(()).unwrap()).map(|value| String::from_utf8(value).unwrap())
        };
        let bearer = Some("Bearer sb_x".to_owned());
        assert_eq!(request("GET", None), bearer);
        assert_eq!(request("POST", None), None);
        assert_eq!(request("POST", Some("http://evil.example")), None);
        assert_eq!(request("POST", Some("null")), None);
        assert_eq!(request("POST", Some("http://localhost:4319")), bearer);
    }
}
