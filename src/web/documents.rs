//! Spans to documents: the one way that files, the store's export and the API share, so that they agree byte for byte.

use crate::dialect::file::FileError;
use crate::dialect::{Field, Registry};
use crate::formats::{AnyFormat, Layout, Loss, Options};
use crate::run::{self, Run};
use crate::span::{LogRecord, Span, TraceId};
use crate::trace::Finding;

/// The vocabulary that spans are read with.
#[derive(Debug, Clone)]
pub struct Vocabulary(Registry);

impl Vocabulary {
    /// The dialects that come with the program.
    #[must_use]
    pub fn built_in() -> Self {
        Self(Registry::built_in())
    }

    /// The same with a user's own keys.
    ///
    /// # Errors
    ///
    /// The file does not have the form.
    pub fn with_file_text(&self, text: &str) -> Result<Self, FileError> {
        self.0.with_file_text(text).map(Self)
    }

    /// Attribute keys that name a session, best first.
    #[must_use]
    pub fn session_keys(&self) -> Vec<String> {
        self.0.keys_of(Field::SessionId).into_iter().map(ToOwned::to_owned).collect()
    }

    /// The runs of these spans, one a trace.
    #[must_use]
    pub fn runs(&self, spans: Vec<Span>, logs: Vec<LogRecord>) -> Vec<Run> {
        run::from_batch(spans, logs, &self.0)
    }
}

/// One document and what it could not hold.
#[derive(Debug, Clone)]
pub struct Document {
    /// The document's text, without a line break at the end.
    pub text: String,
    /// What it could not hold.
    pub losses: Vec<Loss>,
}

/// What became of one run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The trace, or the first one of a session.
    pub trace_id: TraceId,
    /// Oddities of the data.
    pub findings: Vec<Finding>,
    /// The documents; empty if no operation of an agent stands in the trace.
    pub documents: Vec<Document>,
    /// Whether an operation of an agent stands in it.
    pub agent_work: bool,
}

/// The document of one run.
#[must_use]
pub fn of_run(run: &Run, format: &AnyFormat, options: &Options, layout: Layout) -> Outcome {
    let agent_work = run.has_agent_work();
    let documents = if agent_work {
        of_runs(std::slice::from_ref(run), format, options, layout)
    } else {
        Vec::new()
    };
    Outcome {
        trace_id: run.trace_id,
        findings: run.findings.clone(),
        documents,
        agent_work,
    }
}

/// The documents of a session: those of its runs together. `None` if no agent did anything in it.
#[must_use]
pub fn of_session(mut runs: Vec<Run>, format: &AnyFormat, options: &Options, layout: Layout) -> Option<Outcome> {
    runs.retain(Run::has_agent_work);
    let trace_id = runs.first()?.trace_id;
    Some(Outcome {
        trace_id,
        findings: runs.iter().flat_map(|run| run.findings.iter().cloned()).collect(),
        documents: of_runs(&runs, format, options, layout),
        agent_work: true,
    })
}

fn of_runs(runs: &[Run], format: &AnyFormat, options: &Options, layout: Layout) -> Vec<Document> {
    let assembled = format.assemble(runs, options, layout).into_iter();
    assembled
        .map(|assembled| Document {
            text: assembled.document,
            losses: assembled.losses,
        })
        .collect()
}
