//! Determines the prompt of each node, and the prompt to optimise.

use crate::document::choice::Options;
use crate::document::json::Text;
use crate::document::loss::{Loss, LossReason};
use crate::hash::HashMap;
use crate::operation::{Kind, Prompt, Role};
use crate::run::{IdVec, Run, ScopeId, Step, StepId};
use crate::transcript::content;

/// Prompt ids of steps in causal order: a fetched prompt belongs to the next model call of the same agent.
#[derive(Default)]
pub(super) struct Prompts<'a> {
    fetched: HashMap<ScopeId, Text<'a>>,
}

impl<'a> Prompts<'a> {
    /// The prompt id of the next step.
    pub(super) fn of(&mut self, step: &'a Step, options: &Options) -> Option<Text<'a>> {
        let prompt = &step.operation.prompt;
        let named = prompt.id.as_deref().filter(|id| !id.trim().is_empty()).map(Text::from);
        if step.operation.kind == Kind::Prompt {
            if let Some(id) = named.or_else(|| by_template(prompt)) {
                self.fetched.insert(step.scope, id);
            }
            return None;
        }
        if !matches!(step.operation.kind, Kind::Llm | Kind::Decision) {
            return named;
        }
        let fetched = self.fetched.remove(&step.scope);
        let by_system = || options.is("reflex.prompt_id", "system").then(|| by_system(step)).flatten();
        named.or(fetched).or_else(|| by_template(prompt)).or_else(by_system)
    }
}

fn by_template(prompt: &Prompt) -> Option<Text<'_>> {
    let template = prompt.template.as_deref().filter(|template| !template.trim().is_empty())?;
    Some(format!("template-{:016x}", hash(template)).into())
}

/// An id derived from a model call's system message.
fn by_system<'a>(step: &Step) -> Option<Text<'a>> {
    let messages = step.operation.input_messages.as_deref()?;
    let system = messages
        .iter()
        .find(|message| matches!(message.role, Role::System | Role::Developer))?;
    let words = content::content(system);
    (!words.trim().is_empty()).then(|| format!("system-{:016x}", hash(words.trim())).into())
}

/// FNV-1a, which is stable across machines and versions.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The prompt to optimise, on all nodes that use it: the option's, else the first that spans mark.
pub(super) fn target<'a>(
    run: &Run,
    nodes: &[(StepId, Option<Text<'a>>)],
    ids: &IdVec<StepId, Text<'a>>,
    options: &Options,
    losses: &mut Vec<Loss>,
) -> Option<Text<'a>> {
    if let Some(chosen) = options.get("reflex.optimize") {
        if !nodes.iter().any(|(_, prompt)| prompt.as_deref() == Some(chosen)) {
            let what = format!("reflex.optimize={chosen}: no node has this prompt");
            losses.push(Loss::new(None, what, LossReason::NoPlace));
        }
        return Some(chosen.to_owned().into());
    }
    let mut target: Option<Text<'a>> = None;
    for (index, prompt) in nodes {
        let Some(step) = run.steps.get(*index).filter(|step| step.operation.training.optimize == Some(true)) else {
            continue;
        };
        let reason = match (prompt, &target) {
            (None, _) => LossReason::NoPlace,
            (Some(prompt), Some(target)) if prompt != target => LossReason::Ambiguous,
            _ => {
                target.clone_from(prompt);
                continue;
            }
        };
        let id = ids.get(*index).cloned().unwrap_or_default();
        losses.push(Loss::new(step.span_id, format!("nodes[{id}].optimize"), reason));
    }
    target
}
