//! ContextForge: one `TraceRun` per trace, the steps of one agent run in order of time, as defined by spec 001 (`data-model.md`)
//! and loaded by `contextforge-eval` 0.1.2.
//!
//! | run | document |
//! |---|---|
//! | trace id | `run_id`, as a UUID v4; the id itself in `metadata["otel.trace_id"]` |
//! | first start, last end | `started_at`, `ended_at` (absent while the root is open) |
//! | agent or service, instrumentation scope | `agent_info` |
//! | question | `user_input` "`<root>:in`", `task_info.description`; a later user message "`<model call>:in`" |
//! | model call | `llm_call`; reasoning, parameters, further choices in its metadata |
//! | tool | `tool_call` under the model call that requested it |
//! | retrieval, reranking | `retrieval`, the latter with `metadata.reranker` |
//! | memory read, write | `memory_read`, `memory_write` |
//! | handoff, change of state | `state_change`; a handoff's key is `active_agent` |
//! | question to a user | `interrupt` |
//! | answer | `final_output` "`<root>:out`" |
//! | failed run | `metadata.error` |
//! | session, user, resource, evaluations | run metadata |
//!
//! Agents, chains, guardrails, embeddings and prompts have no step: their data is in the metadata of the nearest
//! ancestor that is a step, else of the run, in lists named `agents`, `chains`, `guardrails`, `embeddings`, `prompts`,
//! `evaluators`, `operations`. With the option `contextforge.embeddings=retrieval` an embedding is a `retrieval` without
//! results.
//!
//! # What is lost
//!
//! Nanoseconds (times keep microseconds). Vectors. The provider's response if messages have the same content. Spans without
//! agent operations: their children are placed under the next step above. Arguments that are not an object become
//! `{"input": value}`. Every other change of type or value that the format requires is reported as a loss.
//!
//! # Where values come from
//!
#![doc = include_str!("mapping.md")]

mod assemble;
pub(in crate::formats) mod back;
mod check;
mod input_output;
mod memory_values;
mod step;
mod table;
#[cfg(test)]
mod tests;
mod words;

use crate::document::choice::{Choice, Options, choices};
use crate::document::json::Object;
use crate::formats::format::{Assembled, Format, by_table};
use crate::run::Run;

#[derive(Debug, Clone, Copy)]
pub(crate) struct ContextForge;

impl Format for ContextForge {
    const ID: &'static str = "contextforge";
    const KEEPS: &'static str = "ContextForge TraceRun: the run as a list of steps of nine types, for memory and context graders";
    const LOSES: &'static str = "nanoseconds (times keep microseconds), embedding vectors, spans without agent operations";
    const OPTIONS: &'static [Choice] = choices! {
        "contextforge.embeddings" of Words(&["metadata", "retrieval"]), "metadata",
            "write embeddings into metadata, or as retrievals without results";
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
