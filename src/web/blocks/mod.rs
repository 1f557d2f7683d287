//! OpenReward's blocks over HTTP: written one by one or as a list, and read back as they were written.
//!
//! The store is the only place where a block is kept: each is a span of its trace
//! ([`written`](crate::formats::openreward::written)). A [`Ledger`](ledger::Ledger) has in memory what the rules must know of the
//! traces that are written to, so that a block costs about the same however many its trace has; it is read from the store
//! again when it is needed and not there.

pub(super) mod ledger;
mod name;
mod post;
mod read;
mod state;

pub(super) use name::Name;
pub(super) use post::Posted;
pub(crate) use post::cost_of_blocks;
pub(super) use read::blocks;
