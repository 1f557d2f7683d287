//! Messages as zstd frames.

use std::cell::RefCell;
use std::io;

use zstd::bulk::Compressor;

thread_local! {
    /// Kept, with its level, because creating one takes longer than compressing a small message.
    static COMPRESSOR: RefCell<Option<(i32, Compressor<'static>)>> = const { RefCell::new(None) };
}

/// Compresses a message into one frame.
pub(super) fn compress(message: &[u8], level: i32) -> io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let (_, compressor) = match kept {
            Some(kept) if kept.0 == level => kept,
            _ => kept.insert((level, Compressor::new(level)?)),
        };
        compressor.compress(message)
    })
}
