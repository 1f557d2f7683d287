//! Makes documents: files, the store's export, the API and the Layer share this path from spans to documents, so that they
//! agree byte for byte.
//!
//! [`Vocabulary::runs`] turns spans into runs, [`of_run`] and [`of_session`] turn runs into documents, and a [`Document`]
//! writes its text wherever the caller wants it. Nothing here reads a clock: callers with stored spans pass the time in.
//!
//! ```
//! use spanbridge::documents::{self, Vocabulary};
//! use spanbridge::formats::{Layout, Options};
//! use spanbridge::span::json;
//!
//! # let request = br#"{"resourceSpans": [{"scopeSpans": [{"spans": [{
//! #     "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "weather",
//! #     "startTimeUnixNano": "1795262685000000000", "endTimeUnixNano": "1795262686000000000",
//! #     "attributes": [{"key": "openinference.span.kind", "value": {"stringValue": "TOOL"}},
//! #                    {"key": "tool.name", "value": {"stringValue": "weather"}}]
//! # }]}]}]}"#;
//! let spans = json::traces(request)?.items;
//! let runs = Vocabulary::built_in().runs(spans, Vec::new());
//! let reflex = documents::format("reflex")?;
//! let outcome = documents::of_run(&runs[0], reflex, &Options::default());
//! assert!(outcome.documents[0].text(Layout::Compact)?.contains(r#""name":"weather""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod prices;
mod vocabulary;

use std::fmt;
use std::io::{self, Write};

use crate::formats::{self, AnyDocument, AnyFormat, Assembled, Container, Layout, Loss, Options, Sequence};
use crate::run::Run;
use crate::span::TraceId;
use crate::trace::Finding;

pub use prices::Prices;
pub use vocabulary::Vocabulary;
#[cfg(feature = "server")]
pub(crate) use vocabulary::awaits_root;

/// No format has this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownFormat(pub String);

impl UnknownFormat {
    /// The known names.
    #[must_use]
    pub fn known() -> String {
        let all = formats::all();
        all.map(|format| format.id).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no format {}; there is {}", self.0, Self::known())
    }
}

impl std::error::Error for UnknownFormat {}

/// The format with this name.
///
/// # Errors
///
/// No format has this name.
pub fn format(name: &str) -> Result<&'static AnyFormat, UnknownFormat> {
    formats::by_id(name).ok_or_else(|| UnknownFormat(name.to_owned()))
}

/// The result for one run, or for the runs of one session.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The trace, or the first one of a session.
    pub trace_id: TraceId,
    /// Oddities of the data.
    pub findings: Vec<&'a Finding>,
    /// The documents; empty if the trace contains no operation of an agent.
    pub documents: Vec<Document<'a>>,
    /// Whether it contains an operation of an agent.
    pub agent_work: bool,
}

/// The document of one run.
#[must_use]
pub fn of_run<'a>(run: &'a Run, format: &'static AnyFormat, options: &Options) -> Outcome<'a> {
    let assembled = format.documents(std::slice::from_ref(run), options);
    outcome(run, format, assembled)
}

/// The documents of only the last of a session's runs, which may contain parts of earlier runs; `None` without a run.
#[must_use]
pub fn of_last<'a>(runs: &'a [Run], format: &'static AnyFormat, options: &Options) -> Option<Outcome<'a>> {
    Some(outcome(runs.last()?, format, format.documents_of_last(runs, options)))
}

fn outcome<'a>(run: &'a Run, format: &'static AnyFormat, assembled: Vec<Assembled<AnyDocument<'a>>>) -> Outcome<'a> {
    Outcome {
        trace_id: run.trace_id,
        findings: run.findings.iter().collect(),
        documents: documents_of(format, assembled),
        agent_work: run.has_agent_work(),
    }
}

/// The documents of a session, that is, of all its runs. Runs without an agent's work are removed from `runs`; `None` if none
/// is left.
pub fn of_session<'a>(runs: &'a mut Vec<Run>, format: &'static AnyFormat, options: &Options) -> Option<Outcome<'a>> {
    runs.retain(Run::has_agent_work);
    let runs: &'a [Run] = runs;
    Some(Outcome {
        trace_id: runs.first()?.trace_id,
        findings: runs.iter().flat_map(|run| &run.findings).collect(),
        documents: documents_of(format, format.documents(runs, options)),
        agent_work: true,
    })
}

fn documents_of<'a>(format: &'static AnyFormat, assembled: Vec<Assembled<AnyDocument<'a>>>) -> Vec<Document<'a>> {
    let document = |(index, Assembled { document, losses })| Document {
        format,
        index,
        losses,
        content: document,
    };
    assembled.into_iter().enumerate().map(document).collect()
}

/// Writes the documents of runs with an agent's work: of one run, or of the runs of one session.
///
/// # Errors
///
/// Writing to `out` fails, or a document cannot be written.
pub fn write(runs: &[Run], format: &AnyFormat, options: &Options, sequence: Sequence, out: &mut dyn Write) -> io::Result<()> {
    format.write(runs, options, sequence, out)
}

/// One document and its losses. It borrows from the runs, and is converted to text while it is written.
#[derive(Debug)]
pub struct Document<'a> {
    /// The format.
    pub format: &'static AnyFormat,
    /// 0 for the first of a run or session; some formats produce several.
    pub index: usize,
    /// The data that it could not contain.
    pub losses: Vec<Loss>,
    content: AnyDocument<'a>,
}

impl Document<'_> {
    /// Its text, without a line break at the end.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn text(&self, layout: Layout) -> io::Result<String> {
        self.content.text(layout)
    }

    /// Writes its text piece by piece, without a line break at the end.
    ///
    /// # Errors
    ///
    /// Writing to `out` fails, or the document cannot be written.
    pub fn write(&self, layout: Layout, out: &mut dyn Write) -> io::Result<()> {
        self.content.write(layout, out)
    }

    /// The file name that readers of the format expect, if any.
    #[must_use]
    pub fn own_file_name(&self) -> Option<String> {
        self.content.file_name()
    }

    /// The name of its file, which begins with `stem`.
    #[must_use]
    pub fn file_name(&self, stem: &str, container: Option<Container>) -> String {
        let ending = container.map_or("json", |container| container.ending);
        match self.index {
            0 => format!("{stem}.{}.{ending}", self.format.id),
            more => format!("{stem}.{}.{}.{ending}", more + 1, self.format.id),
        }
    }

    /// Writes the content of its file: its indented text, possibly packed in a container.
    ///
    /// # Errors
    ///
    /// Writing to `out` fails, or the document cannot be written or packed.
    pub fn write_file(&self, container: Option<Container>, mut out: impl Write) -> io::Result<()> {
        if let Some(container) = container {
            let packed = (container.pack)(&self.text(Layout::Indented)?);
            return out.write_all(&packed.map_err(io::Error::other)?);
        }
        let mut out = io::BufWriter::with_capacity(64 << 10, out);
        self.content.write(Layout::Indented, &mut out)?;
        out.write_all(b"\n")?;
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_that_does_not_exist_is_refused_with_those_that_do() {
        let error = format("reflexes").expect_err("no such format").to_string();
        assert!(
            error.starts_with("there is no format reflexes; ") && error.contains("contextforge, reflex, "),
            "{error}"
        );
    }
}
