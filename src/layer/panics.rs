//! What a panic said, so that the spans it unwinds through can say it too.

use std::cell::RefCell;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;

thread_local! {
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Listens to panics from now on, in front of the hook that is there.
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

/// What the panic that unwinds this thread said.
pub(super) fn message() -> String {
    let said = MESSAGE.try_with(|message| message.try_borrow().ok().and_then(|message| message.clone()));
    said.ok().flatten().unwrap_or_else(|| "the thread panicked".to_owned())
}
