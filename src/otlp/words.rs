//! Visits the texts and scalar values of a message in place, without decoding it.

use super::schema::{Kind, Type};
use super::wire::{Cursor, Fault, Payload};
use crate::span::Signal;

/// A value that can be written as text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Word<'a> {
    /// A name, a key or a text.
    Text(&'a str),
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Double(f64),
}

/// Visits each text and scalar value of a message, up to the first broken byte.
pub(crate) fn each_word<'a>(message: &'a [u8], signal: Signal, take: &mut dyn FnMut(Word<'a>)) {
    let of = match signal {
        Signal::Traces => Type::TracesRequest,
        Signal::Logs => Type::LogsRequest,
        Signal::Metrics => Type::MetricsRequest,
    };
    let _ = each(Cursor::new(message), of, take);
}

fn each<'a>(mut cursor: Cursor<'a>, of: Type, take: &mut dyn FnMut(Word<'a>)) -> Result<(), Fault> {
    while let Some(field) = cursor.next()? {
        match (of.field(field.number), field.number, field.payload) {
            (Kind::Message(inner), ..) => each(cursor.enter(&field)?, inner, take)?,
            (Kind::Text, ..) => take(Word::Text(cursor.text(&field)?)),
            (_, 2, Payload::Number(number)) if of == Type::AnyValue => take(Word::Bool(number != 0)),
            (_, 3, Payload::Number(number)) if of == Type::AnyValue => take(Word::Int(number.cast_signed())),
            (_, 4, Payload::Number(number)) if of == Type::AnyValue => take(Word::Double(f64::from_bits(number))),
            _ => {}
        }
    }
    Ok(())
}
