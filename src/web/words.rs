//! Words in what came for a trace.

use crate::span::TraceId;
use crate::store::{self, Read};
use crate::view::seeking::Sought;

/// Whether the spans or log records of a trace have the words: in names, keys, values and payloads, as they came. Text in JSON is found
/// as JSON writes it. `None`: that is not known, because the search ended before.
pub(crate) fn are_in_payloads<R: Read + ?Sized>(store: &R, trace_id: TraceId, words: &Sought, goes_on: &dyn Fn() -> bool) -> Option<bool> {
    let mut found = Some(false);
    // That it is found ends the reading. A trace that cannot be read has no words.
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
