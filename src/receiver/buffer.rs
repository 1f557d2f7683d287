//! The growth of a buffer whose length the sender announces.

/// Maximum memory allocated for announced bytes that have not arrived; most requests are smaller.
const MAX_TRUSTED_BYTES: usize = 4 << 20;

/// The new capacity of a buffer of `now` bytes that needs `needed`. `reported`: the announced length.
pub(super) fn room(now: usize, needed: usize, reported: Option<usize>) -> usize {
    let doubled = now.saturating_mul(2);
    match reported {
        Some(reported) if reported >= needed => needed.max(reported.min(doubled.max(MAX_TRUSTED_BYTES))),
        _ => needed.max(doubled),
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_TRUSTED_BYTES, room};

    #[test]
    fn memory_for_what_is_announced_comes_with_the_bytes() {
        const MIB: usize = 1 << 20;
        assert_eq!(room(0, 100, Some(3 * MIB)), 3 * MIB);
        assert_eq!(room(0, 100, Some(64 * MIB)), MAX_TRUSTED_BYTES);
        assert_eq!(
            room(MAX_TRUSTED_BYTES, MAX_TRUSTED_BYTES + 1, Some(64 * MIB)),
            2 * MAX_TRUSTED_BYTES
        );
        assert_eq!(room(32 * MIB, 32 * MIB + 1, Some(40 * MIB)), 40 * MIB);
    }

    #[test]
    fn memory_for_what_is_not_announced_doubles() {
        assert_eq!(room(0, 100, None), 100);
        assert_eq!(room(100, 150, None), 200);
        assert_eq!(room(100, 150, Some(120)), 200, "more came than was told");
        assert_eq!(room(100, 1_000, Some(120)), 1_000);
    }
}
