//! Ids of blocks, and the fingerprint of omitted content.

use sha2::{Digest as _, Sha256};

use crate::span::hex;

/// The SHA-256 of the bytes, in hexadecimal.
#[must_use]
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// `tb_` and 32 digits derived from trace, span, role and ordinal, so that a block has the same id in every export.
#[must_use]
pub(crate) fn block_id(trace: &str, span: &str, role: &str, ordinal: u32) -> String {
    let mut digest = Sha256::new();
    for part in [trace, "\n", span, "\n", role, "\n", &ordinal.to_string()] {
        digest.update(part);
    }
    let digest = digest.finalize();
    let (half, _) = digest.split_at(16);
    ["tb_", &hex(half)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(
            sha256(&[b'a'; 1_000_000]),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        );
    }

    #[test]
    fn ids_differ_by_each_part() {
        let ids = [
            block_id("t", "s", "user", 0),
            block_id("t", "s", "user", 1),
            block_id("t", "s", "system", 0),
            block_id("t", "r", "user", 0),
        ];
        assert!(ids.iter().all(|id| id.len() == 35 && id.starts_with("tb_")));
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    }
}
