//! The parts of every document: JSON values and texts, layout, options, losses, and violations.
//!
//! Nothing here depends on a format or a run.

pub(crate) mod choice;
pub(crate) mod complete;
pub(crate) mod json;
pub(crate) mod json_from;
pub(crate) mod json_read;
pub(crate) mod layout;
pub(crate) mod loss;
#[cfg(feature = "server")]
pub(crate) mod loss_groups;
pub(crate) mod mapping;
pub(crate) mod parsed_size;
pub(crate) mod records;
pub(crate) mod repeated_keys;
pub(crate) mod rules;
pub(crate) mod schema;
pub(crate) mod shape;
mod shown;
pub(crate) mod source;
pub(crate) mod text;
pub(crate) mod violations;
