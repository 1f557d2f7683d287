//! Inspect AI's eval log, version 2: one log per trace, with one sample, as `inspect view`, `read_eval_log` and Inspect Scout
//! read it.
//!
//! | run | log |
//! |---|---|
//! | agent, first model, framework, resource, user | `eval`: `task`, `model`, `packages`, `metadata` |
//! | trace, session | `eval.eval_id`, sample's `id` and `uuid`; `eval.run_id` |
//! | messages before the first turn | `input`: text, if it is a single user message |
//! | conversation at the end | `messages`; edited histories in the inputs of model events |
//! | model call | `model` event: `input_refs` into `events_data.messages`, `tools`, `config`, `output`, times, error |
//! | tokens, cost | `usage` of the output, sums by model in `model_usage`; input without tokens read from or written to a cache |
//! | other choices | `output.choices` |
//! | tool that ran, each attempt | `tool` event: arguments, result, error, times |
//! | agent, sub-agent | `span_begin` and `span_end`; those of a tool follow its event, which names them in `agent_span_id` |
//! | retrieval, memory, handoff on its own | `tool` event with `metadata.kind` |
//! | guardrail, embedding, state, prompt and the like | `info` event |
//! | evaluations | `scores` of the sample, `score` events |
//! | recorded ideal | `target` |
//! | failure of the run | `error` of log and sample, `error` event |
//! | rewards, response ids, evidence, all else | `metadata` of the event |
//! | reasoning, pictures, sounds, videos | parts of the content; those for which Inspect has no type as `data` |
//!
//! On standard output and over HTTP a log is JSON. `convert --output` and `export --output` write files as Inspect itself does:
//! `<trace>.inspect.eval`, a zip of `header.json`, `samples/<id>_epoch_1.json`, `summaries.json` and `_journal/start.json`. Scout
//! only reads such files.
//!
//! With `inspect.logs=one` all runs of a command become samples of one log, `runs.inspect.eval`. It is named after the first run's agent
//! and model, and has succeeded once all its runs have ended: each sample has its own error.
//!
//! # What is lost
//!
//! Times keep microseconds. Arguments that are not an object are wrapped in one, as `input`. A call id that already exists in
//! the conversation gets a number appended. A missing model or agent name becomes `unknown`. A tool's schema that readers
//! reject goes to the `options` of the tool.

mod assemble;
pub(in crate::formats) mod back;
mod check;
#[cfg(feature = "server")]
mod container;
mod events;
mod message;
mod model;
#[cfg(test)]
mod tests;
mod threads;
#[cfg(feature = "server")]
mod unpack;

use crate::document::choice::{Choice, Options, choices};
use crate::document::json::Object;
use crate::formats::format::{Assembled, Format, by_table};
use crate::run::Run;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Inspect;

impl Format for Inspect {
    const ID: &'static str = "inspect";
    const KEEPS: &'static str = "Inspect AI eval log: messages, model and tool events, spans of agents, scores, for Inspect View and Scout";
    const LOSES: &'static str = "nanoseconds (times keep microseconds)";
    #[cfg(feature = "server")]
    const CONTAINER: Option<crate::formats::format::Container> = Some(crate::formats::format::Container {
        ending: "eval",
        pack: container::pack,
        unpack: Some(unpack::unpack),
    });
    const OPTIONS: &'static [Choice] = choices! {
        "inspect.logs" of Words(&["run", "one"]), "run",
            "write a log for each run, or one log of all runs with a sample for each";
    };
    type Document<'a> = Object<'a>;

    fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Object<'a>>> {
        let worked: Vec<&Run> = runs.iter().filter(|run| run.has_agent_work()).collect();
        match Self::takes_all(options) {
            true if worked.is_empty() => Vec::new(),
            true => vec![assemble::of_runs(&worked)],
            false => worked.iter().map(|run| assemble::of_runs(&[*run])).collect(),
        }
    }

    fn takes_all(options: &Options) -> bool {
        options.is("inspect.logs", "one")
    }

    by_table!(check::DOCUMENT, check::check);
}
