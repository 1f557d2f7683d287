//! The read side: documents computed when asked for, and the API over HTTP.

pub mod documents;
