//! Identifies a tool call of a run by the model call that asked for it.

use crate::run::{Step, StepId};

/// A tool call, identified by the model call that asked for it and its index in that call's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallPlace {
    /// The model call.
    pub(crate) caller: StepId,
    /// The index among the calls of its output.
    pub(crate) index: usize,
}

impl CallPlace {
    /// The call that a tool's step ran.
    pub(crate) fn of_tool(tool: &Step) -> Option<Self> {
        let (caller, index) = tool.dispatched_by.zip(tool.call_index)?;
        Some(Self { caller, index })
    }
}
