//! A path that is answered.

use axum::routing::MethodRouter;

use crate::access::Right;

/// A route of the API.
#[derive(Debug)]
pub struct Route {
    /// Its path, with `{names}` for what differs.
    pub path: &'static str,
    /// The right that it takes; `None`: it is answered to anyone, and has nothing of any data.
    pub right: Option<Right>,
    /// What it answers, for the [`Web`](super::Web) in the request's extensions.
    pub methods: MethodRouter,
}
