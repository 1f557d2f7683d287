//! OpenReward's blocks, independent of runs: their types, the page's rules and limits, and the tree of a conversation.
//!
//! The format writes and checks them, and the server stores those that clients write one by one.

pub mod document;
pub mod limits;
pub mod rules;
pub mod stitch;
