//! The way back: documents to spans.
//!
//! Each format has a reader ([`Story`]s of its documents: operations with their times and parents); `dialect/write` turns the
//! operations into attributes. So a document is in the store as any other trace is, and comes out in every format.
//!
//! Laws: a document comes back from its spans field for field; without the [`remainder`] it still says the same of messages, calls,
//! results and agents. Reading a document twice gives the same spans with the same ids.

mod at;
mod error;
mod facts;
mod model_output;
mod note;
mod operations;
mod recognise;
mod remainder;
mod run_facts;
mod story;

use serde_json::Value;

pub use error::DisassembleError;
pub use note::{Note, NoteKind};
pub use recognise::is_document;

pub(in crate::formats) use at::{At, kind_of, time};
pub(in crate::formats) use facts::{definition as tool_definition, read as read_facts};
pub(in crate::formats) use model_output::{read as read_model_output, read_thoughts};
pub(in crate::formats) use operations::{exact_times, read as read_operations, searched};
pub(in crate::formats) use recognise::{documents, format_of};
pub(in crate::formats) use run_facts::read as read_run_facts;
pub(in crate::formats) use story::{Story, trace_id};

use super::{AnyFormat, Assembled, Layout, Loss, LossReason, Options};
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
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>().peekable();
    let mut line = 0_usize;
    while let Some(value) = values.next() {
        let value = value.map_err(|source| DisassembleError::Json { source })?;
        line += 1;
        let path = if line == 1 && values.peek().is_none() {
            "$".to_owned()
        } else {
            format!("document {line}: $")
        };
        for (path, value) in recognise::documents(&value, path) {
            let format = match format {
                Some(format) => format,
                None => recognise::format_of(value)?,
            };
            let mut out = Disassembled {
                documents: 1,
                ..Disassembled::default()
            };
            let whole = format.gather.and_then(|gather| gather(value, beside, &mut out.notes));
            for story in read(format, whole.as_ref().unwrap_or(value), path)? {
                finish(format, story, &registry, &mut out);
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
        finish(format, story, &registry, &mut out);
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
fn finish(format: &AnyFormat, mut story: Story, registry: &Registry, out: &mut Disassembled) {
    let mut spans = story.spans();
    let runs = run::from_batch(spans.clone(), Vec::new(), registry);
    let asked = Remainder::between(&Value::Null, &Value::Null, None, &story.options);
    let options = asked.options(&Options::default());
    let have = (format.values)(&runs, &options).into_iter().next();
    let have = have.map_or(Value::Null, |assembled| assembled.document);
    let remainder = Remainder::between(&have, &story.document, story.wrap, &story.options);
    out.notes.append(&mut story.notes);
    out.notes.extend(remainder.notes());
    if let Some(root) = spans.first_mut().filter(|_| !remainder.is_empty()) {
        root.attributes
            .push(format!("spanbridge.{}", story.format()), AnyValue::from(remainder.text()));
    }
    out.spans.append(&mut spans);
}

/// Whether one of the runs was made of a document that says more than its spans.
pub(super) fn is_imported(runs: &[Run]) -> bool {
    remainder::is_in(runs)
}

/// The documents of runs of which some were made of documents.
pub(super) fn restored_values(format: &AnyFormat, runs: &[Run], options: &Options) -> Vec<Assembled<Value>> {
    let mut runs = runs.to_vec();
    let mut losses: Vec<Loss> = Vec::new();
    let remainders: Vec<Option<Remainder>> = runs.iter_mut().map(|run| remainder::take(run, format.id, &mut losses)).collect();
    let options = match remainders.as_slice() {
        [Some(remainder)] => remainder.options(options),
        _ => options.clone(),
    };
    let mut documents = (format.values)(&runs, &options);
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
    documents
}

/// The same as text.
pub(super) fn restored(format: &AnyFormat, runs: &[Run], options: &Options, layout: Layout) -> Vec<Assembled<String>> {
    let text = |value: &Value| match layout {
        Layout::Compact => value.to_string(),
        Layout::Indented => format!("{value:#}"),
    };
    restored_values(format, runs, options)
        .into_iter()
        .map(|Assembled { document, losses }| Assembled {
            document: text(&document),
            losses,
        })
        .collect()
}
