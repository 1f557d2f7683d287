//! Inspecting the log without changing it, even while another process writes to it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::files::{SEGMENT_HEAD, file_name, segments_of};
use super::form::{Form, form_of};
use super::recovery::Damage;
use super::segment::Segment;
use crate::store::disk::{Directory, Disk as _};
use crate::store::error::Error;

/// The result of reading one segment from beginning to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected {
    /// Its number.
    pub segment: u64,
    /// How its records are written.
    pub form: Form,
    /// The actual form of the records, if the segment's head is wrong: heads have no checksum.
    pub head_should_say: Option<Form>,
    /// Whether it has the table at the end of a compressed segment; without it, the file was cut or its end is damaged.
    pub has_table: bool,
    /// Size of the file.
    pub bytes: u64,
    /// Number of whole records.
    pub records: u64,
    /// Total size of their messages, decompressed.
    pub message_bytes: u64,
    /// Places that differ from what was written.
    pub damaged: Vec<Damage>,
    /// End of the last whole record, in the file.
    pub end: u64,
    /// Bytes after it that are not a whole record: a write in progress, or one that was cut off.
    pub rest: u64,
}

fn failure(directory: &Path, segment: u64) -> impl Fn(io::Error) -> Error {
    let path = directory.join(file_name(segment));
    move |source| Error::Io {
        doing: "read",
        path: path.clone(),
        source: Arc::new(source),
    }
}

/// The numbers of the segments in a directory, oldest first.
///
/// # Errors
///
/// The directory cannot be read.
pub fn segments(directory: &Path) -> Result<Vec<u64>, Error> {
    segments_of(&Directory::read_only(directory)).map_err(|source| Error::Io {
        doing: "list",
        path: directory.to_owned(),
        source: Arc::new(source),
    })
}

/// Reads one segment; `None`: retention has removed it.
///
/// # Errors
///
/// It cannot be read, or has a later version.
pub fn inspect(directory: &Path, number: u64) -> Result<Option<Inspected>, Error> {
    let io = failure(directory, number);
    let file = match Directory::read_only(directory).open(&file_name(number)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let segment = Segment::open(file, number)?.map_err(&io)?;
    let bytes = segment.file.size().map_err(&io)?;
    let head = form_of(&*segment.file, number)?.map_err(&io)?;
    let head_should_say = match (head, segment.form()) {
        (Some(Form::Compressed), Form::Raw) => Some(Form::Raw),
        (Some(Form::Raw), _) if segment.has_table().map_err(&io)? => Some(Form::Compressed),
        _ => None,
    };
    let (mut records, mut message_bytes) = (0, 0);
    let scanned = segment.scan(0, &mut |_, head, _| {
        records += 1;
        message_bytes += u64::from(head.length);
        Ok::<(), Error>(())
    });
    let scanned = scanned.map_err(&io)??;
    Ok(Some(Inspected {
        segment: number,
        form: segment.form(),
        head_should_say,
        has_table: segment.has_table().map_err(&io)?,
        bytes,
        records,
        message_bytes,
        damaged: scanned.damaged,
        end: scanned.end.max(SEGMENT_HEAD),
        rest: scanned.rest,
    }))
}
