//! Reads a file and decompresses it, within a limit.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::problem::Problem;
use super::table;
use crate::formats::{self, UnpackError};
use crate::receiver::limits::{Encoding, InflateError, inflate};

/// A file's display name, and its decompressed bytes; `-` is standard input.
pub(super) fn read_plain(path: &Path, limit: usize) -> (String, Result<Vec<u8>, Problem>) {
    let (file, bytes) = if path.as_os_str() == "-" {
        ("standard input".to_owned(), read_bounded(io::stdin().lock(), 0, limit))
    } else {
        let bytes = File::open(path).and_then(|opened| {
            let length = opened.metadata()?.len();
            read_bounded(opened, length, limit)
        });
        (path.display().to_string(), bytes)
    };
    let bytes = match bytes {
        Ok(bytes) if bytes.len() > limit => Err(too_large(&file, limit)),
        Ok(bytes) => plain(&file, Cow::Owned(bytes), limit).map(Cow::into_owned),
        Err(source) => Err(Problem::Io {
            file: file.clone(),
            source,
        }),
    };
    (file, bytes)
}

pub(super) fn plain<'a>(file: &str, bytes: Cow<'a, [u8]>, limit: usize) -> Result<Cow<'a, [u8]>, Problem> {
    if let Some(lines) = table::lines(file, &bytes, limit) {
        return lines.map(Cow::Owned);
    }
    let Some(encoding) = Encoding::of_magic(&bytes) else {
        return match formats::unpacked(&bytes, limit, &mut |_| Ok(())) {
            None => Ok(bytes),
            Some(Ok(text)) => Ok(text.into()),
            Some(Err(UnpackError::TooLarge { .. })) => Err(too_large(file, limit)),
            Some(Err(source)) => Err(Problem::Packed {
                file: file.to_owned(),
                source,
            }),
        };
    };
    if is_longer(&bytes, encoding, limit) {
        return Err(too_large(file, limit));
    }
    match inflate(&bytes, encoding, limit) {
        Ok(plain) => Ok(plain.into()),
        Err(InflateError::TooLarge { .. }) => Err(too_large(file, limit)),
        Err(source) => Err(Problem::Broken {
            file: file.to_owned(),
            encoding,
            source,
        }),
    }
}

/// Default memory limit for reading one file: 1 GiB, or 8 times its size if that is more.
pub(super) fn memory_for(bytes: usize, reported: Option<usize>) -> usize {
    reported.unwrap_or_else(|| bytes.saturating_mul(8).max(1 << 30))
}

/// Fails if reading a text would take too much memory.
pub(super) fn affordable(file: &str, text: &[u8], needed: usize, most: Option<usize>) -> Result<(), Problem> {
    let limit = memory_for(text.len(), most);
    if needed <= limit {
        return Ok(());
    }
    Err(Problem::Dense {
        file: file.to_owned(),
        bytes: text.len(),
        needed,
        limit,
    })
}

fn too_large(file: &str, limit: usize) -> Problem {
    Problem::TooLarge {
        file: file.to_owned(),
        limit,
    }
}

/// Reads all bytes, or one more than the limit. `expected`: the estimated size.
pub(super) fn read_bounded(from: impl Read, expected: u64, limit: usize) -> io::Result<Vec<u8>> {
    let most = (limit as u64).saturating_add(1);
    let mut bytes = Vec::with_capacity(usize::try_from(expected.min(most)).unwrap_or(0));
    from.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether the decompressed size exceeds the limit, without keeping the output: it may be a bomb.
fn is_longer(bytes: &[u8], encoding: Encoding, limit: usize) -> bool {
    let count = |reader: &mut dyn Read| {
        let most = (limit as u64).saturating_add(1);
        // A corrupt stream is reported when it is read.
        io::copy(&mut reader.take(most), &mut io::sink()).is_ok_and(|counted| counted == most)
    };
    match encoding {
        Encoding::Gzip => count(&mut flate2::bufread::MultiGzDecoder::new(bytes)),
        Encoding::Zstd => zstd::stream::read::Decoder::new(bytes).is_ok_and(|mut reader| count(&mut reader)),
        Encoding::Deflate => count(&mut flate2::bufread::ZlibDecoder::new(bytes)),
    }
}
