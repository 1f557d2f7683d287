//! Everything read from the given files, including documents and session files.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::from::From;
use super::recognise::{is_protobuf, may_be_printed};
use crate::cli::begin::Begin;
use crate::cli::decompress::{affordable, plain, read_plain};
use crate::cli::problem::Problem;
use crate::cli::{out, parts};
use crate::formats::{self, AnyFormat, DisassembleError, Disassembled, DocumentSizes, Note, NoteKind};
use crate::forms::{AnyForm, Form, Forms, SpanForm};
use crate::hash::Keyed;
use crate::sessions::{self, Imported, Limits, SessionError, Sessions};
use crate::span::json::as_otlp;
use crate::span::{LogRecord, Span, TraceId};

/// Receives rows of training data as they are read: files may have more rows than fit into memory.
pub(in crate::cli) type Rows<'r> = dyn FnMut(&Path, Disassembled) + 'r;

/// The spans and log records of several files, as one set.
#[derive(Default)]
pub(in crate::cli) struct Batch<'r> {
    /// Maximum bytes of a file after decompression.
    pub(super) limit: usize,
    /// Maximum memory for one file of documents, or one session.
    pub(super) memory: Option<usize>,
    /// The expected content of the files.
    pub(super) from: From,
    /// The form to read the files by, if one is named.
    pub(super) form: Option<Arc<AnyForm>>,
    pub(in crate::cli) spans: Vec<Span>,
    pub(in crate::cli) logs: Vec<LogRecord>,
    /// Files and parts of files that could not be read.
    pub(in crate::cli) problems: Vec<Problem>,
    /// Notes on input that has nothing to do with runs.
    pub(in crate::cli) notes: Vec<String>,
    /// The traces of documents, in document order.
    pub(in crate::cli) in_order: Vec<TraceId>,
    /// Parts of documents that spans do not represent, by file.
    pub(in crate::cli) documents: Vec<(String, Note)>,
    /// Files with a problem, unless it affects only some of their documents.
    pub(in crate::cli) broken: HashSet<PathBuf>,
    /// Session files of coding agents, which are read once all are known.
    pub(super) sessions: Sessions,
    /// Whether to read a file although some of its documents are refused.
    pub(in crate::cli) reads_others: bool,
    /// Receives rows; without it their spans are added to the set.
    pub(super) rows: Option<&'r mut Rows<'r>>,
    /// Start of the runs in rows.
    pub(super) begin: Begin,
}

/// The most refused documents of a file, and files of a folder, that are named.
const NAMED: usize = 10;

/// The format whose documents are rows of data sets.
const ROWS: &str = "messages";

impl Batch<'_> {
    pub(super) fn report(&self) {
        self.notes.iter().for_each(|note| out::note(note));
        self.problems.iter().for_each(|problem| out::error(problem));
    }

    /// Notes what else is in a file.
    pub(super) fn note(&mut self, file: &str, words: impl Display) {
        self.notes.push(format!("{file}: {words}"));
    }

    pub(super) fn refuse_document(&mut self, file: &str, source: DisassembleError) {
        let file = file.to_owned();
        self.problems.push(Problem::Document { file, source });
    }

    /// Notes further problems of a file, like those before.
    pub(super) fn more(&mut self, file: &str, more: usize) {
        if more > 0 {
            let file = file.to_owned();
            self.problems.push(Problem::More { file, more });
        }
    }

    /// An empty set. `limit`: maximum bytes of each file after decompression. `memory`: maximum memory for reading one.
    pub(in crate::cli) fn new(limit: usize, memory: Option<usize>) -> Self {
        Self {
            limit,
            memory,
            ..Self::default()
        }
    }

    /// Reports on standard error what spans do not represent of the documents.
    pub(in crate::cli) fn report_documents(&self) {
        let (beside, others): (Vec<_>, Vec<_>) = self.documents.iter().partition(|(_, note)| note.kind == NoteKind::Beside);
        // One line for each kind, with its first note: a document of nine steps may have dozens.
        let mut kinds: Keyed<NoteKind, (usize, &(String, Note))> = Keyed::default();
        for reported in others {
            kinds.get_or_insert_with(&reported.1.kind, || (0, reported)).0 += 1;
        }
        for (_, (count, (file, note))) in kinds.into_list() {
            let more = match count {
                1 => String::new(),
                count => format!(" (and {} more like this)", count - 1),
            };
            out::note(&format!("{file}: {}: {}{more}", note.path, note.detail));
        }
        if !beside.is_empty() {
            let values = out::many(beside.len(), "value");
            out::note(&format!(
                "{values} in the documents cannot be expressed as spans; only an export in the same format restores them (import --losses FILE lists them)"
            ));
        }
    }

    /// Adds the content of a file; `-` is standard input.
    pub(in crate::cli) fn read(&mut self, path: &Path) {
        let before = self.problems.len();
        if self.recognises(path)
            && let Some(found) = sessions::recognised(path)
        {
            for (file, found) in sessions::of_sub_agents(path, &found) {
                self.sessions.add(&file, found);
            }
            return self.sessions.add(path, found);
        }
        if self.recognises(path)
            && let Some(lines) = sessions::lines_of_database(path, self.limit)
        {
            let file = path.display().to_string();
            match lines {
                Ok(lines) => self.add_plain(&file, Path::new("-"), lines.as_bytes()),
                Err(source) => self.problems.push(Problem::Session { source }),
            }
            return;
        }
        match read_plain(path, self.limit) {
            (file, Ok(bytes)) => self.add_plain(&file, path, &bytes),
            (_, Err(problem)) => self.problems.push(problem),
        }
        let mut new = self.problems.iter().skip(before);
        if new.any(|problem| !(self.reads_others && problem.is_of_a_part())) {
            self.broken.insert(path.to_owned());
        }
    }

    /// Whether the kind of a file is to be recognised.
    fn recognises(&self, path: &Path) -> bool {
        matches!(self.from, From::Auto) && self.form.is_none() && path.as_os_str() != "-"
    }

    /// Adds the session files below a folder. Where there are none, gives its other files: beside sessions, clients keep many that are no
    /// input.
    pub(super) fn sessions_below(&mut self, folder: &Path) -> Vec<PathBuf> {
        let mut files = match sessions::below(folder) {
            Ok(files) => files,
            Err(source) => {
                self.problems.push(Problem::Session { source });
                return Vec::new();
            }
        };
        let before = self.sessions.len();
        for file in &files {
            if self.recognises(file)
                && let Some(found) = sessions::recognised(file)
            {
                self.sessions.add(file, found);
            }
        }
        if self.sessions.len() > before {
            return Vec::new();
        }
        let is_hidden = |part: &OsStr| part.as_encoded_bytes().starts_with(b".");
        files.retain(|file| !file.strip_prefix(folder).is_ok_and(|below| below.iter().any(is_hidden)));
        if files.is_empty() {
            let folder = folder.display().to_string();
            self.problems.push(Problem::NoInput { folder });
        }
        files
    }

    /// Adds what the files of a folder hold. Those that hold nothing to read, such as a README, are named in one note.
    pub(super) fn read_below(&mut self, folder: &Path, files: &[&PathBuf]) {
        let mut left = Vec::new();
        for file in files {
            let before = self.problems.len();
            self.read(file);
            let new = self.problems.get(before..).unwrap_or_default();
            if !new.is_empty() && new.iter().all(Problem::is_of_no_input) {
                self.problems.truncate(before);
                left.push(file.strip_prefix(folder).unwrap_or(file).display().to_string());
            }
        }
        let folder = folder.display().to_string();
        match left.len() {
            0 => {}
            all if all == files.len() => self.problems.push(Problem::NoInput { folder }),
            count => {
                left.truncate(NAMED);
                let more = if count > NAMED { ", ..." } else { "" };
                self.notes.push(format!(
                    "{folder}: {} left out, as nothing in them is read: {}{more}",
                    out::many(count, "file"),
                    left.join(", ")
                ));
            }
        }
    }

    /// Reads the sessions that were found, one at a time, and passes on the spans of each.
    pub(in crate::cli) fn read_sessions(&mut self, take: &mut dyn FnMut(Vec<Span>)) {
        let (mut notes, mut problems) = (Vec::new(), Vec::new());
        let limits = Limits {
            bytes: self.limit,
            memory: self.memory,
        };
        self.sessions
            .read_each(limits, &mut |read: Result<Imported, SessionError>| match read {
                Ok(imported) => {
                    notes.extend(imported.notes);
                    take(imported.spans);
                }
                Err(source) => problems.push(Problem::Session { source }),
            });
        for note in notes {
            out::note(&format!("{}: {}", note.place, note.detail));
        }
        for problem in problems {
            out::error(&problem);
            self.problems.push(problem);
        }
    }

    /// The spans of the sessions that were found.
    pub(in crate::cli) fn sessions(&mut self) -> Vec<Span> {
        let mut spans = Vec::new();
        self.read_sessions(&mut |mut read| spans.append(&mut read));
        spans
    }

    /// Whether there are sessions to read.
    pub(in crate::cli) fn has_sessions(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// Adds the content of these bytes.
    pub(in crate::cli) fn add(&mut self, file: &str, bytes: &[u8]) {
        match plain(file, Cow::Borrowed(bytes), self.limit) {
            Ok(bytes) => self.add_plain(file, Path::new("-"), &bytes),
            Err(problem) => self.problems.push(problem),
        }
    }

    pub(super) fn add_plain(&mut self, file: &str, path: &Path, bytes: &[u8]) {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
        let skipped = bytes.len() - text.len();
        if let Some(form) = self.form.clone() {
            match &*form {
                AnyForm::Rows(form) => self.add_by_form(form, file, path, (text, skipped)),
                AnyForm::Spans(form) => self.add_spans_by_form(form, file, (text, skipped)),
            }
        } else if let From::Documents(format) = self.from {
            self.add_documents(file, path, (text, skipped), Some(format), self.reads_rows(format));
        } else if text.is_empty() {
            // An empty export request is valid.
            self.note(file, "empty");
        } else if !formats::is_export_request(text)
            && let Some(form) = std::str::from_utf8(text).ok().and_then(|text| Forms::built_in().of_text(text))
        {
            self.add_by_form(form, file, path, (text, skipped));
        } else if !is_protobuf(bytes) && may_be_printed(text) && (self.add_console(file, text) || self.add_printed(file, text)) {
            // Already added. Checked after protobuf, because a span's text may be what another program printed.
        } else if !text.starts_with(b"{") && !text.starts_with(b"[") {
            let text_of = std::str::from_utf8(text).ok();
            match text_of.and_then(|text| Forms::built_in().log_between_lines(text)) {
                Some(form) => self.add_by_form(form, file, path, (text, skipped)),
                None => self.add_protobuf(file, bytes),
            }
        } else if formats::is_export_request(text) {
            self.add_json(file, text, skipped, bytes);
        } else {
            self.add_recognised(file, path, (text, skipped), bytes);
        }
    }

    /// The text of a file, if the memory limit allows reading it; else a problem is recorded. `skipped`: bytes of the file before the text.
    fn readable<'b>(&mut self, file: &str, (text, skipped): (&'b [u8], usize), needed: usize) -> Option<&'b str> {
        let read = affordable(file, text, text.len().saturating_add(needed), self.memory).and_then(|_| {
            std::str::from_utf8(text).map_err(|source| Problem::Text {
                file: file.to_owned(),
                offset: skipped + source.valid_up_to(),
            })
        });
        read.map_err(|problem| self.problems.push(problem)).ok()
    }

    /// Adds the content of a text that has a known form.
    fn add_by_form(&mut self, form: &Form, file: &str, path: &Path, text: (&[u8], usize)) {
        let Some(text) = self.readable(file, text, DocumentSizes::of(text.0).parsed) else {
            return;
        };
        match formats::rows_by(form, text) {
            Ok((rows, notes)) => {
                self.documents.extend(notes.into_iter().map(|note| (file.to_owned(), note)));
                let format = formats::by_id(ROWS);
                let one_by_one = format.is_some_and(|format| self.reads_rows(format));
                self.add_documents(file, path, (rows.as_bytes(), 0), format, one_by_one);
            }
            Err(source) => self.refuse_document(file, source),
        }
    }

    /// Adds the spans of a text that has a known form.
    fn add_spans_by_form(&mut self, form: &SpanForm, file: &str, text: (&[u8], usize)) {
        let Some(text) = self.readable(file, text, DocumentSizes::of(text.0).parsed) else {
            return;
        };
        let (spans, mut notes) = form.read_text(text);
        if spans.is_empty() {
            let problem = notes.pop().unwrap_or_else(|| "it is empty".to_owned());
            let source = DisassembleError::Form {
                path: "$".to_owned(),
                form: form.name.clone(),
                reads: form.reads.clone(),
                problem,
            };
            return self.refuse_document(file, source);
        }
        notes.into_iter().for_each(|note| self.note(file, note));
        for (line, span) in &spans {
            let Some(request) = as_otlp(span) else {
                self.note(
                    file,
                    format_args!("line {line}: a record has no id, or a start that is not a time, and is left out"),
                );
                continue;
            };
            let text = request.to_string();
            self.add_json(file, text.as_bytes(), 0, text.as_bytes());
        }
    }

    /// Adds a JSON text that does not begin with an export request.
    pub(super) fn add_recognised(&mut self, file: &str, path: &Path, (text, skipped): (&[u8], usize), bytes: &[u8]) {
        let parsed = DocumentSizes::of(text).parsed;
        if let Err(problem) = affordable(file, text, text.len().saturating_add(parsed), self.memory) {
            return self.problems.push(problem);
        }
        // Even if it is not UTF-8: the error should name that, rather than invalid OTLP/JSON.
        match formats::recognised(String::from_utf8_lossy(text).as_bytes()) {
            // Other documents may have another format.
            Some(first) => self.add_documents(file, path, (text, skipped), None, self.reads_rows(first)),
            None => self.add_other_json(file, text, skipped, bytes),
        }
    }

    /// Whether documents of this format are passed on one by one.
    pub(super) fn reads_rows(&self, format: &AnyFormat) -> bool {
        self.rows.is_some() && format.id == ROWS
    }

    /// `skipped`: bytes of the file before the text.
    pub(super) fn add_documents(
        &mut self,
        file: &str,
        path: &Path,
        (text, skipped): (&[u8], usize),
        format: Option<&AnyFormat>,
        one_by_one: bool,
    ) {
        let sizes = DocumentSizes::of(text);
        let needed = if one_by_one { sizes.largest } else { sizes.all.as_document() };
        let Some(text) = self.readable(file, (text, skipped), needed) else {
            return;
        };
        let limit = self.limit;
        let folder = path.parent().filter(|_| path.as_os_str() != "-");
        let memory = self.memory;
        let mut named = |name: &str| {
            let Some(folder) = folder else { return formats::alone(name) };
            let (file, read) = read_plain(&parts::beside(folder, name)?, limit);
            let bytes = read.map_err(|problem| out::with_causes(&problem))?;
            let needed = bytes.len().saturating_add(DocumentSizes::of(&bytes).all.as_document());
            affordable(&file, &bytes, needed, memory).map_err(|problem| problem.to_string())?;
            serde_json::from_slice(&bytes).map_err(|error| format!("it is not JSON: {error}"))
        };
        let (mut spans, mut notes) = (Vec::new(), Vec::new());
        let rows = &mut self.rows;
        let begin = self.begin.of_file(path);
        let mut take = |format: &'static str, mut read: Disassembled| {
            formats::begin_at(format, &mut read.spans, |_| begin);
            match rows {
                Some(rows) if format == ROWS => rows(path, read),
                _ => {
                    spans.extend(read.spans);
                    notes.extend(read.notes.into_iter().map(|note| (file.to_owned(), note)));
                }
            }
        };
        let (problems, reads_others, mut more) = (&mut self.problems, self.reads_others, 0);
        let before = problems.len();
        let problem = |source| Problem::Document {
            file: file.to_owned(),
            source,
        };
        let mut refused = |source| {
            if !reads_others {
                return Err(source);
            }
            match problems.len() - before < NAMED {
                true => problems.push(problem(source)),
                false => more += 1,
            }
            Ok(())
        };
        let read = formats::disassemble_each(format, text, &mut named, &mut take, &mut refused);
        self.more(file, more);
        match read {
            Ok(()) => {
                for span in &spans {
                    if self.in_order.last() != Some(&span.trace_id) {
                        self.in_order.push(span.trace_id);
                    }
                }
                self.spans.append(&mut spans);
                self.documents.append(&mut notes);
            }
            Err(source) => self.refuse_document(file, source),
        }
    }
}
