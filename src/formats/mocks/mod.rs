//! Tool mocks: the calls of a run with their results, to rerun an agent without its tools' side effects. `convert` writes one call
//! per line (JSONL); `examples/mocks/` has loaders for Python and Rust that answer an agent's calls from such a file.
//!
//! | call | line |
//! |---|---|
//! | a call that a model or a program made in the run | `tool`, `arguments`, `result` as recorded, whatever its JSON type |
//! | one that failed | `error` with `message` and, if recorded, `type`, instead of the result |
//! | one without a recorded result | neither; a loader reports it |
//! | order | lines are ordered by when the calls began; `call` counts them from 0 |
//!
//! # What is lost
//!
//! Everything but the calls. Of a call with several answers, the earlier ones; of a failed call, a result recorded along with the error.
//! Calls from before the run, which only appear in model inputs, are left out: they are written with their own run.

use crate::document::choice::Options;
use crate::document::json::Object;
use crate::document::loss::LossReason;
use crate::document::records::records;
use crate::document::shape::Shape::{Any, Count, Of, Text};
use crate::formats::format::{Assembled, Format, by_table};
use crate::run::Run;
use crate::span::UnixNanos;
use crate::transcript::calls::{self, Results};
use crate::transcript::losses::Losses;
use crate::transcript::{ExchangeCall, ExchangeKind, Transcript, chat};

records! {
    MOCK "a call", only "loaders ignore it" {
        need trace_id: Text;
        need call: Count;
        need tool: Text;
        need arguments: Any;
        may result: Any;
        may error: Of(&ERROR);
        may agent: Text;
        may call_id: Text;
    }
    ERROR "an error" {
        need message: Text;
        may type: Text;
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Mocks;

impl Format for Mocks {
    const ID: &'static str = "mocks";
    const KEEPS: &'static str = "tool mocks: a line for each call, with its arguments and its result or error, to run an agent again";
    const LOSES: &'static str = "everything but tool calls";
    const WHOLE_INPUTS: bool = false;
    type Document<'a> = Object<'a>;

    fn assemble<'a>(runs: &'a [Run], _: &Options) -> Vec<Assembled<Object<'a>>> {
        runs.iter().flat_map(of_run).collect()
    }

    by_table!(Of(&MOCK));
}

/// The calls in the order in which they began. Losses of the run are reported with the first one.
fn of_run(run: &Run) -> Vec<Assembled<Object<'_>>> {
    let (transcript, results) = (Transcript::of(run), Results::of(run));
    let mut losses = Losses::default();
    let mut found: Vec<(UnixNanos, Object<'_>)> = Vec::new();
    for (id, _) in transcript.scopes_with_tool() {
        let agent = run.scopes.get(id).and_then(|scope| scope.agent.as_deref());
        let exchanges = transcript.exchanges(id);
        // Input messages belong to an earlier run.
        let own = exchanges
            .list
            .iter()
            .filter(|exchange| !matches!(exchange.kind, ExchangeKind::Message(_)));
        for (exchange, asked) in own.flat_map(|exchange| exchange.calls.iter().map(move |asked| (exchange, asked))) {
            if asked.is_recorded() {
                let tool = asked.tool.and_then(|tool| tool.of(run));
                let mock = mock(run, &results, asked, agent, &mut losses);
                found.push((tool.map_or(exchange.at, |tool| tool.started_at), mock));
            } else {
                let what = format!("the result of {}, which nothing calls", asked.id);
                losses.add(None, what, LossReason::NoPlace);
            }
        }
    }
    losses.operations(run);
    found.sort_by_key(|(began, _)| *began);
    let mut losses = Some(losses.finish());
    let lines = found.into_iter().enumerate().map(|(number, (_, mut mock))| {
        mock.insert("call", number as u64);
        Assembled {
            document: MOCK.in_order(mock),
            losses: losses.take().unwrap_or_default(),
        }
    });
    lines.collect()
}

fn mock<'a>(run: &'a Run, results: &Results<'a>, asked: &ExchangeCall<'a>, agent: Option<&'a str>, losses: &mut Losses) -> Object<'a> {
    let span = asked.tool.and_then(|tool| tool.of(run)?.span_id);
    let (arguments, wrapped) = chat::arguments(run, asked);
    if wrapped {
        losses.add(span, format!("arguments of {}", asked.id), LossReason::Coerced);
    }
    let last = asked.results.last().copied();
    for _ in asked.results.iter().skip(1) {
        losses.add(span, format!("an earlier result of {}", asked.id), LossReason::NoPlace);
    }
    let recorded = last.map(|last| chat::result_value(run, results, last));
    let failure = recorded.as_ref().and_then(|(_, failure)| *failure);
    if failure.is_some() && last.is_some_and(|last| chat::recorded(run, results, last).is_some()) {
        losses.add(span, format!("the result of {} beside its error", asked.id), LossReason::NoPlace);
    }
    let error = failure.map(|failure| {
        let mut error = Object::from([("message", calls::error_text(failure).into())]);
        error.add_filled("type", failure.error_type.as_deref());
        error
    });
    let mut mock = Object::from([
        ("trace_id", run.trace_id.to_string().into()),
        ("tool", chat::name(run, asked).into()),
        ("arguments", arguments.into()),
    ]);
    match (error, recorded) {
        (Some(error), _) => mock.add("error", error),
        (None, Some((value, _))) => mock.add("result", value),
        (None, None) => {}
    }
    mock.add_filled("agent", agent);
    if !asked.id_is_derived {
        mock.add("call_id", asked.id.clone());
    }
    mock
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::formats::testing::{mixed_up, samples};

    #[test]
    fn calls_are_lines_with_results_and_errors() {
        let run = samples::retries();
        let lines = of_run(&run);
        let lines: Vec<Value> = lines.iter().map(|line| serde_json::to_value(&line.document).unwrap()).collect();
        let said: Vec<(&str, &Value, &Value, &Value)> = lines
            .iter()
            .map(|line| {
                (
                    line["tool"].as_str().unwrap(),
                    &line["arguments"],
                    &line["result"],
                    &line["error"]["message"],
                )
            })
            .collect();
        let (a, b, none) = (json!({"url": "a"}), json!({"url": "b"}), Value::Null);
        let want = [
            // It ran twice: the last answer counts.
            ("fetch", &a, &none, &json!("refused again")),
            ("fetch", &a, &json!("page a"), &none),
            ("fetch", &b, &json!("page b"), &none),
        ];
        assert_eq!(said, want);
    }

    #[test]
    fn lines_hold_the_rules_and_say_what_is_lost() {
        for run in samples::samples().into_iter().map(|(_, run)| run).chain(mixed_up::mixed_up()) {
            let lines = of_run(&run);
            for (number, line) in lines.iter().enumerate() {
                let document = serde_json::to_value(&line.document).unwrap();
                assert!(Of(&MOCK).holds(&document), "{document}");
                assert_eq!(
                    (document["call"].as_u64(), line.losses.is_empty()),
                    (Some(number as u64), number > 0)
                );
            }
        }
    }
}
