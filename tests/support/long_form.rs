//! Whether the tests run in full.

/// Whether `SPANBRIDGE_FULL` is set: tests then try more cases, of larger sizes, for a longer time.
pub(crate) fn is_long_form() -> bool {
    std::env::var_os("SPANBRIDGE_FULL").is_some()
}
