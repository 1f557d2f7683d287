//! ATIF v1.7: one trajectory per trace, as harbor 0.25, `atif` 1.8, Phoenix, Inspect Scout, Docent and NeMo Agent Toolkit read it.
//! It replays into Claude Code and Codex (`harbor run --load-trajectory`).
//!
//! | run | trajectory |
//! |---|---|
//! | session, trace | `session_id` (without one the trace id), `trajectory_id` |
//! | agent, version, tools offered to model calls | `agent` |
//! | system and user messages | a step each |
//! | model call | a step of the agent: words, `reasoning_content`, `model_name`, all its calls, `metrics`, `llm_call_count: 1` |
//! | tool's result, whenever it arrived; the last one if there are several | `observation` of the step that called it |
//! | failed tool, earlier results | `extra` of the result: `is_error`, `error`, `earlier_results` |
//! | tool that no model asked for; retrieval, memory, handoff on its own | a step with `llm_call_count: 0`; `extra.kind` unless it is a tool |
//! | assistant message that was input | a step with `is_copied_context` |
//! | question or answer that only an agent or chain records | first step, last step |
//! | sub-agent called by a tool | a trajectory, and `subagent_trajectory_ref` of the result |
//! | conversation of a judge or a guardrail | a separate trajectory, which no result refers to |
//! | tokens, cost, token ids, log probabilities | `metrics`; sums in `final_metrics` (cost with sub-agents, tokens without) |
//! | start, end, place in the tree | `extra.invocation`, `extra.ancestry` under NeMo's names |
//! | rewards, evaluations, parameters, other choices, all else | `extra` of the step |
//! | guardrail, embedding, evaluator, state and the like | `extra.operations` of the trajectory |
//! | resource, user, failure | `extra` of the outermost trajectory |
//! | image or sound with a URL | a part; other pictures, sounds and files are marked text, never a `data:` path; parts of a client's own kinds are left out |
//! | sound | the version is 1.8, which some readers do not support |
//!
//! | option | |
//! |---|---|
//! | `atif.subagents=embed` | in `subagent_trajectories` (the default) |
//! | `atif.subagents=files` | as separate documents (for Scout), named as `convert --output` names those of one trace |
//! | `atif.subagents=inline` | as steps after the one that called them, with `extra.agent` (for Docent) |
//! | `atif.media=text` | images and sounds that are recorded inline as marked text (the same as without the option) |
//! | `atif.media=files` | as files in `media/` next to the document: what `convert --output` and `export --output` write by
//! default |
//!
//! # Reading documents
//!
//! Versions 1.0 to 1.8 are read. `extra.ancestry` and `extra.invocation` hold ids, parents and times; without them an operation
//! ended at the step's `timestamp`, and missing times are marked as unknown. Copied context is input of model calls, not an
//! operation; after a model call it starts a new conversation. Results without `source_call_id` answer calls by their
//! position; in a step without calls they are words passed to the next model call. The command line reads the files that a
//! document refers to from its folder: it appends the steps of continuations and embeds sub-agents. A document without
//! `trajectory_id` gets an id derived from its text.
//!
//! # What is lost
//!
//! Times keep microseconds. Bytes of images and sounds without `atif.media=files`, and of other files always. Arguments that are not
//! an object are wrapped in one, as `input`. A call id that already exists in the trajectory gets a number appended. A result without a
//! call gets a call named `unknown`. A run without messages and calls produces no trajectory, because readers reject a trajectory
//! without steps.
//!
//! # Where values come from
//!
#![doc = include_str!("mapping.md")]

mod assemble;
pub(in crate::formats) mod back;
mod check;
mod draft;
mod media;
mod step;
mod table;
#[cfg(test)]
mod tests;

use crate::document::choice::{Choice, Options, choices};
use crate::document::json::Object;
use crate::formats::format::{Assembled, Files, Format, by_table};
use crate::run::Run;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Atif;

impl Format for Atif {
    const ID: &'static str = "atif";
    const KEEPS: &'static str = "ATIF v1.7 trajectory: one step for each model call with its results, for replay and review";
    const LOSES: &'static str = "nanoseconds (times keep microseconds), bytes of images, sounds and files without an output directory";
    const WHOLE_INPUTS: bool = false;
    const OPTIONS: &'static [Choice] = choices! {
        "atif.subagents" of Words(&["embed", "files", "inline"]), "embed",
            "write sub-agents into the trajectory, as documents of their own, or as its steps";
        "atif.media" of Words(&["text", "files"]), "text, with --output files",
            "write inline images and sounds as marked text, or as files in media/ next to the document";
    };
    const BESIDE: Option<Files> = Some(Files {
        option: ("atif.media", "files"),
        of: media::files,
    });
    type Document<'a> = Object<'a>;

    fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Object<'a>>> {
        runs.iter()
            .filter(|run| run.has_agent_work())
            .flat_map(|run| assemble::of_run(run, options))
            .collect()
    }

    by_table!(table::DOCUMENT, check::check);
}
