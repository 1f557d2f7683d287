//! Content that a client stored elsewhere, leaving only its address on the span (`gen_ai.input.messages_ref`).

use crate::span::{AnyValue, Attributes, Span};
use crate::trace::{Finding, FindingKind};

/// Suffix of the key of an address.
const SUFFIX: &str = "_ref";

/// The key of the content that this attribute gives the address of, and the address.
pub(crate) fn address<'a>(key: &'a str, value: &'a AnyValue) -> Option<(&'a str, &'a str)> {
    let content = key.strip_suffix(SUFFIX)?;
    match value {
        AnyValue::String(address) if address.contains("://") => Some((content, address)),
        _ => None,
    }
}

/// Whether the span also has the content itself.
pub(crate) fn is_here(attributes: &Attributes, content: &str) -> bool {
    attributes.get(content).is_some()
}

/// Reports where the content is stored. `None` if the attribute is not an address; no finding if the span also has the content.
pub(super) fn finding(span: &Span, key: &str, value: &AnyValue) -> Option<Option<Finding>> {
    let (content, address) = address(key, value)?;
    let detail = || format!("{content} lies elsewhere, at {address}: it is not read");
    let is_missing = !is_here(&span.attributes, content);
    Some(is_missing.then(|| Finding::new(Some(span.span_id), FindingKind::UnreadAttribute, detail())))
}
