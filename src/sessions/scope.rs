//! The instrumentation scope of all spans of sessions.

use std::sync::Arc;

use crate::span::{SESSION_SCOPE, Scope, Span};

pub(super) fn scope() -> Arc<Scope> {
    Arc::new(Scope {
        name: SESSION_SCOPE.to_owned(),
        ..Scope::default()
    })
}

/// Whether a span was read from a session file.
pub(crate) fn is_of_session(span: &Span) -> bool {
    span.scope.name == SESSION_SCOPE
}
