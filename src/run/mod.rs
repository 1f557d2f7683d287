//! An agent's work in one form for all formats: operations in causal order, agent scopes, conversations and
//! stitched tool calls.
//!
//! A [`Run`] is built from the spans of one trace alone. Formats read nothing else. `assemble` lists the stages that build it, in
//! order; each stage's file begins with its input, its output and why it runs at this point.
//!
//! ```
//! use spanbridge::documents::Vocabulary;
//! use spanbridge::span::json;
//!
//! # let request = br#"{"resourceSpans": [{"scopeSpans": [{"spans": [{
//! #     "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "weather",
//! #     "startTimeUnixNano": "1795262685000000000", "endTimeUnixNano": "1795262686000000000",
//! #     "attributes": [{"key": "openinference.span.kind", "value": {"stringValue": "TOOL"}},
//! #                    {"key": "tool.name", "value": {"stringValue": "weather"}}]
//! # }]}]}]}"#;
//! let spans = json::traces(request)?.items;
//! let runs = Vocabulary::built_in().runs(spans, Vec::new());
//! assert_eq!(runs[0].steps[0].operation.name, "weather");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agent;
mod agent_names;
mod agent_questions;
mod agent_results;
pub(crate) mod annotations;
mod arguments;
mod asked_calls;
mod assemble;
mod bare_definitions;
mod bare_errors;
mod broken_answers;
mod call_record;
mod calls_of_agents;
mod continuations;
mod conversation;
mod conversation_entries;
#[cfg(feature = "server")]
mod cut;
mod duplicates;
mod echoed_errors;
mod failure;
mod fill;
mod id;
#[cfg(feature = "server")]
mod in_full;
mod input_limit;
mod inputs;
mod interrupts;
mod joined_interrupts;
mod joined_prompts;
mod labels;
mod leaked_answers;
mod linked_evaluations;
mod log_records;
mod model;
mod nameless_calls;
mod names;
mod nearest_span;
mod node;
mod order;
mod question;
mod readings;
mod recorded_words;
mod request_models;
mod results;
mod root;
mod run_scopes;
mod running_sums;
mod same_calls;
mod scopes;
mod status;
mod steps;
mod summary;
#[cfg(test)]
pub(crate) mod testing;
mod tool_calls;
mod tree;

pub(crate) use assemble::from_batch;
#[cfg(feature = "server")]
pub(crate) use cut::cut;
pub use id::{Id, IdVec, ScopeId, StepId};
#[cfg(feature = "server")]
pub(crate) use in_full::{InFull, in_full, missing_bases};
pub use model::{AgentInfo, Annotation, CallEntry, Entry, EntryKind, Observed, ResultEntry, Run, RunFailure, Scope, Step, Utterance};
pub(crate) use names::{handoff_target, plain as plain_name};
pub use status::RunStatus;
