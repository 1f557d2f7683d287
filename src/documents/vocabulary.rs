//! Converts spans to runs, using the built-in dialects and a user's own keys.

use std::borrow::Cow;
#[cfg(feature = "server")]
use std::collections::HashSet;
use std::time::Duration;

use super::prices::Prices;
use crate::dialect::Registry;
#[cfg(feature = "server")]
use crate::dialect::file::FileError;
use crate::formats;
use crate::run::{self, Run};
use crate::span::{LogRecord, Span, UnixNanos};
use crate::trace::FindingKind;

/// The vocabulary used to read spans.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    registry: Cow<'static, Registry>,
    prices: Prices,
}

impl Vocabulary {
    /// The built-in dialects.
    #[must_use]
    pub fn built_in() -> Self {
        Self {
            registry: Cow::Borrowed(Registry::built_in()),
            prices: Prices::default(),
        }
    }

    /// Adds a user's own keys, read from the text of a file.
    ///
    /// # Errors
    ///
    /// The file has the wrong form.
    #[cfg(feature = "server")]
    pub fn with_file_text(&self, text: &str) -> Result<Self, FileError> {
        Ok(Self {
            registry: Cow::Owned(self.registry.with_file_text(text)?),
            prices: self.prices.clone(),
        })
    }

    /// Sets prices for calls without a cost.
    #[must_use]
    pub fn with_prices(self, prices: Prices) -> Self {
        Self { prices, ..self }
    }

    /// The prices.
    #[cfg(feature = "server")]
    pub(crate) fn prices(&self) -> &Prices {
        &self.prices
    }

    /// The dialects.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Attribute keys that name a session, best first.
    #[must_use]
    pub fn session_keys(&self) -> &[String] {
        self.registry.session_keys()
    }

    /// The sessions named by these spans.
    #[cfg(feature = "server")]
    pub(crate) fn sessions_of(&self, spans: &[Span]) -> HashSet<String> {
        let keys = self.session_keys();
        let places = spans.iter().flat_map(|span| [&span.attributes, &span.resource.attributes]);
        let named = places.filter_map(|place| keys.iter().find_map(|key| place.text(key)));
        named.map(str::to_owned).collect()
    }

    /// The runs of these spans, one per trace. Blocks that were written one by one form a conversation.
    #[must_use]
    pub fn runs(&self, spans: Vec<Span>, logs: Vec<LogRecord>) -> Vec<Run> {
        let mut runs = run::from_batch(formats::as_conversations(spans), logs, &self.registry);
        runs.iter_mut().for_each(|run| self.prices.give(run));
        runs
    }

    /// The runs of spans stored at this time, one per trace. A run whose root has not arrived counts as running while its spans are
    /// recent.
    #[must_use]
    pub fn stored_runs(&self, spans: Vec<Span>, logs: Vec<LogRecord>, now: UnixNanos) -> Vec<Run> {
        let mut runs = self.runs(spans, logs);
        runs.iter_mut().for_each(|run| settle_end(run, now));
        runs
    }
}

/// Exporters send ended spans in batches: after this time, the root of an ended run has arrived.
const ROOT_DELAY: Duration = Duration::from_secs(60);

/// Whether a run may still be running, because its root has not arrived.
#[cfg(any(feature = "server", test))]
#[must_use]
pub(crate) fn awaits_root(run: &Run) -> bool {
    run.ended_at.is_none() && lacks_root(run)
}

fn lacks_root(run: &Run) -> bool {
    run.findings.iter().any(|finding| finding.kind == FindingKind::MissingRoot)
}

fn settle_end(run: &mut Run, now: UnixNanos) {
    let is_young = |end: UnixNanos| u128::from(now.0.abs_diff(end.0)) < ROOT_DELAY.as_nanos();
    if lacks_root(run) && run.ended_at.is_some_and(is_young) {
        run.ended_at = None;
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use crate::span::{SpanId, TraceId};

    /// A tool's span below a root that did not come, which ended at this time.
    fn run_without_root(end: u64) -> Run {
        let [id, parent] = [1, 2].map(|id| SpanId::from_bytes(&[id; 8]).unwrap());
        let mut span = Span::new(TraceId::from_bytes(&[1; 16]).unwrap(), id, "execute_tool find");
        span.parent = Some(parent);
        (span.start, span.end) = (UnixNanos(end - 1_000), UnixNanos(end));
        span.attributes.push("gen_ai.operation.name", "execute_tool");
        Vocabulary::built_in().runs(vec![span], Vec::new()).pop().unwrap()
    }

    #[test]
    fn a_run_whose_root_has_not_come_goes_on_while_its_spans_are_young() {
        const SECOND: u64 = 1_000_000_000;
        let end = 1_767_261_600 * SECOND;
        for (later, goes_on) in [(SECOND, true), (59 * SECOND, true), (61 * SECOND, false)] {
            let mut run = run_without_root(end);
            assert_eq!(run.ended_at, Some(UnixNanos(end)));
            settle_end(&mut run, UnixNanos(end + later));
            assert_eq!((run.ended_at.is_none(), awaits_root(&run)), (goes_on, goes_on), "{later}");
        }
    }
}
