//! Searches the payloads of a trace.

use crate::span::TraceId;
use crate::store::{self, Read};
use crate::view::seeking::Sought;

/// Whether the spans or log records of a trace contain the words, in names, keys, values or payloads as received. Text
/// inside JSON is found in its escaped form. `None`: unknown, because the search was stopped.
pub(crate) fn are_in_payloads<R: Read + ?Sized>(store: &R, trace_id: TraceId, words: &Sought, goes_on: &dyn Fn() -> bool) -> Option<bool> {
    let mut found = Some(false);
    // A match stops the reading with an error. A trace that cannot be read has no match.
    let _ = store.each_chunk(trace_id, &mut |_, message| {
        found = if goes_on() { words.look(message, goes_on) } else { None };
        if found == Some(false) {
            Ok(())
        } else {
            Err(store::Error::Cancelled)
        }
    });
    found
}
