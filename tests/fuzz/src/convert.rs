//! Any file: what it is, its spans and log records, and their documents.

use spanbridge::cli::fuzzing;
use spanbridge::formats::Options;
use spanbridge::receiver::limits::Encoding;

use super::documents;

/// More spans than this make one execution slow, and say nothing new.
const SPANS: usize = 48;

/// Holds the law over these bytes.
pub fn run(data: &[u8]) {
    if Encoding::of_magic(data).is_some() {
        // `receive` inflates, with a smaller limit.
        return;
    }
    let (mut spans, mut logs, _) = fuzzing::recognise(data);
    spans.truncate(SPANS);
    logs.truncate(SPANS);
    documents::check(&spans, &logs, &Options::default());
}
