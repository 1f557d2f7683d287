//! Determines the turn of an operation, and who acts in it.

use std::ops::Range;

use crate::hash::HashMap;
use crate::operation::Kind;
use crate::run::{IdVec, Run, ScopeId, Step, StepId};

/// The turns of a run: one per model call, in causal order. A run without model calls is one turn.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// The turn of each step.
    of_step: IdVec<StepId, usize>,
    /// The number of turns.
    pub(super) count: usize,
    /// Prefixes of systems' names, for agents below the outermost.
    prefixes: IdVec<ScopeId, String>,
    /// For each step, its range in depth-first order: itself, then its descendants.
    within: IdVec<StepId, Range<usize>>,
    /// The index in that order of each model call, and its turn.
    entries: Vec<(usize, usize)>,
}

impl Turns {
    pub(super) fn of(run: &Run) -> Self {
        let models: Vec<StepId> = run
            .steps
            .enumerate()
            .filter(|(_, step)| step.operation.kind == Kind::Llm)
            .map(|(index, _)| index)
            .collect();
        let number: HashMap<StepId, usize> = models.iter().enumerate().map(|(turn, step)| (*step, turn)).collect();
        let of_step = of_steps(run, &models, &number);
        let within = within(run);
        let entry = |(turn, model): (usize, &StepId)| Some((within.get(*model)?.start, turn));
        let mut entries: Vec<(usize, usize)> = models.iter().enumerate().filter_map(entry).collect();
        entries.sort_unstable();
        Self {
            within,
            entries,
            of_step,
            count: models.len().max(1),
            prefixes: prefixes(run),
        }
    }

    /// The turns of the model calls below a step.
    pub(super) fn below(&self, step: StepId) -> Vec<usize> {
        let Some(within) = self.within.get(step) else { return Vec::new() };
        let first = self.entries.partition_point(|(place, _)| *place <= within.start);
        let entries = self.entries.iter().skip(first).take_while(|(place, _)| *place < within.end);
        let mut turns: Vec<usize> = entries.map(|(_, turn)| *turn).collect();
        turns.sort_unstable();
        turns
    }

    pub(super) fn turn(&self, step: Option<StepId>) -> usize {
        step.and_then(|step| self.of_step.get(step)).copied().unwrap_or(0)
    }

    /// `<agent>/llm:openai` inside a sub-agent, `llm:openai` outside.
    pub(super) fn system(&self, step: &Step, name: &str) -> String {
        let prefix = self.prefixes.get(step.scope).map_or("", String::as_str);
        format!("{prefix}{name}")
    }

    pub(super) fn last(&self) -> usize {
        self.count.saturating_sub(1)
    }
}

/// Depth-first ranges: each step's range covers itself and its descendants.
fn within(run: &Run) -> IdVec<StepId, Range<usize>> {
    let mut children: IdVec<StepId, Vec<StepId>> = IdVec::filled(Vec::new(), run.steps.len());
    let mut open: Vec<(StepId, bool)> = Vec::new();
    for (at, step) in run.steps.enumerate() {
        match step.parent.and_then(|above| children.get_mut(above)) {
            Some(list) => list.push(at),
            None => open.push((at, false)),
        }
    }
    let mut within = IdVec::filled(0..0, run.steps.len());
    let mut next = 0;
    while let Some((at, left)) = open.pop() {
        let Some(range) = within.get_mut(at) else { continue };
        if left {
            range.end = next;
            continue;
        }
        *range = next..next;
        next += 1;
        open.push((at, true));
        open.extend(children.get(at).into_iter().flatten().map(|child| (*child, false)));
    }
    within
}

/// The turn of each step: of the model call that requested it, the enclosing tool or the nearest parent, else the latest
/// earlier turn of its scope.
fn of_steps(run: &Run, models: &[StepId], number: &HashMap<StepId, usize>) -> IdVec<StepId, usize> {
    let mut of_scope: HashMap<ScopeId, Vec<StepId>> = HashMap::default();
    for model in models {
        if let Some(step) = run.steps.get(*model) {
            of_scope.entry(step.scope).or_default().push(*model);
        }
    }
    let above = turns_above(run, number);
    run.steps
        .iter()
        .zip(above)
        .map(|(step, above)| {
            // Model calls are ordered by start.
            let begins_before = |model: &StepId| run.steps.get(*model).is_some_and(|model| model.started_at <= step.started_at);
            let before = |list: &[StepId]| list.get(..list.partition_point(begins_before)).and_then(<[StepId]>::last).copied();
            let own = of_scope.get(&step.scope).map_or(&[][..], Vec::as_slice);
            let nearest = || before(own).or_else(|| own.first().copied()).or_else(|| before(models));
            above.or_else(|| number.get(&nearest()?).copied()).unwrap_or(0)
        })
        .collect()
}

/// For each step, the turn of the nearest step above that has one, searching only within its agent.
fn turns_above(run: &Run, number: &HashMap<StepId, usize>) -> IdVec<StepId, Option<usize>> {
    let mut known: IdVec<StepId, Option<Option<usize>>> = IdVec::filled(None, run.steps.len());
    for start in known.ids() {
        let mut way = Vec::new();
        let mut at = Some(start);
        let mut found = None;
        while let Some((here, step)) = at.and_then(|at| Some((at, run.steps.get(at)?))) {
            if let Some(before) = known.known(here) {
                found = before;
                break;
            }
            if let Some(slot) = known.get_mut(here) {
                // A cycle leads to no turn.
                *slot = Some(None);
            }
            way.push(here);
            found = number.get(&here).or_else(|| number.get(&step.dispatched_by?)).copied();
            if found.is_some() {
                break;
            }
            at = step.inside_tool.or(step.called_by).or(step.parent);
            let above = at.and_then(|at| run.steps.get(at));
            let leaves = above.is_some_and(|above| matches!(above.operation.kind, Kind::Agent | Kind::Chain));
            if leaves && step.inside_tool.is_none() {
                break;
            }
        }
        for here in way {
            if let Some(slot) = known.get_mut(here) {
                *slot = Some(found);
            }
        }
    }
    known.into_iter().map(Option::flatten).collect()
}

fn prefixes(run: &Run) -> IdVec<ScopeId, String> {
    let mut seen: HashMap<&str, usize> = HashMap::default();
    run.scopes
        .iter()
        .map(|scope| {
            let parent = scope.parent.and_then(|parent| run.scopes.get(parent));
            let Some(parent) = parent.filter(|parent| scope.called_by.is_some() || parent.agent != scope.agent) else {
                return String::new();
            };
            let name = scope.agent.as_deref().or(parent.agent.as_deref()).unwrap_or("agent");
            let number = seen.entry(name).or_default();
            *number += 1;
            if *number == 1 {
                format!("{name}/")
            } else {
                format!("{name}#{number}/")
            }
        })
        .collect()
}
