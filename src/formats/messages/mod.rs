//! Chat messages for training: rows `{"messages": [...], "tools": [...]}`, as TRL, Axolotl, LLaMA-Factory, verl, SkyRL and OpenAI's
//! fine-tuning load them. `convert` writes one row per line (JSONL).
//!
//! | run | row |
//! |---|---|
//! | conversation of an agent | a row; a sub-agent's conversation is a separate row, never a part of its caller's |
//! | conversation that another agent continues | a further row, with that agent's prompt and everything before it |
//! | system or developer message | `system`, once and first |
//! | user message | `user` |
//! | model's turn | `assistant`: `content`, never null, with all its calls |
//! | reasoning in words | `reasoning_content` (flavour `trl`) |
//! | tool's result | `tool`, right after its call, whenever it arrived; with `tool_call_id` and `name`; as passed to the next model call |
//! | tools that the provider ran during the model call | calls, results, then the words |
//! | failed tool without a result | content `Error: ...` |
//! | tools offered to the row's model calls, else those of its agents | `tools`, each once, in OpenAI's function form |
//! | assistant message that was input | `assistant`; with `weight: 0` (flavour `openai`, see `messages.mark`), so it is not trained on |
//! | question that only an agent or chain records | `user`, if the row has none before the first answer |
//!
//! | option | |
//! |---|---|
//! | `messages.flavour=trl` | arguments as objects, as chat templates expect (the default) |
//! | `messages.flavour=openai` | arguments as JSON text, `weight`, no reasoning |
//! | `messages.rows=scope` | one row per conversation of an agent (the default) |
//! | `messages.rows=run` | one row per run: the agents that follow one another, without sub-agents |
//! | `messages.rows=turn` | one row per turn of a model: everything before the turn, and the turn |
//! | `messages.rows=session` | as `scope`, with the messages of a session's earlier runs before those of each later run, as history that is not a training target |
//! | `messages.tools=text` | the tools as JSON text, as LLaMA-Factory expects |
//! | `messages.split=completion` | `prompt` and `completion` instead of `messages`: the last message is separate |
//! | `messages.ids=mistral` | call ids of nine letters and digits, as Mistral's tokenizers before v13 require |
//! | `messages.mark=weight`, `training`, `trainable`, `none` | the key of messages that are not training targets (without it `weight` in flavour `openai`; in `trl` none, or `training` with `messages.rows=session`) |
//! | `messages.mask=failed` | messages whose call failed are not targets either |
//! | `messages.origin=ids`, `none` | whether the row has `trace_id` and the agent's `span_id` (without it `ids` in flavour `trl`, none in `openai`) |
//!
//! # What trainers drop silently
//!
//! Each of these is resolved, and reported as a loss:
//!
//! * Two messages of one role in a row become one.
//! * A second system message joins the first; after other messages it becomes a user message. Another prompt of the same agent over the
//!   same history is left out, because a clock in the prompt does not make a new turn.
//! * Messages after the last assistant message are left out: a row ends with the assistant.
//! * A call without a result that is followed by messages is answered by `[no result recorded]`.
//! * Of several results of one call, the last one is used.
//! * A call id that already exists in the row gets a number appended.
//! * Arguments that are not an object are wrapped in one, as `input`.
//!
//! If the history was edited or shortened, the row still has each message once, in the order of the run. This is
//! reported as a loss.
//!
//! Not resolved: GPT-OSS's template rejects a turn with text, reasoning and calls, and does not render text next to
//! calls; LLaMA-Factory drops text next to calls. Trainers of flavour `trl` train on every assistant message of a row, so with
//! `messages.rows=turn` they train on earlier messages repeatedly.
//!
//! A row that starts with an assistant message, or in which a user message follows results, is written and reported:
//! LLaMA-Factory drops it, Mistral's validator rejects one that begins with calls, the others accept it.
//!
//! If a model call has no recorded output, but the spans of its tools show its calls, the row has a message with these
//! calls. The row of an agent that answered without a recorded model call has such messages, too: calls that ran at the same time share
//! one. A row that would not end with the assistant's words ends with the agent's answer. All of these are reported as synthesized. A
//! run with no messages at all produces no row.
//!
//! An answer that broke off is left out, unless a user replied to it.
//!
//! # Reading documents
//!
//! Each row becomes a trace with its roles, words, calls and results: both flavours, `messages` or `prompt` with
//! `completion`, tools as a list or as text, `function_call` with `functions`, and a list of messages without a row around it, as
//! stored by clients of Anthropic's API. Messages with `weight: 0`, `training: false` or `trainable: false`, and those of a
//! `prompt`, are context, not output of a model call. A result without a call id answers the first waiting call. Other
//! keys, including `trace_id` and `span_id`, are only restored in `messages`: the row's new trace has its own id, so it does
//! not join a stored trace. Rows that are equal in every value are one trace.
//!
//! # What is lost
//!
//! Times, tokens, cost, model names, ids, rewards and evaluations: a row has no place for them. Each is one loss per row. Calls
//! that no model asked for, model calls without recorded words, other choices, errors together with a result, opaque reasoning,
//! operations outside conversations, and inputs and outputs of an agent or a chain that no message contains are one loss each. A tool's
//! own result is lost if the model received another text. Media become marked text, parts of a client's own kinds only in results.

mod assemble;
pub(in crate::formats) mod back;
mod check;
mod conversation;
mod document;
mod parts;
mod row;
mod session;
#[cfg(test)]
mod tests;
mod unrecorded;

use document::Row;

use crate::document::choice::{Choice, Options, choices};
use crate::formats::format::{Assembled, Format, by_table};
use crate::run::Run;

/// Whether rows have the ids of their trace and span.
#[cfg(feature = "parquet")]
pub(crate) fn rows_have_origin(options: &Options) -> bool {
    document::Origin::is_written(options)
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Messages;

impl Format for Messages {
    const ID: &'static str = "messages";
    const KEEPS: &'static str = "chat messages with tools: one row for each agent, for fine-tuning";
    const LOSES: &'static str = "times, tokens, cost, model names, ids, rewards, judgements, operations outside the conversation";
    const WHOLE_INPUTS: bool = false;
    const OPTIONS: &'static [Choice] = choices! {
        "messages.flavour" of Words(&["trl", "openai"]), "trl",
            "write the arguments of calls as objects, or as JSON text";
        "messages.rows" of Words(&["scope", "run", "turn", "session"]), "scope",
            "write a row for each agent, for each run, for each turn of a model, or for each agent with what was said in earlier runs of the session";
        "messages.tools" of Words(&["list", "text"]), "list",
            "write the offered tools as a list, or as JSON text";
        "messages.split" of Words(&["none", "completion"]), "none",
            "write `messages`, or `prompt` and `completion` with the last message apart";
        "messages.ids" of Words(&["recorded", "mistral"]), "recorded",
            "write call ids as recorded, or as the nine letters and digits that older Mistral tokenizers want";
        "messages.mark" of Words(&["flavour", "weight", "training", "trainable", "none"]), "flavour",
            "mark assistant messages that are not training targets with this key; `flavour` is `weight` for openai, `none` for trl (`training` with rows of a session)";
        "messages.mask" of Words(&["copied", "failed"]), "copied",
            "mark what the assistant said before the run, or also messages with a call that failed";
        "messages.origin" of Words(&["flavour", "ids", "none"]), "flavour",
            "write the trace id and the agent's span id into each row; `flavour` is `ids` for trl, `none` for openai, which refuses other keys";
    };
    type Document<'a> = Row<'a>;

    fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Row<'a>>> {
        assemble::assemble(runs, 0, options)
    }

    fn needs_earlier(options: &Options) -> bool {
        options.is("messages.rows", "session")
    }

    fn assemble_last<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Row<'a>>> {
        assemble::assemble(runs, runs.len().saturating_sub(1), options)
    }

    by_table!(check::DOCUMENT, check::check);
}
