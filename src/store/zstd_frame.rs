//! Messages as one zstd frame each.

use std::cell::RefCell;
use std::io;

use zstd::bulk::Compressor;

thread_local! {
    /// It is kept, with its level: to make one takes longer than to compress a small message.
    static COMPRESSOR: RefCell<Option<(i32, Compressor<'static>)>> = const { RefCell::new(None) };
}

/// One frame of a message.
pub(super) fn compress(message: &[u8], level: i32) -> io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let (_, compressor) = match kept {
            Some(kept) if kept.0 == level => kept,
            _ => kept.insert((level, Compressor::new(level)?)),
        };
        compressor.compress(message)
    })
}
