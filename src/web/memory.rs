//! Gives memory that reading freed back to the system.
//!
//! The allocator gives back what was freed a while ago, but looks for it only when other work needs memory: a bridge with nothing to do would
//! keep that of the largest run that was looked at.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;

/// Longer than the allocator waits.
const LATER: Duration = Duration::from_millis(500);

/// Gives free memory back when a request has ended.
#[derive(Debug, Default)]
pub(super) struct FreeMemory {
    is_due: AtomicBool,
}

impl FreeMemory {
    /// Gives it back in a moment, once for all that ask meanwhile.
    pub(super) fn give_back_soon(self: &Arc<Self>, runtime: &Handle) {
        if self.is_due.swap(true, Ordering::Relaxed) {
            return;
        }
        let free = Arc::clone(self);
        runtime.spawn(async move {
            tokio::time::sleep(LATER).await;
            free.is_due.store(false, Ordering::Relaxed);
            #[expect(unsafe_code, reason = "the allocator has no safe function for it")]
            // SAFETY: it frees what is free already, of this thread and of none. With another allocator it has nothing to do.
            unsafe {
                libmimalloc_sys::mi_collect(false);
            }
        });
    }
}
