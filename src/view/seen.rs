//! The input of one model call: its parts with their sizes, and what changed since the previous call.

use std::borrow::Cow;

use super::compare::{Effort, PromptChange, prompt_changes};
use super::turns;
use crate::operation::{Kind, Message, Role};
use crate::run::{Run, Step, StepId};
use crate::transcript::{calls, content};

/// The parts of a call's input, in display order.
pub(crate) const PARTS: [&str; 5] = ["system", "tools", "history", "results", "new words"];

/// The input of one model call.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    /// The system prompt.
    pub(crate) system: Vec<Cow<'a, str>>,
    /// Bytes of each of [`PARTS`].
    pub(crate) bytes: [usize; 5],
    /// The previous call of the same agent.
    pub(crate) before: Option<Before<'a>>,
}

/// How a call compares with the previous one.
#[derive(Debug)]
pub(crate) struct Before<'a> {
    /// The previous call.
    pub(crate) step: &'a Step,
    /// How the system prompt, tools and parameters differ.
    pub(crate) changes: Vec<PromptChange>,
    /// Number of messages that the previous call had, and of new ones.
    pub(crate) messages: (usize, usize),
}

impl<'a> Seen<'a> {
    /// For a model call.
    pub(crate) fn of(run: &'a Run, id: StepId, step: &'a Step, effort: &mut Effort<'_>) -> Self {
        let input = step.operation.input_messages.as_deref().unwrap_or_default();
        let earlier = run.steps.enumerate().take_while(|(other, _)| *other < id);
        let earlier = earlier.filter(|(_, other)| other.scope == step.scope && other.operation.kind == Kind::Llm);
        let last = earlier.map(|(_, other)| other).last();
        let turn = last.map(|last| turns::between(last, step));
        let mut seen = Self {
            system: Vec::new(),
            bytes: [0; 5],
            before: None,
        };
        let [system, tools, history, results, new] = &mut seen.bytes;
        let (mut had, mut came) = (0, 0);
        for (at, message) in input.iter().enumerate() {
            let size = size(message);
            let is_known = turn.as_ref().is_some_and(|turn| turn.has_before(at));
            *(if is_known { &mut had } else { &mut came }) += 1;
            match message.role {
                Role::System | Role::Developer => {
                    seen.system.push(content::content(message));
                    *system += size;
                }
                _ if is_known => *history += size,
                Role::Tool => *results += size,
                _ if message.result.is_some() => *results += size,
                _ => *new += size,
            }
        }
        for tool in &step.operation.tool_definitions {
            let schema = tool.parameters.as_ref().map_or(0, |schema| schema.to_string().len());
            *tools += tool.name.len() + tool.description.as_deref().map_or(0, str::len) + schema;
        }
        seen.before = last.map(|last| Before {
            step: last,
            changes: prompt_changes(&last.operation, &step.operation, effort),
            messages: (had, came),
        });
        seen
    }

    /// The share of each part, in thousandths.
    pub(crate) fn shares(&self) -> [usize; 5] {
        let all = self.bytes.iter().sum::<usize>().max(1);
        self.bytes.map(|bytes| bytes.saturating_mul(1_000) / all)
    }
}

/// Size of a message's content.
fn size(message: &Message) -> usize {
    let result = message.result.as_ref().map_or(0, |result| content::text(result).len());
    let asked = message
        .tool_calls
        .iter()
        .map(|call| call.name.len() + calls::arguments_json(call).len());
    content::content(message).len() + result + asked.sum::<usize>()
}
