//! Warns once if a provider built elsewhere drops attributes because of its limits.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use opentelemetry::global::BoxedSpan;
use opentelemetry_sdk::trace::Span as SdkSpan;

use super::global;

/// The SDK's default limit of attributes per span.
pub(super) const SDK_DEFAULT: usize = 128;

/// The origin of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provider {
    /// [`Setup`](super::Setup), whose limits are known.
    Ours,
    /// The global provider, set by anyone.
    Global,
    /// The program's own.
    Theirs,
}

/// Warns once that spans with many attributes may lose some.
pub(super) fn check(provider: Provider, span: &dyn Any, attributes: usize) {
    static LARGEST: AtomicUsize = AtomicUsize::new(SDK_DEFAULT);
    static WARNED: AtomicBool = AtomicBool::new(false);
    if provider == Provider::Ours || provider == Provider::Global && global::is_ours() {
        return;
    }
    // Inspecting a span copies it, and only a span larger than all before can reveal more.
    if WARNED.load(Ordering::Relaxed) || LARGEST.fetch_max(attributes, Ordering::Relaxed) >= attributes {
        return;
    }
    let dropped = match span.downcast_ref::<SdkSpan>() {
        Some(span) => span.exported_data().is_some_and(|data| data.dropped_attributes_count > 0),
        // A boxed span cannot be inspected.
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
