//! Which prompt a node used, and which prompt is to be optimised.

use super::document::{NodeKind, TraceNode};
use crate::document::choice::Options;
use crate::document::json::Text;
use crate::document::loss::{Loss, LossReason};
use crate::hash::HashMap;
use crate::operation::{Kind, Prompt, Role};
use crate::run::{Run, ScopeId, Step, StepId};
use crate::transcript::content;

/// Prompt ids of steps in causal order: a fetched prompt is the next model call's of the same agent.
#[derive(Default)]
pub(super) struct Prompts<'a> {
    fetched: HashMap<ScopeId, Text<'a>>,
}

impl<'a> Prompts<'a> {
    /// The prompt id of the next step.
    pub(super) fn of(&mut self, step: &'a Step, kind: NodeKind, options: &Options) -> Option<Text<'a>> {
        let prompt = &step.operation.prompt;
        let named = prompt.id.as_deref().filter(|id| !id.trim().is_empty()).map(Text::from);
        if step.operation.kind == Kind::Prompt {
            if let Some(id) = named.or_else(|| by_template(prompt)) {
                self.fetched.insert(step.scope, id);
            }
            return None;
        }
        if kind != NodeKind::Reason {
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

/// By the system message that a model call has.
fn by_system<'a>(step: &Step) -> Option<Text<'a>> {
    let messages = step.operation.input_messages.as_deref()?;
    let system = messages
        .iter()
        .find(|message| matches!(message.role, Role::System | Role::Developer))?;
    let words = content::content(system);
    (!words.trim().is_empty()).then(|| format!("system-{:016x}", hash(words.trim())).into())
}

/// FNV-1a: the same on every machine and in every version.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Marks the one prompt that is to be optimised on all nodes that use it: the option's, else the first that spans name.
pub(super) fn mark_target<'a>(run: &Run, nodes: &mut [(StepId, TraceNode<'a>)], options: &Options, losses: &mut Vec<Loss>) {
    let mut target: Option<Text<'a>> = options.get("reflex.optimize").map(|id| id.to_owned().into());
    let chosen = target.is_some();
    for (index, node) in nodes.iter_mut() {
        let Some(step) = run.steps.get(*index) else { continue };
        if chosen || step.operation.training.optimize != Some(true) {
            continue;
        }
        let what = format!("nodes[{}].optimize", node.id);
        match (&node.prompt_id, &target) {
            (None, _) => losses.push(Loss::new(step.span_id, what, LossReason::NoPlace)),
            (Some(id), None) => target = Some(id.clone()),
            (Some(id), Some(target)) if id != target => losses.push(Loss::new(step.span_id, what, LossReason::Ambiguous)),
            _ => continue,
        }
        if node.prompt_id != target {
            node.metadata.insert("optimize", true);
        }
    }
    let mut found = false;
    for (_, node) in nodes {
        node.optimize = target.is_some() && node.prompt_id == target;
        found |= node.optimize;
    }
    if let Some(target) = target.filter(|_| chosen && !found) {
        losses.push(Loss::new(
            None,
            format!("reflex.optimize={target}: no node has this prompt"),
            LossReason::NoPlace,
        ));
    }
}
