//! Spans in the vocabulary that a destination reads.

use std::collections::HashSet;
use std::sync::Arc;

use super::settings::Dialect;
use crate::dialect::write::{AttributeWriter, Vocabulary};
use crate::dialect::{Registry, read};
use crate::operation::{Kind, Recorded};
use crate::otlp::{decode, encode};
use crate::span::{LogRecord, Span, Status};

/// What tells of a failure in OTel's conventions, where `_OTHER` is one without a type.
const FAILURE: &str = "error.type";

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

    /// Adds the attributes of the vocabulary that the span has not; every attribute of its own stays. A list in flattened keys is added
    /// whole or not at all: with items of another writer it would say something else.
    fn span(&self, span: &mut Span, records: &[LogRecord]) -> bool {
        let of_span: Vec<&LogRecord> = records.iter().filter(|record| record.span_id == Some(span.span_id)).collect();
        let mut operation = read(&self.registry, span, &of_span).operation;
        if operation.kind == Kind::Plain {
            return false;
        }
        // OpenInference has one key for a tool's output and its result: what is no result must not become one.
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
        let mut changed = false;
        for (key, value) in self.writer.write(&operation).iter() {
            let is_of_list = || list_of(key).is_some_and(|list| lists.contains(list));
            if span.attributes.get(key).is_none() && !is_of_list() {
                span.attributes.push(key.clone(), value.clone());
                changed = true;
            }
        }
        // A failure that only a dialect's own attributes tell.
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
        changed
    }
}

/// The list that a flattened key is of: `llm.input_messages` of `llm.input_messages.0.message.role`.
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
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use serde_json::Value;

    use super::*;
    use crate::formats::{FORMATS, Layout, Options};
    use crate::otlp;
    use crate::run;
    use crate::span::Signal;

    /// The payloads of all recorded cases, by case.
    fn recorded() -> BTreeMap<String, (Vec<Span>, Vec<LogRecord>)> {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
        let mut cases: BTreeMap<String, (Vec<Span>, Vec<LogRecord>)> = BTreeMap::new();
        for folder in fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()) {
            let Ok(files) = fs::read_dir(&folder) else { continue };
            for file in files.map(|entry| entry.unwrap().path()) {
                let name = file.file_name().unwrap().to_string_lossy().into_owned();
                if !name.ends_with(".bin") {
                    continue;
                }
                let bytes = fs::read(&file).unwrap();
                let case = cases.entry(folder.file_name().unwrap().to_string_lossy().into_owned()).or_default();
                match otlp::signal::guess(&bytes) {
                    Some(Signal::Traces) => case.0.extend(decode::traces(&bytes).unwrap().items),
                    Some(Signal::Logs) => case.1.extend(decode::logs(&bytes).unwrap().items),
                    _ => {}
                }
            }
        }
        cases
    }

    fn documents(registry: &Registry, spans: Vec<Span>, logs: Vec<LogRecord>) -> Vec<Value> {
        let runs = run::from_batch(spans, logs, registry);
        let of = |format: &crate::formats::AnyFormat| format.assemble(&runs, &Options::default(), Layout::Compact);
        FORMATS
            .iter()
            .flat_map(of)
            .map(|assembled| {
                let mut document: Value = serde_json::from_str(&assembled.document).unwrap();
                without_attributes(&mut document);
                document
            })
            .collect()
    }

    /// Without what no rule reads, which depends on the dialects that a span has; without what OpenInference has one key for, an output
    /// and the provider's body.
    fn without_attributes(value: &mut Value) {
        match value {
            Value::Object(map) => {
                for name in ["attributes", "raw", "response_raw_json"] {
                    map.remove(name);
                }
                map.values_mut().for_each(without_attributes);
            }
            Value::Array(items) => items.iter_mut().for_each(without_attributes),
            _ => {}
        }
    }

    /// Recordings of which a destination reads something else, and why.
    const OTHERWISE: [(&str, &str); 7] = [
        (
            "claudecode-tools",
            "a record that names no span tells the arguments, and the span a part of them",
        ),
        ("deepeval-otel", "no dialect knows its spans; once translated, one does"),
        ("mlf-langchain-crash", "MLflow quotes the metadata that hold a call's id"),
        ("mlf-langchain-toolerror", "MLflow quotes the metadata that hold a call's id"),
        ("oi-lc-hide", "only LangChain's dump of a result says that the tool failed"),
        (
            "tlold-openai-embed",
            "OpenInference counts vectors by their keys, and the old key of Traceloop has none",
        ),
        ("splunk-langchain-agent", "the user is found under the standard key only"),
    ];

    /// Attributes that a span has stay as they are and where they are. What was added may say more together with them, so a second
    /// translation may add something, and a third one does not: bridges one behind the other do not make spans grow.
    #[test]
    fn a_translation_adds_and_comes_to_an_end() {
        let registry = Arc::new(Registry::built_in());
        let dialects = [Dialect::OpenInference, Dialect::GenAi, Dialect::Both];
        let translators = dialects.map(|dialect| Translator::new(dialect, &registry).unwrap());
        let mut endless = Vec::new();
        let mut translated = 0;
        for ((case, (spans, logs)), translator) in recorded().into_iter().zip(translators.iter().cycle()) {
            for before in spans {
                let mut span = before.clone();
                translated += usize::from(translator.span(&mut span, &logs));
                translator.span(&mut span, &logs);
                let had = before.attributes.iter().count();
                assert!(before.attributes.iter().eq(span.attributes.iter().take(had)), "{case}: {before:?}");
                let twice = span.attributes.iter().count();
                if translator.span(&mut span, &logs) {
                    let added: Vec<_> = span.attributes.iter().skip(twice).map(|(key, _)| key.clone()).collect();
                    endless.push(format!("{case}: {} {added:?}", span.name));
                }
            }
        }
        assert!(translated > 700, "{translated}");
        assert!(endless.is_empty(), "{}:\n{}", endless.len(), endless.join("\n"));
    }

    /// What a destination received says what was sent, in whatever vocabulary, and however often it was translated.
    #[test]
    fn documents_of_what_is_received_are_those_of_what_is_sent() {
        let registry = Arc::new(Registry::built_in());
        let translator = |dialect| Translator::new(dialect, &registry).unwrap();
        let ways = [
            ("both", vec![translator(Dialect::Both)]),
            (
                "openinference, genai, openinference",
                vec![
                    translator(Dialect::OpenInference),
                    translator(Dialect::GenAi),
                    translator(Dialect::OpenInference),
                ],
            ),
        ];
        let mut differ = Vec::new();
        let mut compared = 0;
        for (case, (spans, logs)) in recorded() {
            if OTHERWISE.iter().any(|(known, _)| case == *known) {
                continue;
            }
            let wanted = documents(&registry, spans.clone(), logs.clone());
            for (way, translators) in &ways {
                let mut sent = spans.clone();
                for translator in translators {
                    for span in &mut sent {
                        translator.span(span, &logs);
                    }
                }
                compared += 1;
                if documents(&registry, sent, logs.clone()) != wanted {
                    differ.push(format!("{case}: {way}"));
                }
            }
        }
        assert!(compared > 400, "{compared}");
        assert!(differ.is_empty(), "{} of {compared}:\n{}", differ.len(), differ.join("\n"));
    }
}
