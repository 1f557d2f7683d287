//! Records a failure on a span.

use crate::operation::Failure;
use crate::span::{Attributes, Event, Status, UnixNanos};

/// The span's status, and an exception event for the type and stack trace, for which a status has no place (OpenTelemetry's semantic
/// conventions, "Recording exceptions on spans").
#[must_use]
pub fn status_and_exception(failure: &Failure, time: UnixNanos) -> (Status, Option<Event>) {
    let status = Status {
        code: 2,
        message: failure.message.clone().unwrap_or_default(),
    };
    if failure.error_type.is_none() && failure.stacktrace.is_none() {
        return (status, None);
    }
    let named = [
        ("exception.type", &failure.error_type),
        ("exception.message", &failure.message),
        ("exception.stacktrace", &failure.stacktrace),
    ];
    let attributes: Attributes = named
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value.as_deref()?.into())))
        .collect();
    let event = Event {
        time,
        name: "exception".to_owned(),
        attributes,
        ..Event::default()
    };
    (status, Some(event))
}
