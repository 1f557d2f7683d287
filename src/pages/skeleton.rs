//! A run's skeleton: the facts of all steps for outline and waterfall, as columns that a script reads in place.
//!
//! Little endian. `SBS1`, the length of the head as u32, then the head as JSON, padded with blanks so that the columns after
//! it begin at a multiple of 8, as does each column. The head: `v`, `trace`, `rows`, `revision`, `start_unix_nano` (text),
//! `nanos`, `kinds`, `at` (where each column begins), `names` (size of the names).
//!
//! | column | type | what |
//! |---|---|---|
//! | `start`, `dur` | f64 | nanoseconds from the start of the run, exact up to 104 days; `dur` is NaN while a step runs |
//! | `cost` | f32 | US dollars; NaN: not recorded |
//! | `name` | u32 | which of the names |
//! | `tin`, `tout` | u32 | tokens; 0xffffffff: not recorded |
//! | `depth` | u16 | rows are depth first, so it alone is the tree |
//! | `kind`, `flags` | u8 | which of the kinds; [`FAILED`] and the others |
//! | `id` | 8 bytes | the span id; of a step without a span 0 and the number of its row |
//! | `names` | text | one name a line |
//!
//! For a run that is being watched, `since` asks for changes. The columns then have only new or changed rows, in order;
//! `all` is the number of all rows, and `copied` has lists of three numbers for rows that stay: the first one, how many, and
//! their new position. The names are those of the new rows.

use serde_json::{Map, Value, json};

use super::outline::{Outline, name};
use crate::hash::HashMap;
use crate::operation::Kind;
use crate::run::Step;
use crate::view::step::{has_derived_times, nanos, offset};
use crate::view::text::one_line;
use crate::view::totals;
use std::hash::BuildHasher as _;

/// The step failed.
pub(crate) const FAILED: u8 = 1;
/// The step has not ended.
pub(crate) const RUNNING: u8 = 2;
/// No span records its times.
pub(crate) const DERIVED: u8 = 4;
/// The step is on the critical path.
pub(crate) const CRITICAL: u8 = 8;
/// A finding names its span.
pub(crate) const FOUND: u8 = 16;

/// Its parent is not among the spans but may arrive later.
pub(crate) const PENDING: u8 = 32;

/// Unrecorded tokens.
const NONE: u32 = u32::MAX;
/// Maximum columns of a name.
const NAME: usize = 200;
/// Maximum rows that are sent.
pub(crate) const MAX_ROWS: usize = 1_000_000;
/// Approximate bytes of a row with its name.
pub(crate) const ROW: usize = 96;

/// The columns of a run, to be written as bytes or JSON.
#[derive(Debug, Default)]
pub(crate) struct Skeleton {
    start: Vec<f64>,
    dur: Vec<f64>,
    cost: Vec<f32>,
    name: Vec<u32>,
    tin: Vec<u32>,
    tout: Vec<u32>,
    depth: Vec<u16>,
    kind: Vec<u8>,
    flags: Vec<u8>,
    id: Vec<[u8; 8]>,
    names: Vec<String>,
    head: Map<String, Value>,
}

impl Skeleton {
    /// Builds the skeleton of an outline, at this revision of its trace.
    pub(crate) fn of(outline: &Outline<'_>, revision: u64) -> Self {
        let run = outline.run;
        let mut made = Self::default();
        let mut known: HashMap<String, u32> = HashMap::default();
        for (number, (row, step)) in outline.steps().enumerate() {
            let called = one_line(name(run, step), NAME);
            let next = u32::try_from(made.names.len()).unwrap_or(NONE);
            let place = *known.entry(called).or_insert_with_key(|called| {
                made.names.push(called.clone());
                next
            });
            made.push(row.depth, number, step, place, outline);
            if let Some(flags) = made.flags.last_mut() {
                *flags |= if outline.findings(step).is_empty() { 0 } else { FOUND };
                *flags |= if outline.waits_for_parent(step) { PENDING } else { 0 };
            }
        }
        made.head = Map::from_iter([
            ("v".to_owned(), json!(1)),
            ("trace".to_owned(), json!(run.trace_id.to_string())),
            ("rows".to_owned(), json!(made.start.len())),
            ("revision".to_owned(), json!(revision.to_string())),
            ("start_unix_nano".to_owned(), json!(run.started_at.0.to_string())),
            ("nanos".to_owned(), json!(outline.nanos)),
            ("running".to_owned(), json!(run.ended_at.is_none())),
            ("kinds".to_owned(), json!(Kind::ALL.map(Kind::name))),
            ("families".to_owned(), json!(Kind::ALL.map(super::words::family))),
        ]);
        made
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "the column's type: exact up to 2^53 nanoseconds"
    )]
    fn push(&mut self, depth: usize, number: usize, step: &Step, place: u32, outline: &Outline<'_>) {
        let operation = &step.operation;
        let tokens = |count: Option<u64>| count.map_or(NONE, |count| u32::try_from(count).unwrap_or(NONE - 1));
        let calls_model = matches!(operation.kind, Kind::Llm | Kind::Embedding | Kind::Rerank);
        let (input, output) = if calls_model {
            (operation.usage.input, operation.usage.output)
        } else {
            (None, None)
        };
        self.start.push(offset(outline.run, step.started_at) as f64);
        self.dur.push(nanos(step).map_or(f64::NAN, |nanos| nanos as f64));
        self.cost.push(totals::cost(step).map_or(f32::NAN, |cost| cost.dollars as f32));
        self.name.push(place);
        self.tin.push(tokens(input));
        self.tout.push(tokens(output));
        self.depth.push(u16::try_from(depth).unwrap_or(u16::MAX));
        let kind = Kind::ALL.iter().position(|kind| *kind == operation.kind);
        self.kind.push(kind.and_then(|at| u8::try_from(at).ok()).unwrap_or_default());
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        self.flags.push(
            flag(operation.failure.is_some(), FAILED)
                | flag(step.ended_at.is_none(), RUNNING)
                | flag(has_derived_times(step), DERIVED)
                | flag(outline.critical.get(number).copied().unwrap_or_default(), CRITICAL),
        );
        let without = (number as u64 & 0x00ff_ffff_ffff_ffff).to_be_bytes();
        self.id.push(step.span_id.map_or(without, |id| *id.bytes()));
    }

    /// A digest of each row: rows of two skeletons with the same digest are equal.
    pub(crate) fn digests(&self) -> Vec<u64> {
        let digest = |at: usize| {
            let called = self.name.get(at).and_then(|name| self.names.get(usize::try_from(*name).ok()?));
            let times = (
                self.start.get(at).map(|nanos| nanos.to_bits()),
                self.dur.get(at).map(|nanos| nanos.to_bits()),
            );
            let spent = (self.cost.get(at).map(|cost| cost.to_bits()), self.tin.get(at), self.tout.get(at));
            let rest = (self.depth.get(at), self.kind.get(at), self.flags.get(at), self.id.get(at));
            foldhash::fast::FixedState::default().hash_one((called, times, spent, rest))
        };
        (0..self.start.len()).map(digest).collect()
    }

    /// The changes for a client that has rows with these digests; `None`: most of it is new.
    pub(crate) fn since(&self, known: &[u64], digests: &[u64]) -> Option<Self> {
        let places: HashMap<u64, usize> = known.iter().enumerate().map(|(at, digest)| (*digest, at)).collect();
        let mut copied: Vec<[usize; 3]> = Vec::new();
        let mut fresh = Vec::new();
        for (row, digest) in digests.iter().enumerate() {
            match (places.get(digest), copied.last_mut()) {
                (Some(&at), Some([from, rows, to])) if *from + *rows == at && *to + *rows == row => *rows += 1,
                (Some(&at), _) => copied.push([at, 1, row]),
                (None, _) => fresh.push(row),
            }
        }
        if 4 * copied.len() + 2 * fresh.len() > digests.len() {
            return None;
        }
        let mut made = self.only(&fresh);
        let _ = made.head.insert("all".to_owned(), json!(digests.len()));
        let _ = made.head.insert("copied".to_owned(), json!(copied));
        Some(made)
    }

    fn only(&self, rows: &[usize]) -> Self {
        fn pick<T: Copy>(of: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter().filter_map(|row| of.get(*row).copied()).collect()
        }
        let mut names = Vec::new();
        let mut known: HashMap<u32, u32> = HashMap::default();
        let name = pick(&self.name, rows).into_iter().map(|old| {
            *known.entry(old).or_insert_with(|| {
                names.extend(usize::try_from(old).ok().and_then(|old| self.names.get(old)).cloned());
                u32::try_from(names.len().saturating_sub(1)).unwrap_or(NONE)
            })
        });
        let name = name.collect();
        let mut head = self.head.clone();
        let _ = head.insert("rows".to_owned(), json!(rows.len()));
        Self {
            start: pick(&self.start, rows),
            dur: pick(&self.dur, rows),
            cost: pick(&self.cost, rows),
            name,
            tin: pick(&self.tin, rows),
            tout: pick(&self.tout, rows),
            depth: pick(&self.depth, rows),
            kind: pick(&self.kind, rows),
            flags: pick(&self.flags, rows),
            id: pick(&self.id, rows),
            names,
            head,
        }
    }

    /// Writes it as bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut body: Vec<u8> = Vec::with_capacity(self.start.len() * ROW);
        let mut at = Map::new();
        let mut column = |name: &str, parts: &mut dyn Iterator<Item = u8>| {
            body.resize(body.len().next_multiple_of(8), 0);
            let _ = at.insert(name.to_owned(), body.len().into());
            body.extend(parts);
        };
        column("start", &mut self.start.iter().flat_map(|value| value.to_le_bytes()));
        column("dur", &mut self.dur.iter().flat_map(|value| value.to_le_bytes()));
        column("cost", &mut self.cost.iter().flat_map(|value| value.to_le_bytes()));
        column("name", &mut self.name.iter().flat_map(|value| value.to_le_bytes()));
        column("tin", &mut self.tin.iter().flat_map(|value| value.to_le_bytes()));
        column("tout", &mut self.tout.iter().flat_map(|value| value.to_le_bytes()));
        column("depth", &mut self.depth.iter().flat_map(|value| value.to_le_bytes()));
        column("kind", &mut self.kind.iter().copied());
        column("flags", &mut self.flags.iter().copied());
        column("id", &mut self.id.iter().copied().flatten());
        let names = self.names.join("\n");
        column("names", &mut names.bytes());
        let mut head = self.head.clone();
        let _ = head.insert("at".to_owned(), at.into());
        let _ = head.insert("names".to_owned(), names.len().into());
        let mut text = Value::Object(head).to_string().into_bytes();
        text.resize(text.len().next_multiple_of(8), b' ');
        let mut out = Vec::with_capacity(text.len() + body.len() + 8);
        out.extend_from_slice(b"SBS1");
        out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.append(&mut text);
        out.append(&mut body);
        out
    }

    /// Writes it as JSON, for people, and programs that prefer not to read bytes. Unrecorded values are `null`.
    pub(crate) fn json(&self) -> Value {
        let tokens = |list: &[u32]| list.iter().map(|count| (*count != NONE).then_some(*count)).collect::<Vec<_>>();
        let mut out = self.head.clone();
        let mut add = |name: &str, value: Value| {
            let _ = out.insert(name.to_owned(), value);
        };
        add("names", json!(self.names));
        add(
            "columns",
            json!({
                "start": self.start.iter().map(|nanos| *nanos as u64).collect::<Vec<_>>(),
                "dur": self.dur.iter().map(|nanos| nanos.is_finite().then_some(*nanos as u64)).collect::<Vec<_>>(),
                "cost": self.cost.iter().map(|cost| cost.is_finite().then_some(*cost)).collect::<Vec<_>>(),
                "name": self.name,
                "tin": tokens(&self.tin),
                "tout": tokens(&self.tout),
                "depth": self.depth,
                "kind": self.kind,
                "flags": self.flags,
                "id": self.id.iter().map(|id| crate::span::ids::hex(id)).collect::<Vec<_>>(),
            }),
        );
        Value::Object(out)
    }
}
