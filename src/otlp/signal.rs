//! What an OTLP message carries, told by its content.
//!
//! Traces, logs and metrics have the same envelope (field 1: resource, field 2: scope, field 2: item), and a body of one
//! signal often decodes "successfully" as another with empty ids. The items tell: the wire types of their fields differ.

use crate::span::Signal;

/// What the message carries; `None` if it has no items, or if they fit none of the three signals.
#[must_use]
pub fn guess(bytes: &[u8]) -> Option<Signal> {
    let mut votes = [0usize; 3];
    'items: for of_resource in messages(bytes, 1) {
        for of_scope in messages(of_resource, 2) {
            for item in messages(of_scope, 2) {
                match of_item(item) {
                    Some(Signal::Traces) => votes[0] += 1,
                    Some(Signal::Logs) => votes[1] += 1,
                    Some(Signal::Metrics) => votes[2] += 1,
                    None => {}
                }
                if votes.iter().sum::<usize>() >= 1_000 {
                    break 'items;
                }
            }
        }
    }
    let [traces, logs, metrics] = votes;
    match traces.max(logs).max(metrics) {
        0 => None,
        most if most == traces => Some(Signal::Traces),
        most if most == logs => Some(Signal::Logs),
        _ => Some(Signal::Metrics),
    }
}

/// How many of these bytes are whole fields.
pub(super) fn whole_fields(bytes: &[u8]) -> usize {
    let mut fields = Fields(bytes);
    let mut whole = 0;
    while fields.next().is_some() {
        whole = bytes.len() - fields.0.len();
    }
    whole
}

/// A field of a message: number, wire type, and the bytes of a length-delimited one.
type Field<'a> = (u32, u8, &'a [u8]);

const VARINT: u8 = 0;
const I64: u8 = 1;
const LEN: u8 = 2;
const I32: u8 = 5;

fn of_item(item: &[u8]) -> Option<Signal> {
    let (mut span, mut log, mut metric) = (true, true, true);
    let (mut ids, mut timed, mut dated, mut measured) = (0, false, false, false);
    let mut fields = 0;
    for (number, wire, value) in Fields(item) {
        fields += 1;
        span &= wire_of_span(number).is_none_or(|want| want == wire);
        log &= wire_of_log(number).is_none_or(|want| want == wire);
        metric &= wire_of_metric(number).is_none_or(|want| want == wire);
        match (number, wire) {
            (1, LEN) if value.len() == 16 => ids += 1,
            (2, LEN) if value.len() == 8 => ids += 1,
            (7 | 8, I64) => timed = true,
            (1 | 11, I64) => dated = true,
            (5 | 7 | 9..=11, LEN) => measured = true,
            _ => {}
        }
    }
    if fields == 0 {
        None
    } else if span && (ids == 2 || timed) {
        Some(Signal::Traces)
    } else if log && (dated || !metric) {
        Some(Signal::Logs)
    } else if metric && measured && !log {
        Some(Signal::Metrics)
    } else if log {
        Some(Signal::Logs)
    } else if span {
        Some(Signal::Traces)
    } else {
        None
    }
}

fn wire_of_span(number: u32) -> Option<u8> {
    match number {
        1..=5 | 9 | 11 | 13 | 15 => Some(LEN),
        6 | 10 | 12 | 14 => Some(VARINT),
        7 | 8 => Some(I64),
        16 => Some(I32),
        _ => None,
    }
}

fn wire_of_log(number: u32) -> Option<u8> {
    match number {
        1 | 11 => Some(I64),
        2 | 7 => Some(VARINT),
        3 | 5 | 6 | 9 | 10 | 12 => Some(LEN),
        8 => Some(I32),
        _ => None,
    }
}

fn wire_of_metric(number: u32) -> Option<u8> {
    matches!(number, 1..=3 | 5 | 7 | 9..=12).then_some(LEN)
}

/// The length-delimited fields with this number.
fn messages(bytes: &[u8], wanted: u32) -> impl Iterator<Item = &[u8]> {
    Fields(bytes).filter_map(move |(number, wire, value)| (number == wanted && wire == LEN).then_some(value))
}

/// The fields of a message, until its end or the first broken one.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        let key = varint(&mut self.0)?;
        let wire = u8::try_from(key & 7).ok()?;
        let number = u32::try_from(key >> 3).ok()?;
        let length = match wire {
            VARINT => {
                varint(&mut self.0)?;
                0
            }
            I64 => 8,
            LEN => usize::try_from(varint(&mut self.0)?).ok()?,
            I32 => 4,
            _ => return None,
        };
        let (value, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some((number, wire, value))
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
