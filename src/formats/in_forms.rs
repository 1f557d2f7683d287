//! Values that a form reads ([`crate::forms`]): they become rows of chat messages before any format sees them.

use serde_json::Value;

use super::back::{DisassembleError, Note, NoteKind};
use crate::forms::{Forms, Found, Log, Read, Unread};

/// What a form made of a value: its rows, with their places and what is to be said of them.
pub(super) type Rows = Vec<Result<(String, Value, Vec<Note>), DisassembleError>>;

/// Reads a value by the form that it is of; `None` where it is of none. `is_first`: of a file, which may be a log; `others` are the values
/// after it, of which a log takes all.
pub(super) fn rows(
    value: &Value,
    path: &str,
    is_first: bool,
    others: &mut dyn Iterator<Item = serde_json::Result<Value>>,
) -> Option<Result<Rows, DisassembleError>> {
    let one = |read: Result<Read, Unread>, path: String| match read {
        Ok(read) => {
            let note = |detail: String| Note {
                path: "$".to_owned(),
                kind: NoteKind::LeftOut,
                detail: format!("read as {}: {detail}", read.form),
            };
            let notes = read.notes.into_iter().map(note).collect();
            Ok((path, read.row, notes))
        }
        Err(unread) => Err(DisassembleError::Form {
            path,
            form: unread.form,
            reads: unread.reads,
            problem: unread.problem,
        }),
    };
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
                    // The program that wrote it was ended.
                    Err(error) if error.is_eof() => is_cut = true,
                    Err(source) => return Some(Err(DisassembleError::Json { source })),
                }
            }
            let read = log.finish().map(|mut read| {
                if is_cut {
                    read.notes.push("its last line is cut off, and left out".to_owned());
                }
                read
            });
            vec![one(read, "$".to_owned())]
        }
    }))
}

/// Whether a value, the first of a file, is of a form.
pub(super) fn is_of_one(value: &Value) -> bool {
    Forms::built_in().read(value, true).is_some()
}

/// Which form the first value of a text comes nearest to, and where it fails.
pub(crate) fn nearest_form(text: &[u8]) -> Option<String> {
    let value: Value = serde_json::Deserializer::from_slice(text).into_iter().next()?.ok()?;
    let (form, failing) = Forms::built_in().nearest(&value)?;
    let (name, reads) = (&form.name, form.reads());
    Some(format!("nearest is the form {name} ({reads}), but nothing fits at `{failing}`"))
}
