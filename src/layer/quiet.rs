//! Events that the SDK logs while it makes or ends a span of ours: they are not taken.

use std::cell::Cell;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls into the SDK or tracing-opentelemetry, which may hold locks of a span while they log.
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

/// Whether such a call is made on this thread.
pub(super) fn is_quiet() -> bool {
    INSIDE.get()
}
