//! Google ADK's eval set (`*.evalset.json`), as `adk eval` and `local_eval_sets_manager.load_eval_set_from_file` of google-adk 2.13
//! load it.
//!
//! | run | eval set |
//! |---|---|
//! | runs of a session | `eval_cases` of one set, at least one per run |
//! | conversation of an agent | an eval case |
//! | a user message and what followed; earlier history too | an invocation |
//! | user message; else the agent's input | `user_content` |
//! | last message without calls; an answer that only an agent or chain records | `final_response` |
//! | words and calls before | `intermediate_data.invocation_events`: one event per model call, with `author`, `usage_metadata`, `model_version` |
//! | reasoning | a part with `thought` |
//! | tool's result, whenever it arrived | `function_response` in the event after the one with its call |
//! | model call of the final response | an event without content |
//! | tool, retrieval, memory that no model asked for | `function_call` and `function_response` |
//! | agent that a tool called | events with the agent as author, between call and response |
//! | conversation of a judge or a guardrail | a separate case |
//! | system prompts, offered tools | `app_details`: the prompts in the case's first invocation of the run |
//! | name of the run's agent, user | `session_input`: `app_name`, `user_id` |
//! | changes of state | `session_input.state` before the first of each key, `final_session_state` after the last |
//! | picture, sound, file with a URL | `file_data` |
//!
//! | option | |
//! |---|---|
//! | `adk.intermediate=events` | `InvocationEvents` (the default) |
//! | `adk.intermediate=lists` | `IntermediateData`: `tool_uses`, `tool_responses`, `intermediate_responses`; readers before 1.13 know only these |
//! | `adk.subagents=events` | called agents in the events of the caller (the default) |
//! | `adk.subagents=cases` | called agents as separate cases |
//!
//! ADK's metric `tool_trajectory_avg_score` compares all calls in `intermediate_data`, where `AgentTool` leaves out what the
//! called agent does: write `adk.subagents=cases` for it.
//!
//! # Limits of the readers
//!
//! Any error, such as arguments that are not an object, is reported as `TypeError: string indices must be integers`, because
//! the reader then tries the old form of the file. `spanbridge check` names the place.
//!
//! # What is lost
//!
//! Times (except the start of each invocation), cost, parameters, errors together with a result that is not text, earlier
//! results of a call, other choices, opaque reasoning, rewards and evaluations, the resource, operations outside the
//! conversation, the tokens of an agent or a chain, and those of its inputs and outputs that no turn contains.
//! Bytes of pictures, sounds and files become marked text. A result that is not an object is wrapped in one, as
//! `result`, and an error as `error`, as ADK does. A call id that already exists in the case gets a number appended. With
//! `lists`, tokens and models are lost, too. A run without messages and calls produces no case.
//!
//! # Where values come from
//!
#![doc = include_str!("mapping.md")]

mod assemble;
mod assembly;
pub(in crate::formats) mod back;
mod check;
mod event;
mod invocation;
mod table;
#[cfg(test)]
mod tests;

use crate::document::choice::{Choice, Options, choices};
use crate::document::json::Object;
use crate::formats::format::{Assembled, Format, by_table};
use crate::run::Run;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Adk;

impl Format for Adk {
    const ID: &'static str = "adk";
    const KEEPS: &'static str = "Google ADK eval set: a case for each agent's conversation, with calls and final responses";
    const LOSES: &'static str =
        "times of operations, cost, parameters, rewards, judgements, the resource, operations outside the conversation";
    const OPTIONS: &'static [Choice] = choices! {
        "adk.intermediate" of Words(&["events", "lists"]), "events",
            "write what happened between question and answer as events, or as lists of calls and responses";
        "adk.subagents" of Words(&["events", "cases"]), "events",
            "write agents that a tool called into the events of the caller, or as cases of their own";
    };
    type Document<'a> = Object<'a>;

    fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Object<'a>>> {
        assemble::assemble(runs, options)
    }

    by_table!(table::DOCUMENT, check::check);
}
