//! What names a step and a scope of a run: a place in one list cannot be taken for a place in another.

use crate::run::{Run, Step};

/// A step of a run, by its place in [`Run::steps`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StepId(usize);

/// A scope of a run, by its place in [`Run::scopes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ScopeId(usize);

/// A tool call, by the model call that asked for it and its place in that call's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallPlace {
    /// The model call.
    pub(crate) caller: StepId,
    /// The place among the calls of its output, from 0.
    pub(crate) index: usize,
}

impl StepId {
    /// The step at this place.
    pub(crate) const fn new(index: usize) -> Self {
        Self(index)
    }

    /// The place in [`Run::steps`].
    pub(crate) const fn index(self) -> usize {
        self.0
    }

    /// The step; `None` if the run has no such step.
    pub(crate) fn of(self, run: &Run) -> Option<&Step> {
        run.steps.get(self.0)
    }
}

impl ScopeId {
    /// The scope at this place.
    pub(crate) const fn new(index: usize) -> Self {
        Self(index)
    }

    /// The place in [`Run::scopes`].
    pub(crate) const fn index(self) -> usize {
        self.0
    }
}

impl CallPlace {
    /// The call that a tool's step ran.
    pub(crate) fn of_tool(tool: &Step) -> Option<Self> {
        let (caller, index) = tool.dispatched_by.zip(tool.call_index)?;
        Some(Self {
            caller: StepId(caller),
            index,
        })
    }
}
