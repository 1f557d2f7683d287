//! OpenReward: a trace as a log of immutable blocks, which a server stitches into conversations.
//!
//! A document is a JSON array of blocks in insertion order; the spec is the public text "How
//! Traces Work". [`rules`](crate::blocks::rules) checks its rules block by block, [`limits`](crate::blocks::limits) has its byte limits.
//! The server builds the tree of `blocks.stitched`, and stores blocks that a client writes one by one.
//!
//! | run | block |
//! |---|---|
//! | trace | `trace_id` is `tr_` and the trace id; `id` is `tb_` and a hash of trace, span, role and ordinal |
//! | system, user, assistant message, each once | MESSAGE; developer becomes system, other roles user (`Coerced`) |
//! | turn with text | MESSAGE; its reasoning is a THINK, its calls are TOOL_CALLs, both under it |
//! | turn without text | THINK and TOOL_CALLs under the nearest MESSAGE before it in its conversation, else in the document, with `metadata.parent_reason`; if there is none, a MESSAGE marked `spanbridge_placeholder` (`Synthesized`) |
//! | result | TOOL_RESULT under its call; a failure is `output` {"error"} with `extra.status` "error" |
//! | several results of one call | one TOOL_CALL, results with `seq` 0, 1, ... |
//! | result without a call, call without a model's output | a TOOL_CALL is made (`Synthesized`) |
//! | call without an id | `<span id>:<place>`, `metadata.call_id_derived` (`Synthesized`) |
//! | call id that is already used in the trace | prefixed with the agent's name or the span id, the recorded one in `metadata.call_id` |
//! | retrieval, rerank, memory, handoff on its own | TOOL_CALL and TOOL_RESULT, `call_id` the span id, the operation in `raw` (`Synthesized`) |
//! | handoff that a model's `transfer_to_x` call describes | that call |
//! | question or answer that only an agent or a chain records | MESSAGE at the start or the end |
//! | a user's answer to an interrupt | MESSAGE user, the prompt in `metadata.interrupt` |
//! | sub-agent | `metadata.subagent` {agent, span_id, blocks} of the call's TOOL_RESULT, or of the TOOL_CALL without one; a list if one call started several |
//! | rewards, scores | `extra.reward`, `extra.evaluations`, `extra.training` of the judged block |
//! | guardrail | `extra.guardrails` of the latest MESSAGE before its end |
//! | model, tokens, cost, parameters, offered tools | `metadata.model_call` of the turn's first block; the response in `raw` |
//! | the run: agent, session, user, resource, failure; facts of the root operation, its reward and reference output | `metadata.run` of the last block, once the run has ended |
//! | operations without a block: agent, chain, embedding, prompt, state | `metadata.around` of the latest MESSAGE before their end |
//! | other facts of an operation: model, tokens, memory, state, failure | `metadata` of its block, under the names of its fields
//! |
//! | times | `created_at`, cut to microseconds and strictly increasing in the order written: a block that is not later than the previous one is put 1 µs after it; exact times in `metadata.time` |
//!
//! The messages of an agent's first model call get the agent's start time, because they existed when it began.
//!
//! Too long, cut between characters (`Split`): a result becomes `delta` blocks with `seq`, a THINK several THINKs, a MESSAGE
//! several MESSAGEs with `metadata.part`. Arguments become {"omitted_bytes", "sha256"}, with the original in `raw`
//! (`Coerced`).
//!
//! A session's runs are one trace if each conversation continues the previous one, else one document each.
//!
//! # Options
//!
//! | option | |
//! |---|---|
//! | `openreward.subagents=inline` | the blocks of sub-agents are in the list, after the turn that called them |
//! | `openreward.limit_msg_bytes`, `.limit_think_bytes`, `.limit_tool_args_bytes`, `.limit_tool_result_bytes` | the limits; 65536, 32768, 262144, 2097152 |
//!
//! # What is lost
//!
//! A block has one time; its start and end are in the metadata. Inputs and outputs of agents and chains that are not in the
//! conversation are left out (`NoPlace`). Blank messages have no block. The text of a message names its pictures, but not their
//! position; the parts are in `raw`. Nanoseconds are only in the metadata.

pub(crate) mod digest;
pub mod written;

mod annotations;
mod assemble;
pub(in crate::formats) mod back;
mod calls;
mod check;
mod facts;
mod list;
mod messages;
mod nested;
mod pairs;
mod plan;
mod results;
mod sub_agent_calls;
mod words;
mod write;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::document::choice::{Choice, Options, choices};
use crate::document::schema;
use crate::document::violations::{JsonPath, Violations};
use crate::formats::format::{Assembled, Format};
use crate::run::Run;

#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenReward;

impl Format for OpenReward {
    const ID: &'static str = "openreward";
    const KEEPS: &'static str = "OpenReward blocks: messages, thoughts, tool calls and results, for rewards on conversations";
    const LOSES: &'static str = "inputs and outputs of agents and chains beyond the conversation, blank messages";
    const WHOLE_INPUTS: bool = false;
    const OPTIONS: &'static [Choice] = choices! {
        "openreward.subagents" of Words(&["nested", "inline"]), "nested",
            "write the blocks of sub-agents into the call's result, or into the list after its turn";
        "openreward.limit_msg_bytes" of Bytes, "65536",
            "maximum size of the content of a MESSAGE", env "LIMIT_MSG_BYTES";
        "openreward.limit_think_bytes" of Bytes, "32768",
            "maximum size of the text of a THINK", env "LIMIT_THINK_BYTES";
        "openreward.limit_tool_args_bytes" of Bytes, "262144",
            "maximum size of the arguments of a TOOL_CALL", env "LIMIT_TOOL_ARGS_BYTES";
        "openreward.limit_tool_result_bytes" of Bytes, "2097152",
            "maximum size of the output of a TOOL_RESULT", env "LIMIT_TOOL_RESULT_BYTES";
    };
    type Document<'a> = crate::blocks::document::Document<'a>;

    fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Self::Document<'a>>> {
        assemble::assemble(runs, options)
    }

    fn schema() -> Option<Value> {
        Some(schema::of(Self::ID, check::DOCUMENT))
    }

    fn check(documents: &[(JsonPath<'_>, &Value)], options: &Options, found: &mut Violations) {
        for (place, document) in documents {
            check::check(*place, document, options, found);
        }
    }
}
