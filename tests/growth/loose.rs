//! Spans without the ones that should stand around them, spans at one time, and spans of rarer kinds.

use spanbridge::span::{TraceId, UnixNanos};

use crate::measure::grows_evenly;
use crate::shapes::{AGENT, Batch, CHAT, TOOL, answer, chain, said, wide};

fn alone((mut spans, logs): Batch) -> Batch {
    for span in &mut spans {
        span.parent = None;
    }
    (spans, logs)
}

/// Each with a parent that never came.
fn orphans((mut spans, logs): Batch) -> Batch {
    for (number, span) in spans.iter_mut().enumerate() {
        span.parent = spanbridge::span::SpanId::from_bytes(&(u64::MAX - number as u64).to_be_bytes());
    }
    (spans, logs)
}

/// One after the other.
fn in_turn((mut spans, logs): Batch) -> Batch {
    for span in &mut spans {
        span.end = UnixNanos(span.start.0 + 500);
    }
    (spans, logs)
}

/// All at one time, and the later the longer.
fn at_once((mut spans, logs): Batch) -> Batch {
    for (number, span) in spans.iter_mut().enumerate() {
        span.start = UnixNanos(1_767_261_600_000_000_000);
        span.end = UnixNanos(1_767_261_700_000_000_000 + number as u64);
    }
    (spans, logs)
}

fn calls(count: u64) -> Batch {
    in_turn(wide(count, |number| {
        said(CHAT, &[("gen_ai.output.messages", answer(&format!("x{number}")))])
    }))
}

fn agents(count: u64) -> Batch {
    in_turn(wide(count, |number| said(AGENT, &[("gen_ai.agent.name", format!("a{number}"))])))
}

fn unnamed_agents(count: u64) -> Batch {
    in_turn(wide(count, |_| said(AGENT, &[])))
}

fn tools(count: u64) -> Batch {
    in_turn(wide(count, |_| said(TOOL, &[("gen_ai.tool.name", "t".to_owned())])))
}

fn searches(count: u64) -> Batch {
    in_turn(wide(count, |number| {
        said(("step_type", "retrieval"), &[("query", format!("q{number}"))])
    }))
}

fn chains(count: u64) -> Batch {
    in_turn(wide(count, |number| {
        said(("openinference.span.kind", "CHAIN"), &[("input.value", format!("x{number}"))])
    }))
}

#[test]
fn calls_without_a_root() {
    grows_evenly(|count| alone(calls(count)));
}

#[test]
fn agents_without_a_root() {
    grows_evenly(|count| alone(agents(count)));
}

#[test]
fn unnamed_agents_without_a_root() {
    grows_evenly(|count| alone(unnamed_agents(count)));
}

#[test]
fn tools_without_a_root() {
    grows_evenly(|count| alone(tools(count)));
}

#[test]
fn searches_without_a_root() {
    grows_evenly(|count| alone(searches(count)));
}

#[test]
fn chains_without_a_root() {
    grows_evenly(|count| alone(chains(count)));
}

#[test]
fn calls_whose_parents_never_came() {
    grows_evenly(|count| orphans(calls(count)));
}

#[test]
fn agents_whose_parents_never_came() {
    grows_evenly(|count| orphans(agents(count)));
}

#[test]
fn tools_whose_parents_never_came() {
    grows_evenly(|count| orphans(tools(count)));
}

#[test]
fn spans_of_all_kinds_whose_parents_never_came() {
    grows_evenly(|count| {
        let each = [calls, agents, unnamed_agents, tools, searches, chains];
        let mut spans: Vec<_> = each.iter().flat_map(|make| make(count / 6).0).collect();
        for (number, span) in spans.iter_mut().enumerate() {
            span.span_id = spanbridge::span::SpanId::from_bytes(&(number as u64 + 1).to_be_bytes()).unwrap();
        }
        orphans((spans, Vec::new()))
    });
}

#[test]
fn calls_that_overlap() {
    grows_evenly(|count| {
        wide(count, |number| {
            said(CHAT, &[("gen_ai.output.messages", answer(&format!("x{number}")))])
        })
    });
}

/// Two instrumentations in turn, without words, all at one time.
fn of_two_instrumentations((mut spans, logs): Batch) -> Batch {
    for (number, span) in spans.iter_mut().enumerate().skip(1) {
        span.scope = std::sync::Arc::new(spanbridge::span::Scope {
            name: format!("i{}", number % 2),
            ..Default::default()
        });
    }
    (spans, logs)
}

#[test]
fn calls_of_two_instrumentations_that_overlap() {
    grows_evenly(|count| {
        of_two_instrumentations(at_once(wide(count, |number| {
            said(CHAT, &[("gen_ai.response.id", format!("r{number}"))])
        })))
    });
}

#[test]
fn calls_of_two_instrumentations_that_overlap_and_speak() {
    grows_evenly(|count| {
        of_two_instrumentations(at_once(wide(count, |number| {
            said(CHAT, &[("gen_ai.output.messages", answer(&format!("x{number}")))])
        })))
    });
}

#[test]
fn calls_of_two_instrumentations_one_of_which_speaks() {
    grows_evenly(|count| {
        of_two_instrumentations(at_once(wide(count, |number| match number % 2 {
            0 => said(CHAT, &[("gen_ai.response.id", format!("r{number}"))]),
            _ => said(
                CHAT,
                &[
                    ("gen_ai.response.id", format!("r{number}")),
                    ("gen_ai.output.messages", answer(&format!("x{number}"))),
                ],
            ),
        })))
    });
}

#[test]
fn calls_of_two_instrumentations_whose_times_cross() {
    grows_evenly(|count| {
        let (mut spans, logs) = of_two_instrumentations(wide(count, |_| said(CHAT, &[("gen_ai.request.model", "m".to_owned())])));
        for (number, span) in spans.iter_mut().enumerate().skip(1) {
            span.end = UnixNanos(span.start.0 + 1_000_000_000_000 + number as u64);
        }
        (spans, logs)
    });
}

#[test]
fn calls_inside_one_call() {
    grows_evenly(|count| {
        let (mut spans, logs) = wide(count, |number| {
            said(CHAT, &[("gen_ai.output.messages", answer(&format!("x{number}")))])
        });
        spans[0] = {
            let mut outer = spans[0].clone();
            outer.attributes = [("gen_ai.operation.name".to_owned(), "chat".into())].into_iter().collect();
            outer
        };
        (spans, logs)
    });
}

#[test]
fn one_response_in_many_spans() {
    grows_evenly(|count| wide(count, |_| said(CHAT, &[("gen_ai.response.id", "r".to_owned())])));
}

#[test]
fn judged_spans() {
    grows_evenly(|count| {
        wide(count, |number| {
            said(
                CHAT,
                &[
                    ("gen_ai.output.messages", answer(&format!("x{number}"))),
                    ("spanbridge.reward", "0.5".to_owned()),
                ],
            )
        })
    });
}

#[test]
fn judgements_of_spans_without_words() {
    grows_evenly(|count| {
        chain(count, |number| {
            said(
                ("openinference.span.kind", "EVALUATOR"),
                &[("spanbridge.reward", format!("0.{number}"))],
            )
        })
    });
}

#[test]
fn prompts_and_states() {
    grows_evenly(|count| {
        wide(count, |number| match number % 3 {
            0 => said(("step_type", "prompt"), &[("prompt_id", format!("p{number}"))]),
            1 => said(
                ("step_type", "state_change"),
                &[("state_key", format!("s{number}")), ("new_value", "v".to_owned())],
            ),
            _ => said(CHAT, &[("gen_ai.output.messages", answer(&format!("x{number}")))]),
        })
    });
}

#[test]
fn memories_and_final_outputs() {
    grows_evenly(|count| {
        wide(count, |number| match number % 3 {
            0 => said(("step_type", "memory_write"), &[("data", format!("{{\"n\":{number}}}"))]),
            1 => said(("step_type", "memory_read"), &[("query", format!("q{number}"))]),
            _ => said(("step_type", "final_output"), &[("content", format!("f{number}"))]),
        })
    });
}

#[test]
fn guardrails_and_embeddings_around_nothing() {
    grows_evenly(|count| {
        wide(count, |number| match number % 2 {
            0 => said(("openinference.span.kind", "GUARDRAIL"), &[("output.value", format!("g{number}"))]),
            _ => said(("openinference.span.kind", "EMBEDDING"), &[("input.value", format!("e{number}"))]),
        })
    });
}

#[test]
fn failed_spans_in_failed_spans() {
    grows_evenly(|count| {
        let (mut spans, logs) = chain(count, |number| match number % 3 {
            0 => said(AGENT, &[("gen_ai.agent.name", format!("a{number}"))]),
            1 => said(TOOL, &[("gen_ai.tool.name", format!("t{number}"))]),
            _ => said(CHAT, &[]),
        });
        for span in &mut spans {
            span.status = spanbridge::span::Status {
                code: 2,
                message: "failed".to_owned(),
            };
        }
        (spans, logs)
    });
}

#[test]
fn a_session_of_many_traces() {
    grows_evenly(|count| {
        let (mut spans, logs) = wide(count, |number| {
            said(
                CHAT,
                &[
                    ("session.id", "s".to_owned()),
                    ("gen_ai.output.messages", answer(&format!("x{number}"))),
                ],
            )
        });
        for (number, span) in spans.iter_mut().enumerate() {
            span.trace_id = TraceId::from_bytes(&(number as u128 + 1).to_be_bytes()).unwrap();
            span.parent = None;
        }
        (spans, logs)
    });
}

#[test]
fn spans_with_one_id() {
    grows_evenly(|count| {
        let (mut spans, logs) = wide(count, |number| {
            said(CHAT, &[("gen_ai.output.messages", answer(&format!("x{number}")))])
        });
        for span in spans.iter_mut().skip(1) {
            span.span_id = spanbridge::span::SpanId::from_bytes(&7u64.to_be_bytes()).unwrap();
        }
        (spans, logs)
    });
}
