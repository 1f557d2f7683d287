//! Adds a span's operation to the span in another vocabulary.

use std::collections::HashSet;

use super::registry::Registry;
use super::write::{AttributeWriter, Vocabulary};
use super::{providers, read};
use crate::operation::{Kind, Recorded};
use crate::span::{AnyValue, Attributes, LogRecord, Span, Status};

/// OTel's attribute for a failure; `_OTHER` stands for one without a type.
const FAILURE: &str = "error.type";

/// A translation may add this many times the span's size,
const MAX_GROWTH: usize = 6;
/// plus this many bytes.
const EXTRA_GROWTH: usize = 16 << 10;

/// Adds the operation of spans in a vocabulary.
#[derive(Debug)]
pub(crate) struct Translator {
    vocabulary: Vocabulary,
    writer: AttributeWriter,
}

/// The outcome for a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Becomes {
    Same,
    Changed,
    /// The span would have grown too much.
    TooLarge,
}

impl Translator {
    pub(crate) fn new(vocabulary: Vocabulary) -> Self {
        Self {
            vocabulary,
            writer: AttributeWriter::new(vocabulary),
        }
    }

    /// Adds the vocabulary's attributes that the span lacks; all its own attributes stay. A flattened list is added only as a whole, as
    /// mixing it with another writer's items would change its meaning.
    pub(crate) fn translate(&self, registry: &Registry, span: &mut Span, records: &[LogRecord]) -> Becomes {
        let of_span: Vec<&LogRecord> = records.iter().collect();
        let mut operation = read(registry, span, &of_span).operation;
        if operation.kind == Kind::Plain {
            return Becomes::Same;
        }
        // GenAI backends name a call after the requested model.
        if self.vocabulary != Vocabulary::OpenInference && operation.kind == Kind::Llm {
            operation.model.requested = operation.model.requested.take().or(operation.model.response.clone());
        }
        // OpenInference uses one key for a tool's output and its result, so only a result may be written there.
        if matches!(operation.kind, Kind::Tool | Kind::Handoff) {
            let tool = operation.tool.as_deref();
            if tool.is_none_or(|tool| tool.result.is_none()) {
                operation.output = Recorded::default();
            }
            if operation.tool.as_deref().is_none_or(|tool| tool.arguments.is_none()) {
                operation.input = Recorded::default();
            }
        }
        let lists: HashSet<String> = span
            .attributes
            .iter()
            .filter_map(|(key, _)| list_of(key))
            .map(str::to_owned)
            .collect();
        let mut known: HashSet<String> = span.attributes.iter().map(|(key, _)| key.clone()).collect();
        let is_of_list = |key: &str| list_of(key).is_some_and(|list| lists.contains(list));
        let written = self.writer.write(&operation).0.into_iter();
        let written = written.flat_map(in_their_words);
        let added: Vec<(String, AnyValue)> = written.filter(|(key, _)| !is_of_list(key) && known.insert(key.clone())).collect();
        let grown: usize = added.iter().map(size_of_pair).sum();
        if grown > size_of(span, records).saturating_mul(MAX_GROWTH).saturating_add(EXTRA_GROWTH) {
            return Becomes::TooLarge;
        }
        let mut changed = !added.is_empty();
        span.attributes.0.extend(added);
        // A failure recorded only in a dialect's own attributes.
        if let Some(failure) = &operation.failure {
            if span.status.code == 0 {
                span.status = Status {
                    code: 2,
                    message: failure.message.clone().unwrap_or_default(),
                };
                changed = true;
            }
            if span.attributes.get(FAILURE).is_none() {
                span.attributes.push(FAILURE, "_OTHER");
                changed = true;
            }
        }
        if changed { Becomes::Changed } else { Becomes::Same }
    }
}

/// A model's provider and the API it uses, in OpenInference's vocabulary.
const PROVIDER: &str = "llm.provider";
const SYSTEM: &str = "llm.system";

/// A tool call's id, next to its arguments and next to its result.
const CALL_ID: &str = "tool_call.id";
const RESULT_ID: &str = "tool.id";

/// Translates an attribute to `OpenInference`'s words, and adds related keys: the API for a provider, the result's id for a call's id.
fn in_their_words((key, value): (String, AnyValue)) -> impl Iterator<Item = (String, AnyValue)> {
    let named = Some(&value).filter(|_| key == PROVIDER).and_then(AnyValue::as_str);
    let (value, beside) = match named.and_then(providers::in_openinference) {
        Some((provider, system)) => (provider.into(), system.map(|system| (SYSTEM, system.into()))),
        None if key == CALL_ID => (value.clone(), Some((RESULT_ID, value))),
        None => (value, None),
    };
    let beside = beside.map(|(key, value)| (key.to_owned(), value));
    std::iter::once((key, value)).chain(beside)
}

/// Approximate size of a span with its log records, in bytes.
fn size_of(span: &Span, records: &[LogRecord]) -> usize {
    let of = |attributes: &Attributes| attributes.iter().map(size_of_pair).sum::<usize>();
    let events = span.events.iter().map(|event| of(&event.attributes));
    let records = records.iter().map(|record| of(&record.attributes) + size_of_value(&record.body));
    of(&span.attributes) + events.sum::<usize>() + records.sum::<usize>()
}

fn size_of_pair((key, value): &(String, AnyValue)) -> usize {
    key.len() + size_of_value(value) + 4
}

fn size_of_value(value: &AnyValue) -> usize {
    match value {
        AnyValue::String(text) => text.len() + 2,
        AnyValue::Bytes(bytes) => bytes.len() + 2,
        AnyValue::Array(list) => list.iter().map(size_of_value).sum::<usize>() + 2,
        AnyValue::KvList(pairs) => pairs.iter().map(size_of_pair).sum::<usize>() + 2,
        _ => 9,
    }
}

/// The list that a flattened key belongs to: `llm.input_messages` for `llm.input_messages.0.message.role`.
fn list_of(key: &str) -> Option<&str> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut end: usize = 0;
    for part in key.split('.') {
        if is_number(part) {
            return key.get(..end.checked_sub(1)?);
        }
        end += part.len() + 1;
    }
    None
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use crate::span::{SpanId, TraceId};

    fn translated(vocabulary: Vocabulary, attributes: &[(&str, &str)]) -> Attributes {
        let ids = (TraceId::from_bytes(&[1; 16]).unwrap(), SpanId::from_bytes(&[1; 8]).unwrap());
        let mut span = Span::new(ids.0, ids.1, "span");
        for (key, value) in attributes {
            span.attributes.push(*key, *value);
        }
        let translator = Translator::new(vocabulary);
        assert_eq!(translator.translate(Registry::built_in(), &mut span, &[]), Becomes::Changed);
        span.attributes
    }

    #[test]
    fn providers_and_ids_have_the_words_of_the_vocabulary() {
        for (ours, provider, system) in [
            ("azure.ai.openai", Some("azure"), Some("openai")),
            ("gcp.vertex_ai", Some("google"), Some("vertexai")),
            ("aws.bedrock", Some("aws"), None),
            ("acme", Some("acme"), None),
        ] {
            let written = translated(
                Vocabulary::OpenInference,
                &[("gen_ai.operation.name", "chat"), ("gen_ai.provider.name", ours)],
            );
            assert_eq!((written.text(PROVIDER), written.text(SYSTEM)), (provider, system), "{ours}");
        }
        let tool = [
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.call.id", "c1"),
            ("gen_ai.tool.name", "t"),
        ];
        let tool = translated(Vocabulary::OpenInference, &tool);
        assert_eq!((tool.text(CALL_ID), tool.text(RESULT_ID)), (Some("c1"), Some("c1")));
    }

    #[test]
    fn a_judgement_has_the_words_of_the_genai_conventions() {
        let judged = [
            ("openinference.span.kind", "EVALUATOR"),
            ("evaluations.0.evaluation.name", "helpful"),
            ("evaluations.0.evaluation.label", "good"),
        ];
        let written = translated(Vocabulary::GenAi, &judged);
        assert_eq!(written.text("gen_ai.evaluation.name"), Some("helpful"));
        assert_eq!(written.text("gen_ai.evaluation.score.label"), Some("good"));
    }
}
