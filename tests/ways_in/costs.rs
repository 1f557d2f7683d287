//! Requests made at random, in one thread whose memory is counted.

use spanbridge::formats::{self, DocumentSizes, Options, by_id};
use spanbridge::otlp::encode;
use spanbridge::redact::{Action, RuleText, Rules};
use spanbridge::span::{Signal, Span, SpanId, TraceId};

use super::documents::document;
use crate::support::{Chance, on_all_cores};

const MB: usize = 1 << 20;
/// What the tables of the dialects take, whatever is read.
const TABLES: usize = MB;

fn peak(work: impl FnOnce()) -> usize {
    usize::try_from(allocation_counter::measure(work).bytes_max).expect("a count")
}

fn rounds() -> usize {
    if crate::long_form::is_long_form() { 2_000 } else { 24 }
}

/// What is asked for before a document is read is what reading it takes, so that nothing is read that takes more than it may.
#[test]
fn reading_documents_takes_no_more_than_is_asked_for() {
    let seeds: Vec<usize> = (0..rounds()).collect();
    let faults = on_all_cores(&seeds, |seed| {
        let mut chance = Chance::new(*seed as u64 + 1);
        let size = 1_000 << chance.below(if crate::long_form::is_long_form() { 9 } else { 6 });
        let made = document(&mut chance, size);
        let (text, format) = (&made.text, by_id(made.format));
        let asked = DocumentSizes::of(text.as_bytes()).all.as_document();
        let taken = peak(|| drop(formats::disassemble(format, text)));
        let read = (taken > asked + TABLES).then(|| format!("{taken} bytes, {asked} asked for, of {}: {}", text.len(), made.of));
        let asked = formats::memory_of_check(format, text.as_bytes());
        let taken = peak(|| drop(formats::check(format, text, &Options::default())));
        // The rules that are broken are told, up to a number.
        let told = 4 * MB + 4 * text.len();
        let checked = (taken + text.len() > asked + told)
            .then(|| format!("checking takes {taken} bytes, {asked} asked for, of {}: {}", text.len(), made.of));
        read.into_iter().chain(checked).collect::<Vec<_>>()
    });
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), rounds(), faults.join("\n"));
}

/// Texts that take much when they are looked through: numbers, escapes, JSON in JSON.
fn text(chance: &mut Chance, bytes: usize) -> String {
    let item = ["1", "\"a1\"", "\"\\n\"", "\\n", "{\"a\":1}", "a@b ", "\\\\\"", "word "][chance.below(8)];
    let list = || vec![item; (bytes / (item.len() + 1)).max(1)].join(",");
    match chance.below(4) {
        0 => format!("[{}]", list()),
        1 => list(),
        2 => serde_json::Value::from(format!("[{}]", list())).to_string(),
        _ => format!("{{\"x\":{}}}", serde_json::Value::from(list())),
    }
}

#[test]
fn redaction_takes_no_more_than_a_few_copies() {
    for seed in 0..rounds() {
        let mut chance = Chance::new(seed as u64 + 1);
        let size = 10_000 << chance.below(if crate::long_form::is_long_form() { 8 } else { 5 });
        let expression = ["[0-9]", "[0-9],", "a@b", "[a-z]+", "\\\\", ",", "(?s).*x.*"][chance.below(7)];
        let rule = RuleText {
            name: None,
            key: None,
            value: Some(expression.to_owned()),
            action: Action::Mask,
            scope: Vec::new(),
        };
        let Ok(rules) = Rules::new(&[rule], None) else { continue };
        let mut span = Span::new(TraceId::from_bytes(&[1; 16]).unwrap(), SpanId::from_bytes(&[1; 8]).unwrap(), "s");
        let text = text(&mut chance, size);
        span.attributes.push("text", text.as_str());
        let request = encode::traces(&[span]);
        let taken = peak(|| drop(rules.apply(&request, Signal::Traces)));
        let most = 6 * request.len() + 3 * MB;
        assert!(taken <= most, "{taken} bytes for {} of {text:.60} with {expression}", request.len());
    }
}
