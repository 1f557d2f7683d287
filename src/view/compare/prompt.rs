//! Compares the input of two model calls: system prompt, tools, parameters, and new messages.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use super::words::{Effort, Piece, differences};
use crate::hash::HashMap;
use crate::operation::{Message, Operation, Role};
use crate::run::{Run, StepId};
use crate::transcript::{calls, content};
use crate::view::turns;

/// A change of model calls' input. Most changes affect every call of an agent: each is listed once.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PromptChange {
    /// `system prompt`, `tools` or `parameters`.
    pub(crate) of: &'static str,
    /// The parts of both texts.
    pub(crate) words: Vec<Piece>,
    /// Number of pairs of calls with this change.
    pub(crate) calls: u64,
}

/// Input of one model call.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Prompt<'a> {
    system: Cow<'a, str>,
    tools: BTreeMap<Cow<'a, str>, String>,
    parameters: BTreeMap<Cow<'a, str>, String>,
    /// Messages that no earlier call of the agent received or produced.
    new: String,
}

/// Input of each model call of a run.
pub(super) fn of_calls(run: &Run) -> HashMap<StepId, Prompt<'_>> {
    let calls = turns::of(run).into_iter().flat_map(|turns| turns.calls);
    let prompts = calls.filter_map(|turn| {
        let operation = &run.steps.get(turn.step)?.operation;
        let input = operation.input_messages.as_deref().unwrap_or_default();
        Some((turn.step, Prompt::of(operation, input, turn.added(input))))
    });
    prompts.collect()
}

/// How the system prompts, tools and parameters of two model calls differ.
pub(crate) fn prompt_changes(left: &Operation, right: &Operation, effort: &mut Effort<'_>) -> Vec<PromptChange> {
    let [left, right] = [left, right].map(|operation| {
        let input = operation.input_messages.as_deref().unwrap_or_default();
        Prompt::of(operation, input, std::iter::empty())
    });
    let mut changes = Changes::default();
    let _ = changes.between(&left, &right, effort);
    changes.found
}

impl<'a> Prompt<'a> {
    fn of(operation: &'a Operation, input: &'a [Message], new: impl Iterator<Item = &'a Message>) -> Self {
        let is_system = |message: &&Message| matches!(message.role, Role::System | Role::Developer);
        let mut system = input.iter().filter(is_system).map(content::content);
        let first = system.next().unwrap_or_default();
        let system = system.fold(first, |text, more| Cow::from(format!("{text}\n\n{more}")));
        let tools = operation.tool_definitions.iter().map(|tool| {
            let description = tool.description.as_deref().unwrap_or_default();
            let parameters = tool.parameters.as_ref().map(ToString::to_string).unwrap_or_default();
            (Cow::from(&tool.name), format!("{}: {description} {parameters}", tool.name))
        });
        // Clients also record the tools among the parameters.
        let is_tools = |name: &str| !operation.tool_definitions.is_empty() && matches!(name, "tools" | "functions");
        let parameters = operation.parameters.iter().filter(|(name, _)| !is_tools(name));
        Self {
            system,
            tools: tools.collect(),
            parameters: parameters
                .map(|(name, value)| (Cow::from(name), format!("{name}={value}")))
                .collect(),
            new: new.filter(|message| !is_system(message)).map(words).collect::<Vec<_>>().join("\n"),
        }
    }
}

impl Prompt<'_> {
    /// Input of a run's first model call, without its messages.
    pub(super) fn first_of(run: &Run) -> Option<Prompt<'static>> {
        let first = turns::of(run).into_iter().find_map(|turns| turns.calls.into_iter().next())?;
        let operation = &run.steps.get(first.step)?.operation;
        let input = operation.input_messages.as_deref().unwrap_or_default();
        let Prompt {
            system,
            tools,
            parameters,
            new,
        } = Prompt::of(operation, input, std::iter::empty());
        let owned = |of: BTreeMap<Cow<'_, str>, String>| of.into_iter().map(|(name, text)| (name.into_owned().into(), text)).collect();
        Some(Prompt {
            system: system.into_owned().into(),
            tools: owned(tools),
            parameters: owned(parameters),
            new,
        })
    }

    /// Estimated memory use.
    pub(super) fn bytes(&self) -> usize {
        let of = |of: &BTreeMap<Cow<'_, str>, String>| of.iter().map(|(name, text)| name.len() + text.len()).sum::<usize>();
        size_of::<Self>() + self.system.len() + of(&self.tools) + of(&self.parameters) + self.new.len()
    }
}

fn words(message: &Message) -> String {
    let mut words = format!("{}: {}", message.role.name(), content::content(message));
    if let Some(result) = &message.result {
        words.push_str(&content::text(result));
    }
    for call in &message.tool_calls {
        words.push_str(&format!(" {}({})", call.name, calls::arguments_json(call)));
    }
    words
}

/// For each side, the lines that the other lacks.
fn apart(left: &BTreeMap<Cow<'_, str>, String>, right: &BTreeMap<Cow<'_, str>, String>) -> (String, String) {
    let only = |of: &BTreeMap<Cow<'_, str>, String>, other: &BTreeMap<Cow<'_, str>, String>| {
        let lines = of.iter().filter(|(name, text)| other.get(*name) != Some(text));
        lines.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n")
    };
    (only(left, right), only(right, left))
}

/// The changes of all pairs of calls.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) found: Vec<PromptChange>,
    places: HashMap<(&'static str, String, String), Option<usize>>,
}

impl Changes {
    /// Indexes of the changes between two calls, and the differences of their new messages.
    pub(super) fn between(&mut self, left: &Prompt<'_>, right: &Prompt<'_>, effort: &mut Effort<'_>) -> (Vec<usize>, Option<Vec<Piece>>) {
        let tools = apart(&left.tools, &right.tools);
        let parameters = apart(&left.parameters, &right.parameters);
        let system = match left.system == right.system {
            true => Default::default(),
            false => (left.system.to_string(), right.system.to_string()),
        };
        let parts = [("system prompt", system), ("tools", tools), ("parameters", parameters)];
        let places = parts
            .into_iter()
            .filter_map(|(of, (one, other))| self.place(of, one, other, effort));
        (places.collect(), differences(&left.new, &right.new, effort))
    }

    fn place(&mut self, of: &'static str, one: String, other: String, effort: &mut Effort<'_>) -> Option<usize> {
        let found = &mut self.found;
        let place = self.places.entry((of, one, other)).or_insert_with_key(|(of, one, other)| {
            let words = differences(one, other, effort)?;
            found.push(PromptChange { of, words, calls: 0 });
            Some(found.len() - 1)
        });
        if let Some(change) = place.and_then(|place| found.get_mut(place)) {
            change.calls += 1;
        }
        *place
    }
}
