//! Records of documents as operations: the other direction of `transcript/step_record.rs`, by the same tables.

use serde_json::{Number, Value};

use super::at::At;
use super::error::Result;
use crate::document::shape::{Field, Shape, shown};
use crate::document::source::Source;
use crate::operation::{Operation, Slot};
use crate::transcript::fact_groups;

/// Reads the fields that an operation has; all others have the type that they must have, or are left out.
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
        if let Some(record) = nested(field.shape).filter(|_| value.is_object()) {
            read(&at.need(field.name)?, record, operation)?;
        } else if !value.is_null() && !field.is_filler(value) {
            let source = field.sources.into_iter().flatten().find_map(Source::reads);
            put(source.and_then(|source| source.slot(operation)), value);
        }
    }
    Ok(())
}

/// The fields of a record whose sources are the same operation's.
fn nested(shape: Shape) -> Option<&'static [Field]> {
    match shape {
        Shape::Maybe(shape) => nested(*shape),
        Shape::Of(record) => Some(record.fields),
        _ => None,
    }
}

/// A value where the operation has it. A count may be written 12.0, as the packages read it.
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

/// A number without a fraction that is not below zero.
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
