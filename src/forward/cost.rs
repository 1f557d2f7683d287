//! Estimates the memory needed to change a message, from its bytes before they are decoded. The factors are measured; the
//! test below checks them.

use crate::otlp::census::{Census, census, census_of_item};
use crate::span::Signal;

/// Bytes of memory for each of these.
struct Factors {
    item: usize,
    part: usize,
    pair: usize,
    value: usize,
    separator: usize,
    comma: usize,
    byte: usize,
}

/// Decoding spans and writing them in another dialect.
const TRANSLATION: Factors = Factors {
    item: 6_000,
    part: 1_500,
    pair: 1_200,
    value: 500,
    separator: 950,
    comma: 200,
    byte: 10,
};

/// Writing a message as JSON.
const JSON: Factors = Factors {
    item: 4_000,
    part: 1_500,
    pair: 1_000,
    value: 700,
    separator: 0,
    comma: 0,
    byte: 7,
};

/// Smaller messages are not scanned: whatever they contain, a byte costs no more than a separator.
const SMALL: usize = 8 << 10;

impl Factors {
    fn of(&self, census: impl FnOnce() -> Census, bytes: usize) -> usize {
        if bytes <= SMALL {
            return bytes * TRANSLATION.separator;
        }
        let Census {
            items,
            parts,
            pairs,
            values,
            json_values: _,
            separators,
            commas,
        } = census();
        [
            (items, self.item),
            (parts, self.part),
            (pairs, self.pair),
            (values, self.value),
            (separators, self.separator),
            (commas, self.comma),
            (bytes, self.byte),
        ]
        .into_iter()
        .fold(0, |sum: usize, (count, each)| sum.saturating_add(count.saturating_mul(each)))
    }
}

/// Bytes needed to translate a request, or added to that by its log records.
pub(super) fn of_translation(message: &[u8], signal: Signal) -> usize {
    TRANSLATION.of(|| census(message, signal), message.len())
}

/// The same for a single span or log record without its envelope.
pub(super) fn of_translating_item(item: &[u8], signal: Signal) -> usize {
    TRANSLATION.of(|| census_of_item(item, signal), item.len())
}

/// Bytes needed to write a request as JSON.
pub(super) fn of_json(message: &[u8], signal: Signal) -> usize {
    JSON.of(|| census(message, signal), message.len())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use std::fmt::Write as _;
    use std::sync::Arc;

    use allocation_counter::measure;

    use super::super::settings::Dialect;
    use super::super::translate::Translator;
    use super::*;
    use crate::dialect::Registry;
    use crate::otlp::{decode, encode};
    use crate::span::{AnyValue, Event, Span, SpanId, TraceId, UnixNanos, json};

    fn span(number: u64) -> Span {
        let trace_id = TraceId::from_bytes(&[7; 16]).unwrap();
        Span::new(trace_id, SpanId::from_bytes(&(number + 1).to_be_bytes()).unwrap(), "chat")
    }

    fn call() -> Span {
        let mut span = span(0);
        span.attributes.push("gen_ai.operation.name", "chat");
        span
    }

    fn with(mut span: Span, key: &str, value: impl Into<AnyValue>) -> Span {
        span.attributes.push(key, value);
        span
    }

    /// Texts and values that are small and become large.
    fn values(count: usize) -> Vec<(&'static str, AnyValue)> {
        let list = |item: &str| AnyValue::from(format!("[{}]", vec![item; count].join(",")));
        vec![
            ("empty values", AnyValue::Array(vec![AnyValue::Empty; count])),
            ("empty maps", AnyValue::Array(vec![AnyValue::KvList(Vec::new()); count])),
            ("numbers", list("0")),
            ("objects", list("{}")),
            ("lists", list("[]")),
            ("members", list(r#"{"a":0}"#)),
            ("texts", list(r#""""#)),
            ("messages", list(r#"{"role":"user","content":"a"}"#)),
            ("roles", list(r#"{"role":"user"}"#)),
            ("parts", list(r#"{"role":"user","parts":[{"type":"text","content":"a"}]}"#)),
            (
                "calls",
                list(r#"{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]}"#),
            ),
            (
                "deep",
                AnyValue::from(
                    format!("{}{}", "[".repeat(100), "]".repeat(100))
                        .repeat(1)
                        .replace("[]", &list_text(count)),
                ),
            ),
            ("quoted", AnyValue::from(format!("\"[{}]\"", vec!["{}"; count].join(",")))),
            ("behind a word", AnyValue::from(format!("x=[{}]", vec!["{}"; count].join(",")))),
            ("in a call", AnyValue::from(format!("Message(a=[{}])", vec!["{}"; count].join(",")))),
            ("tuples", AnyValue::from(format!("({})", vec!["()"; count].join(",")))),
            ("cut", AnyValue::from(format!("[{}", vec!["{\"a\":1}"; count].join(",")))),
            (
                "keys",
                AnyValue::from({
                    let mut text = String::from("{\"a\":0");
                    (0..count).for_each(|number| write!(text, ",\"{number}\":0").unwrap());
                    text + "}"
                }),
            ),
            ("words", list("a")),
            ("names", AnyValue::from(format!("F(a=[{}])", vec!["A.b"; count].join(",")))),
            ("fields", AnyValue::from(vec!["a=1"; count].join(" "))),
            (
                "unlike fields",
                AnyValue::from((0..count).fold(String::new(), |text, number| text + &format!("a{number}=1 "))),
            ),
            ("prose", AnyValue::from("Words of a person, and some more. ".repeat(count / 8))),
            (
                "in messages",
                AnyValue::from(format!(
                    "{{\"messages\":[{}]}}",
                    vec!["{\"role\":\"user\",\"content\":\"a\"}"; count].join(",")
                )),
            ),
        ]
    }

    fn list_text(count: usize) -> String {
        format!("[{}]", vec!["[]"; count].join(","))
    }

    fn shapes(count: usize) -> Vec<(String, Vec<Span>)> {
        let mut out = Vec::new();
        let keys = [
            ("gen_ai.input.messages", "chat"),
            ("gen_ai.output.messages", "chat"),
            ("gen_ai.system_instructions", "chat"),
            ("gen_ai.tool.definitions", "chat"),
            ("gen_ai.tool.call.arguments", "execute_tool"),
            ("gen_ai.request.stop_sequences", "chat"),
            ("output.value", "chat"),
            ("tag.tags", "chat"),
            ("langfuse.observation.input", "chat"),
            ("mlflow.spanOutputs", "chat"),
            ("retrieval.documents", "retrieval"),
            ("somebody.own", "chat"),
        ];
        for (key, operation) in keys {
            for (name, value) in values(count) {
                let span = with(with(span(0), "gen_ai.operation.name", operation), key, value);
                out.push((format!("{name} in {key}"), vec![span]));
            }
        }
        let mut flattened = call();
        for number in 0..count {
            flattened
                .attributes
                .push(format!("llm.input_messages.{number}.message.role"), "user");
        }
        out.push(("flattened".to_owned(), vec![flattened]));
        let mut documents = with(span(0), "openinference.span.kind", "RETRIEVER");
        for number in 0..count {
            documents.attributes.push(format!("retrieval.documents.{number}.document.id"), "1");
        }
        out.push(("documents".to_owned(), vec![documents]));
        let mut pairs = call();
        for number in 0..count {
            pairs.attributes.push(format!("k{number}"), AnyValue::Bool(true));
        }
        out.push(("pairs".to_owned(), vec![pairs]));
        let mut events = call();
        for number in 0..count {
            events.events.push(Event {
                name: "gen_ai.user.message".to_owned(),
                time: UnixNanos(number as u64),
                attributes: [("content".to_owned(), "a".into())].into_iter().collect(),
                dropped_attributes: 0,
            });
        }
        out.push(("events".to_owned(), vec![events]));
        let calls = (0..count as u64 / 4).map(|number| {
            let mut one = call();
            one.span_id = span(number).span_id;
            one
        });
        out.push(("spans".to_owned(), calls.collect()));
        out
    }

    /// What is reserved for a change bounds what it takes.
    #[test]
    fn no_change_takes_more_than_it_costs() {
        let registry = Arc::new(Registry::built_in().clone());
        let mut over = Vec::new();
        let mut compare = |name: String, taken: u64, cost: usize| {
            if taken > cost as u64 {
                over.push(format!("{name}: {taken} bytes instead of {cost}"));
            }
        };
        for (name, spans) in shapes(4_000) {
            let message = encode::traces(&spans);
            for dialect in [Dialect::OpenInference, Dialect::Both] {
                let translator = Translator::new(dialect, &registry).unwrap();
                let cost = of_translation(&message, Signal::Traces);
                let taken = measure(|| drop(translator.translate_whole(message.clone().into())));
                compare(format!("{name}, {dialect:?}"), taken.bytes_max, cost);
            }
            let taken = measure(|| {
                let decoded = decode::traces(&message).unwrap().items;
                serde_json::to_vec(&json::spans(&decoded)).unwrap();
            });
            compare(format!("{name}, JSON"), taken.bytes_max, of_json(&message, Signal::Traces));
        }
        assert!(over.is_empty(), "{} cost more:\n{}", over.len(), over.join("\n"));
    }
}
