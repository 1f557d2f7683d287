//! Values that a form reads ([`crate::forms`]): they become rows of chat messages before a format sees them.

use serde_json::Value;

use super::back::{DisassembleError, Exact, Note, NoteKind, Numbers};
use crate::forms::{Form, Forms, Found, Log, Read, Unread, lines_without_json};

/// The rows a form makes of a value, with their places and notes.
pub(super) type Rows = Vec<Result<(Row, Vec<Note>), DisassembleError>>;

/// A row with its place.
pub(super) struct Row {
    pub(super) path: String,
    pub(super) value: Value,
}

fn one(read: Result<Read, Unread>, path: String) -> Result<(Row, Vec<Note>), DisassembleError> {
    match read {
        Ok(read) => {
            let note = |detail: String| Note::new("$", NoteKind::LeftOut, format!("read as {}: {detail}", read.form));
            let notes = read.notes.into_iter().map(note).collect();
            Ok((Row { path, value: read.row }, notes))
        }
        Err(unread) => Err(DisassembleError::Form {
            path,
            form: unread.form,
            reads: unread.reads,
            problem: unread.problem,
        }),
    }
}

/// Reads a value with the form that matches it; `None` if none does. `is_first`: whether it is the first of a file, which may be a log;
/// `others` are the values after it, all of which a log consumes.
pub(super) fn rows(
    value: &Value,
    path: &str,
    is_first: bool,
    others: &mut dyn Iterator<Item = serde_json::Result<Value>>,
) -> Option<Result<Rows, DisassembleError>> {
    Some(Ok(match Forms::built_in().read(value, is_first)? {
        Found::One(read) => vec![one(read, path.to_owned())],
        Found::Several(list) => {
            let place = |(index, read)| one(read, format!("{path}[{index}]"));
            list.into_iter().enumerate().map(place).collect()
        }
        Found::Log(form) => {
            let mut log = Log::new(form);
            log.add(value);
            let mut is_cut = false;
            for other in others {
                match other {
                    Ok(value) => log.add(&value),
                    // The program was stopped while writing it.
                    Err(error) if error.is_eof() => is_cut = true,
                    Err(source) => return Some(Err(DisassembleError::Json { source })),
                }
            }
            let mut list = log.finish();
            if let Some(Ok(last)) = list.last_mut().filter(|_| is_cut) {
                last.notes.push("its last line is cut off, and left out".to_owned());
            }
            let is_alone = list.len() == 1;
            let place = |index| if is_alone { "$".to_owned() } else { format!("$[{index}]") };
            list.into_iter().enumerate().map(|(index, read)| one(read, place(index))).collect()
        }
    }))
}

/// Converts a text with a form to rows, one per line, with notes.
///
/// # Errors
///
/// The form cannot read one of the values.
pub(crate) fn rows_by(form: &Form, text: &str) -> Result<(String, Vec<Note>), DisassembleError> {
    let read = form.read_text(text);
    let (mut rows, mut notes) = (String::new(), Vec::new());
    if read.others > 0 {
        let detail = format!("{}: left out", lines_without_json(read.others));
        notes.push(Note::new("$", NoteKind::LeftOut, detail));
    }
    let mut numbers = Numbers::default();
    numbers.add_text(text);
    for (double, _) in numbers.ambiguous() {
        let detail = format!("{double} stands for several integers that no double represents: they are rounded");
        notes.push(Note::new("$", NoteKind::Coerced, detail));
    }
    for (path, read) in read.rows {
        let (row, mut of_row) = one(read, path)?;
        let exact = serde_json::to_string(&Exact::new(&row.value, &numbers));
        rows.push_str(&exact.map_err(|source| DisassembleError::Json { source })?);
        rows.push('\n');
        notes.append(&mut of_row);
    }
    Ok((rows, notes))
}

/// Whether a form matches a value, the first of a file.
pub(super) fn is_of_one(value: &Value) -> bool {
    Forms::built_in().know(value)
}

/// The form nearest to the first value of a text, and where it fails.
pub(crate) fn nearest_form(text: &[u8]) -> Option<String> {
    let value: Value = serde_json::Deserializer::from_slice(text).into_iter().next()?.ok()?;
    let (form, failing) = Forms::built_in().nearest(&value)?;
    let (name, reads) = (&form.name, form.reads());
    Some(format!(
        "nearest is the form {name} ({reads}), but nothing fits at `{failing}`; `--form FILE` reads a form of your own"
    ))
}
