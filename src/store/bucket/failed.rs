//! Errors of the bucket and of the engine.

use std::sync::Arc;

use crate::store::error::Error;

/// Wraps an error of a client or of the engine.
pub(super) fn failed<E>(doing: &'static str, place: &str) -> impl FnOnce(E) -> Error + use<E>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let place = place.to_owned();
    move |source| Error::Bucket {
        doing,
        place,
        source: Arc::new(source),
    }
}
