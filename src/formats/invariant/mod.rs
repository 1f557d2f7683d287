//! Invariant: for each trace, a list of events (messages, tool calls, outputs), in the order in which data flowed, as described
//! in the Explorer docs ("Trace Format") and read by `invariant-ai` 0.3.5.
//!
//! | run | event |
//! |---|---|
//! | new message of the conversation | `{role, content}` |
//! | model's turn | `assistant`, with all its calls; `metadata` has span id, model, tokens, reasoning |
//! | tool's result | `tool`, after its call, by end time; JSON values as compact text |
//! | failed tool | content `Error: ...` if there is no result, `metadata.error` |
//! | tool that no model asked for; retrieval, memory, handoff on its own | a call marked `metadata.synthesized`, and its output |
//! | retrieval, memory or tool inside a tool | `metadata.operations` of that tool's output |
//! | call id that already exists | same call: the last result, earlier ones in `metadata.earlier_results`; another call: a new id |
//! | sub-agent called by a tool | `metadata.subagent` {agent, span_id, events} of the tool's output |
//! | model call without recorded words | `assistant` with null content |
//! | question or answer that only an agent or chain records | `user` first, `assistant` last |
//! | user's answer or input | `user` |
//! | evaluations | `metadata.evaluations`; annotations in a row or push body |
//! | guardrail, embedding, state and the like | `metadata.operations` of the enclosing event, else of the next |
//!
//! | option | |
//! |---|---|
//! | `invariant.container=array` | a plain array (the default); several on one stream are separate traces, not a file for Explorer, which would read the metadata of a list's first event as the list's |
//! | `invariant.container=jsonl` | one annotated row: `{messages, annotations, metadata}` |
//! | `invariant.container=push` | the body of a push request; `invariant.dataset=NAME` names the data set |
//! | `invariant.subagents=own` | sub-agents' events in separate lists |
//! | `invariant.reasoning=prepend` | reasoning before the content, too |
//! | `invariant.tools=event` | offered tools as an event at the beginning |
//!
//! # Long traces
//!
//! `invariant-ai` 0.3.5 stops a rule after 100 comparisons: `(m: Message) -> (c: ToolCall)` fails on any trace with ten calls after ten
//! messages. Set `INVARIANT_MAX_ITERATIONS=1000000` for the analyzer.
//!
//! # What is lost
//!
//! In a plain array, facts of the whole trace: session, user, resource. Inputs and outputs of agents and
//! chains other than the question, the answer and the conversation. Parts that are neither text nor image become marked
//! text; the recorded part is in `metadata.parts`. Times keep microseconds.

mod assemble;
pub(in crate::formats) mod back;
mod check;
mod content;
mod list;
mod nearest;
mod offered;
mod operation_events;
mod operations;
mod run_facts;
mod scopes;
mod table;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::document::choice::{Choice, Options, choices};
use crate::document::json::Json;
use crate::document::schema;
use crate::document::violations::{JsonPath, Violations};
use crate::formats::format::{Assembled, Format};
use crate::run::Run;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Invariant;

impl Format for Invariant {
    const ID: &'static str = "invariant";
    const KEEPS: &'static str = "Invariant trace: a list of chat messages and tool outputs, for policy analysis";
    const LOSES: &'static str =
        "in a plain array, what belongs to the whole trace (session, user, resource); nanoseconds (times keep microseconds)";
    const WHOLE_INPUTS: bool = false;
    const OPTIONS: &'static [Choice] = choices! {
        "invariant.container" of Words(&["array", "jsonl", "push"]), "array",
            "write a plain array, one annotated row, or the body of a push request";
        "invariant.dataset" of Text("NAME"), "none",
            "the dataset of a push request";
        "invariant.subagents" of Words(&["nested", "own"]), "nested",
            "write the events of sub-agents into the tool's output, or as lists of their own";
        "invariant.reasoning" of Words(&["metadata", "prepend"]), "metadata",
            "prepend: also write reasoning before the content";
        "invariant.tools" of Words(&["metadata", "event"]), "metadata",
            "event: write the offered tools as an event at the beginning";
    };
    const CHECKED_TOGETHER: bool = true;
    type Document<'a> = Json<'a>;

    fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Json<'a>>> {
        assemble::assemble(runs, options)
    }

    fn schema() -> Option<Value> {
        Some(schema::of(Self::ID, table::DOCUMENT))
    }

    fn check(documents: &[(JsonPath<'_>, &Value)], _: &Options, found: &mut Violations) {
        check::check(documents, found);
    }
}
