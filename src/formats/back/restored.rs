//! A document as it was imported.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::numbers::{Exact, Numbers};

/// A document as it was imported, restored with what its import kept beside the spans.
#[derive(Debug)]
pub(in crate::formats) struct Restored {
    pub(in crate::formats) document: Value,
    pub(in crate::formats) numbers: Numbers,
}

impl Serialize for Restored {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Exact::new(&self.document, &self.numbers).serialize(serializer)
    }
}
