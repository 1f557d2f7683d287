//! Which turn an operation belongs to, and who acts in it.

use std::collections::HashMap;

use crate::operation::Kind;
use crate::run::{Run, Step};

/// Turns of a run: one for each model call, in causal order. A run without any is one turn.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// For each step, its turn.
    of_step: Vec<usize>,
    /// How many there are.
    pub(super) count: usize,
    /// Before the name of a system: who acts, for agents below the outermost.
    prefixes: Vec<String>,
    /// For each step, the turns of the model calls below it.
    below: HashMap<usize, Vec<usize>>,
}

impl Turns {
    /// The turns of a run.
    pub(super) fn of(run: &Run) -> Self {
        let models: Vec<usize> = run
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| step.operation.kind == Kind::Llm)
            .map(|(index, _)| index)
            .collect();
        let number: HashMap<usize, usize> = models.iter().enumerate().map(|(turn, step)| (*step, turn)).collect();
        let of_step = (0..run.steps.len()).map(|index| turn(run, index, &models, &number)).collect();
        let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
        for (turn, model) in models.iter().enumerate() {
            let mut up = run.steps.get(*model).and_then(|step| step.parent);
            while let Some(above) = up {
                below.entry(above).or_default().push(turn);
                up = run.steps.get(above).and_then(|step| step.parent);
            }
        }
        Self {
            below,
            of_step,
            count: models.len().max(1),
            prefixes: prefixes(run),
        }
    }

    /// The turns of the model calls below a step.
    pub(super) fn below(&self, step: usize) -> &[usize] {
        self.below.get(&step).map_or(&[], Vec::as_slice)
    }

    /// The turn of a step.
    pub(super) fn turn(&self, step: Option<usize>) -> usize {
        step.and_then(|step| self.of_step.get(step)).copied().unwrap_or(0)
    }

    /// `<agent>/llm:openai` inside a sub-agent, `llm:openai` outside.
    pub(super) fn system(&self, step: &Step, name: &str) -> String {
        let prefix = self.prefixes.get(step.scope).map_or("", String::as_str);
        format!("{prefix}{name}")
    }

    /// The last turn.
    pub(super) fn last(&self) -> usize {
        self.count.saturating_sub(1)
    }
}

/// The model call that asked, that of the tool around, that of the nearest parent, else the latest before in the scope.
fn turn(run: &Run, index: usize, models: &[usize], number: &HashMap<usize, usize>) -> usize {
    let mut at = index;
    // As many steps up as there are: a cycle cannot hold us.
    for _ in 0..run.steps.len() {
        let Some(step) = run.steps.get(at) else { break };
        if let Some(turn) = number.get(&at).or_else(|| number.get(&step.dispatched_by?)) {
            return *turn;
        }
        match step.inside_tool.or(step.called_by).or(step.parent) {
            Some(above) => at = above,
            None => break,
        }
        if run
            .steps
            .get(at)
            .is_some_and(|above| matches!(above.operation.kind, Kind::Agent | Kind::Chain))
            && step.inside_tool.is_none()
        {
            break;
        }
    }
    let Some(step) = run.steps.get(index) else { return 0 };
    // Model calls stand by start.
    let behind = models.partition_point(|model| run.steps.get(*model).is_some_and(|model| model.started_at <= step.started_at));
    let before = |same_scope: bool| {
        let earlier = models.get(..behind).unwrap_or(&[]).iter().rev();
        let mut fitting = earlier.filter(|model| run.steps.get(**model).is_some_and(|model| !same_scope || model.scope == step.scope));
        fitting.next()
    };
    let after = || {
        models
            .iter()
            .find(|model| run.steps.get(**model).is_some_and(|model| model.scope == step.scope))
    };
    before(true)
        .or_else(after)
        .or_else(|| before(false))
        .and_then(|model| number.get(model))
        .copied()
        .unwrap_or(0)
}

fn prefixes(run: &Run) -> Vec<String> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
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
