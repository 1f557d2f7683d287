//! A format with its document type erased, and its documents.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use super::back::{Gather, ReaderFn, Restored};
use super::format::{Assembled, Container, Files, Format, last};
use crate::document::choice::{Choice, Options};
use crate::document::layout::{Layout, OneLine, on_one_line};
use crate::document::loss::{Loss, LossReason};
use crate::document::violations::{JsonPath, Violations};
use crate::run::Run;

/// A format whose document type is erased, as used by the command line, HTTP and tests.
#[derive(Debug, Clone, Copy)]
pub struct AnyFormat {
    /// The format's name.
    pub id: &'static str,
    /// What a document contains, in one line.
    pub keeps: &'static str,
    /// What a document leaves out, in one line.
    pub loses: &'static str,
    /// What the caller can choose.
    pub options: &'static [Choice],
    /// The container a document's file is packed in, if readers expect one.
    pub container: Option<Container>,
    /// Files that documents refer to, if any.
    pub beside: Option<Files>,
    /// Whether each model call is written with its whole input, rather than each message of a conversation once.
    pub whole_inputs: bool,
    /// Whether a run's documents contain parts of earlier runs of its session.
    pub needs_earlier: fn(&Options) -> bool,
    /// Whether all runs of a command become one document.
    pub takes_all: fn(&Options) -> bool,
    pub(super) typed: for<'a> fn(&'a [Run], &Options) -> Vec<Assembled<AnyDocument<'a>>>,
    /// Like `typed`, for the last run only.
    pub(super) typed_last: for<'a> fn(&'a [Run], &Options) -> Vec<Assembled<AnyDocument<'a>>>,
    pub(super) read: Option<ReaderFn>,
    pub(super) gather: Option<Gather>,
    /// Whether a rule spans several documents of a file.
    pub(super) checked_together: bool,
    schema: fn() -> Option<Value>,
    mapping: fn() -> String,
    pub(super) check: fn(&[(JsonPath<'_>, &Value)], &Options, &mut Violations),
}

impl AnyFormat {
    pub(super) const fn of<F: Format + 'static>(read: Option<ReaderFn>) -> Self {
        Self {
            id: F::ID,
            keeps: F::KEEPS,
            loses: F::LOSES,
            options: F::OPTIONS,
            container: F::CONTAINER,
            beside: F::BESIDE,
            whole_inputs: F::WHOLE_INPUTS,
            needs_earlier: F::needs_earlier,
            takes_all: F::takes_all,
            typed: |runs, options| typed::<F>(runs, F::assemble(runs, options)),
            typed_last: |runs, options| typed::<F>(last(runs), F::assemble_last(runs, options)),
            read,
            gather: None,
            checked_together: F::CHECKED_TOGETHER,
            schema: F::schema,
            mapping: F::mapping,
            check: F::check,
        }
    }

    /// Adds a function that joins files which documents refer to.
    pub(super) const fn gathered(mut self, gather: Gather) -> Self {
        self.gather = Some(gather);
        self
    }

    /// Whether documents of this format can be converted to spans.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.read.is_some()
    }

    /// A JSON Schema (draft 2020-12) of one document, if the format has one: its fields and their types.
    /// [`check`](super::check()) applies the same tables, and rules about several fields.
    #[must_use]
    pub fn schema(&self) -> Option<Value> {
        (self.schema)()
    }

    /// Maps document fields to operation fields, as a Markdown table; empty if the format has no table.
    #[must_use]
    pub fn mapping(&self) -> String {
        (self.mapping)()
    }

    /// The documents as JSON values, ignoring what the runs keep of documents they were imported from.
    pub(super) fn values(&self, runs: &[Run], options: &Options) -> Vec<Assembled<Value>> {
        let value = |Assembled { document, mut losses }: Assembled<AnyDocument<'_>>| {
            let document = document.content.value().unwrap_or_else(|error| {
                losses.push(unwritten(&error));
                Value::Null
            });
            Assembled { document, losses }
        };
        (self.typed)(runs, options).into_iter().map(value).collect()
    }
}

pub(super) fn unwritten(error: &dyn fmt::Display) -> Loss {
    Loss::new(None, format!("document: {error}"), LossReason::NoPlace)
}

fn typed<'a, F: Format + 'static>(runs: &[Run], documents: Vec<Assembled<F::Document<'a>>>) -> Vec<Assembled<AnyDocument<'a>>> {
    let steps: usize = runs.iter().map(|run| run.steps.len()).sum();
    let room = (steps / documents.len().max(1)).saturating_mul(16 << 10).clamp(1 << 10, 1 << 20);
    let hidden = |document| AnyDocument {
        content: Box::new(Typed::<F>(document)),
        room,
    };
    documents.into_iter().map(|assembled| assembled.map(hidden)).collect()
}

/// A document whose type is erased. It borrows from the runs.
pub struct AnyDocument<'a> {
    content: Box<dyn Content + 'a>,
    /// Approximate length of its text in bytes.
    room: usize,
}

impl fmt::Debug for AnyDocument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyDocument").finish_non_exhaustive()
    }
}

impl AnyDocument<'_> {
    pub(super) fn of_restored(document: Restored) -> Self {
        Self {
            content: Box::new(document),
            room: 1 << 10,
        }
    }

    /// Writes its JSON text piece by piece, without a line break at the end.
    ///
    /// # Errors
    ///
    /// Writing to `out` fails, or the document cannot be written.
    pub fn write(&self, layout: Layout, out: &mut dyn Write) -> io::Result<()> {
        self.content.write(layout, out)
    }

    /// Its whole JSON text, without a line break at the end. Faster than [`write`](Self::write), but holds all of it in memory.
    ///
    /// # Errors
    ///
    /// The document cannot be written.
    pub fn text(&self, layout: Layout) -> io::Result<String> {
        self.content.text(layout, self.room).map_err(io::Error::other)
    }

    /// The file name by which the format's readers find it, if they look for one.
    #[must_use]
    pub fn file_name(&self) -> Option<String> {
        self.content.file_name()
    }
}

/// What a document of any type can do.
trait Content {
    fn write(&self, layout: Layout, out: &mut dyn Write) -> io::Result<()>;
    fn text(&self, layout: Layout, room: usize) -> Result<String, String>;
    fn value(&self) -> serde_json::Result<Value>;
    fn file_name(&self) -> Option<String> {
        None
    }
}

struct Typed<'a, F: Format>(F::Document<'a>);

impl<F: Format> Content for Typed<'_, F> {
    fn write(&self, layout: Layout, out: &mut dyn Write) -> io::Result<()> {
        match layout {
            Layout::Compact => F::stream(&self.0, out),
            Layout::Indented => write(&self.0, layout, out),
        }
    }

    fn text(&self, layout: Layout, room: usize) -> Result<String, String> {
        written::<F>(&self.0, layout, room)
    }

    fn value(&self) -> serde_json::Result<Value> {
        serde_json::to_value(&self.0)
    }

    fn file_name(&self) -> Option<String> {
        F::file_name(&self.0)
    }
}

impl Content for Restored {
    fn write(&self, layout: Layout, out: &mut dyn Write) -> io::Result<()> {
        write(self, layout, out)
    }

    fn text(&self, layout: Layout, _: usize) -> Result<String, String> {
        let text = match layout {
            Layout::Compact => serde_json::to_string(self).map(on_one_line),
            Layout::Indented => serde_json::to_string_pretty(self),
        };
        text.map_err(|error| error.to_string())
    }

    fn value(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }
}

/// A document's text. `room`: its approximate length in bytes.
fn written<F: Format>(document: &F::Document<'_>, layout: Layout, room: usize) -> Result<String, String> {
    // Without a capacity the buffer grows by doubling, and is copied each time.
    let mut text = Vec::with_capacity(room);
    match layout {
        Layout::Compact => F::write(document, &mut text)?,
        Layout::Indented => serde_json::to_writer_pretty(&mut text, document).map_err(|error| error.to_string())?,
    }
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    Ok(match layout {
        Layout::Compact => on_one_line(text),
        Layout::Indented => text,
    })
}

fn write(document: &impl Serialize, layout: Layout, out: &mut dyn Write) -> io::Result<()> {
    match layout {
        // `serde_json` does not know about values that are JSON text already.
        Layout::Compact => {
            let mut line = OneLine::new(out);
            serde_json::to_writer(&mut line, document)?;
            line.flush()
        }
        Layout::Indented => Ok(serde_json::to_writer_pretty(out, document)?),
    }
}
