//! The two forms of a segment, and how its head tells which it is.

use std::io;

use super::files::{MAGIC, SEGMENT_HEAD, VERSION};
use crate::store::disk::DiskFile;
use crate::store::error::Error;

/// The version of compressed segments.
pub(super) const COMPRESSED: u8 = 2;
/// Bytes between the head and the message of a compressed record.
pub(super) const EXTENSION: usize = 16;

/// How the records of a segment are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As received, while the segment is recent.
    Raw,
    /// Each compressed separately.
    Compressed,
}

/// The form of a segment, from its head; `None` if a crash left it without a complete head.
pub(in crate::store) fn form_of(file: &dyn DiskFile, segment: u64) -> Result<io::Result<Option<Form>>, Error> {
    let mut head = [0; SEGMENT_HEAD as usize];
    match file.read_exact_at(&mut head, 0) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Ok(None)),
        Err(error) => return Ok(Err(error)),
    }
    let Some([version, ..]) = head.strip_prefix(MAGIC) else {
        return Ok(Ok(None));
    };
    match *version {
        VERSION => Ok(Ok(Some(Form::Raw))),
        COMPRESSED => Ok(Ok(Some(Form::Compressed))),
        version => Err(Error::Version {
            segment,
            version,
            known: COMPRESSED,
        }),
    }
}
