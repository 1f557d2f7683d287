//! Spans made of what the dialects know, with values that nobody expects, and their documents.

use super::{documents, made};

/// Holds the law over the spans that these bytes make.
pub fn run(data: &[u8]) {
    let made = made::of(data);
    documents::check(&made.spans, &made.logs, &made.options);
}
