//! Protocol and compression in the headers of a request.

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName};

use super::limits::Encoding;
use super::reject::Rejection;

/// Whether a request is gRPC.
pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/grpc") || essence.eq_ignore_ascii_case("application/grpc+proto")
}

/// The compression named in a header. Only one is allowed: each further one would be another chance for a bomb.
pub(super) fn encoding(headers: &HeaderMap, header: &HeaderName) -> Result<Option<Encoding>, Rejection> {
    let values = headers
        .get_all(header)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()));
    let text = values.collect::<Vec<_>>().join(", ").to_ascii_lowercase();
    let mut names = text.split(',').map(str::trim).filter(|name| !matches!(*name, "" | "identity"));
    let Some(name) = names.next() else { return Ok(None) };
    let encoding = Encoding::of_name(name).filter(|_| names.next().is_none());
    encoding.map(Some).ok_or_else(|| Rejection::ContentEncoding {
        encoding: text.chars().take(100).collect(),
    })
}
