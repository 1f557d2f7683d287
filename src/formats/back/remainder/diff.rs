//! Computes the changes from one value to another.

use serde_json::{Map, Value, json};

use super::edit::{digest, escaped};

/// Minimum likeness for two list members to be considered the same.
const MIN_LIKENESS: u32 = 30;
/// Longest lists that are aligned, as a number of pairs; longer ones are compared index by index.
const MAX_PAIRS: usize = 1_000_000;
/// How far a member may be from its expected position, given both lengths.
const MAX_DRIFT: usize = 32;
/// Maximum comparisons per member, which keeps the work linear in the lists.
const MAX_COMPARISONS: usize = 150;

/// The changes that turn `have` into `want`.
pub(super) fn diff(have: &Value, want: &Value) -> Vec<Value> {
    let mut edits = Vec::new();
    walk("", have, want, &mut edits);
    edits
}

fn walk(at: &str, have: &Value, want: &Value, edits: &mut Vec<Value>) {
    match (have, want) {
        (Value::Object(have), Value::Object(want)) => members(at, have, want, edits),
        (Value::Array(have), Value::Array(want)) if have != want => items(at, have, want, edits),
        _ if have == want => {}
        _ => edits.push(json!({"at": at, "was": digest(&have.to_string()), "is": want})),
    }
}

fn members(at: &str, have: &Map<String, Value>, want: &Map<String, Value>, edits: &mut Vec<Value>) {
    for (key, value) in have.iter().filter(|(key, _)| !want.contains_key(*key)) {
        edits.push(json!({"at": format!("{at}/{}", escaped(key)), "was": digest(&value.to_string())}));
    }
    for (key, value) in want {
        let place = format!("{at}/{}", escaped(key));
        match have.get(key) {
            Some(have) => walk(&place, have, value, edits),
            None => edits.push(json!({"at": place, "is": value})),
        }
    }
}

fn items(at: &str, have: &[Value], want: &[Value], edits: &mut Vec<Value>) {
    let from = aligned(have, want);
    let straight = have.len() == want.len() && from.iter().enumerate().all(|(index, from)| *from == Some(index));
    if !straight {
        edits.push(json!({"at": at, "length": have.len(), "from": from}));
    }
    for (index, (want, from)) in want.iter().zip(&from).enumerate() {
        let place = format!("{at}/{index}");
        match from.and_then(|from| have.get(from)) {
            Some(have) => walk(&place, have, want, edits),
            None => edits.push(json!({"at": place, "was": digest("null"), "is": want})),
        }
    }
}

/// For each wanted member, the existing member it is made from.
fn aligned(have: &[Value], want: &[Value]) -> Vec<Option<usize>> {
    let same = |(have, want)| likeness(have, want) >= 2 * MIN_LIKENESS;
    let straight = have.len() == want.len() && have.iter().zip(want).all(same);
    // How far ahead of a member, and behind it, its counterpart may be.
    let ahead = want.len().saturating_sub(have.len()) + MAX_DRIFT;
    let behind = have.len().saturating_sub(want.len()) + MAX_DRIFT;
    let compared = have.len().min(want.len()).saturating_mul(ahead + behind);
    let is_long = have.len().saturating_mul(want.len()) > MAX_PAIRS || compared > MAX_COMPARISONS * (have.len() + want.len());
    if straight || is_long {
        return (0..want.len()).map(|index| (index < have.len()).then_some(index)).collect();
    }
    // best[i][j]: the highest total likeness of have[i..] and want[j..], in order.
    let width = want.len() + 1;
    let mut best = vec![0_u32; (have.len() + 1) * width];
    let mut pairs = vec![0_u32; have.len() * want.len()];
    let value = |best: &[u32], i: usize, j: usize| best.get(i * width + j).copied().unwrap_or_default();
    for (i, left) in have.iter().enumerate().rev() {
        let near = i.saturating_sub(behind)..want.len().min(i + ahead + 1);
        for j in near.rev() {
            let Some(right) = want.get(j) else { continue };
            let like = likeness(left, right);
            let together = if like >= MIN_LIKENESS {
                like + value(&best, i + 1, j + 1)
            } else {
                0
            };
            let most = together.max(value(&best, i + 1, j)).max(value(&best, i, j + 1));
            if let Some(cell) = best.get_mut(i * width + j) {
                *cell = most;
            }
            if let Some(cell) = pairs.get_mut(i * want.len() + j) {
                *cell = like;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut out = vec![None; want.len()];
    while i < have.len() && j < want.len() {
        let like = pairs.get(i * want.len() + j).copied().unwrap_or_default();
        let here = value(&best, i, j);
        if like >= MIN_LIKENESS && here == like + value(&best, i + 1, j + 1) {
            if let Some(slot) = out.get_mut(j) {
                *slot = Some(i);
            }
            i += 1;
            j += 1;
        } else if here == value(&best, i + 1, j) {
            i += 1;
        } else {
            j += 1;
        }
    }
    out
}

/// How much two values have in common, from 0 to 100.
fn likeness(have: &Value, want: &Value) -> u32 {
    match (have, want) {
        _ if have == want => 100,
        (Value::Object(left), Value::Object(right)) => {
            let shared: u32 = left
                .iter()
                .filter_map(|(key, value)| Some(if right.get(key)? == value { 2 } else { 1 }))
                .sum();
            let all = u32::try_from(left.len() + right.len()).unwrap_or(u32::MAX).max(1);
            (shared.saturating_mul(100) / all).min(99)
        }
        (Value::Array(left), Value::Array(right)) if !left.is_empty() && !right.is_empty() => MIN_LIKENESS,
        _ => 0,
    }
}
