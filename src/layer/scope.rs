//! The instrumentation scope of the Layer.

use opentelemetry::InstrumentationScope;

/// The name of the instrumentation scope of spans that come through the Layer.
pub const SCOPE: &str = "spanbridge";

pub(super) fn own_scope() -> InstrumentationScope {
    InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION")).build()
}
