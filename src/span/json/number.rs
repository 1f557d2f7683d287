//! Numbers in OTLP/JSON: 64-bit integers as text or numbers, and doubles with `NaN` and `Infinity` as text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// An unsigned 64-bit integer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct U64(pub(super) u64);

/// `intValue`. OTLP allows only signed 64-bit integers, but the JavaScript SDK writes every whole number here, such as 1e+21. A number out
/// of range must not make its request unreadable.
#[derive(Debug)]
pub(super) enum IntValue {
    /// A signed 64-bit integer.
    Int(i64),
    /// Any other number.
    Double(f64),
    /// An integer out of range, kept as text because a double would lose digits.
    Digits(String),
}

/// An unsigned 32-bit integer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct U32(pub(super) u32);

/// A double.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct F64(pub(super) f64);

/// An enum as its number or the tail of its protobuf name.
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
integer!(U32, u32, "in the range of an unsigned 32-bit integer");

struct IntValueVisitor;

impl Visitor<'_> for IntValueVisitor {
    type Value = IntValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        IntegerVisitor.expecting(f)
    }

    #[expect(clippy::cast_precision_loss, reason = "JavaScript, which writes such numbers, has doubles only")]
    fn visit_u64<E: Error>(self, number: u64) -> Result<IntValue, E> {
        Ok(i64::try_from(number).map_or(IntValue::Double(number as f64), IntValue::Int))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<IntValue, E> {
        Ok(IntValue::Int(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<IntValue, E> {
        let whole = IntegerVisitor.visit_f64::<E>(number).ok();
        let whole = whole.and_then(|whole| i64::try_from(whole).ok());
        Ok(whole.map_or(IntValue::Double(number), IntValue::Int))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<IntValue, E> {
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.trim().parse() {
            Ok(number) => Ok(IntValue::Int(number)),
            Err(_) if is_digits(text.trim().trim_start_matches(['-', '+'])) => Ok(IntValue::Digits(text.to_owned())),
            Err(_) => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for IntValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IntValueVisitor)
    }
}

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

#[cfg(test)]
mod tests {
    use crate::span::AnyValue;
    use crate::span::json::Message;

    #[test]
    fn an_int_value_without_64_bits_costs_no_span() {
        let value = |text: &str| {
            let message = format!(
                r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1","spanId":"d100000000000001",
                "name":"a","attributes":[{{"key":"n","value":{{"intValue":{text}}}}}]}}]}}]}}]}}"#
            );
            let spans = Message::parse(message.as_bytes()).ok()?.into_parts().0.items;
            Some(spans.first()?.attributes.get("n")?.clone())
        };
        assert_eq!(value("-9223372036854775808"), Some(AnyValue::Int(i64::MIN)));
        assert_eq!(value("1e3"), Some(AnyValue::Int(1000)));
        assert_eq!(value("1e+21"), Some(AnyValue::Double(1e21)));
        assert_eq!(value("9223372036854776000"), Some(AnyValue::Double(9_223_372_036_854_776_000.0)));
        assert_eq!(value("1.5"), Some(AnyValue::Double(1.5)));
        let digits = "18446744073709551615";
        assert_eq!(value(&format!("\"{digits}\"")), Some(AnyValue::String(digits.to_owned())));
        assert_eq!(value("\"12x\""), None);
    }
}
