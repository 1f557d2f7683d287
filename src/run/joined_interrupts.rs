//! Interrupts across traces: a graph stops in one and continues, with a person's answer, in a later one of its session.

use std::collections::VecDeque;

use super::id::StepId;
use super::model::Run;
use crate::hash::HashMap;
use crate::operation::Kind;
use crate::span::UnixNanos;

/// An interrupt without an answer so far.
struct OpenInterrupt {
    run: usize,
    step: StepId,
    at: UnixNanos,
}

/// Gives each question its answer, and both the wait between them. Runs must be ordered by start. The question stays in its own
/// trace.
pub(super) fn join(runs: &mut [Run]) {
    let mut open: HashMap<String, VecDeque<OpenInterrupt>> = HashMap::default();
    for place in 0..runs.len() {
        let Some(session) = runs.get(place).and_then(|run| run.session_id.clone()) else {
            continue;
        };
        for (step, at, is_answer) in interrupts(runs, place) {
            let of_session = open.entry(session.clone()).or_default();
            if !is_answer {
                of_session.push_back(OpenInterrupt { run: place, step, at });
            } else if of_session.front().is_some_and(|asked| asked.run != place && asked.at <= at)
                && let Some(asked) = of_session.pop_front()
            {
                settle(runs, &asked, (place, step), at.millis_since(asked.at));
            }
        }
    }
}

/// The interrupts of a run that lack one half, and whether the question is missing.
fn interrupts(runs: &[Run], place: usize) -> Vec<(StepId, UnixNanos, bool)> {
    let steps = runs.get(place).into_iter().flat_map(|run| run.steps.enumerate());
    let lacking = steps.filter_map(|(id, step)| {
        let interrupt = step
            .operation
            .interrupt
            .as_deref()
            .filter(|_| step.operation.kind == Kind::Interrupt)?;
        match (&interrupt.prompt, &interrupt.response) {
            (Some(_), None) => Some((id, step.end_or_start(), false)),
            (None, Some(_)) => Some((id, step.started_at, true)),
            _ => None,
        }
    });
    lacking.collect()
}

fn settle(runs: &mut [Run], asked: &OpenInterrupt, (answering, answer): (usize, StepId), wait: u64) {
    let interrupt = |runs: &[Run], run: usize, step: StepId| runs.get(run)?.steps.get(step)?.operation.interrupt.clone();
    let Some(response) = interrupt(runs, answering, answer) else {
        return;
    };
    for (run, step) in [(asked.run, asked.step), (answering, answer)] {
        let step = runs.get_mut(run).and_then(|run| run.steps.get_mut(step));
        if let Some(interrupt) = step.and_then(|step| step.operation.interrupt.as_mut()) {
            interrupt.response = interrupt.response.take().or_else(|| response.response.clone());
            interrupt.wait_ms = Some(wait);
        }
    }
}
