//! DeepEval test cases, as its dataset readers load them: `add_goldens_from_jsonl_file` reads what `convert` writes,
//! `add_test_cases_from_json_file` a list of it (`jq -s .`, or `?documents=array` of the server).
//!
//! | run | test case (`LLMTestCase`) |
//! |---|---|
//! | round of an agent's conversation: a user message and what followed | a case; a sub-agent's rounds are separate cases |
//! | user message; else the agent's input | `input` |
//! | last message without calls; an answer that only an agent or chain records | `actual_output`, null if there is none |
//! | recorded ideal, on which the operations agree | `expected_output` of the last case of the first conversation |
//! | call of a tool, also one that no model asked for | `tools_called`: `name`, `input_parameters`, `output` (the last result) |
//! | failed tool without a result | output `Error: ...` |
//! | reasoning and words accompanying calls | `reasoning` of the first of these calls |
//! | retrieval and reranking, also inside a tool | `retrieval_context`: the documents' texts, each once |
//! | tokens and cost of model calls, time from first to last operation | `input_token_count`, `output_token_count`, `token_cost`, `completion_time` |
//! | trace, session, agent, models, system prompts, offered tools | `additional_metadata` |
//! | words before the last ones, reasoning without calls, the history from before the run | `additional_metadata`:
//! `earlier_outputs`, `reasoning`, `history` |
//! | the previous case of the same conversation | `additional_metadata.follows` |
//! | resource, user, failure | `additional_metadata.run` of the run's first case |
//!
//! | option | |
//! |---|---|
//! | `deepeval.cases=round` | a case for each round (the default) |
//! | `deepeval.cases=run` | one case per run: its question, its answer, the calls of all agents |
//! | `deepeval.cases=conversation` | `ConversationalTestCase`: `scenario` and `turns`, one per conversation of an agent |
//! | `deepeval.expected=run` | `expected_tools` is what the run called, `expected_output` what it answered if no ideal is recorded: a good run as a regression test |
//!
//! A file holds either single cases or conversations: DeepEval rejects a mix. The scenario of a conversation is its first question.
//!
//! # Limits of the readers
//!
//! The JSON reader keeps `input`, `actual_output`, and, if given their names, `tools_called` and `retrieval_context`;
//! it drops counts, cost, names and metadata. The JSONL reader keeps all but `completion_time`. Neither can distinguish a tool's
//! error from its result.
//!
//! # What is lost
//!
//! Call ids, times of single operations, counts of single calls, earlier results of a call, other choices, opaque reasoning,
//! queries and scores of retrievals, rewards and evaluations, operations outside the conversation, and inputs and outputs of an agent or
//! a chain that no turn contains. Pictures, sounds and files become marked text, parts of a client's own kinds are left out. A run
//! without messages and calls produces no case.

mod assemble;
pub(in crate::formats) mod back;
mod check;
mod interaction;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::document::choice::{Choice, Options, choices};
use crate::document::json::Object;
use crate::document::schema;
use crate::document::violations::{JsonPath, Violations};
use crate::formats::format::{Assembled, Format};
use crate::run::Run;

#[derive(Debug, Clone, Copy)]
pub(crate) struct DeepEval;

impl Format for DeepEval {
    const ID: &'static str = "deepeval";
    const KEEPS: &'static str = "DeepEval test cases: question, answer, called tools and retrieved texts, for regression tests";
    const LOSES: &'static str =
        "call ids, times of operations, errors with a result, rewards, judgements, operations outside the conversation";
    const OPTIONS: &'static [Choice] = choices! {
        "deepeval.cases" of Words(&["round", "run", "conversation"]), "round",
            "write a case for each question, for each run, or for each agent's conversation";
        "deepeval.expected" of Words(&["recorded", "run"]), "recorded",
            "expect the recorded reference, or what the run itself answered and called where no reference is recorded";
    };
    const CHECKED_TOGETHER: bool = true;
    type Document<'a> = Object<'a>;

    fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Object<'a>>> {
        runs.iter()
            .filter(|run| run.has_agent_work())
            .flat_map(|run| assemble::of_run(run, options))
            .collect()
    }

    fn schema() -> Option<Value> {
        Some(schema::of(Self::ID, check::DOCUMENT))
    }

    fn check(documents: &[(JsonPath<'_>, &Value)], _: &Options, found: &mut Violations) {
        check::check(documents, found);
    }
}
