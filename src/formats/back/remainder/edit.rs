//! How an edit names its place, and identifies the value that it replaces.

use sha2::{Digest as _, Sha256};

use crate::span::hex;

/// The hash of the JSON text that an edit replaces.
pub(super) fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    hex(digest.get(..4).unwrap_or_default())
}

/// A key as a part of a JSON pointer.
pub(super) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The key that a part of a JSON pointer names.
pub(super) fn plain(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}
