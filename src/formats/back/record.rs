//! Reads records of documents into operations: the inverse of `transcript/step_record.rs`, using the same tables.

use serde_json::{Number, Value};

use super::at::At;
use super::error::Result;
use crate::document::shape::{Field, shown};
use crate::document::source::Source;
use crate::operation::{FieldValue, Operation, Slot};
use crate::transcript::fact_groups;

/// Reads the fields that an operation has; all others only have their type checked.
///
/// # Errors
///
/// A required field is missing, or a field has another type.
pub(in crate::formats) fn read(at: &At<'_>, fields: &[Field], operation: &mut Operation) -> Result<()> {
    for field in fields {
        let Some(value) = at.value.get(field.name) else {
            if field.is_needed {
                at.need(field.name)?;
            }
            continue;
        };
        if value.is_null() && !field.is_needed {
            continue;
        }
        if !field.shape.fits(value) {
            let wanted = field.shape.words();
            return Err(at.need(field.name)?.refuse(format!("expected {wanted}, found {}", shown(value))));
        }
        if let Some(record) = field.shape.record().filter(|_| value.is_object()) {
            read(&at.need(field.name)?, record.fields, operation)?;
        } else if !value.is_null() && !field.is_filler(value) {
            let source = field.sources.into_iter().flatten().find_map(Source::reads);
            put(source.and_then(|source| source.slot(operation)), value);
        }
    }
    for (whole, part) in fields.iter().filter_map(Field::counted_beside) {
        let Some(FieldValue::Count(part)) = part.value(operation) else {
            continue;
        };
        if let Some(Slot::Count(whole)) = whole.slot(operation) {
            *whole = Some(whole.unwrap_or_default().saturating_add(part));
        }
    }
    Ok(())
}

/// Sets a field of the operation. A count may be written 12.0, as the packages accept it.
fn put(slot: Option<Slot<'_>>, value: &Value) {
    match (slot, value) {
        (None, _) => {}
        (Some(Slot::Recorded(whole)), _) => *whole = value.clone().into(),
        (Some(Slot::Count(count)), Value::Number(number)) => *count = whole(number),
        (Some(Slot::Integer(integer)), Value::Number(number)) => *integer = number.as_i64().or_else(|| whole(number)?.try_into().ok()),
        (Some(slot), _) => {
            fact_groups::read(slot, value);
        }
    }
}

/// A number without a fraction, at least zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "only numbers without a fraction and not below zero come here; `as` saturates"
)]
pub(in crate::formats) fn whole(number: &Number) -> Option<u64> {
    number.as_u64().or_else(|| {
        let float = number.as_f64()?;
        (float >= 0.0 && float.fract() == 0.0).then_some(float as u64)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::records::record;
    use crate::document::shape::Record;
    use crate::document::shape::Shape::{Count, Maybe, Of, Text};
    use crate::document::source::Part;
    use crate::operation::Field as F;
    use crate::transcript::step_record::of_operation;

    static CALL: Record = record! { "a call" {
        may model: Text, of(Part::Model);
        may usage: Maybe(&Of(&USAGE));
    } };
    static USAGE: Record = record! { "usage" {
        may fresh: Count, less(F::UsageInput, F::UsageCacheRead);
        may cached: Count, from(F::UsageCacheRead);
    } };

    #[test]
    fn a_count_beside_its_part_is_read_as_the_whole() {
        for (input, cached, written) in [
            (Some(10), Some(4), json!({"model": "m", "usage": {"fresh": 6, "cached": 4}})),
            (Some(10), None, json!({"model": "m", "usage": {"fresh": 10}})),
            (None, None, json!({"model": "m"})),
        ] {
            let mut operation = Operation::default();
            operation.model.response = Some("m".to_owned());
            (operation.usage.input, operation.usage.cache_read) = (input, cached);
            assert_eq!(
                Value::from(crate::document::json::Json::from(of_operation(&CALL, &operation))),
                written
            );
            let mut read = Operation::default();
            let is_read = super::read(&At::root("test", &written, "$".to_owned()), CALL.fields, &mut read).is_ok();
            assert!(is_read, "{written}");
            assert_eq!((read.usage, read.model), (operation.usage, operation.model), "{written}");
        }
        // A part that is more than its whole is counted in something else.
        let mut operation = Operation::default();
        (operation.usage.input, operation.usage.cache_read) = (Some(1), Some(4));
        let written = of_operation(&USAGE, &operation);
        assert_eq!(
            Value::from(crate::document::json::Json::from(written)),
            json!({"fresh": 1, "cached": 4})
        );
    }
}
