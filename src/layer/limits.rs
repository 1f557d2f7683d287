//! Limits of providers that were built elsewhere: what they drop is reported once.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use opentelemetry::global::BoxedSpan;
use opentelemetry_sdk::trace::Span as SdkSpan;

use super::global;

/// The SDK's own limit of attributes a span.
pub(super) const SDK_DEFAULT: usize = 128;

/// Who built the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provider {
    /// [`Setup`](super::Setup), which knows the limits.
    Ours,
    /// Whoever set the global one.
    Global,
    /// The program.
    Theirs,
}

/// Warns once that spans with many attributes may lose some.
pub(super) fn check(provider: Provider, span: &dyn Any, attributes: usize) {
    static LARGEST: AtomicUsize = AtomicUsize::new(SDK_DEFAULT);
    static WARNED: AtomicBool = AtomicBool::new(false);
    if provider == Provider::Ours || provider == Provider::Global && global::is_ours() {
        return;
    }
    // Looking into a span copies it: only one that is larger than all before can reveal more.
    if WARNED.load(Ordering::Relaxed) || LARGEST.fetch_max(attributes, Ordering::Relaxed) >= attributes {
        return;
    }
    let dropped = match span.downcast_ref::<SdkSpan>() {
        Some(span) => span.exported_data().is_some_and(|data| data.dropped_attributes_count > 0),
        // Nobody can look into these.
        None => span.is::<BoxedSpan>(),
    };
    if dropped && !WARNED.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            target: "spanbridge",
            "a span has {attributes} attributes, and its provider has limits of its own that may drop some: \
             build it with `spanbridge::layer::span_limits()`"
        );
    }
}
