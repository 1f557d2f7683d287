//! Spans in the vocabulary that a destination reads.

use std::sync::Arc;

use super::destination::Dialect;
use crate::dialect::write::{AttributeWriter, Vocabulary};
use crate::dialect::{Registry, read};
use crate::operation::Kind;
use crate::otlp::{decode, encode};
use crate::span::{LogRecord, Span};

/// Writes what spans say in another vocabulary.
#[derive(Debug)]
pub(super) struct Translator {
    registry: Arc<Registry>,
    writer: AttributeWriter,
}

impl Translator {
    /// A translator into what a destination reads; `None`: it gets spans as they came.
    pub(super) fn new(dialect: Dialect, registry: &Arc<Registry>) -> Option<Self> {
        let vocabulary = match dialect {
            Dialect::AsReceived => return None,
            Dialect::OpenInference => Vocabulary::OpenInference,
            Dialect::GenAi => Vocabulary::GenAi,
            Dialect::Both => Vocabulary::Both,
        };
        Some(Self {
            registry: Arc::clone(registry),
            writer: AttributeWriter::new(vocabulary),
        })
    }

    /// The request with all its spans translated; `None`: it stays as it came, because nothing is to be added or it cannot be decoded.
    pub(super) fn translate(&self, message: &[u8], records: &[LogRecord]) -> Option<Vec<u8>> {
        let decoded = decode::traces(message).ok()?;
        if !decoded.refused.is_empty() {
            return None;
        }
        let mut spans = decoded.items;
        let mut changed = false;
        for span in &mut spans {
            changed |= self.span(span, records);
        }
        changed.then(|| encode::traces(&spans))
    }

    /// Adds the attributes of the vocabulary that the span has not; every attribute of its own stays.
    fn span(&self, span: &mut Span, records: &[LogRecord]) -> bool {
        let of_span: Vec<&LogRecord> = records.iter().filter(|record| record.span_id == Some(span.span_id)).collect();
        let operation = read(&self.registry, span, &of_span).operation;
        if operation.kind == Kind::Plain {
            return false;
        }
        let mut changed = false;
        for (key, value) in self.writer.write(&operation).iter() {
            if span.attributes.get(key).is_none() {
                span.attributes.push(key.clone(), value.clone());
                changed = true;
            }
        }
        changed
    }
}
