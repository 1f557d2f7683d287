//! Translates spans into the vocabulary that a destination reads.

use std::sync::Arc;

use bytes::Bytes;

use super::cost;
use super::memory::{MEMORY, share};
use super::records::SpanRecords;
use super::settings::Dialect;
use crate::dialect::Registry;
use crate::dialect::translate::{self, Becomes};
use crate::dialect::write::Vocabulary;
use crate::hash::HashMap;
use crate::otlp::items;
use crate::otlp::{decode, encode};
use crate::span::{LogRecord, Signal, SpanId};

/// Spans are translated together if that takes at most this many bytes of memory.
const MAX_BATCH_BYTES: usize = 12 << 20;
/// Writes the operations of spans in another vocabulary.
#[derive(Debug)]
pub(super) struct Translator {
    registry: Arc<Registry>,
    of_spans: translate::Translator,
}

/// A request with translated spans.
#[derive(Debug, Default)]
pub(super) struct Translated {
    /// The request; concatenated messages are one message.
    pub(super) message: Bytes,
    /// Spans left as received, because translating them would take too much memory.
    pub(super) as_received: u64,
    /// Whether anything was added.
    pub(super) changed: bool,
    /// Log records that would have been written onto those spans.
    pub(super) left_out: u64,
}

impl Translator {
    /// A translator to a destination's dialect; `None`: it gets spans as received.
    pub(super) fn new(dialect: Dialect, registry: &Arc<Registry>) -> Option<Self> {
        let vocabulary = match dialect {
            Dialect::AsReceived => return None,
            Dialect::OpenInference => Vocabulary::OpenInference,
            Dialect::GenAi => Vocabulary::GenAi,
            Dialect::Both => Vocabulary::Both,
        };
        Some(Self {
            registry: Arc::clone(registry),
            of_spans: translate::Translator::new(vocabulary),
        })
    }

    /// Translates the spans of a request. A span whose translation would take more memory than its [share] stays as
    /// received, and is counted.
    pub(super) fn translate(&self, message: Bytes, records: &SpanRecords) -> Translated {
        let cost = cost::of_translation(&message, Signal::Traces).saturating_add(records.cost());
        if cost <= MAX_BATCH_BYTES {
            return self.together(message, cost, &records.decoded());
        }
        match items::items(&message) {
            Ok(items) if items.len() > 1 => {
                drop(message);
                let (first, second) = items.split_at(items.len() / 2);
                let [first, second] = [first, second].map(|half| self.translate(items::join(half).into(), &records.of_items(half)));
                first.and(second)
            }
            _ if cost <= share(message.len().saturating_add(records.bytes())) => self.together(message, cost, &records.decoded()),
            _ => {
                let spans = items::count(&message);
                Translated::as_received(message, spans, records.count())
            }
        }
    }

    /// Translates all spans together, whatever memory that takes.
    #[cfg(test)]
    pub(super) fn translate_whole(&self, message: Bytes) -> Translated {
        self.together(message, 0, &HashMap::default())
    }

    /// Translates spans together, reserving this much memory.
    fn together(&self, message: Bytes, cost: usize, records: &HashMap<SpanId, Vec<LogRecord>>) -> Translated {
        let _reserved = MEMORY.reserve(cost);
        let (spans, mut items) = match (decode::traces(&message), items::items(&message)) {
            (Ok(decoded), Ok(items)) if decoded.items.len() == items.len() => (decoded.items, items),
            // It cannot be decoded, so it is sent as it is.
            _ => return Translated::same(message),
        };
        let mut out = Translated::default();
        for (mut span, item) in spans.into_iter().zip(&mut items) {
            let records = records.get(&span.span_id).map_or(&[][..], Vec::as_slice);
            let had = span.attributes.0.len();
            let status = span.status.code;
            match self.of_spans.translate(&self.registry, &mut span, records) {
                Becomes::Same => {}
                Becomes::Changed => {
                    out.changed = true;
                    let added = span.attributes.0.get(had..).unwrap_or_default();
                    let status = Some(&span.status).filter(|now| now.code != status);
                    let mut bytes = item.bytes().to_vec();
                    encode::add_to_span(&mut bytes, added, status);
                    *item = item.with_bytes(bytes);
                }
                Becomes::TooLarge => {
                    out.as_received += 1;
                    out.left_out += records.len() as u64;
                }
            }
        }
        out.message = match out.changed {
            true => items::join(&items).into(),
            false => message,
        };
        out
    }
}

impl Translated {
    /// An unchanged request, with the number of its spans and log records that could not be translated.
    pub(super) fn as_received(message: Bytes, spans: u64, left_out: u64) -> Self {
        Self {
            as_received: spans,
            left_out,
            ..Self::same(message)
        }
    }

    fn same(message: Bytes) -> Self {
        Self {
            message,
            ..Self::default()
        }
    }

    /// Concatenates two requests.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            message: [&self.message[..], &other.message[..]].concat().into(),
            as_received: self.as_received + other.as_received,
            changed: self.changed | other.changed,
            left_out: self.left_out + other.left_out,
        }
    }
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
    use crate::span::{Signal, Span};

    fn is_changed(translator: &Translator, span: &mut Span, logs: &[LogRecord]) -> bool {
        let records: Vec<LogRecord> = logs.iter().filter(|record| record.span_id == Some(span.span_id)).cloned().collect();
        match translator.of_spans.translate(&translator.registry, span, &records) {
            Becomes::TooLarge => panic!("{}", span.name),
            becomes => matches!(becomes, Becomes::Changed),
        }
    }

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
    const OTHERWISE: [(&str, &str); 9] = [
        (
            "claudecode-tools",
            "a record that names no span tells the arguments, and the span a part of them",
        ),
        ("deepeval-otel", "no dialect knows its spans; once translated, one does"),
        ("mlf-langchain-crash", "MLflow quotes the metadata that hold a call's id"),
        ("mlf-langchain-toolerror", "MLflow quotes the metadata that hold a call's id"),
        (
            "gotel-langchain-error",
            "its own keys have the failure's words; once translated, the standard ones come first",
        ),
        ("own-mcpa-mcp", "its history has a result without words and without an id"),
        ("oi-lc-hide", "only LangChain's dump of a result says that the tool failed"),
        (
            "tlold-openai-embed",
            "OpenInference counts vectors by their keys, and the old key of Traceloop has none",
        ),
        ("splunk-langchain-agent", "the user is found under the standard key only"),
    ];

    /// Attributes that a span has stay as they are and where they are. What was added may mean more together with them, so a
    /// second translation may add something, and a third one does not: consecutive bridges do not make spans grow.
    #[test]
    fn a_translation_adds_and_comes_to_an_end() {
        let registry = Arc::new(Registry::built_in().clone());
        let dialects = [Dialect::OpenInference, Dialect::GenAi, Dialect::Both];
        let translators = dialects.map(|dialect| Translator::new(dialect, &registry).unwrap());
        let mut endless = Vec::new();
        let mut translated = 0;
        for ((case, (spans, logs)), translator) in recorded().into_iter().zip(translators.iter().cycle()) {
            for before in spans {
                let mut span = before.clone();
                translated += usize::from(is_changed(translator, &mut span, &logs));
                is_changed(translator, &mut span, &logs);
                let had = before.attributes.iter().count();
                assert!(before.attributes.iter().eq(span.attributes.iter().take(had)), "{case}: {before:?}");
                let twice = span.attributes.iter().count();
                if is_changed(translator, &mut span, &logs) {
                    let added: Vec<_> = span.attributes.iter().skip(twice).map(|(key, _)| key.clone()).collect();
                    endless.push(format!("{case}: {} {added:?}", span.name));
                }
            }
        }
        assert!(translated > 700, "{translated}");
        assert!(endless.is_empty(), "{}:\n{}", endless.len(), endless.join("\n"));
    }

    /// What a destination received means what was sent, in whatever vocabulary, and however often it was translated.
    #[test]
    fn documents_of_what_is_received_are_those_of_what_is_sent() {
        let registry = Arc::new(Registry::built_in().clone());
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
                        is_changed(translator, span, &logs);
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
