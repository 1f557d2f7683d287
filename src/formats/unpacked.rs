//! Unpacks documents that their formats pack.

use super::format::{ReserveMemory, UnpackError};
use super::registry::all;

/// The text of a document whose format packs it, at most so long; `None` where the bytes are no such file. `may` is asked before
/// memory grows.
pub(crate) fn unpacked(bytes: &[u8], limit: usize, reserve: &mut ReserveMemory<'_>) -> Option<Result<Vec<u8>, UnpackError>> {
    all().find_map(|format| format.container?.unpack?(bytes, limit, reserve))
}
