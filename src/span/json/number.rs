//! Numbers as OTLP/JSON writes them: 64-bit integers as text or number, doubles with `NaN` and `Infinity` as text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// An unsigned 64-bit integer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct U64(pub(super) u64);

/// A signed 64-bit integer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct I64(pub(super) i64);

/// An unsigned 32-bit integer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct U32(pub(super) u32);

/// A double.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct F64(pub(super) f64);

/// An enum's number, or the tail of its name in protobuf.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Enum(pub(super) i32);

struct IntegerVisitor;

impl Visitor<'_> for IntegerVisitor {
    type Value = i128;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer, as a number or as text")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<i128, E> {
        Ok(i128::from(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<i128, E> {
        Ok(i128::from(number))
    }

    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range before")]
    fn visit_f64<E: Error>(self, number: f64) -> Result<i128, E> {
        if number.fract() == 0.0 && number.abs() < 1e20 {
            Ok(number as i128)
        } else {
            Err(E::invalid_value(Unexpected::Float(number), &self))
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<i128, E> {
        text.trim()
            .parse::<i128>()
            .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

macro_rules! integer {
    ($name:ident, $type:ty, $range:literal) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let number = deserializer.deserialize_any(IntegerVisitor)?;
                <$type>::try_from(number)
                    .map(Self)
                    .map_err(|_| D::Error::custom(format_args!("{number} is not {}", $range)))
            }
        }
    };
}

integer!(U64, u64, "in the range of an unsigned 64-bit integer");
integer!(I64, i64, "in the range of a signed 64-bit integer");
integer!(U32, u32, "in the range of an unsigned 32-bit integer");

struct FloatVisitor;

impl Visitor<'_> for FloatVisitor {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, \"NaN\", \"Infinity\" or \"-Infinity\"")
    }

    #[expect(clippy::cast_precision_loss, reason = "the field is a double")]
    fn visit_u64<E: Error>(self, number: u64) -> Result<f64, E> {
        Ok(number as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "the field is a double")]
    fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
        Ok(number as f64)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
        Ok(number)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        match text {
            "NaN" => Ok(f64::NAN),
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            other => other.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for F64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FloatVisitor).map(Self)
    }
}

struct EnumVisitor;

impl Visitor<'_> for EnumVisitor {
    type Value = i32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an enum's integer")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<i32, E> {
        i32::try_from(number).map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<i32, E> {
        i32::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<i32, E> {
        Ok(match text {
            "SPAN_KIND_UNSPECIFIED" | "STATUS_CODE_UNSET" | "SEVERITY_NUMBER_UNSPECIFIED" => 0,
            "SPAN_KIND_INTERNAL" | "STATUS_CODE_OK" => 1,
            "SPAN_KIND_SERVER" | "STATUS_CODE_ERROR" => 2,
            "SPAN_KIND_CLIENT" => 3,
            "SPAN_KIND_PRODUCER" => 4,
            "SPAN_KIND_CONSUMER" => 5,
            other => match severity(other) {
                Some(number) => number,
                None => return Err(E::invalid_value(Unexpected::Str(text), &self)),
            },
        })
    }
}

/// `SEVERITY_NUMBER_TRACE` is 1, `..._TRACE4` is 4, `..._FATAL4` is 24.
fn severity(name: &str) -> Option<i32> {
    let name = name.strip_prefix("SEVERITY_NUMBER_")?;
    let (first, rest) = [("TRACE", 1), ("DEBUG", 5), ("INFO", 9), ("WARN", 13), ("ERROR", 17), ("FATAL", 21)]
        .iter()
        .find_map(|(word, first)| Some((*first, name.strip_prefix(word)?)))?;
    match rest {
        "" => Some(first),
        "2" | "3" | "4" => Some(first + rest.parse::<i32>().ok()? - 1),
        _ => None,
    }
}

impl<'de> Deserialize<'de> for Enum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EnumVisitor).map(Self)
    }
}
