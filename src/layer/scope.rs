//! The instrumentation scope of the Layer.

use opentelemetry::InstrumentationScope;

/// The name of the instrumentation scope of the Layer's spans.
pub const SCOPE: &str = "spanbridge";

pub(super) fn own_scope() -> InstrumentationScope {
    InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION")).build()
}
