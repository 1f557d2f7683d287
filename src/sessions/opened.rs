//! Opens regular files, and decompresses them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// zstd's magic number.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// gzip's magic number.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The mark that some editors put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The line that `opencode export` prints on standard error, which users often redirect to the same file.
const NOTICE: &[u8] = b"Exporting session: ";

/// Opens a regular file: reading anything else may block, or never end.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let is_no_file = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a file");
    // Check before opening, since a pipe's writer would take us for its reader.
    if !fs::metadata(path)?.is_file() {
        return Err(is_no_file());
    }
    let file = OpenOptions::new().read(true).custom_flags(NO_WAIT).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(is_no_file()),
    }
}

/// `O_NONBLOCK`, which has no effect on regular files.
const NO_WAIT: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

/// The bytes of a file after decompression.
pub(super) fn decompressed(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file = BufReader::with_capacity(1 << 16, open_file(path)?);
    if file.fill_buf()?.starts_with(&ZSTD) {
        let decoder = zstd::stream::read::Decoder::with_buffer(file)?;
        return Ok(Box::new(BufReader::with_capacity(1 << 16, decoder)));
    }
    if file.fill_buf()?.starts_with(&GZIP) {
        let decoder = flate2::bufread::MultiGzDecoder::new(file);
        return Ok(Box::new(BufReader::with_capacity(1 << 16, decoder)));
    }
    if file.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
        file.consume(BYTE_ORDER_MARK.len());
    }
    if file.fill_buf()?.starts_with(NOTICE) {
        skip_line(&mut file)?;
    }
    Ok(Box::new(file))
}

/// Skips the rest of a line.
fn skip_line(reader: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let (used, ended) = {
            let buffer = reader.fill_buf()?;
            match memchr::memchr(b'\n', buffer) {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            }
        };
        reader.consume(used);
        if ended {
            return Ok(());
        }
    }
}
