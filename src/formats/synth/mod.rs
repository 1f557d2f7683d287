//! Synth v3: one `SessionTrace` with events, messages across
//! boundaries, and turns.
//!
//! The types are those of the package `synth-ai` 0.2.24, with every field written, as by its `to_dict()`. Message types are
//! those of the documentation.
//!
//! | run | field |
//! |---|---|
//! | trace id; the session's id for several traces | `session_id` |
//! | agent, model, user, resource, task, failure, the root operation | `metadata` |
//! | a model call and the tools it dispatched | step `turn_<n>`; operations that no model call dispatched belong to the latest model call before them in their scope |
//! | model call | LMCAISEvent at its start with one call record; a failure is `outcome` error, timeout or cancelled and `error` |
//! | its parameters | `request_params`; unknown names, other types and the offered tools in `raw_params` |
//! | its messages | `input_messages` whole, `output_messages` the first choice, `outputs` all if there are several; reasoning is a part of type `reasoning`, media keep their data |
//! | tool, retrieval, rerank, memory read | EnvironmentEvent at its **end**; the result in `system_state_after`, as {"result": value} unless it is an object that cannot be mistaken for one |
//! | tool call that is only in messages | likewise, `metadata.observed` "messages" |
//! | nested agent, chain, handoff, guardrail, prompt, embedding, memory write, state, interrupt | RuntimeEvent at its start |
//! | guardrail that was tripped or failed | EnvironmentEvent, `terminated` |
//! | chain named turn, step, cycle or iteration | `step_metadata.chains` of the turns below it |
//! | new user text of a top-level conversation | message `user_input` |
//! | text of a top-level turn without tool calls | `agent_response` |
//! | tool call, its result | `action` {name, arguments} and `result`, joined by `metadata.call_id` |
//! | separate retrieval or memory read with results | `observation` |
//! | question or answer that only an agent or chain records | `user_input`, `agent_response` |
//! | reward, score | of a tool: its event's `reward`; of the root: `session_metadata`; else an EnvironmentEvent. The last one of
//! a finished run is `terminated`, unless the spans record that it did not end or the event of a tool or a guardrail ended it |
//! | token ids, log probabilities, of the training facts or the response | `token_traces` |
//! | all other facts of an operation | its event's `metadata`; for a root without an event, `metadata.root`
//! |
//!
//! Sub-agents have their own names (`researcher/llm:openai`, `researcher#2/tool:search`). Their calls and results
//! are messages, their other words are not: their question and answer are the outer call and its result.
//! Several results of one call are one message, the earlier ones in `metadata.attempts`. A call id used in another
//! conversation is prefixed, the recorded one in `metadata.recorded_call_id`. Calls without an id get
//! `<span id>:<place>` and `metadata.call_id_derived` (`Synthesized`).
//!
//! A session's runs are one trace with consecutive turns; a model call that is repeated in a later trace counts once.
//!
//! # Options
//!
//! | option | |
//! |---|---|
//! | `synth.messages=store` | the message types of the libsql store; those of the documentation are in `metadata.boundary_type` |
//! | `synth.output_text=raw` | `output_text` is the provider's response, from which the SFT exporter takes its rows |
//! | `synth.decisions=events` | a RuntimeEvent for each decision to call tools, with `actions` as indices of the tools offered |
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
