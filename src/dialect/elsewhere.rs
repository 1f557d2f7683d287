//! Content that a client stored elsewhere: the span has its address (`gen_ai.input.messages_ref`) in its place.

use crate::span::{AnyValue, Attributes, Span};
use crate::trace::{Finding, FindingKind};

/// What the key of an address ends in.
const SUFFIX: &str = "_ref";

/// The key whose content this attribute has the address of, and the address.
pub(crate) fn address<'a>(key: &'a str, value: &'a AnyValue) -> Option<(&'a str, &'a str)> {
    let content = key.strip_suffix(SUFFIX)?;
    match value {
        AnyValue::String(address) if address.contains("://") => Some((content, address)),
        _ => None,
    }
}

/// Whether the content of an address is there, too.
pub(crate) fn is_here(attributes: &Attributes, content: &str) -> bool {
    attributes.get(content).is_some()
}

/// Says where the content lies. `None` if the attribute is no address; nothing is found where the content is there, too.
pub(super) fn finding(span: &Span, key: &str, value: &AnyValue) -> Option<Option<Finding>> {
    let (content, address) = address(key, value)?;
    let detail = || format!("{content} lies elsewhere, at {address}: it is not read");
    let is_missing = !is_here(&span.attributes, content);
    Some(is_missing.then(|| Finding::new(Some(span.span_id), FindingKind::UnreadAttribute, detail())))
}
