//! Token counts that a span around a call only estimates.

use crate::operation::{Cost, TokenCount};
use crate::run::id::ReadingId;
use crate::run::readings::Readings;
use crate::trace::{Finding, FindingKind};

/// Removes an outer span's estimates if the inner one has the provider's response with other counts: OpenLIT counts the tokens of
/// LangChain's printed values.
pub(super) fn leave_to_response(readings: &mut Readings, inner: ReadingId, outer: ReadingId) {
    let (Some(exact), Some(estimate)) = (readings.get(inner), readings.get(outer)) else {
        return;
    };
    let (exact, estimate) = (&exact.operation, &estimate.operation);
    let is_exact = exact.response_id.is_some() && estimate.response_id.is_none();
    let (one, other) = (&exact.usage, &estimate.usage);
    let counts = |usage: &TokenCount| Some((usage.input?, usage.output?));
    let differ = matches!((counts(one), counts(other)), (Some(one), Some(other)) if one != other);
    let (has_input, has_cost) = (exact.input_messages.is_some(), exact.cost != Cost::default());
    if !is_exact || !differ {
        return;
    }
    let Some(outer) = readings.get_mut(outer) else { return };
    let detail = format!(
        "counts {} and {} tokens, where the span of the response inside it has other counts, which hold",
        outer.operation.usage.input.unwrap_or_default(),
        outer.operation.usage.output.unwrap_or_default(),
    );
    let operation = &mut outer.operation;
    (operation.usage, operation.model.response) = (TokenCount::default(), None);
    if has_cost {
        operation.cost = Cost::default();
    }
    if has_input {
        operation.input_messages = None;
    }
    let span = outer.span_id;
    readings.findings.push(Finding::new(Some(span), FindingKind::SameOperation, detail));
}
