//! Reflex: one `AgentTrace` per trace with a node for every operation, as in `aevyra-witness` 0.1.0 and its JSON Schema
//! `https://aevyra.ai/schemas/agent-trace/v1`.
//!
//! | run | document |
//! |---|---|
//! | step | a node; `id` is the span id, `parent_id` the span above: the tree is as recorded |
//! | model call, decision | kind `reason` |
//! | tool | kind `tool`; `metadata.tool_call_id` and `metadata.dispatched_by` refer to the model call that requested it |
//! | retrieval, reranking, memory read | kind `retrieve` |
//! | agent, handoff | kind `agent` |
//! | any other operation | kind `other` |
//! | messages, arguments and result, query and documents | `input`, `output` as JSON values |
//! | tokens of a model call | `tokens`; a roll-up on any other operation stays in `metadata.usage` |
//! | failure | `error`; its type in `metadata.error_code` |
//! | prompt id, else a hash of the template | `prompt_id`; a fetched prompt gives its id to the next model call |
//! | turn | `step` |
//! | reference output | `ideal` |
//! | session, trace, resource | trace `metadata` |
//!
//! `optimize` is set on all nodes of one prompt: the one chosen by the option `reflex.optimize=<prompt id>`, else the
//! first that an operation marks. Reasoning is in `metadata.reasoning`.
//!
//! With the option `reflex.prompt_id=system` a model call without a prompt id gets `system-<hash>` of its system message. An
//! option `reflex.optimize` that matches no node's prompt is a loss.
//!
//! Graders read nodes, so no node has a reference output, a reward or a score. The reference output is the
//! trace's `ideal`; rewards and evaluations are in the trace's `metadata.rewards` and `metadata.evaluations` with the
//! node that they evaluate. Evaluators and their operations are not nodes: they are in `metadata.evaluators`.
//!
//! # What is lost
//!
//! Times are seconds in `f64` (about 240 ns): `Coerced`, once per trace, if one has digits below the microsecond. A child
//! whose clock is behind its parent's starts with its parent; the recorded start stays in `metadata.recorded_started_at`.
//! Vectors, and the provider's response if messages have the same content. Spans without agent operations.
//!
//! # Where values come from
//!
#![doc = include_str!("mapping.md")]

mod assemble;
pub(in crate::formats) mod back;
mod check;
mod prompts;
mod table;
#[cfg(test)]
mod tests;

use crate::document::choice::{Choice, Options, choices};
use crate::document::json::Object;
use crate::formats::format::{Assembled, Format, by_table};
use crate::run::Run;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Reflex;

impl Format for Reflex {
    const ID: &'static str = "reflex";
    const KEEPS: &'static str = "aevyra AgentTrace: the span tree as nodes, for scoring, blame and prompt optimisation";
    const LOSES: &'static str = "nanoseconds (times are f64 seconds), embedding vectors, spans without agent operations";
    const OPTIONS: &'static [Choice] = choices! {
        "reflex.optimize" of Text("PROMPT_ID"), "the prompt that the spans mark",
            "the prompt to optimise";
        "reflex.prompt_id" of Words(&["recorded", "system"]), "recorded",
            "system: derive missing prompt ids from the system message";
    };
    type Document<'a> = Object<'a>;

    fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Object<'a>>> {
        runs.iter()
            .filter(|run| run.has_agent_work())
            .map(|run| assemble::assemble(run, options))
            .collect()
    }

    by_table!(table::DOCUMENT, check::check);
}
