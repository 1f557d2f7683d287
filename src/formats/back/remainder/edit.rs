//! How an edit names its place and identifies the value that it replaces.

use sha2::{Digest as _, Sha256};

use crate::span::hex;

/// Hash of the JSON text that an edit replaces.
pub(super) fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    hex(digest.get(..4).unwrap_or_default())
}

/// Escapes a key for a JSON pointer.
pub(super) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Unescapes a key of a JSON pointer.
pub(super) fn plain(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}
