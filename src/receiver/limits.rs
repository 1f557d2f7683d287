//! Limits on incoming data, counted after decompression.

use std::fmt;
use std::io::{self, Read};
use std::time::Duration;

use flate2::{Decompress, FlushDecompress, Status};

use super::buffer::room;
use crate::json_tokens::{Kind, Tokens};

/// Limits of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum bytes of one request after decompression.
    pub request_bytes: usize,
    /// Maximum bytes of all requests in progress together.
    pub in_flight_bytes: usize,
    /// Seconds without any byte after which a body counts as lost; also how far it may fall behind 16 KiB a second.
    pub body_seconds: u64,
    /// Seconds within which a whole body must arrive, however steady it is.
    pub request_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_bytes: 64 << 20,
            in_flight_bytes: 256 << 20,
            body_seconds: 30,
            request_seconds: 300,
        }
    }
}

/// Minimum average rate of a body, in bytes per second; otherwise a slow client could hold its reservation forever.
pub(super) const MIN_BYTES_PER_SECOND: usize = 16 << 10;

/// A timeout of this many seconds, limited to a year: a later point in time may not be representable.
pub(crate) fn timeout(seconds: u64) -> Duration {
    const YEAR: u64 = 365 * 24 * 3_600;
    Duration::from_secs(seconds.min(YEAR))
}

/// The compression of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// RFC 1950, which RFC 9110 calls `deflate`; or raw RFC 1951, as some clients send.
    Deflate,
}

impl Encoding {
    /// All encodings, in the form of a header.
    pub(super) const ALL: &str = "gzip, zstd, deflate";

    /// The encoding with this name in `content-encoding` or `grpc-encoding`.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        match name {
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "zstd" => Some(Self::Zstd),
            // The Collector uses this name for the same format.
            "deflate" | "zlib" => Some(Self::Deflate),
            _ => None,
        }
    }

    /// The encoding that the first bytes show. Deflate has no magic number.
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
            Self::Deflate => "deflate",
        })
    }
}

/// Why a body could not be decompressed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InflateError {
    /// The output is larger than allowed: a large message, or a bomb.
    #[error("more than {limit} bytes after decompression")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The stream is corrupt or ends early.
    #[error("broken {encoding} stream")]
    Broken {
        /// The announced encoding.
        encoding: Encoding,
        /// The decoder's error.
        source: io::Error,
    },
}

/// Decompresses a body to at most `limit` bytes; memory never grows beyond that.
///
/// # Errors
///
/// The stream is corrupt, or the output exceeds `limit`.
pub fn inflate(bytes: &[u8], encoding: Encoding, limit: usize) -> Result<Vec<u8>, InflateError> {
    match inflate_with(bytes, encoding, limit, |_| Ok::<(), std::convert::Infallible>(()))? {
        Ok(plain) => Ok(plain),
        Err(never) => match never {},
    }
}

/// Decompresses a body to at most `limit` bytes; before memory grows, calls `may` with the number of bytes.
///
/// # Errors
///
/// The stream is corrupt, or the output exceeds `limit`. The inner error: `may` refused.
pub(super) fn inflate_with<E>(
    bytes: &[u8],
    encoding: Encoding,
    limit: usize,
    mut may: impl FnMut(usize) -> Result<(), E>,
) -> Result<Result<Vec<u8>, E>, InflateError> {
    let broken = |source| InflateError::Broken { encoding, source };
    let mut reader: Box<dyn Read + '_> = match encoding {
        Encoding::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(bytes)),
        Encoding::Zstd => Box::new(zstd_reader(bytes).map_err(broken)?),
        Encoding::Deflate => Box::new(Deflate::new(bytes)),
    };
    // One more byte, so that the end is detected at the announced length.
    let reported = announced_length(bytes, encoding).unwrap_or(bytes.len()).saturating_add(1);
    let mut out = Vec::new();
    loop {
        let capacity = room(out.capacity(), out.len() + 1, Some(reported)).min(limit.saturating_add(1));
        // Twice: zstd fills as much of its window, and growing copies the buffer.
        if let Err(refused) = may(2 * capacity.saturating_sub(out.capacity())) {
            return Ok(Err(refused));
        }
        out.reserve_exact(capacity - out.len());
        let step = capacity - out.len();
        let read = (&mut reader).take(step as u64).read_to_end(&mut out).map_err(broken)?;
        if out.len() > limit {
            return Err(InflateError::TooLarge { limit });
        }
        if read < step {
            return Ok(Ok(out));
        }
    }
}

/// The decompressed size, as announced in the compressed bytes.
fn announced_length(bytes: &[u8], encoding: Encoding) -> Option<usize> {
    match encoding {
        // ISIZE of RFC 1952, at the end of the last member.
        Encoding::Gzip => bytes.last_chunk().map(|size| u32::from_le_bytes(*size) as usize),
        Encoding::Zstd => zstd::zstd_safe::get_frame_content_size(bytes)
            .ok()
            .flatten()
            .and_then(|size| usize::try_from(size).ok()),
        Encoding::Deflate => None,
    }
}

/// An estimate of the memory that reading a JSON text takes, by its brackets outside of strings.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Number of objects and lists.
    pub(super) objects: usize,
    /// Number of those outside of spans and log records, which are in memory together.
    pub(super) outside: usize,
    /// The largest number of those in one span or log record.
    pub(super) in_one: usize,
    /// Size of the longest span or log record.
    pub(super) longest: usize,
}

impl Shape {
    /// The shape of an OTLP message: an item is an object in a list (of a scope) in an object in a list (of a resource) in
    /// an object in a list of the message.
    pub(super) fn of(text: &[u8]) -> Self {
        const ITEM: usize = 7;
        let (mut shape, mut depth) = (Self::default(), 0_usize);
        // Whether what is open at the depths 4 and 6 are lists; where the item began, and how many objects it has.
        let (mut of_scopes, mut of_items) = (false, false);
        let mut item: Option<(usize, usize)> = None;
        for token in Tokens::of(text) {
            let at = token.range.start;
            match token.kind {
                Kind::Object | Kind::List => {
                    depth += 1;
                    shape.objects += 1;
                    match depth {
                        4 => of_scopes = token.kind == Kind::List,
                        6 => of_items = token.kind == Kind::List,
                        ITEM if of_scopes && of_items => item = Some((at, 0)),
                        _ => {}
                    }
                    match &mut item {
                        Some((_, objects)) => *objects += 1,
                        None => shape.outside += 1,
                    }
                }
                Kind::End => {
                    depth = depth.saturating_sub(1);
                    if depth < ITEM
                        && let Some((begin, objects)) = item.take()
                    {
                        shape.in_one = shape.in_one.max(objects);
                        shape.longest = shape.longest.max(at - begin);
                    }
                }
                _ => {}
            }
        }
        if let Some((begin, objects)) = item {
            shape.in_one = shape.in_one.max(objects);
            shape.longest = shape.longest.max(text.len() - begin);
        }
        shape
    }
}

/// Refuses frames with a window over 128 MiB: the window is memory that the sender makes us allocate.
fn zstd_reader(bytes: &[u8]) -> io::Result<impl Read> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes)?;
    decoder.window_log_max(27)?;
    Ok(decoder)
}

/// Detects truncated streams, unlike flate2's own readers.
struct Deflate<'a> {
    rest: &'a [u8],
    state: Decompress,
    ended: bool,
}

impl<'a> Deflate<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        // CMF and FLG: method 8, and together a multiple of 31.
        let zlib = matches!(bytes, [cmf, flg, ..] if cmf & 0x0f == 8 && (u16::from(*cmf) << 8 | u16::from(*flg)) % 31 == 0);
        Self {
            rest: bytes,
            state: Decompress::new(zlib),
            ended: false,
        }
    }
}

impl Read for Deflate<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.ended || out.is_empty() {
            return Ok(0);
        }
        loop {
            let (before_in, before_out) = (self.state.total_in(), self.state.total_out());
            let status = self.state.decompress(self.rest, out, FlushDecompress::None)?;
            let step = |total: u64, before: u64| usize::try_from(total - before).unwrap_or(usize::MAX);
            let (taken, given) = (step(self.state.total_in(), before_in), step(self.state.total_out(), before_out));
            self.rest = self.rest.get(taken..).unwrap_or_default();
            self.ended = status == Status::StreamEnd;
            if self.ended && !self.rest.is_empty() {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "bytes behind the end of the stream"));
            }
            if self.ended || given > 0 {
                return Ok(given);
            }
            if taken == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::{Encoding, InflateError, Shape, inflate, inflate_with};

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let written = encoder.write_all(plain).and_then(|()| encoder.finish());
        written.unwrap_or_default()
    }

    #[test]
    fn a_length_that_is_told_wrong_changes_nothing_but_memory() {
        let plain = vec![7; 300_000];
        // Two members: the trailer has the length of the last.
        let members = [gzip(&plain), gzip(&[7; 10])].concat();
        let whole = vec![7; 300_010];
        assert!(matches!(inflate(&members, Encoding::Gzip, 1 << 20), Ok(out) if out == whole));
        assert!(matches!(inflate(&members, Encoding::Gzip, 300_010), Ok(out) if out == whole));
        let refused = inflate(&members, Encoding::Gzip, 300_009);
        assert!(matches!(refused, Err(InflateError::TooLarge { limit: 300_009 })));
        assert!(matches!(inflate(&gzip(&[]), Encoding::Gzip, 10), Ok(out) if out.is_empty()));
    }

    #[test]
    fn items_are_told_from_what_stands_around_them() {
        let text = br#"{"resourceSpans":[{"resource":{"attributes":[{"key":"[{","value":{"arrayValue":{"values":[{},{}]}}}]},
            "scopeSpans":[{"spans":[{"name":"\"{"},{"events":[{},{}]}],"scope":{"attributes":[{}]}}]}]}"#;
        let shape = Shape::of(text);
        assert_eq!((shape.objects, shape.in_one, shape.longest), (22, 4, r#"{"events":[{},{}]"#.len()));
        assert_eq!(shape.outside, 17);
        assert_eq!(Shape::of(br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"cut"#).longest, 12);
    }

    #[test]
    fn memory_is_asked_for_before_it_is_taken() {
        let plain = vec![7; 20 << 20];
        let (mut asked, mut most) = (0, 0);
        let out = inflate_with(&gzip(&plain), Encoding::Gzip, 64 << 20, |more| {
            asked += more;
            most = more.max(most);
            Ok::<(), ()>(())
        });
        assert!(matches!(out, Ok(Ok(out)) if 2 * out.capacity() <= asked && out == plain));
        assert_eq!(most, 16 << 20, "twice 4, 8, 16, and what is left of 20 MiB");
        let refused = inflate_with(&gzip(&plain), Encoding::Gzip, 64 << 20, |more| {
            if more > 8 << 20 { Err(()) } else { Ok(()) }
        });
        assert!(matches!(refused, Ok(Err(()))));
    }
}
