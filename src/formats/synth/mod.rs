//! Synth v3: one `SessionTrace` with events (what happened), messages (what crossed a
//! boundary) and turns.
//!
//! The types are those of the package `synth-ai` 0.2.24, every field written, as its `to_dict()` does. Message types are
//! those of the documentation.
//!
//! | run | field |
//! |---|---|
//! | trace id; the session's id for several traces | `session_id` |
//! | agent, model, user, resource, task, failure, the root operation | `metadata` |
//! | a model call and the tools it dispatched | step `turn_<n>`; what no model call dispatched belongs to the latest model call before it in its scope |
//! | model call | LMCAISEvent at its start with one call record; a failure is `outcome` error, timeout or cancelled and `error` |
//! | its parameters | `request_params`; unknown names, other types and the offered tools in `raw_params` |
//! | its messages | `input_messages` whole, `output_messages` the first choice, `outputs` all where there are several; reasoning is a part of type `reasoning`, media keep their data |
//! | tool, retrieval, rerank, memory read | EnvironmentEvent at its **end**; the result in `system_state_after`, as {"result": value} unless it is an object that cannot be taken for one |
//! | tool call that is only in messages | the same, `metadata.observed` "messages" |
//! | nested agent, chain, handoff, guardrail, prompt, embedding, memory write, state, interrupt | RuntimeEvent at its start |
//! | guardrail that was tripped or failed | EnvironmentEvent, `terminated` |
//! | chain named turn, step, cycle or iteration | `step_metadata.chains` of the turns below it |
//! | new user text of a top-level conversation | message `user_input` |
//! | text of a top-level turn without tool calls | `agent_response` |
//! | tool call, its result | `action` {name, arguments} and `result`, joined by `metadata.call_id` |
//! | retrieval or memory read on its own that found something | `observation` |
//! | question or answer that only an agent or a chain has | `user_input`, `agent_response` |
//! | reward, score | of a tool: its event's `reward`; of the root: `session_metadata`; else an EnvironmentEvent. The last one of
//! a finished run is `terminated`, unless the spans record that it did not end or the event of a tool or a guardrail ended it |
//! | token ids, log probabilities, of the training facts or the response | `token_traces` |
//! | all other facts of an operation | its event's `metadata`; of an operation that has no event and is the root, `metadata.root`
//! |
//!
//! Sub-agents have their own names (`researcher/llm:openai`, `researcher#2/tool:search`). Their calls and results
//! are messages, their other words are not: what they were asked and answered is the outer call and its result.
//! Several results of one call are one message, the earlier ones in `metadata.attempts`. A call id that another
//! conversation has is prefixed, the recorded one in `metadata.recorded_call_id`. Calls without an id get
//! `<span id>:<place>` and `metadata.call_id_derived` (`Synthesized`).
//!
//! A session's runs are one trace, turns numbered on; a model call that is repeated in a later trace counts once.
//!
//! # Options
//!
//! | option | |
//! |---|---|
//! | `synth.messages=store` | the words of the libsql store; those of the documentation are in `metadata.boundary_type` |
//! | `synth.output_text=raw` | `output_text` is the provider's response, from which the SFT exporter takes its rows |
//! | `synth.decisions=events` | a RuntimeEvent for each decision to call tools, `actions` the places among the tools offered |
//!
//! # What is lost
//!
//! Times are f64 seconds, about 240 ns apart: the exact ones are in the metadata as `spanbridge.started_at_unix_nano` and
//! `spanbridge.ended_at_unix_nano`. Inputs and outputs of agents and chains that are not in the conversation are left
//! out (`NoPlace`), and so are agents that did nothing. System prompts and earlier history are only in the call records.

mod document;

mod actions;
mod assemble;
pub(in crate::formats) mod back;
mod check;
mod events;
mod facts;
mod messages;
mod record;
mod rewards;
mod table;
mod turns;
mod write;
mod written_call;

#[cfg(test)]
mod tests;

use crate::document::choice::{Choice, Options, choices};
use crate::formats::format::{Assembled, Format, by_table};
use crate::run::Run;

/// The format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Synth;

impl Format for Synth {
    const ID: &'static str = "synth";
    const KEEPS: &'static str = "Synth v3 SessionTrace: events and messages by turn, for SFT and RL data";
    const LOSES: &'static str =
        "inputs and outputs of agents and chains beyond the conversation; times are f64 seconds, exact ones in metadata";
    const OPTIONS: &'static [Choice] = choices! {
        "synth.messages" of Words(&["page", "store"]), "page",
            "the message types to use: those of the documentation, or those of the libsql store";
        "synth.decisions" of Words(&["none", "events"]), "none",
            "events: write a RuntimeEvent for each decision to call tools";
        "synth.output_text" of Words(&["none", "raw"]), "none",
            "raw: write the provider's response into output_text";
    };
    type Document<'a> = document::SessionTrace<'a>;

    fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Self::Document<'a>>> {
        assemble::assemble(runs, options)
    }

    by_table!(check::DOCUMENT, check::check);

    fn write(document: &Self::Document<'_>, text: &mut Vec<u8>) -> Result<(), String> {
        write::write(document, text)
    }
}
