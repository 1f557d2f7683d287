//! Bounds on what comes in, counted after decompression.

use std::fmt;
use std::io::{self, Read};

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
}

impl Encoding {
    /// The encoding that these first bytes announce.
    #[must_use]
    pub fn of_magic(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// Why a body could not be decompressed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InflateError {
    /// More bytes come out than are allowed: a large message, or a bomb.
    #[error("more than {limit} bytes after decompression")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The stream is broken or ends early.
    #[error("broken {encoding} stream")]
    Broken {
        /// The encoding that was announced.
        encoding: Encoding,
        /// What the decoder says.
        source: io::Error,
    },
}

/// Decompresses a body to at most `limit` bytes; memory never grows beyond that.
///
/// # Errors
///
/// The stream is broken, or more than `limit` bytes come out.
pub fn inflate(bytes: &[u8], encoding: Encoding, limit: usize) -> Result<Vec<u8>, InflateError> {
    let mut out = Vec::with_capacity(bytes.len().saturating_mul(3).min(limit));
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let read = match encoding {
        Encoding::Gzip => flate2::read::MultiGzDecoder::new(bytes).take(bound).read_to_end(&mut out),
        Encoding::Zstd => zstd_reader(bytes).and_then(|decoder| decoder.take(bound).read_to_end(&mut out)),
    };
    read.map_err(|source| InflateError::Broken { encoding, source })?;
    if out.len() > limit {
        return Err(InflateError::TooLarge { limit });
    }
    Ok(out)
}

/// Frames with a window over 128 MiB are refused: the window is memory that the sender asks us for.
fn zstd_reader(bytes: &[u8]) -> io::Result<impl Read> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes)?;
    decoder.window_log_max(27)?;
    Ok(decoder)
}
