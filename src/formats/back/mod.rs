//! Documents back to spans.
//!
//! Each format has a reader ([`Story`]s of its documents: operations with their times and parents); `dialect/write` turns the
//! operations into attributes. So an imported document is stored like any other trace, and can be exported in every format.
//!
//! A document is restored from its spans field for field. Without the [`remainder`] it still has the same messages, calls,
//! results and agents. Reading a document twice gives the same spans with the same ids.

mod at;
mod error;
mod facts;
mod model_output;
mod note;
mod numbers;
mod operations;
mod recognise;
mod remainder;
mod run_facts;
mod story;

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

pub use error::DisassembleError;
pub use note::{Note, NoteKind};
pub use recognise::is_document;

pub(in crate::formats) use at::{At, kind_of, time};
pub(in crate::formats) use facts::{definition as tool_definition, definitions as tool_definitions, failure_of, read as read_facts};
pub(in crate::formats) use model_output::{read as read_model_output, read_thoughts};
pub(in crate::formats) use numbers::{Exact, Numbers};
pub(in crate::formats) use operations::{exact_times, read as read_operations, searched};
pub(in crate::formats) use recognise::{documents, format_of};
pub(in crate::formats) use run_facts::read as read_run_facts;
pub(in crate::formats) use story::{Story, trace_id};

use super::{AnyFormat, Assembled, Loss, LossReason, Options};
use crate::dialect::Registry;
use crate::run::{self, Run};
use crate::span::{AnyValue, Span};
use remainder::Remainder;

/// The spans of a text's documents.
#[derive(Debug, Clone, Default)]
pub struct Disassembled {
    /// The spans of every trace, each trace's root first.
    pub spans: Vec<Span>,
    /// What the spans do not say as the documents did.
    pub notes: Vec<Note>,
    /// How many documents there were.
    pub documents: usize,
}

/// Documents as spans: one document, several one after another (JSON lines), or a list of documents. Without a format each
/// document is recognised by its content.
///
/// # Errors
///
/// A document is no JSON, of no known format, or breaks a rule of its format: nothing of the text is read then.
pub fn disassemble(format: Option<&AnyFormat>, text: &str) -> Result<Disassembled, DisassembleError> {
    let mut out = Disassembled::default();
    disassemble_each(format, text, &mut |_| None, &mut |_, mut read| {
        out.spans.append(&mut read.spans);
        out.notes.append(&mut read.notes);
        out.documents += read.documents;
    })?;
    Ok(out)
}

/// A document that another one names: what it holds, if it can be had.
pub type Beside<'b> = dyn FnMut(&str) -> Option<Value> + 'b;

/// The same, a document at a time: no more than one is in memory as spans. `beside` reads files that documents name, `take` is given
/// what was read.
///
/// # Errors
///
/// A document is no JSON, of no known format, or breaks a rule of its format: those before it were given to `take`.
pub fn disassemble_each(
    format: Option<&AnyFormat>,
    text: &str,
    beside: &mut Beside<'_>,
    take: &mut dyn FnMut(&'static str, Disassembled),
) -> Result<(), DisassembleError> {
    let registry = Registry::built_in();
    // One value at a time is in memory.
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let (mut line, mut begin) = (0, 0);
    while let Some(value) = values.next() {
        let value = value.map_err(|source| DisassembleError::Json { source })?;
        let end = values.byte_offset();
        let numbers = Numbers::in_text(text.get(begin..end).unwrap_or_default(), &value);
        let alone = line == 0 && text.get(end..).is_none_or(|rest| rest.trim_ascii_start().is_empty());
        (line, begin) = (line + 1, end);
        let path = if alone { "$".to_owned() } else { format!("document {line}: $") };
        let documents = recognise::documents(&value, path);
        let is_list = documents.first().is_some_and(|(_, first)| !std::ptr::eq(*first, &value));
        for (index, (path, value)) in documents.into_iter().enumerate() {
            let format = match format {
                Some(format) => format,
                None => recognise::format_of(value)?,
            };
            let mut out = Disassembled {
                documents: 1,
                ..Disassembled::default()
            };
            let whole = format.gather.and_then(|gather| gather(value, beside, &mut out.notes));
            let value = whole.as_ref().unwrap_or(value);
            for mut story in read(format, value, path)? {
                let place = if is_list { format!("/{index}") } else { String::new() };
                story.numbers.extend(&numbers);
                story.numbers.take_places(&numbers, &place);
                finish(format, story, value, &registry, &mut out);
            }
            take(format.id, out);
        }
    }
    Ok(())
}

/// Joins the files that a document names to one document; `None` where it names none that can be had.
pub(in crate::formats) type Gather = fn(&Value, &mut Beside<'_>, &mut Vec<Note>) -> Option<Value>;

/// One document as spans, by a reader of its format.
pub(in crate::formats) fn disassemble_by(format: &AnyFormat, reader: Reader, value: &Value) -> Result<Disassembled, DisassembleError> {
    let registry = Registry::built_in();
    let mut out = Disassembled::default();
    for story in reader(&At::root(format.id, value, "$".to_owned()))? {
        finish(format, story, value, &registry, &mut out);
    }
    out.documents = 1;
    Ok(out)
}

/// Reads one document; the place of the document is where refusals begin to count.
pub(in crate::formats) type Reader = fn(&At<'_>) -> Result<Vec<Story>, DisassembleError>;

fn read(format: &AnyFormat, value: &Value, path: String) -> Result<Vec<Story>, DisassembleError> {
    let reader = format.read.ok_or_else(|| DisassembleError::NoReader {
        format: format.id.to_owned(),
    })?;
    reader(&At::root(format.id, value, path))
}

/// The spans of a story, its root with what the format's document would not say again.
fn finish(format: &AnyFormat, mut story: Story, source: &Value, registry: &Registry, out: &mut Disassembled) {
    let mut spans = story.spans();
    let asked = Remainder::between(Value::Null, &Value::Null, None, &story.options, &Numbers::default());
    let options = asked.options(&Options::default());
    let runs = run::from_batch(spans.clone(), Vec::new(), registry);
    let have = format.values(&runs, &options).into_iter().next();
    drop(runs);
    let have = have.map_or(Value::Null, |assembled| assembled.document);
    let wanted = story.wanted(source);
    let numbers = story.numbers.of_value(&wanted, matches!(wanted, Cow::Borrowed(_)));
    let remainder = Remainder::between(have, &wanted, story.wrap, &story.options, &numbers);
    drop(wanted);
    out.notes.append(&mut story.notes);
    out.notes.extend(remainder.notes());
    out.notes.extend(number_notes(&numbers));
    if let Some(root) = spans.first_mut().filter(|_| !remainder.is_empty()) {
        root.attributes
            .push(format!("spanbridge.{}", story.format()), AnyValue::from(remainder.text()));
    }
    out.spans.append(&mut spans);
}

/// What becomes of integers beyond 64 bits.
fn number_notes(numbers: &Numbers) -> impl Iterator<Item = Note> {
    let note = |kind, detail: String| Note {
        path: "$".to_owned(),
        kind,
        detail,
    };
    let kept = numbers.kept().map(move |(double, digits)| {
        let detail = format!("{digits} is beyond 64 bits: spans hold {double}, an attribute of the root span keeps the digits");
        note(NoteKind::Beside, detail)
    });
    let lost = numbers.ambiguous().map(move |(double, is_placed)| {
        let (kind, what) = match is_placed {
            true => (NoteKind::Beside, "an attribute of the root span keeps the digits"),
            false => (NoteKind::Coerced, "they come back as this double"),
        };
        note(kind, format!("several numbers beyond 64 bits are read as {double}: {what}"))
    });
    kept.chain(lost)
}

/// Whether one of the runs was made of a document that says more than its spans.
pub(super) fn is_imported(runs: &[Run]) -> bool {
    remainder::is_in(runs)
}

/// A document as it was imported, or with what its import kept beside the spans.
#[derive(Debug)]
pub(super) struct Restored {
    document: Value,
    numbers: Numbers,
}

impl Serialize for Restored {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Exact::new(&self.document, &self.numbers).serialize(serializer)
    }
}

/// The documents of runs of which some were made of documents.
pub(super) fn restored(format: &AnyFormat, runs: &[Run], options: &Options) -> Vec<Assembled<Restored>> {
    let mut runs = runs.to_vec();
    let mut losses: Vec<Loss> = Vec::new();
    let mut numbers = Numbers::default();
    let take = |run| remainder::take(run, format.id, &mut numbers, &mut losses);
    let remainders: Vec<Option<Remainder>> = runs.iter_mut().map(take).collect();
    let options = match remainders.as_slice() {
        [Some(remainder)] => remainder.options(options),
        _ => options.clone(),
    };
    let mut documents = format.values(&runs, &options);
    if documents.is_empty() && remainders.iter().any(Option::is_some) {
        documents.push(Assembled {
            document: Value::Null,
            losses: Vec::new(),
        });
    }
    if documents.len() == remainders.len() {
        for (assembled, remainder) in documents.iter_mut().zip(&remainders) {
            if let Some(remainder) = remainder {
                remainder.apply(&mut assembled.document, &mut assembled.losses);
            }
        }
    } else if remainders.iter().any(Option::is_some) {
        losses.push(Loss::new(None, "documents as imported", LossReason::NoPlace));
    }
    if let Some(first) = documents.first_mut() {
        first.losses.append(&mut losses);
    }
    // Places are those of one document in its own format.
    if let [Some(remainder)] = remainders.as_slice() {
        numbers.take_places(&remainder.numbers(), "");
    }
    let restored = |Assembled { document, losses }| Assembled {
        document: Restored {
            document,
            numbers: numbers.clone(),
        },
        losses,
    };
    documents.into_iter().map(restored).collect()
}
