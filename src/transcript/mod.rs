//! The messages, calls and results of a run in the form that formats present: which operations the conversations cover, how to
//! present the others, the ids of answered calls, and the parts that formats share.
//!
//! A [`Transcript`] borrows a [`Run`](crate::run::Run); it is built once per run and used for every list of a document.

mod call_place;
pub(crate) mod calls;
pub(crate) mod chat;
pub(crate) mod content;
pub(crate) mod conversation_words;
mod coverage;
mod exchanges;
pub(crate) mod fact_groups;
pub(crate) mod facts;
mod handoffs;
mod history;
pub(crate) mod ids;
mod inner_agents;
pub(crate) mod losses;
pub(crate) mod order;
mod repeated;
pub(crate) mod rounds;
pub(crate) mod step_record;
#[cfg(test)]
mod tests;
pub(crate) mod thread;
pub(crate) mod turn_facts;

pub(crate) use crate::run::{ScopeId, StepId};
pub(crate) use call_place::CallPlace;
pub(crate) use coverage::{Transcript, Uncovered, hands_on, is_model_call};
pub(crate) use exchanges::{CallResult, Exchange, ExchangeCall, ExchangeKind, Exchanges};
pub(crate) use history::{first_input, history};

/// Maximum nesting depth of called agents in a document: JSON readers stop at 128 levels, and an agent takes five. Deeper
/// ones are written after the others.
pub(crate) const NESTING_LIMIT: usize = 16;
