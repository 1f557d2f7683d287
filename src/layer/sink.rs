//! Where documents go.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::documents::RunDocument;

/// Takes documents, one after the other.
pub(super) struct Sink(Box<dyn FnMut(&RunDocument) + Send>);

impl Sink {
    pub(super) fn take(&mut self, document: &RunDocument) {
        (self.0)(document);
    }
}

/// A program's own function: when it panics, the documents after that are not lost.
pub(super) fn callback(mut callback: impl FnMut(&RunDocument) + Send + 'static) -> Sink {
    Sink(Box::new(move |document| {
        let call = std::panic::AssertUnwindSafe(|| callback(document));
        if std::panic::catch_unwind(call).is_err() {
            tracing::error!(target: "spanbridge", "the function for documents panicked at one of trace {}", document.trace_id);
        }
    }))
}

pub(super) fn lines(path: PathBuf, mut file: File) -> Sink {
    callback(move |document| {
        // One write a line: another process may append to the same file.
        let line = format!("{}\n", document.text);
        if let Err(error) = file.write_all(line.as_bytes()) {
            lost(&path, &error);
        }
    })
}

pub(super) fn directory(folder: PathBuf) -> Sink {
    callback(move |document| {
        let (trace, format) = (document.trace_id, document.format);
        let name = match document.index {
            0 => format!("{trace}.{format}.json"),
            more => format!("{trace}.{}.{format}.json", more + 1),
        };
        let text = serde_json::from_str::<Json>(&document.text)
            .and_then(|json| serde_json::to_string_pretty(&json))
            .unwrap_or_else(|_| document.text.clone());
        let path = folder.join(&name);
        let half = folder.join(format!(".{name}.part"));
        if let Err(error) = fs::write(&half, format!("{text}\n")).and_then(|()| fs::rename(&half, &path)) {
            lost(&path, &error);
        }
    })
}

fn lost(path: &Path, error: &std::io::Error) {
    tracing::error!(target: "spanbridge", "{}: a document is lost: {error}", path.display());
}
