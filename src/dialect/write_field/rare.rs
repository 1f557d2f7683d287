//! Fields that few operations have.

use serde_json::Value;

use super::OperationBuilder;
use super::slot::{count, flag, number, set, text};
use crate::dialect::rule::Field;
use crate::operation::{Interrupt, Memory, ResourceImpact, StateChange};

impl OperationBuilder<'_> {
    pub(super) fn training(&mut self, field: Field, value: &mut Value) -> bool {
        let training = &mut self.operation.training;
        match field {
            Field::Reward => number(&mut training.reward, value),
            Field::Terminated => flag(&mut training.terminated, value),
            Field::Truncated => flag(&mut training.truncated, value),
            Field::PromptTokenIds => set(&mut training.prompt_token_ids, std::mem::take(value)),
            Field::CompletionTokenIds => set(&mut training.completion_token_ids, std::mem::take(value)),
            Field::Logprobs => set(&mut training.logprobs, std::mem::take(value)),
            Field::Optimize => flag(&mut training.optimize, value),
            Field::Ideal => set(&mut training.ideal, std::mem::take(value)),
            Field::Step => {
                training.step = value.as_i64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
                training.step.is_some()
            }
            _ => false,
        }
    }

    pub(super) fn changes(&mut self, field: Field, value: &mut Value) -> bool {
        match field {
            Field::StateKey => text(&mut self.state().key, value),
            Field::StateOldValue => set(&mut self.state().old_value, std::mem::take(value)),
            Field::StateNewValue => set(&mut self.state().new_value, std::mem::take(value)),
            Field::StateReason => text(&mut self.state().reason, value),
            Field::InterruptPrompt => text(&mut self.interrupt().prompt, value),
            Field::InterruptResponse => set(&mut self.interrupt().response, std::mem::take(value)),
            Field::InterruptWait => count(&mut self.interrupt().wait_ms, value),
            Field::ResourceAmount => number(&mut self.impact().amount, value),
            Field::ResourceUnit => text(&mut self.impact().unit, value),
            Field::ResourceBreakdown => set(&mut self.impact().breakdown, std::mem::take(value)),
            Field::MemoryEntityType => text(&mut self.memory().entity_type, value),
            Field::MemoryEntityId => text(&mut self.memory().entity_id, value),
            Field::MemoryNamespace => set(&mut self.memory().namespace, std::mem::take(value)),
            Field::MemoryKey => text(&mut self.memory().key, value),
            Field::MemoryOperation => text(&mut self.memory().operation, value),
            Field::MemoryData => set(&mut self.memory().data, std::mem::take(value)),
            Field::MemoryChanges => set(&mut self.memory().changes, std::mem::take(value)),
            Field::MemoryQuery => set(&mut self.memory().query, std::mem::take(value)),
            Field::MemoryResults => set(&mut self.memory().results, std::mem::take(value)),
            Field::MemoryScores => set(&mut self.memory().scores, std::mem::take(value)),
            Field::MemoryTotalAvailable => {
                let memory = self.memory();
                memory.total_available = value.as_i64();
                memory.total_available.is_some()
            }
            _ => false,
        }
    }

    fn state(&mut self) -> &mut StateChange {
        self.operation.state.get_or_insert_default()
    }

    fn memory(&mut self) -> &mut Memory {
        self.operation.memory.get_or_insert_default()
    }

    fn interrupt(&mut self) -> &mut Interrupt {
        self.operation.interrupt.get_or_insert_default()
    }

    fn impact(&mut self) -> &mut ResourceImpact {
        self.operation.resource_impact.get_or_insert_default()
    }
}
