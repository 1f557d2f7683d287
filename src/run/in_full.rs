//! Gives spans that continue another one's conversation their whole input, for readers that do not understand continuations.

use super::{continuations, readings};
use crate::dialect::write::{AttributeWriter, Vocabulary};
use crate::dialect::{Continuation, Registry};
use crate::hash::{HashMap, HashSet};
use crate::operation::{Messages, Operation};
use crate::span::{Attributes, Span, SpanId, TraceId};
use crate::trace::Trace;

/// The number of continuing spans that were and were not rewritten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct InFull {
    /// Spans that now have all their input messages in their own attributes.
    pub(crate) written: usize,
    /// Unchanged spans: their messages would take too much space, or the span that they continue is missing.
    pub(crate) left: usize,
}

/// The traces of spans that others in the list continue but that are not in it themselves.
#[must_use]
pub(crate) fn missing_bases(spans: &[Span]) -> HashSet<TraceId> {
    let ids: HashSet<(TraceId, SpanId)> = spans.iter().map(|span| (span.trace_id, span.span_id)).collect();
    let bases = spans
        .iter()
        .filter_map(|span| Some((span.trace_id, Continuation::base_of(&span.attributes)?)));
    bases.filter(|base| !ids.contains(base)).map(|(trace, _)| trace).collect()
}

/// Writes the whole input of each span that continues another one's conversation into its own attributes, until the repeated
/// messages exceed `limit` bytes. `others`: the other spans of these traces.
pub(crate) fn in_full(spans: &mut [Span], others: &[Span], registry: &Registry, limit: usize) -> InFull {
    let mut out = InFull::default();
    let mut traces: HashMap<TraceId, Vec<Span>> = HashMap::default();
    for span in spans.iter().filter(|span| Continuation::base_of(&span.attributes).is_some()) {
        traces.entry(span.trace_id).or_default();
    }
    for span in others.iter().chain(spans.iter()) {
        if let Some(trace) = traces.get_mut(&span.trace_id) {
            trace.push(span.clone());
        }
    }
    let mut inputs: HashMap<(TraceId, SpanId), Operation> = HashMap::default();
    for (id, spans) in traces {
        let mut readings = readings::read(&mut Trace::from_spans(spans), Vec::new(), registry);
        continuations::resolve(&mut readings);
        let operations = readings.operations().filter(|(_, operation)| {
            let messages = operation.input_messages.as_ref();
            messages.is_some_and(|messages| messages.continued() > 0)
        });
        inputs.extend(operations.map(|(span, operation)| {
            let input = Operation {
                kind: operation.kind,
                input_messages: operation.input_messages.clone(),
                ..Operation::default()
            };
            ((id, span), input)
        }));
    }
    let writer = AttributeWriter::new(Vocabulary::GenAi);
    let mut recorded = 0_usize;
    for span in spans.iter_mut().filter(|span| Continuation::base_of(&span.attributes).is_some()) {
        let input = inputs.get(&(span.trace_id, span.span_id));
        let size = input.and_then(|input| input.input_messages.as_ref()).map(Messages::continued_size);
        match (input, size.map(|size| recorded.saturating_add(size))) {
            (Some(input), Some(sum)) if sum <= limit => {
                recorded = sum;
                write(&writer.write(input), &mut span.attributes);
                out.written += 1;
            }
            _ => out.left += 1,
        }
    }
    out
}

/// Replaces the new messages by the whole input.
fn write(input: &Attributes, attributes: &mut Attributes) {
    Continuation::remove(attributes);
    for (key, value) in input.iter() {
        attributes.0.retain(|(known, _)| known != key);
        attributes.push(key.clone(), value.clone());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::formats::{self, FORMATS, Layout, Options};
    use crate::run::from_batch;

    fn documents(spans: Vec<Span>) -> Vec<(&'static str, String)> {
        let runs = from_batch(spans, Vec::new(), Registry::built_in());
        let of = |format: &formats::AnyFormat| format.assemble(&runs, &Options::default(), Layout::Compact);
        FORMATS
            .iter()
            .flat_map(|format| of(format).into_iter().map(|assembled| (format.id, assembled.document)))
            .collect()
    }

    fn spans() -> Vec<Span> {
        let call = json!({"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": {"at": 1}}}]});
        let said = |role: &str, number: usize| json!({"role": role, "content": format!("words {number}")});
        let mut messages = vec![
            said("system", 0),
            said("user", 1),
            call,
            json!({"role": "tool", "tool_call_id": "c1", "content": "found"}),
        ];
        messages.extend((2..20).map(|number| said(if number % 2 == 0 { "assistant" } else { "user" }, number)));
        let document: Value = json!({ "messages": messages });
        formats::disassemble(None, &document.to_string()).expect("a row").spans
    }

    /// Whoever reads the spans in full reads what we read.
    #[test]
    fn spans_in_full_say_the_same() {
        let short = spans();
        let continuing = short
            .iter()
            .filter(|span| Continuation::base_of(&span.attributes).is_some())
            .count();
        assert_eq!(continuing, 9);
        assert!(missing_bases(&short).is_empty());
        let mut full = short.clone();
        let out = in_full(&mut full, &[], Registry::built_in(), usize::MAX);
        assert_eq!((out.written, out.left), (continuing, 0));
        assert!(full.iter().all(|span| Continuation::base_of(&span.attributes).is_none()));
        for ((format, one), (_, other)) in documents(short).into_iter().zip(documents(full)) {
            assert_eq!(one, other, "{format}");
        }
    }

    /// What is over a limit goes out as it is, and a span whose base came in another request is found there.
    #[test]
    fn spans_over_the_limit_stay() {
        let short = spans();
        let mut full = short.clone();
        let out = in_full(&mut full, &[], Registry::built_in(), 3_000);
        assert!(out.written > 0 && out.left > 0 && out.written + out.left == 9, "{out:?}");
        assert_eq!(documents(full), documents(short.clone()));
        let last = short.iter().rfind(|span| Continuation::base_of(&span.attributes).is_some());
        let mut last: Vec<Span> = last.into_iter().cloned().collect();
        assert_eq!(missing_bases(&last).len(), 1);
        assert_eq!(in_full(&mut last.clone(), &[], Registry::built_in(), usize::MAX).written, 0);
        assert_eq!(in_full(&mut last, &short, Registry::built_in(), usize::MAX).written, 1);
    }
}
