//! The cookie that keeps browsers logged in.

use http::header::{COOKIE, HOST, ORIGIN};
use http::{HeaderMap, Request, Uri};

use crate::web::percent_decoded;

/// The name of the cookie. With TLS, the prefix keeps other servers, and pages without TLS, from setting it.
pub(super) fn name(tls: bool) -> &'static str {
    if tls { "__Host-spanbridge" } else { "spanbridge" }
}

/// A cookie with this value; an empty one removes the cookie.
pub(super) fn with(value: &str, tls: bool) -> String {
    let (name, secure) = (name(tls), if tls { "; Secure" } else { "" });
    let gone = if value.is_empty() { "; Max-Age=0" } else { "" };
    format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/{secure}{gone}")
}

/// The cookie of a request as the value of an `Authorization` header. A request that changes something must come from a page
/// of this server.
pub(super) fn of_request<B>(request: &Request<B>, tls: bool) -> Option<Vec<u8>> {
    if !request.method().is_safe() && !is_same_origin(request.uri(), request.headers()) {
        return None;
    }
    let cookies = request.headers().get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let (_, token) = pairs.find(|(of, _)| *of == name(tls))?;
    Some(format!("Bearer {}", percent_decoded(token)?).into_bytes())
}

/// Whether a request comes from a page of the same server. HTTP/2 has the server's name in the address, HTTP/1.1 in `Host`.
pub(super) fn is_same_origin(uri: &Uri, headers: &HeaderMap) -> bool {
    let named = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = named.or_else(|| Some(uri.authority()?.as_str()));
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    let of_origin = origin.and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    of_origin.is_some() && of_origin == host && site.is_none_or(|site| site == "same-origin")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn over_tls_a_cookie_that_another_server_set_counts_nothing() {
        let of = |cookie: &str| of_request(&Request::builder().header(COOKIE, cookie).body(()).unwrap(), true);
        assert_eq!(of("spanbridge=sb_x"), None);
        assert_eq!(of("__Host-spanbridge=sb_x"), Some(b"Bearer sb_x".to_vec()));
        assert!(with("sb_x", true).starts_with("__Host-spanbridge=sb_x; ") && with("sb_x", true).contains("; Secure"));
        assert!(with("", true).ends_with("; Max-Age=0"));
    }

    #[test]
    fn a_cookie_counts_for_what_changes_something_only_from_our_own_pages() {
        let request = |method: &str, origin: Option<&str>| {
            let mut request = Request::builder()
                .method(method)
                .header(HOST, "localhost:4319")
                .header(COOKIE, "a=b; spanbridge=sb%5Fx");
            if let Some(origin) = origin {
                request = request.header(ORIGIN, origin);
            }
            of_request(&request.body(()).unwrap(), false).map(|value| String::from_utf8(value).unwrap())
        };
        let bearer = Some("Bearer sb_x".to_owned());
        assert_eq!(request("GET", None), bearer);
        assert_eq!(request("POST", None), None);
        assert_eq!(request("POST", Some("http://evil.example")), None);
        assert_eq!(request("POST", Some("null")), None);
        assert_eq!(request("POST", Some("http://localhost:4319")), bearer);
        for (origin, may) in [("https://spans.example", true), ("https://evil.example", false)] {
            let second_version = Request::builder()
                .method("POST")
                .uri("https://spans.example/login")
                .header(ORIGIN, origin);
            let second_version = second_version.body(()).unwrap();
            assert_eq!(is_same_origin(second_version.uri(), second_version.headers()), may, "{origin}");
        }
    }
}
