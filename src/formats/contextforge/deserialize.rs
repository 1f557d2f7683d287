//! How fields are read: null apart from a missing key, whole numbers.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::document::json::Json;

/// A key that stands there with null differs from one that does not stand there.
pub(super) fn present<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json<'a>>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// A whole number, also where it is written with a fraction of zero.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    as_whole(&number)
        .map(Some)
        .ok_or_else(|| D::Error::custom(format_args!("{number} is no whole number")))
}

pub(super) fn whole_required<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    whole(deserializer)?.ok_or_else(|| D::Error::custom("a whole number is required"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "only numbers without a fraction and not below zero come here; `as` saturates"
)]
pub(super) fn as_whole(number: &serde_json::Number) -> Option<u64> {
    number.as_u64().or_else(|| {
        let float = number.as_f64()?;
        (float >= 0.0 && float.fract() == 0.0).then_some(float as u64)
    })
}
