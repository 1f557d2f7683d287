//! Times on the command line.

use crate::span::UnixNanos;
pub(super) use crate::store::moment;

/// A moment for people, to the second, in UTC.
pub(super) fn second(at: UnixNanos) -> String {
    let text = at.rfc3339();
    text.get(..19)
        .map_or_else(|| text.clone(), |text| format!("{}Z", text.replace('T', " ")))
}
