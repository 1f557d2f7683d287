//! Times of lines: a client records most of them, and writes its lines in the order of events.

use std::collections::HashMap;

use crate::events::draft::Draft;
use crate::operation::Kind;
use crate::span::{TIMES_UNKNOWN, TraceId, UnixNanos};

/// Gives every draft its times, and marks those that are not recorded.
pub(super) fn settle(drafts: &mut [Draft]) {
    stand_in(drafts);
    tell_apart(drafts);
    for draft in drafts {
        if draft.start_unknown {
            draft.operation.unmapped.insert(TIMES_UNKNOWN.to_owned(), "start".into());
        }
        let start = draft.start.or(draft.end).unwrap_or_default();
        (draft.start, draft.end) = (Some(start), Some(draft.end.unwrap_or(start).max(start)));
    }
}

/// Gives drafts without any time substitutes in order: documentation and old versions have lines without times.
fn stand_in(drafts: &mut [Draft]) {
    let end = drafts.len() as u64 + 1;
    for (place, draft) in drafts.iter_mut().enumerate() {
        if draft.start.or(draft.end).is_some() {
            continue;
        }
        let start = place as u64 + 1;
        let is_around = draft.operation.kind == Kind::Agent;
        draft.start = Some(UnixNanos(start));
        draft.end = Some(UnixNanos(if is_around { end } else { start }));
        draft.start_unknown = false;
        draft.operation.unmapped.insert(TIMES_UNKNOWN.to_owned(), "start, end".into());
    }
}

/// Keeps drafts that began at the same time in the order of the lines, by starting each a nanosecond after the previous one. Clients
/// record milliseconds, copies of lines may all have one time, and tools that were called together begin together.
fn tell_apart(drafts: &mut [Draft]) {
    let mut next: HashMap<(TraceId, UnixNanos), u64> = HashMap::new();
    let is_turn = |draft: &Draft| draft.operation.kind == Kind::Agent && draft.parent.is_none();
    for draft in drafts.iter_mut().filter(|draft| !is_turn(draft)) {
        let Some(start) = draft.start.or(draft.end) else { continue };
        let after = next.entry((draft.trace, start)).or_default();
        draft.start = Some(UnixNanos(start.0.saturating_add(*after)));
        *after += 1;
    }
}

/// The start of an operation that ended at `end` and whose line follows one at `before`. If both are whole seconds, an exact duration
/// could otherwise move the start ahead of the preceding line.
pub(super) fn in_order(start: Option<UnixNanos>, end: Option<UnixNanos>, before: Option<UnixNanos>) -> Option<UnixNanos> {
    const SECOND: u64 = 1_000_000_000;
    let is_coarse = |time: &UnixNanos| time.0.is_multiple_of(SECOND);
    let (Some(at), Some(until), Some(before)) = (start, end.filter(is_coarse), before.filter(is_coarse)) else {
        return start;
    };
    Some(if at < before && before <= until { before } else { at })
}
