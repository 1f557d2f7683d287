//! Links a span to the conversation it continues.

use crate::span::{AnyValue, Attributes, SpanId};

/// Key of the span's id.
const SPAN_ID: &str = "spanbridge.continues.span_id";
/// Key of the number of messages.
const MESSAGES: &str = "spanbridge.continues.messages";

/// The conversation that a span continues. A conversation is the input and output of a model call, so a span that continues one has only
/// the new messages as its own input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Continuation {
    /// The span with that conversation, in the same trace.
    pub span_id: SpanId,
    /// How many of its messages, counted from the start, are continued; `None` means all.
    pub messages: Option<u64>,
    /// How many messages at the end of that span's input were not sent again, nor its answer. Only clients that count from the end set this
    /// (LiveKit), and it is not written.
    pub without: Option<u64>,
}

impl Continuation {
    /// Continues all of this span's conversation.
    #[must_use]
    pub fn of(span_id: SpanId) -> Self {
        Self {
            span_id,
            messages: None,
            without: None,
        }
    }

    /// Whether encoded spans may contain one that continues another.
    #[must_use]
    pub fn may_be_in(bytes: &[u8]) -> bool {
        memchr::memmem::find(bytes, SPAN_ID.as_bytes()).is_some()
    }

    /// The span named by these attributes.
    #[must_use]
    pub fn base_of(attributes: &Attributes) -> Option<SpanId> {
        attributes.text(SPAN_ID).and_then(SpanId::from_hex)
    }

    /// Adds the continuation to a span's attributes.
    pub fn write(&self, attributes: &mut Attributes) {
        attributes.push(SPAN_ID, self.span_id.to_string());
        if let Some(messages) = self.messages {
            attributes.push(MESSAGES, AnyValue::Int(i64::try_from(messages).unwrap_or(i64::MAX)));
        }
    }

    /// Removes any continuation from a span's attributes.
    pub fn remove(attributes: &mut Attributes) {
        attributes.0.retain(|(key, _)| key != SPAN_ID && key != MESSAGES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Registry, read};
    use crate::span::{Span, TraceId};

    #[test]
    fn what_is_written_is_read() {
        let span_id = SpanId::from_bytes(&[7; 8]).expect("not zero");
        let trace_id = TraceId::from_bytes(&[7; 16]).expect("not zero");
        for messages in [None, Some(3)] {
            let wanted = Continuation {
                messages,
                ..Continuation::of(span_id)
            };
            let mut span = Span::new(trace_id, span_id, "chat");
            span.attributes.push("gen_ai.operation.name", "chat");
            wanted.write(&mut span.attributes);
            let read = read(Registry::built_in(), &span, &[]);
            assert_eq!(read.beside.continues, Some(wanted));
            assert!(read.operation.unmapped.is_empty() && read.findings.is_empty());
            Continuation::remove(&mut span.attributes);
            assert_eq!(span.attributes.iter().count(), 1);
        }
    }
}
