//! Records panic messages, and decides whether a panic that unwound through a span was its failure.

use std::cell::RefCell;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

thread_local! {
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Installs a panic hook in front of the existing one.
pub(super) fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let text = describe(info);
            let _ = MESSAGE.try_with(|message| message.try_borrow_mut().map(|mut message| *message = Some(text)));
            before(info);
        }));
    });
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let text = info
        .payload()
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| info.payload().downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "the thread panicked".to_owned());
    match info.location() {
        Some(place) => format!("{text} ({}:{}:{})", place.file(), place.line(), place.column()),
        None => text,
    }
}

/// Set once a panic has unwound through a span; until then, re-entries need not be tracked.
static SEEN: AtomicBool = AtomicBool::new(false);

/// Whether a panic has unwound through a span of this process.
pub(super) fn seen() -> bool {
    SEEN.load(Ordering::Relaxed)
}

/// A panic that left a span by unwinding.
///
/// The span may outlive the panic: a task or thread spawned inside it panicked, and whoever awaits it handles that. So the panic counts as
/// the span's failure only if the span does not continue. An async function that panics is entered once more when its future is dropped;
/// one that continues is entered to be polled and again to be dropped. A span that other code was inside of is exited more often than
/// entered.
#[derive(Debug, Clone)]
pub(super) struct Panic {
    pub(super) message: String,
    pub(super) time: SystemTime,
    entered: u32,
    exited: u32,
}

impl Panic {
    /// The panic that is unwinding this thread.
    pub(super) fn now() -> Self {
        SEEN.store(true, Ordering::Relaxed);
        Self {
            message: message(),
            time: SystemTime::now(),
            entered: 0,
            exited: 0,
        }
    }

    /// Counts another entry of the span.
    pub(super) fn entered(&mut self) {
        self.entered = self.entered.saturating_add(1);
    }

    /// Counts another exit of the span.
    pub(super) fn exited(&mut self) {
        self.exited = self.exited.saturating_add(1);
    }

    /// Whether the span continued after the panic.
    pub(super) fn was_handled(&self) -> bool {
        self.entered > 1 || self.exited > self.entered
    }
}

/// The message of the panic that is unwinding this thread.
fn message() -> String {
    let said = MESSAGE.try_with(|message| message.try_borrow().ok().and_then(|message| message.clone()));
    said.ok().flatten().unwrap_or_else(|| "the thread panicked".to_owned())
}
