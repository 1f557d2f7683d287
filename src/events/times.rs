//! Times for operations that record none.

use serde_json::Value;

use super::draft::Draft;
use crate::operation::Kind;
use crate::span::{EARLIEST, TIMES_UNKNOWN, UnixNanos};

/// Nanoseconds between two unknown times.
const UNKNOWN_STEP: u64 = 1_000;

/// A start for an operation without times: after `ended`, but in the order of the list, that is, before the next known start.
fn between(ended: UnixNanos, before: Option<UnixNanos>, next: Option<(UnixNanos, u64)>) -> UnixNanos {
    let free = UnixNanos(ended.0.saturating_add(UNKNOWN_STEP));
    let Some((next, count)) = next.filter(|(next, _)| before.is_none_or(|before| before < *next)) else {
        return free;
    };
    let latest = UnixNanos(next.0.saturating_sub(UNKNOWN_STEP.saturating_mul(count)));
    let after_last = before.map_or(UnixNanos(0), |before| UnixNanos(before.0.saturating_add(1)));
    free.min(latest).max(after_last)
}

/// Gives operations without times those that follow from the order of the list, and marks them. The first one is the root. Returns
/// how many others are marked.
pub(crate) fn settle(drafts: &mut [Draft]) -> usize {
    forget_impossible(drafts);
    let known = drafts.iter().flat_map(|draft| [draft.start, draft.end]).flatten().min();
    let mut last = known.unwrap_or(UnixNanos(1_000_000));
    let mut marks: Vec<&'static str> = Vec::new();
    let until_known = until_known(drafts);
    let mut before: Option<UnixNanos> = None;
    for index in 0..drafts.len() {
        let after = drafts.get(index).and_then(|draft| drafts.get(draft.after?)?.end);
        let Some(draft) = drafts.get_mut(index) else { continue };
        marks.push(match (draft.start, draft.end, draft.running) {
            (None, None, false) if draft.duration.is_some() => "start, end, duration known",
            (None, None, false) => "start, end",
            (None, ..) => "start",
            (Some(_), None, false) => "end",
            _ => "",
        });
        if index == 0 {
            continue;
        }
        let earliest = after.unwrap_or(last);
        let start = draft.start.unwrap_or_else(|| match draft.end {
            Some(end) => earliest.min(end),
            None => {
                let latest = until_known.get(index).copied().flatten();
                between(
                    earliest,
                    before,
                    latest.filter(|(latest, _)| after.is_none_or(|after| after < *latest)),
                )
            }
        });
        draft.start = Some(start);
        before = Some(start);
        if !draft.running {
            let end = draft
                .end
                .unwrap_or_else(|| UnixNanos(start.0.saturating_add(draft.duration.unwrap_or(UNKNOWN_STEP))));
            draft.end = Some(end);
            last = last.max(end);
        }
    }
    settle_agents(drafts, &marks, last);
    for (draft, mark) in drafts.iter_mut().zip(&marks).filter(|(_, mark)| !mark.is_empty()) {
        draft.operation.unmapped.insert(TIMES_UNKNOWN.to_owned(), Value::from(*mark));
    }
    marks.iter().skip(1).filter(|mark| !mark.is_empty()).count()
}

/// Discards impossible times if others are plausible: the order of the list is better evidence.
fn forget_impossible(drafts: &mut [Draft]) {
    let times = |draft: &Draft| [draft.start, draft.end];
    if drafts.iter().flat_map(times).flatten().any(|time| time >= EARLIEST) {
        for draft in drafts.iter_mut() {
            draft.start = draft.start.filter(|start| *start >= EARLIEST);
            draft.end = draft.end.filter(|end| *end >= EARLIEST);
        }
    }
}

/// For each draft, the next known start in the list, and how many drafts without one precede it.
fn until_known(drafts: &[Draft]) -> Vec<Option<(UnixNanos, u64)>> {
    let mut next: Option<(UnixNanos, u64)> = None;
    let mut out = vec![None; drafts.len()];
    for (slot, draft) in out.iter_mut().zip(drafts).rev() {
        next = match draft.start {
            Some(start) => Some((start, 0)),
            None => next.map(|(start, count)| (start, count + 1)),
        };
        *slot = next;
    }
    out
}

/// Derives an agent's missing times from its operations, and the root's from all.
fn settle_agents(drafts: &mut [Draft], marks: &[&'static str], last: UnixNanos) {
    let mut inside: Vec<(Option<UnixNanos>, Option<UnixNanos>)> = vec![(None, None); drafts.len()];
    let hold = |inside: &mut [(Option<UnixNanos>, Option<UnixNanos>)], draft: &Draft, above: usize| {
        if let Some((first, latest)) = inside.get_mut(above) {
            *first = [*first, draft.start].into_iter().flatten().min();
            *latest = [*latest, draft.end].into_iter().flatten().max();
        }
    };
    // Drafts listed before their parent are not visited again below.
    for (index, draft) in drafts.iter().enumerate() {
        if let Some(above) = draft.parent.filter(|above| *above > index) {
            hold(&mut inside, draft, above);
        }
    }
    for index in (0..drafts.len()).rev() {
        let mark = marks.get(index).copied().unwrap_or_default();
        let (first, latest) = if index == 0 {
            let starts = drafts.iter().filter_map(|draft| draft.start);
            (starts.min(), drafts.iter().filter_map(|draft| draft.end).max())
        } else {
            inside.get(index).copied().unwrap_or_default()
        };
        let Some(draft) = drafts.get_mut(index) else { continue };
        if index == 0 || draft.operation.kind == Kind::Agent {
            if mark.contains("start") {
                draft.start = first.or(draft.start).or(Some(last));
            } else if index == 0 {
                // The root may have the id and the times of the last agent.
                draft.start = draft.start.into_iter().chain(first).min();
            }
            if mark.contains("end") {
                draft.end = latest.or(draft.end).or(draft.start);
            }
        }
        if let Some(above) = draft.parent.filter(|above| *above < index) {
            hold(&mut inside, draft, above);
        }
    }
}
