//! Rows of `traces.jsonl` as read by verifiers 0.4 (v1 records): one episode per trace, with the graph of its messages.
//!
//! | run | episode |
//! |---|---|
//! | agent, model | `env.id`, `agent.name`, `agent.config.model` |
//! | first user message, system prompt, task | `task.data`: `prompt`, `system_prompt`, `description` |
//! | message | a node after its predecessor; `sampled` if a model call of the run produced it |
//! | edited or cut history | a branch: its messages follow the last one that both histories share |
//! | sub-agent | a separate root; the result of the tool that called it has a `semantic_parents` link to its last message |
//! | call | `tool_calls`, its arguments as text: the model's own, if it is an object |
//! | tool's result | a node after its call; the last one if there are several |
//! | model call | `calls`: `node`, `model`, `sampling`, `finish_reason`, `usage`, `time`, `error` |
//! | token ids, log probabilities | on the turn's node, together with those of the messages before it |
//! | opaque reasoning | `provider_state` |
//! | tools offered | `tools` of the trace; for a root, those offered to its model calls |
//! | the run's reward, else the sum of its steps'; evaluations with a number | `rewards.reward`; `metrics` |
//! | failure of the run | `errors` |
//! | tools and retrievals that no model asked for; guardrails, users | `info.operations`, the first with `asked_for: false` |
//! | times, errors and earlier results of tools | `info.results` |
//! | other choices, response ids, all else of a model call | `info.model_calls` |
//! | agents; resource, user, session | `info.agents`; `info.run` |
//!
//! # What is lost
//!
//! Times keep microseconds. Arguments that are not an object are wrapped in one, as `input`. A call id that already exists in
//! the conversation gets a number appended. Sounds, videos and files become marked text, as do pictures in assistant messages;
//! parts of a client's own kinds are left out.
//! Names of users. Token ids of a prompt that does not continue the previous ones.
//!
//! # Where values come from
//!
#![doc = include_str!("mapping.md")]

mod assemble;
pub(in crate::formats) mod back;
mod call;
mod check;
mod node;
mod table;
#[cfg(test)]
mod tests;

use crate::document::choice::Options;
use crate::document::json::Object;
use crate::formats::format::{Assembled, Format, by_table};
use crate::run::Run;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Verifiers;

impl Format for Verifiers {
    const ID: &'static str = "verifiers";
    const KEEPS: &'static str =
        "verifiers v1 episode: the graph of messages with branches, model calls, rewards, metrics, for scoring and RL";
    const LOSES: &'static str = "nanoseconds (times keep microseconds), sounds, films and files, names of people";
    const WHOLE_INPUTS: bool = false;
    type Document<'a> = Object<'a>;

    fn assemble<'a>(runs: &'a [Run], _: &Options) -> Vec<Assembled<Object<'a>>> {
        runs.iter().filter(|run| run.has_agent_work()).map(assemble::of_run).collect()
    }

    by_table!(table::DOCUMENT, check::check);
}
