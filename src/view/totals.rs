//! Calls, tokens and cost of a run, in total and by agent and model. Unrecorded values are `None`.

use std::fmt;

use super::{step, text};
use crate::hash::HashMap;
use crate::operation::{Kind, Operation, TokenCount};
use crate::run::{Run, Step};

/// Sums over operations.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Totals {
    /// Number of steps.
    pub(crate) steps: u64,
    /// Number of language model calls.
    pub(crate) model_calls: u64,
    /// Number of those calls that record no tokens.
    pub(crate) unmetered_calls: u64,
    /// Number of tool executions.
    pub(crate) tool_calls: u64,
    /// Number of failed operations.
    pub(crate) failures: u64,
    /// Tokens of model calls, including embedding and reranking models.
    pub(crate) tokens: TokenCount,
    /// Cost of model calls.
    pub(crate) cost: Option<Cost>,
    /// Nanoseconds in model calls and tools; parallel ones add up.
    pub(crate) busy_nanos: u64,
}

/// The totals of the steps of one agent or one model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Group<'a> {
    /// The agent or model; `None` if no span names it.
    pub(crate) name: Option<&'a str>,
    /// Its sums.
    pub(crate) totals: Totals,
}

/// Adds a value to a sum, if both are there.
pub(super) fn add<T: Copy>(sum: &mut Option<T>, value: Option<T>, plus: impl Fn(T, T) -> T) {
    *sum = match (*sum, value) {
        (Some(sum), Some(value)) => Some(plus(sum, value)),
        (sum, value) => sum.or(value),
    };
}

/// Whether an operation calls a model. Tokens on agents and chains repeat the calls below them.
fn calls_model(operation: &Operation) -> bool {
    matches!(operation.kind, Kind::Llm | Kind::Embedding | Kind::Rerank)
}

/// Input and output tokens of all model calls, using the recorded total of a call if there is one.
pub(crate) fn tokens(run: &Run) -> Option<u64> {
    let calls = run
        .steps
        .iter()
        .map(|step| &*step.operation)
        .filter(|operation| calls_model(operation));
    let agents = run.metered_agents().into_iter();
    calls.chain(agents).filter_map(|call| call.usage.sum()).reduce(u64::saturating_add)
}

/// A cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost {
    /// US dollars.
    pub(crate) dollars: f64,
    /// Whether part of it was computed from the user's prices rather than recorded.
    pub(crate) is_computed: bool,
}

impl Cost {
    /// Builds it from its parts.
    pub(crate) fn of(dollars: Option<f64>, is_computed: bool) -> Option<Self> {
        dollars.map(|dollars| Self { dollars, is_computed })
    }

    /// The sum of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            dollars: self.dollars + other.dollars,
            is_computed: self.is_computed || other.is_computed,
        }
    }
}

/// `$0.0315`; `~$0.0315` if computed.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_computed { "~" } else { "" }, text::dollars(self.dollars))
    }
}

/// The cost of a step.
pub(crate) fn cost(step: &Step) -> Option<Cost> {
    recorded(&step.operation).or_else(|| Cost::of(step.computed_cost, true))
}

fn recorded(operation: &Operation) -> Option<Cost> {
    let cost = &operation.cost;
    let mut parts = cost.input;
    add(&mut parts, cost.output, |one, other| one + other);
    Cost::of(cost.total.or(parts).filter(|amount| amount.is_finite()), false)
}

impl Totals {
    /// Totals over all steps. If no model call has a cost, the run's own step may.
    pub(crate) fn of(run: &Run) -> Self {
        let mut totals = Self::default();
        run.steps.iter().for_each(|step| totals.take(step));
        run.metered_agents()
            .into_iter()
            .for_each(|agent| totals.count(agent, recorded(agent)));
        let root = || run.steps.get(run.root?).and_then(cost);
        totals.cost = totals.cost.or_else(root);
        totals
    }

    /// Totals over several runs.
    pub(crate) fn of_all(runs: &[Run]) -> Self {
        let mut all = Self::default();
        runs.iter().for_each(|run| all.join(&Self::of(run)));
        all
    }

    /// Adds other totals.
    pub(crate) fn join(&mut self, more: &Self) {
        self.steps += more.steps;
        self.model_calls += more.model_calls;
        self.unmetered_calls += more.unmetered_calls;
        self.tool_calls += more.tool_calls;
        self.failures += more.failures;
        self.busy_nanos = self.busy_nanos.saturating_add(more.busy_nanos);
        self.tokens.add(&more.tokens);
        add(&mut self.cost, more.cost, Cost::plus);
    }

    fn take(&mut self, step: &Step) {
        let operation = &step.operation;
        self.steps += 1;
        self.failures += u64::from(operation.failure.is_some());
        let nanos = step.ended_at.map_or(0, |end| end.0.saturating_sub(step.started_at.0));
        if operation.kind == Kind::Tool {
            self.tool_calls += 1;
            self.busy_nanos = self.busy_nanos.saturating_add(nanos);
        }
        if !calls_model(operation) {
            return;
        }
        self.busy_nanos = self.busy_nanos.saturating_add(nanos);
        let usage = &operation.usage;
        if operation.kind == Kind::Llm {
            self.model_calls += 1;
            self.unmetered_calls += u64::from(usage.input.is_none() && usage.output.is_none() && usage.total.is_none());
        }
        self.count(operation, cost(step));
    }

    fn count(&mut self, operation: &Operation, cost: Option<Cost>) {
        self.tokens.add(&operation.usage);
        add(&mut self.cost, cost, Cost::plus);
    }
}

/// The totals of each active agent, in order of first steps.
pub(crate) fn by_agent(run: &Run) -> Vec<Group<'_>> {
    let is_work = |step: &&Step| calls_model(&step.operation) || step.operation.kind == Kind::Tool;
    groups(run.steps.iter().filter(is_work), |step| agent_of(run, step))
}

/// The totals of each model, in order of first calls.
pub(crate) fn by_model(run: &Run) -> Vec<Group<'_>> {
    let calls = run.steps.iter().filter(|step| calls_model(&step.operation));
    groups(calls, |step| step.operation.model.name())
}

/// The totals of each tool, in order of first steps.
pub(crate) fn by_tool(run: &Run) -> Vec<Group<'_>> {
    let tools = run.steps.iter().filter(|step| step.operation.kind == Kind::Tool);
    groups(tools, |step| Some(step::name(run, step)))
}

/// The totals of each kind of step.
pub(crate) fn by_kind(run: &Run) -> Vec<Group<'_>> {
    let shown = super::outline::rows(run).into_iter().filter_map(|row| run.steps.get(row.step));
    groups(shown, |step| Some(step.operation.kind.name()))
}

/// A grouping of a run's steps: its name, and the function that sums them up.
pub(crate) type By = (&'static str, fn(&Run) -> Vec<Group<'_>>);

/// All groupings.
pub(crate) const BY: [By; 4] = [("tool", by_tool), ("model", by_model), ("agent", by_agent), ("kind", by_kind)];

/// The agent that a step belongs to.
pub(crate) fn agent_of<'a>(run: &'a Run, step: &'a Step) -> Option<&'a str> {
    let of_scope = || run.scopes.get(step.scope)?.agent.as_deref();
    of_scope().or(step.operation.agent.name.as_deref())
}

fn groups<'a>(steps: impl Iterator<Item = &'a Step>, name: impl Fn(&'a Step) -> Option<&'a str>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut places: HashMap<Option<&str>, usize> = HashMap::default();
    for step in steps {
        let name = name(step);
        let place = *places.entry(name).or_insert_with(|| {
            let totals = Totals::default();
            groups.push(Group { name, totals });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(place) {
            group.totals.take(step);
        }
    }
    groups
}
