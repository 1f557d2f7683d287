//! Replaces [`documents`](super) without that feature: spans only go to exporters.

use opentelemetry_sdk::trace::{SpanData, TracerProviderBuilder};

use super::env::Env;
use super::undelivered::report_line;

/// Uninhabited: documents are disabled.
#[derive(Debug, Clone, Copy)]
pub(super) enum Inbox {}

/// An order that an inbox would receive.
#[derive(Debug)]
pub(super) enum Order {
    /// Spans still open when the program ends.
    Open(#[expect(dead_code, reason = "there is no inbox")] Vec<SpanData>),
}

impl Inbox {
    pub(super) fn send(&self, _: Order) -> Result<(), Order> {
        match *self {}
    }
}

/// Attaches an exporter to a provider.
pub(super) type Attach = Box<dyn FnOnce(TracerProviderBuilder) -> TracerProviderBuilder + Send>;

/// Reports that the documents requested by the environment are not written.
pub(super) fn of_env(env: &Env) -> Option<(Inbox, Attach)> {
    if env.text("SPANBRIDGE_DOCUMENTS").is_some() {
        report_line(format_args!(
            "no documents are written: SPANBRIDGE_DOCUMENTS needs spanbridge with the feature `layer-documents`"
        ));
    }
    None
}
