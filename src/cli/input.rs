//! Files to spans and log records. What a file is, its content tells: compression, encoding, signal; never its name.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;

use super::begin::Begin;
use super::decompress::{affordable, plain, read_plain};
use super::failure::Failure;
use super::foreign;
use super::format_options::unknown;
use super::problem::Problem;
use super::vocabulary::vocabulary;
use super::{out, parts};
use crate::documents::{self, UnknownFormat, Vocabulary};
use crate::formats::{self, AnyFormat, Disassembled, DocumentSizes, Note, NoteKind};
use crate::hash::Keyed;
use crate::otlp;
use crate::sessions::{self, Imported, SessionError, Sessions};
use crate::span::json::{JsonError, Message, as_otlp, mend, with_derived_ids};
use crate::span::{LogRecord, Refused, Signal, Span};
use crate::store::Chunk;

/// No file may hold more than this after decompression, unless told otherwise.
pub(super) const DEFAULT_LIMIT: usize = 1 << 30;

/// What is given each row of training data as it is read: files of rows have more of them than memory.
pub(super) type Rows<'r> = dyn FnMut(&Path, Disassembled) + 'r;

/// The spans and log records of several files, which are one set.
pub(super) struct Batch<'r> {
    /// The most bytes of one file after decompression.
    limit: usize,
    /// The most memory that one file of documents may take.
    memory: Option<usize>,
    /// What the files hold.
    from: From,
    pub(super) spans: Vec<Span>,
    pub(super) logs: Vec<LogRecord>,
    /// What could not be read.
    pub(super) problems: Vec<Problem>,
    /// What carries nothing that documents are made of.
    pub(super) notes: Vec<String>,
    /// What the spans do not say as the documents did, by file.
    pub(super) documents: Vec<(String, Note)>,
    /// Files with a problem.
    pub(super) broken: HashSet<PathBuf>,
    /// Session files of coding agents, which are read when all are known.
    sessions: Sessions,
    /// Takes rows; without it their spans are in the set.
    rows: Option<&'r mut Rows<'r>>,
    /// When the runs of rows began.
    begin: Begin,
}

/// The files of `convert`, `import` and `send`, and how they are read.
#[derive(Debug, Args)]
pub(super) struct Files {
    /// The format of the documents to read; `auto` detects spans, log records and documents by their content.
    #[arg(long, value_name = "FORMAT|auto", value_parser = from_of, default_value = "auto")]
    from: From,
    /// A file with attribute keys of your own, in the form of semconv/<dialect>/attributes.yaml.
    #[arg(long, value_name = "FILE")]
    semconv: Option<PathBuf>,
    /// The maximum size of a file after decompression.
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_LIMIT)]
    max_bytes: usize,
    /// The maximum memory for reading one file of documents [default: 1 GiB, or 8 times its size if that is more].
    #[arg(long, value_name = "BYTES")]
    max_memory: Option<usize>,
    /// The files to read: spans, log records, documents or session files; a folder with session files; `-` is standard input.
    #[arg(required = true, value_name = "FILE|FOLDER|-")]
    files: Vec<PathBuf>,
}

impl Files {
    /// One file whose content tells what it is.
    pub(super) fn one(path: &Path, semconv: Option<&Path>) -> Self {
        Self {
            from: From::Auto,
            semconv: semconv.map(Path::to_owned),
            max_bytes: DEFAULT_LIMIT,
            max_memory: None,
            files: vec![path.to_owned()],
        }
    }

    pub(super) fn vocabulary(&self) -> Result<Vocabulary, Failure> {
        vocabulary(self.semconv.as_deref())
    }

    /// The files and folders to read.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.files
    }

    /// The most bytes of one file.
    pub(super) fn limit(&self) -> usize {
        self.max_bytes
    }

    /// Reads these too.
    pub(super) fn extend(&mut self, files: Vec<PathBuf>) {
        self.files.extend(files);
    }

    /// Reads them, and reports on standard error what could not be read.
    pub(super) fn read<'r>(&self, begin: Begin) -> Batch<'r> {
        let mut batch = Batch::new(self.max_bytes, self.max_memory);
        batch.begin = begin;
        self.read_into(&mut batch, &HashSet::new());
        batch.report();
        batch
    }

    /// The same, with the rows of training data one by one.
    pub(super) fn read_rows<'r>(&self, begin: Begin, rows: &'r mut Rows<'r>) -> Batch<'r> {
        let mut batch = Batch::new(self.max_bytes, self.max_memory);
        batch.begin = begin;
        batch.rows = Some(rows);
        self.read_into(&mut batch, &HashSet::new());
        batch.report();
        batch
    }

    /// Reads the rows once more, but for those of these files. Standard input cannot be read again.
    pub(super) fn read_rows_again<'r>(&self, begin: Begin, rows: &'r mut Rows<'r>, but: &HashSet<PathBuf>) {
        let mut batch = Batch::new(self.max_bytes, self.max_memory);
        batch.begin = begin;
        batch.rows = Some(rows);
        self.read_into(&mut batch, but);
    }

    pub(super) fn has_standard_input(&self) -> bool {
        self.files.iter().any(|file| file.as_os_str() == "-")
    }

    fn read_into(&self, batch: &mut Batch<'_>, but: &HashSet<PathBuf>) {
        batch.from = self.from;
        let parts = if self.files.len() > 1 {
            parts::of(&self.files)
        } else {
            HashSet::new()
        };
        for file in self.files.iter().filter(|file| !but.contains(*file)) {
            if parts.contains(&parts::whole_path(file)) {
                batch.notes.push(format!("{}: read as a part of another document", file.display()));
                continue;
            }
            batch.read(file);
        }
    }
}

impl Batch<'_> {
    fn report(&self) {
        let batch = self;
        for note in &batch.notes {
            out::note(note);
        }
        for problem in &batch.problems {
            out::error(problem);
        }
    }
}

/// What files hold.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum From {
    /// Each file's content tells.
    #[default]
    Auto,
    /// Documents of this format.
    Documents(&'static AnyFormat),
}

/// The word of `--from`.
pub(super) fn from_of(word: &str) -> Result<From, String> {
    if word == "auto" {
        return Ok(From::Auto);
    }
    let format = documents::format(word).map(From::Documents);
    format.map_err(|_| unknown(word, &format!("auto, {}", UnknownFormat::known())))
}

/// The format whose documents are rows of data sets.
const ROWS: &str = "messages";

/// About so many times a file is looked through for one message that is all of it and has to be mended.
const WHOLE_TRIES: usize = 4;

/// How many refused spans of one file are told one by one.
const TOLD: usize = 20;

impl Batch<'_> {
    /// Of files that may have so many bytes each after decompression, and may take so much memory while they are read.
    pub(super) fn new(limit: usize, memory: Option<usize>) -> Self {
        Self {
            limit,
            memory,
            from: From::Auto,
            spans: Vec::new(),
            logs: Vec::new(),
            problems: Vec::new(),
            notes: Vec::new(),
            documents: Vec::new(),
            broken: HashSet::new(),
            sessions: Sessions::default(),
            rows: None,
            begin: Begin::Unknown,
        }
    }

    /// Reports on standard error what the spans of documents do not say as the documents did.
    pub(super) fn report_documents(&self) {
        let (beside, others): (Vec<_>, Vec<_>) = self.documents.iter().partition(|(_, note)| note.kind == NoteKind::Beside);
        // One line a kind, with the first of its notes: a document of nine steps may have dozens.
        let mut kinds: Keyed<NoteKind, (usize, &(String, Note))> = Keyed::default();
        for told in others {
            kinds.get_or_insert_with(&told.1.kind, || (0, told)).0 += 1;
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

    /// Adds what a file or a folder holds; `-` is standard input.
    pub(super) fn read(&mut self, path: &Path) {
        let before = self.problems.len();
        if path.is_dir() {
            return self.read_folder(path);
        }
        if matches!(self.from, From::Auto)
            && path.as_os_str() != "-"
            && let Some(found) = sessions::recognised(path)
        {
            return self.sessions.add(path, found);
        }
        match read_plain(path, self.limit) {
            (file, Ok(bytes)) => self.add_plain(&file, path, &bytes),
            (_, Err(problem)) => self.problems.push(problem),
        }
        if self.problems.len() > before {
            self.broken.insert(path.to_owned());
        }
    }

    /// Adds the session files below a folder. The others are not of a session: clients keep many files beside them.
    fn read_folder(&mut self, folder: &Path) {
        let files = match sessions::below(folder) {
            Ok(files) => files,
            Err(source) => return self.problems.push(Problem::Session { source }),
        };
        let before = self.sessions.len();
        for file in &files {
            if let Some(found) = sessions::recognised(file) {
                self.sessions.add(file, found);
            }
        }
        if self.sessions.len() == before {
            self.problems.push(Problem::NoSessions {
                folder: folder.display().to_string(),
            });
        }
    }

    /// Reads the sessions that were found, one at a time, and gives the spans of each.
    pub(super) fn read_sessions(&mut self, take: &mut dyn FnMut(Vec<Span>)) {
        let (mut notes, mut problems) = (Vec::new(), Vec::new());
        let limit = self.limit;
        self.sessions
            .read_each(limit, &mut |read: Result<Imported, SessionError>| match read {
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
    pub(super) fn sessions(&mut self) -> Vec<Span> {
        let mut spans = Vec::new();
        self.read_sessions(&mut |mut read| spans.append(&mut read));
        spans
    }

    /// Whether there are sessions to read.
    pub(super) fn has_sessions(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// Adds what these bytes hold.
    pub(super) fn add(&mut self, file: &str, bytes: &[u8]) {
        match plain(file, Cow::Borrowed(bytes), self.limit) {
            Ok(bytes) => self.add_plain(file, Path::new("-"), &bytes),
            Err(problem) => self.problems.push(problem),
        }
    }

    fn add_plain(&mut self, file: &str, path: &Path, bytes: &[u8]) {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
        let skipped = bytes.len() - text.len();
        if let From::Documents(format) = self.from {
            self.add_documents(file, path, (text, skipped), Some(format), self.reads_rows(format));
        } else if text.is_empty() {
            // An empty export request is a lawful one.
            self.notes.push(format!("{file}: empty"));
        } else if !text.starts_with(b"{") && !text.starts_with(b"[") {
            self.add_protobuf(file, bytes);
        } else if formats::is_export_request(text) {
            self.add_json(file, text, skipped, bytes);
        } else {
            self.add_recognised(file, path, (text, skipped), bytes);
        }
    }

    /// Adds a JSON text that begins with no export request.
    fn add_recognised(&mut self, file: &str, path: &Path, (text, skipped): (&[u8], usize), bytes: &[u8]) {
        let parsed = DocumentSizes::of(text).parsed;
        if let Err(problem) = affordable(file, text, text.len().saturating_add(parsed), self.memory) {
            self.problems.push(problem);
            return;
        }
        // Also one that is not UTF-8: it is refused for that, not for being no OTLP/JSON.
        match formats::recognised(String::from_utf8_lossy(text).as_bytes()) {
            // The others may be of another format.
            Some(first) => self.add_documents(file, path, (text, skipped), None, self.reads_rows(first)),
            None => self.add_json(file, text, skipped, bytes),
        }
    }

    /// Whether documents of this format are taken one by one.
    fn reads_rows(&self, format: &AnyFormat) -> bool {
        self.rows.is_some() && format.id == ROWS
    }

    /// `skipped`: bytes of the file before the text.
    fn add_documents(&mut self, file: &str, path: &Path, (text, skipped): (&[u8], usize), format: Option<&AnyFormat>, one_by_one: bool) {
        let sizes = DocumentSizes::of(text);
        let needed = if one_by_one { sizes.largest } else { sizes.all.as_document() };
        if let Err(problem) = affordable(file, text, text.len().saturating_add(needed), self.memory) {
            self.problems.push(problem);
            return;
        }
        let text = match std::str::from_utf8(text) {
            Ok(text) => text,
            Err(source) => {
                self.problems.push(Problem::Text {
                    file: file.to_owned(),
                    offset: skipped + source.valid_up_to(),
                });
                return;
            }
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
        let read = formats::disassemble_each(format, text, &mut named, &mut |format, mut read| {
            formats::begin_at(format, &mut read.spans, |_| begin);
            match rows {
                Some(rows) if format == ROWS => rows(path, read),
                _ => {
                    spans.extend(read.spans);
                    notes.extend(read.notes.into_iter().map(|note| (file.to_owned(), note)));
                }
            }
        });
        match read {
            Ok(()) => {
                self.spans.append(&mut spans);
                self.documents.append(&mut notes);
            }
            Err(source) => self.problems.push(Problem::Document {
                file: file.to_owned(),
                source,
            }),
        }
    }

    fn add_protobuf(&mut self, file: &str, bytes: &[u8]) {
        if let Some(messages) = delimited(bytes) {
            return messages.into_iter().for_each(|message| self.add_one_protobuf(file, message));
        }
        if let Some(what) = foreign::named(bytes) {
            let file = file.to_owned();
            return self.problems.push(Problem::Foreign { file, what });
        }
        self.add_one_protobuf(file, bytes);
    }

    fn add_one_protobuf(&mut self, file: &str, bytes: &[u8]) {
        let problem = match otlp::signal::guess(bytes) {
            Some(Signal::Metrics) => {
                self.notes.push(format!("{file}: has metrics, which are ignored"));
                return;
            }
            Some(Signal::Logs) => match otlp::decode::logs(bytes) {
                Ok(decoded) => {
                    self.logs.extend(decoded.items);
                    self.refuse(file, decoded.refused);
                    return;
                }
                Err(_) if self.add_readable(file, bytes, Signal::Logs) => return,
                Err(error) => error,
            },
            Some(Signal::Traces) | None => match otlp::decode::traces(bytes) {
                Ok(decoded) => {
                    self.spans.extend(decoded.items);
                    self.refuse(file, decoded.refused);
                    return;
                }
                Err(_) if self.add_readable(file, bytes, Signal::Traces) => return,
                Err(error) => error,
            },
        };
        self.problems.push(Problem::Protobuf {
            file: file.to_owned(),
            offset: problem.fault(bytes).map_or(0, |fault| fault.offset),
            detail: problem
                .fault(bytes)
                .map_or_else(|| out::with_causes(&problem), |fault| fault.kind.to_string()),
        });
    }

    /// Adds the items of a request that can be read, where others cannot.
    fn add_readable(&mut self, file: &str, bytes: &[u8], signal: Signal) -> bool {
        let Ok(mut scanned) = otlp::scan::scan(bytes, signal, &[]) else {
            return false;
        };
        let refused = std::mem::take(&mut scanned.refused);
        for chunk in Chunk::of_request(scanned, bytes.to_vec()) {
            match signal {
                Signal::Logs => self
                    .logs
                    .extend(otlp::decode::logs(&chunk.message()).into_iter().flat_map(|decoded| decoded.items)),
                _ => self
                    .spans
                    .extend(otlp::decode::traces(&chunk.message()).into_iter().flat_map(|decoded| decoded.items)),
            }
        }
        self.refuse(file, refused);
        true
    }

    /// Adds a message in which something had to be mended, and gives how many bytes of the text it is: its first line, or, while
    /// `spare` bytes may still be looked through for that, all of it.
    fn add_mended(&mut self, file: &str, offset: usize, text: &[u8], spare: &mut usize) -> Option<usize> {
        let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let mut add = |text: &[u8]| {
            let mended = mend(text)?;
            let message = Message::parse(&mended.text).ok()?;
            self.note_replaced(file, mended.replaced);
            self.add_message(file, offset, message);
            Some(text.len())
        };
        let added = add(line);
        if added.is_some() || line.len() == text.len() {
            return added;
        }
        if *spare == 0 {
            return None;
        }
        *spare = spare.saturating_sub(text.len());
        add(text)
    }

    fn note_replaced(&mut self, file: &str, times: usize) {
        if times > 0 {
            self.notes.push(format!(
                "{file}: {}: half a surrogate pair, or bytes that are not UTF-8, replaced by U+FFFD",
                out::many(times, "place")
            ));
        }
    }

    /// One object, an array of them, or one after the other (the Collector's file exporter writes one a line).
    /// `whole`: with what stands before the text.
    fn add_json(&mut self, file: &str, text: &[u8], skipped: usize, whole: &[u8]) {
        if skipped > 0 && otlp::signal::guess(whole).is_some() {
            // The tag of an export request's first field is a line feed in ASCII, and its length may be a brace.
            return self.add_protobuf(file, whole);
        }
        if text.starts_with(b"[") {
            // What it is parsed to was counted for what is no export request alone.
            if !formats::is_export_request(text)
                && let Some(spans) = list_in_other_form(text)
            {
                spans.into_iter().for_each(|message| self.add_message(file, skipped, message));
                return;
            }
            match Message::parse_list(text) {
                Ok(messages) => match messages.iter().any(is_no_request).then(|| json_fault(text)).flatten() {
                    Some(fault) => self.syntax(file, skipped, text, fault),
                    None => messages.into_iter().for_each(|message| self.add_message(file, skipped, message)),
                },
                Err(source) => {
                    let mended =
                        mend(text).and_then(|mended| Some((serde_json::from_slice::<Vec<Message>>(&mended.text).ok()?, mended.replaced)));
                    match mended {
                        Some((messages, replaced)) => {
                            self.note_replaced(file, replaced);
                            messages.into_iter().for_each(|message| self.add_message(file, skipped, message));
                        }
                        None => self.syntax(file, skipped, text, source),
                    }
                }
            }
            return;
        }
        let mut rest = text;
        // Each broken line could be where a message over all the rest begins: so many bytes are read for one that is none.
        let mut spare = text.len().saturating_mul(WHOLE_TRIES);
        while !rest.is_empty() {
            let offset = skipped + text.len() - rest.len();
            // Where too much was read in vain, a message is one line.
            let line = || rest.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
            match Message::parse_first(if spare > 0 { rest } else { line() }) {
                None => return,
                Some(Ok((message, read))) => {
                    let other = is_no_request(&message)
                        .then(|| in_other_form(rest.get(..read).unwrap_or_default()))
                        .flatten();
                    let message = other.unwrap_or(message);
                    match is_no_request(&message).then(|| json_fault(rest)).flatten() {
                        Some(fault) => self.syntax(file, offset, rest, fault),
                        None => self.add_text(file, offset, message, rest.get(..read).unwrap_or_default()),
                    }
                    rest = rest.get(read..).unwrap_or_default().trim_ascii_start();
                }
                Some(Err(source)) => match self.add_mended(file, offset, rest, &mut spare) {
                    Some(read) => rest = rest.get(read..).unwrap_or_default().trim_ascii_start(),
                    None => {
                        spare = spare.saturating_sub(looked_through(rest, &source));
                        self.syntax(file, offset, rest, source);
                        rest = next_line_with_object(rest);
                    }
                },
            }
        }
    }

    fn syntax(&mut self, file: &str, start: usize, text: &[u8], source: serde_json::Error) {
        let offset = start + byte_of(text, source.line(), source.column());
        let file = file.to_owned();
        let source = JsonError::Syntax { source };
        self.problems.push(Problem::Json { file, offset, source });
    }

    /// Adds a message that is this text. A file is no sender that could be told what to correct: ids that are none are derived.
    fn add_text(&mut self, file: &str, offset: usize, message: Message, text: &[u8]) {
        if !message.has_unusable_ids() {
            return self.add_message(file, offset, message);
        }
        let derived = with_derived_ids(text).and_then(|(text, count)| Some((Message::parse(text.as_bytes()).ok()?, count)));
        match derived {
            Some((derived, count)) => {
                let ids = out::many(count, "id");
                self.notes.push(format!(
                    "{file}: {ids} not in hexadecimal digits, replaced by ids derived from them"
                ));
                self.add_message(file, offset, derived);
            }
            None => self.add_message(file, offset, message),
        }
    }

    fn add_message(&mut self, file: &str, offset: usize, message: Message) {
        let fault = match message.signal() {
            Ok(Some(Signal::Metrics)) => {
                self.notes.push(format!("{file}: has metrics, which are ignored"));
                return;
            }
            Ok(Some(_)) => {
                let (spans, logs) = message.into_parts();
                self.spans.extend(spans.items);
                self.logs.extend(logs.items);
                self.refuse(file, spans.refused.into_iter().chain(logs.refused));
                return;
            }
            Ok(None) => JsonError::NotOtlp,
            Err(error) => error,
        };
        // What a file is not, it is not once: the others of its lines are counted.
        match self.problems.last_mut() {
            Some(Problem::More { file: of, more }) if of == file => return *more += 1,
            Some(Problem::Json { file: of, source, .. })
                if of == file && std::mem::discriminant(source) == std::mem::discriminant(&fault) =>
            {
                let file = file.to_owned();
                return self.problems.push(Problem::More { file, more: 1 });
            }
            _ => {}
        }
        self.problems.push(Problem::Json {
            file: file.to_owned(),
            offset,
            source: fault,
        });
    }

    fn refuse(&mut self, file: &str, refused: impl IntoIterator<Item = Refused>) {
        let mut refused = refused.into_iter();
        let told = refused.by_ref().take(TOLD).map(|refused| Problem::Refused {
            file: file.to_owned(),
            refused,
        });
        self.problems.extend(told);
        let more = refused.count();
        if more > 0 {
            self.problems.push(Problem::More {
                file: file.to_owned(),
                more,
            });
        }
    }
}

/// Export requests one after the other, each with its length before it; `None` where the bytes are anything else.
fn delimited(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut rest, mut messages) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (mut length, mut shift) = (0_usize, 0_u32);
        loop {
            let (byte, after) = rest.split_first()?;
            rest = after;
            length |= usize::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let message = rest.get(..length)?;
        // A request begins with its first field; one alone, whose first bytes are a length by chance, ends elsewhere.
        if message.first() != Some(&0x0a) {
            return None;
        }
        messages.push(message);
        rest = rest.get(length..)?;
    }
    Some(messages).filter(|messages| !messages.is_empty() && bytes.first() != Some(&0x0a) || messages.len() > 1)
}

/// Spans in another JSON form: Jaeger's, the Python SDK's.
fn in_other_form(text: &[u8]) -> Option<Message> {
    let value: serde_json::Value = serde_json::from_slice(text).ok()?;
    Message::parse(as_otlp(&value)?.to_string().as_bytes()).ok()
}

/// The same, of a list.
fn list_in_other_form(text: &[u8]) -> Option<Vec<Message>> {
    let values: Vec<serde_json::Value> = serde_json::from_slice(text).ok()?;
    let read = |value: &serde_json::Value| Message::parse(as_otlp(value)?.to_string().as_bytes()).ok();
    values
        .iter()
        .map(read)
        .collect::<Option<Vec<Message>>>()
        .filter(|list| !list.is_empty())
}

fn is_no_request(message: &Message) -> bool {
    matches!(message.signal(), Ok(None) | Err(JsonError::Other { .. }))
}

/// What is wrong with the JSON of a text's first value. Members that no export request has are skipped when it is read as one,
/// with faults that keep it from being read as a document.
fn json_fault(text: &[u8]) -> Option<serde_json::Error> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<serde_json::Value>();
    values.next()?.err()
}

/// After a broken line, the next line on which an object begins.
fn next_line_with_object(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        rest = rest.get(end + 1..).unwrap_or_default();
        if rest.starts_with(b"{") {
            return rest;
        }
    }
    &[]
}

/// How many bytes were looked through before this was found: of what is nested too deep for the parser, all.
fn looked_through(text: &[u8], error: &serde_json::Error) -> usize {
    if error.to_string().starts_with("recursion limit") {
        return text.len();
    }
    byte_of(text, error.line(), error.column())
}

/// serde_json counts lines and columns from 1.
fn byte_of(text: &[u8], line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive(|byte| *byte == b'\n')
        .take(line.saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    (before + column.saturating_sub(1)).min(text.len())
}
