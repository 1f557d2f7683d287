//! Whole inputs and outputs. As they are long, they are moved out of the span last.

use crate::dialect::mend::{Ends, Mended};
use crate::dialect::rare_marks::RareMarks;
use crate::dialect::{codec, constructor, normalize, python};
use crate::operation::{Kind, Operation, Recorded};
use crate::span::SpanId;
use crate::trace::{Finding, FindingKind};

/// The attributes whose text is an operation's whole input and output.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Whole {
    pub(super) input: Option<usize>,
    pub(super) output: Option<usize>,
}

impl Whole {
    pub(super) fn fill(
        self,
        rare: &RareMarks,
        operation: &mut Operation,
        findings: &mut Vec<Finding>,
        span_id: SpanId,
        mut text: impl FnMut(usize) -> Option<(String, String)>,
    ) {
        let is_call = operation.kind == Kind::Llm;
        let mut at = |place: usize| match text(place) {
            Some((_, text)) if !is_call && python::may_be_printed(&text) => match python::printed_plainly(&text) {
                Some(value) => value.into(),
                None => codec::recorded(text),
            },
            // The text of a model call is long, and its messages repeat it, so it is not parsed.
            Some((key, text)) if !is_call && rare.may_be_in(&text) => {
                let mut mended = Mended::default();
                let value = normalize::open_json_noting(&text, Ends::Cut, &mut mended);
                let of_span = |detail| Finding::new(Some(span_id), FindingKind::UnreadableValue, detail);
                findings.extend(mended.findings(&key).map(of_span));
                constructor::open(value).into()
            }
            Some((_, text)) => codec::recorded(text),
            None => Recorded::default(),
        };
        if let Some(place) = self.input {
            operation.input = at(place);
        }
        if let Some(place) = self.output {
            operation.output = if self.input == Some(place) {
                operation.input.clone()
            } else {
                at(place)
            };
        }
    }
}
