//! Recognizes the signal of an OTLP message by its content.
//!
//! Traces, logs and metrics share an envelope (field 1: resource, field 2: scope, field 2: item), so a body of one signal often decodes
//! "successfully" as another with empty ids. The wire types of the items' fields tell them apart.

use super::schema::{Kind, Type};
use super::wire::{Cursor, Fault, Field, I32, I64, LEN, VARINT};
use crate::span::Signal;

/// The signal of a message; `None` if it has no items or fits none of the three signals.
#[must_use]
pub fn guess(bytes: &[u8]) -> Option<Signal> {
    let mut votes = [0usize; 3];
    'items: for of_resource in messages(Cursor::new(bytes), 1) {
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

/// The number of data points in an `ExportMetricsServiceRequest`. A broken metric counts as empty.
///
/// # Errors
///
/// The envelope is broken; the fault names the place.
pub fn count_points(bytes: &[u8]) -> Result<usize, Fault> {
    let mut points = 0;
    let mut resources = Cursor::new(bytes);
    while let Some(field) = resources.next()? {
        if (field.number, field.wire) != (1, LEN) {
            continue;
        }
        let mut scopes = resources.enter(&field)?;
        while let Some(field) = scopes.next()? {
            if (field.number, field.wire) != (2, LEN) {
                continue;
            }
            let mut items = scopes.enter(&field)?;
            while let Some(field) = items.next()? {
                if (field.number, field.wire) == (2, LEN) {
                    points += points_of(items.enter(&field)?);
                }
            }
        }
    }
    Ok(points)
}

/// Every kind of metric has its points in field 1.
fn points_of(metric: Cursor<'_>) -> usize {
    [5, 7, 9, 10, 11]
        .into_iter()
        .flat_map(|kind| messages(metric.clone(), kind))
        .map(|data| messages(data, 1).count())
        .sum()
}

fn of_item(item: Cursor<'_>) -> Option<Signal> {
    let (mut span, mut log, mut metric) = (true, true, true);
    let (mut ids, mut timed, mut dated, mut measured) = (0, false, false, false);
    let mut some = false;
    for (_, field) in fields(item) {
        let (number, wire) = (field.number, field.wire);
        some = true;
        span &= wire_of(Type::Span, number).is_none_or(|want| want == wire);
        log &= wire_of(Type::LogRecord, number).is_none_or(|want| want == wire);
        metric &= wire_of_metric(number).is_none_or(|want| want == wire);
        match (number, wire) {
            (1, LEN) if field.value.len() == 16 => ids += 1,
            (2, LEN) if field.value.len() == 8 => ids += 1,
            (7 | 8, I64) => timed = true,
            (1 | 11, I64) => dated = true,
            (5 | 7 | 9..=11, LEN) => measured = true,
            _ => {}
        }
    }
    if !some {
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

fn wire_of(message: Type, number: u32) -> Option<u8> {
    match message.field(number) {
        Kind::Unknown => None,
        Kind::Varint => Some(VARINT),
        Kind::Fixed64 => Some(I64),
        Kind::Fixed32 => Some(I32),
        Kind::Bytes | Kind::Text | Kind::Message(_) => Some(LEN),
    }
}

fn wire_of_metric(number: u32) -> Option<u8> {
    matches!(number, 1..=3 | 5 | 7 | 9..=12).then_some(LEN)
}

/// The length-delimited fields with this number, up to the end or the first broken field.
fn messages<'a>(cursor: Cursor<'a>, number: u32) -> impl Iterator<Item = Cursor<'a>> {
    fields(cursor).filter_map(move |(cursor, field)| (field.number == number && field.wire == LEN).then(|| cursor.enter(&field).ok())?)
}

fn fields(mut cursor: Cursor<'_>) -> impl Iterator<Item = (Cursor<'_>, Field)> {
    std::iter::from_fn(move || {
        let field = cursor.next().ok()??;
        Some((cursor.clone(), field))
    })
}
