//! Browsers that send spans from a page: accepted only if the page's origin is allowed, by the Fetch standard.

use bytes::Bytes;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, Response, StatusCode};

use super::reject::Rejection;
use super::response_body::{Body, full};

/// Which web pages may send. None by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cors {
    /// Origins as browsers write them, `https://app.example`; `*` allows every origin.
    pub origins: Vec<String>,
}

/// How long a browser may cache a preflight, in seconds; Chromium's maximum.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

impl Cors {
    /// The origin of a request, if it is allowed.
    pub(super) fn allowed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        let known = |known: &String| known == "*" || known.as_bytes().eq_ignore_ascii_case(origin.as_bytes());
        self.origins.iter().any(known).then(|| origin.clone())
    }

    /// Checks that a POST request does not come from a web page, or from an allowed one.
    pub(super) fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Rejection> {
        let Some(origin) = headers.get(ORIGIN).filter(|_| method == Method::POST) else {
            return Ok(());
        };
        match self.allowed(headers) {
            Some(_) => Ok(()),
            None => Err(Rejection::Origin {
                origin: String::from_utf8_lossy(origin.as_bytes()).chars().take(100).collect(),
            }),
        }
    }

    /// The answer to a preflight; `None` if the request is not one.
    pub(super) fn preflight(&self, method: &Method, headers: &HeaderMap) -> Option<Response<Body>> {
        if self.origins.is_empty() || method != Method::OPTIONS || !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
            return None;
        }
        let mut response = Response::new(full(Bytes::new()));
        *response.status_mut() = StatusCode::NO_CONTENT;
        if self.allowed(headers).is_some() {
            let answer = response.headers_mut();
            answer.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
            answer.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
            // Access is decided by origin. An allowed page may send any header.
            if let Some(asked) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
                answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
            }
        }
        Some(response)
    }

    /// Adds the headers that a browser requires before it passes a response to its page.
    pub(super) fn mark(&self, origin: Option<HeaderValue>, response: &mut Response<Body>) {
        if self.origins.is_empty() {
            return;
        }
        let headers = response.headers_mut();
        headers.append(VARY, HeaderValue::from_static("origin"));
        if let Some(origin) = origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("retry-after"));
        }
    }
}
