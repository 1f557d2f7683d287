//! Destinations of documents.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;

use super::private;
use super::run_document::{RunDocument, RunSnapshot};
use crate::documents::Document;
use crate::formats::Layout;
use crate::span::TraceId;

/// A document of a run, not yet serialized.
pub(super) struct NewDocument<'a> {
    pub(super) trace_id: TraceId,
    pub(super) document: Document<'a>,
    pub(super) finished: bool,
    pub(super) revision: u32,
}

/// Receives the results of runs one by one.
pub(super) enum Sink {
    /// Documents of each requested format.
    Documents(Box<dyn FnMut(NewDocument<'_>) + Send>),
    /// The runs themselves.
    Runs(Box<dyn FnMut(&RunSnapshot<'_>) + Send>),
}

/// Wraps a program's callback for runs: if it panics, later runs are not lost.
pub(super) fn runs(mut callback: impl FnMut(&RunSnapshot<'_>) + Send + 'static) -> Sink {
    Sink::Runs(Box::new(move |snapshot| {
        let call = std::panic::AssertUnwindSafe(|| callback(snapshot));
        if std::panic::catch_unwind(call).is_err() {
            tracing::error!(target: "spanbridge", "the function for runs panicked at trace {}", snapshot.trace_id);
        }
    }))
}

/// Wraps a program's callback for documents: if it panics, later documents are not lost.
pub(super) fn callback(mut callback: impl FnMut(&RunDocument) + Send + 'static) -> Sink {
    Sink::Documents(Box::new(move |new| {
        let NewDocument {
            trace_id,
            document,
            finished,
            revision,
        } = new;
        let text = match document.text(Layout::Compact) {
            Ok(text) => text,
            Err(error) => return lost(&format_args!("trace {trace_id}"), &error),
        };
        let document = RunDocument {
            trace_id,
            format: document.format.id,
            index: document.index,
            text,
            losses: document.losses,
            finished,
            revision,
        };
        let call = std::panic::AssertUnwindSafe(|| callback(&document));
        if std::panic::catch_unwind(call).is_err() {
            tracing::error!(target: "spanbridge", "the function for documents panicked at one of trace {trace_id}");
        }
    }))
}

pub(super) fn lines(path: PathBuf, mut file: File) -> Sink {
    Sink::Documents(Box::new(move |NewDocument { document, .. }| {
        // One write per line, because another process may append to the same file.
        let written = document.text(Layout::Compact).and_then(|mut line| {
            line.push('\n');
            file.write_all(line.as_bytes())
        });
        if let Err(error) = written {
            lost(&path.display(), &error);
        }
    }))
}

pub(super) fn directory(folder: PathBuf) -> Sink {
    Sink::Documents(Box::new(move |NewDocument { trace_id, document, .. }| {
        let name = document.file_name(&trace_id.to_string(), None);
        let path = folder.join(&name);
        let half = folder.join(format!(".{name}.part"));
        let written = private::create(&half).and_then(|file| document.write_file(None, file));
        if let Err(error) = written.and_then(|()| fs::rename(&half, &path)) {
            lost(&path.display(), &error);
        }
    }))
}

fn lost(place: &dyn fmt::Display, error: &io::Error) {
    tracing::error!(target: "spanbridge", "{place}: a document is lost: {error}");
}
