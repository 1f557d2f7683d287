//! Facts in the turns of a run, to recognise operations without a turn that only repeat them.

use std::cell::OnceCell;

use crate::hash::{HashMap, HashSet};
use crate::operation::{Form, Recorded, ToolDefinition};
use crate::run::{IdVec, Run, ScopeId, Step, Utterance};
use crate::transcript::calls;
use crate::transcript::conversation_words::ConversationWords;

/// Maximum number of definitions distinguished per tool: a client that records a different one for each call would make the cost
/// quadratic.
const MAX_DEFINITIONS: usize = 16;

/// The facts in the turns of a run, collected when an operation first needs it.
pub(crate) struct TurnFacts<'a> {
    pub(crate) run: &'a Run,
    words: OnceCell<ConversationWords<'a>>,
    of_model_calls: OnceCell<ModelCalls<'a>>,
    /// For each scope, whether it has a model call.
    speaks: OnceCell<IdVec<ScopeId, bool>>,
}

/// The facts of a run's model calls.
#[derive(Default)]
struct ModelCalls<'a> {
    agents: HashSet<&'a str>,
    models: HashSet<&'a str>,
    tools: HashMap<&'a str, Vec<&'a ToolDefinition>>,
}

impl<'a> TurnFacts<'a> {
    pub(crate) fn of(run: &'a Run) -> Self {
        Self {
            run,
            words: OnceCell::new(),
            of_model_calls: OnceCell::new(),
            speaks: OnceCell::new(),
        }
    }

    /// Whether this scope has a model call.
    pub(crate) fn speaks(&self, scope: ScopeId) -> bool {
        let of_scopes = self.speaks.get_or_init(|| {
            let mut speaks = IdVec::filled(false, self.run.scopes.len());
            for step in self.run.steps.iter().filter(|step| crate::transcript::is_model_call(step)) {
                speaks.set(step.scope, true);
            }
            speaks
        });
        of_scopes.is_set(scope)
    }

    /// Whether a model call of the run also has this fact of an operation, by its name in
    /// [`facts::all`](crate::transcript::facts::all).
    pub(crate) fn contains(&self, fact: &str, step: &Step) -> bool {
        match fact {
            "agent" => agent(self.run, step).is_some_and(|name| self.model_calls().agents.contains(name)),
            "model" => step
                .operation
                .model
                .name()
                .is_some_and(|name| self.model_calls().models.contains(name)),
            "tool_definitions" => {
                let tools = &self.model_calls().tools;
                let is_written = |tool: &ToolDefinition| tools.get(tool.name.as_str()).is_some_and(|known| known.contains(&tool));
                step.operation.tool_definitions.iter().all(is_written)
            }
            "tool_call_id" => calls::asked(self.run, step).is_some_and(|call| call.id.as_deref() == calls::call_id(self.run, step)),
            _ => false,
        }
    }

    /// Descriptions of facts of an agent or a chain that no turn contains.
    pub(crate) fn unwritten(&self, step: &Step) -> Option<&'static str> {
        let operation = &step.operation;
        // Most agents just have the run's question and answer, so the texts of all turns are not needed.
        let (question, answer) = (self.run.question.as_ref(), self.run.answer.as_ref());
        let has_messages = operation.input_messages.is_some() || operation.output_messages.is_some();
        if !has_messages && repeats(&operation.input, question) && repeats(&operation.output, answer) {
            return None;
        }
        self.words.get_or_init(|| ConversationWords::of(self.run)).unwritten(operation)
    }

    fn model_calls(&self) -> &ModelCalls<'a> {
        self.of_model_calls.get_or_init(|| {
            let mut out = ModelCalls::default();
            for step in self.run.steps.iter().filter(|step| crate::transcript::is_model_call(step)) {
                out.agents.extend(agent(self.run, step));
                out.models.extend(step.operation.model.name());
                for tool in &step.operation.tool_definitions {
                    let known = out.tools.entry(&tool.name).or_default();
                    if known.len() < MAX_DEFINITIONS && !known.contains(&tool) {
                        known.push(tool);
                    }
                }
            }
            out
        })
    }
}

/// Whether a recorded value is only this text.
fn repeats(recorded: &Recorded, words: Option<&Utterance>) -> bool {
    match recorded.form() {
        None => true,
        Some(Form::Value(value)) => words.is_some_and(|words| words.content == *value),
        Some(Form::Text(_)) => false,
    }
}

/// The agent that the operation belongs to.
pub(crate) fn agent<'a>(run: &'a Run, step: &'a Step) -> Option<&'a str> {
    let of_scope = || run.scopes.get(step.scope)?.agent.as_deref();
    step.operation.agent.name.as_deref().or_else(of_scope)
}
