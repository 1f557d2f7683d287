//! OpenReward's blocks over HTTP: written one by one or as a list, and read back as written.
//!
//! Blocks are kept only in the store: each is a span of its trace ([`written`](crate::formats::openreward::written)). A
//! [`Ledger`](ledger::Ledger) keeps in memory what the rules need to know of the traces being written to, so that the cost
//! of a block does not depend on the size of its trace; this state is read from the store when it is missing.

pub(super) mod ledger;
mod name;
mod post;
mod read;
mod state;

pub(super) use name::Name;
pub(super) use post::Posted;
pub(crate) use post::cost_of_blocks;
pub(super) use read::blocks;
