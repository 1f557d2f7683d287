//! Counts the values of a message, to estimate the memory needed to decode it without decoding it.

use super::schema::{Kind, Type};
use super::wire::{Cursor, Fault};
use crate::span::Signal;

/// The number of values in a message, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Census {
    /// Spans and log records.
    pub items: usize,
    /// Events, links, resources, scopes, and the groups of items below these; for metrics, everything except attributes.
    pub parts: usize,
    /// Attributes and map entries.
    pub pairs: usize,
    /// List elements.
    pub values: usize,
    /// Values inside text that may be JSON.
    pub json_values: usize,
    /// Characters that start or end a value in any text, be it JSON, a Python repr or neither.
    pub separators: usize,
    /// Commas after letters, which mostly occur in prose.
    pub commas: usize,
}

/// Counts the content of a message, up to the first broken byte.
#[must_use]
pub(crate) fn census(message: &[u8], signal: Signal) -> Census {
    let mut census = Census::default();
    let kind = match signal {
        Signal::Traces => Type::TracesRequest,
        Signal::Logs => Type::LogsRequest,
        Signal::Metrics => Type::MetricsRequest,
    };
    let _ = census.count(Cursor::new(message), kind);
    census
}

/// Counts a single span or log record, without its resource and scope.
#[must_use]
pub(crate) fn census_of_item(message: &[u8], signal: Signal) -> Census {
    let mut census = Census {
        items: 1,
        ..Census::default()
    };
    let kind = match signal {
        Signal::Logs => Type::LogRecord,
        _ => Type::Span,
    };
    let _ = census.count(Cursor::new(message), kind);
    census
}

impl Census {
    fn count(&mut self, mut cursor: Cursor<'_>, message: Type) -> Result<(), Fault> {
        while let Some(field) = cursor.next()? {
            match message.field(field.number) {
                Kind::Message(inner) => {
                    match inner {
                        Type::Span | Type::LogRecord => self.items += 1,
                        Type::KeyValue => self.pairs += 1,
                        Type::AnyValue if message == Type::ArrayValue => self.values += 1,
                        Type::AnyValue | Type::ArrayValue | Type::KeyValueList | Type::Status => {}
                        _ => self.parts += 1,
                    }
                    self.count(cursor.enter(&field)?, inner)?;
                }
                Kind::Text if message == Type::AnyValue => self.text(cursor.bytes(&field.value)),
                _ => {}
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &[u8]) {
        self.separators += memchr::memchr2_iter(b'(', b'=', text).count();
        for at in memchr::memchr3_iter(b',', b'[', b'{', text) {
            let before = text.get(..at).unwrap_or_default().trim_ascii_end().last();
            match text.get(at) == Some(&b',') && before.is_some_and(u8::is_ascii_alphabetic) {
                true => self.commas += 1,
                false => self.separators += 1,
            }
        }
        if let [b'[' | b'{', ..] = text.trim_ascii_start() {
            self.json_values += memchr::memchr3_iter(b',', b'[', b'{', text).count();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::encode;
    use crate::span::{AnyValue, Span, SpanId, TraceId};

    #[test]
    fn what_a_message_holds_is_counted() {
        let mut span = Span::new(
            TraceId::from_bytes(&[1; 16]).expect("an id"),
            SpanId::from_bytes(&[1; 8]).expect("an id"),
            "a, b [c]",
        );
        span.attributes
            .push("list", AnyValue::Array(vec![AnyValue::Int(1), AnyValue::Empty]));
        span.attributes
            .push("map", AnyValue::KvList(vec![("key".to_owned(), AnyValue::Bool(true))]));
        span.attributes.push("json", r#" [1, {"a": [2]}]"#);
        span.attributes.push("text", "one, two, f(x = [1, 2])");
        let bytes = encode::traces(&[span.clone(), span]);
        let census = census(&bytes, Signal::Traces);
        assert_eq!(
            census,
            Census {
                items: 2,
                parts: 4,
                pairs: 10,
                values: 4,
                json_values: 8,
                separators: 16,
                commas: 4
            },
            "the group of a resource and the resource, the group of a scope and the scope"
        );
    }
}
