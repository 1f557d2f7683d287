//! A user's registry file: read or refused, and its rules can be used.

use spanbridge::dialect::{Field, Registry, file, read};
use spanbridge::span::{AnyValue, Span, SpanId, TraceId};

/// Holds the law over this text.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let rules = match file::rules("own", text) {
        Ok(rules) => rules,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let mut span = Span::new(
        TraceId::from_bytes(&[1; 16]).expect("an id"),
        SpanId::from_bytes(&[1; 8]).expect("an id"),
        "span",
    );
    for rule in rules.iter().take(32) {
        span.attributes.push(rule.key, AnyValue::from(r#"{"a":[1]}"#));
        span.attributes.push(format!("{}0.a", rule.key), 1);
    }
    let registry = Registry::of(rules);
    let _ = read(&registry, &span, &[]);
    let _ = registry.keys_of(Field::SessionId);
}
