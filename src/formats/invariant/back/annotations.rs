//! Reads annotations: evaluations of events.

use crate::formats::back::{At, NoteKind, Result, TraceBuilder};
use crate::operation::Evaluation;
use crate::span::SpanId;
use crate::transcript::fact_groups::FactGroup as _;

/// Adds each annotation as an evaluation of the span that its address refers to.
pub(super) fn read(annotations: &At<'_>, spans_of_events: &[Option<usize>], builder: &mut TraceBuilder) -> Result<()> {
    let drafts = builder.places();
    for at in annotations.items()? {
        let content = at.need("content")?.text()?;
        let address = at.need("address")?.text()?;
        let about = at.some("extra_metadata");
        let word = |key: &str| about.as_ref().and_then(|about| about.value.get(key)?.as_str().map(str::to_owned));
        let span = word("span_id").and_then(|id| SpanId::from_hex(&id));
        let judged = span.and_then(|id| drafts.get(&id).copied());
        let judged = judged.or_else(|| spans_of_events.get(event_of(address)?).copied().flatten());
        if judged.is_none() {
            let detail = "its address names no operation: it judges the whole";
            builder.note(&at.path, NoteKind::ByPosition, detail);
        }
        let mut evaluation = Evaluation::default();
        if let Some(about) = &about {
            evaluation.read_facts(about.value);
        }
        if evaluation.name.is_none() {
            evaluation.explanation.get_or_insert_with(|| content.to_owned());
        }
        if let Some(operation) = builder.operation(judged.unwrap_or(0)) {
            operation.evaluations.push(evaluation);
        }
    }
    Ok(())
}

/// The index of the event: 2 for `messages[2].tool_calls[0]`.
fn event_of(address: &str) -> Option<usize> {
    let (_, rest) = address.split_once("messages[").or_else(|| address.split_once('['))?;
    rest.split_once(']')?.0.parse().ok()
}
