//! Unpacks documents that their formats pack.

use super::format::{ReserveMemory, UnpackError};
use super::registry::all;

/// The text, up to `limit` bytes, of a document that its format packs; `None` if the bytes are not such a file. `reserve` is called
/// before memory grows.
pub(crate) fn unpacked(bytes: &[u8], limit: usize, reserve: &mut ReserveMemory<'_>) -> Option<Result<Vec<u8>, UnpackError>> {
    all().find_map(|format| format.container?.unpack?(bytes, limit, reserve))
}
