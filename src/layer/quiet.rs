//! Suppresses events that the SDK logs while it creates or ends one of our spans.

use std::cell::Cell;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls into the SDK or tracing-opentelemetry, which may hold a span's locks while they log.
pub(super) fn quietly<R>(call: impl FnOnce() -> R) -> R {
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            INSIDE.set(self.0);
        }
    }
    let _back = Back(INSIDE.replace(true));
    call()
}

/// Whether this thread is inside such a call.
pub(super) fn is_quiet() -> bool {
    INSIDE.get()
}
