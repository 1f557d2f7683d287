//! Routes of the API.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use http::request::Parts;
use hyper::Method;
use serde::de::DeserializeOwned;

use super::answer::Answer;
use super::reply::{Outcome, Problem};
use super::request::{Asked, Named};
use super::service::Web;
use crate::access::Right;

/// A route of the API.
#[derive(Debug)]
pub struct Route {
    /// Its path, with `{names}` for variable parts.
    pub path: &'static str,
    /// The required right; `None`: open to anyone, and reveals no data.
    pub right: Option<Right>,
    /// Its handlers, for the [`Web`] in the request's extensions.
    methods: MethodRouter,
    /// Whether it answers through an [`Answer`].
    pub reads: bool,
}

impl Route {
    /// A route that builds something from stored data, on a reader thread with the memory and time of an [`Answer`]. This is
    /// the only way to stored data. `T`: the variable parts of the path.
    pub(crate) fn reads<T: DeserializeOwned + Send + 'static>(
        path: &'static str,
        right: Option<Right>,
        allow: &'static str,
        make: impl Fn(&Web, T, &Asked, &mut Answer) -> Outcome + Clone + Send + Sync + 'static,
    ) -> Self {
        let answer = move |OfProject(web): OfProject, Named(named): Named<T>, asked: Asked| {
            let make = make.clone();
            web.read(asked, move |web, asked, answer| make(web, named, asked, answer))
        };
        Self {
            reads: true,
            ..Self::bare(path, right, allow, get(answer))
        }
    }

    /// A route without an [`Answer`]: for what does not depend on stored data, or is bounded elsewhere. A test lists all of them.
    pub(crate) fn bare(path: &'static str, right: Option<Right>, allow: &'static str, methods: MethodRouter) -> Self {
        Self {
            path,
            right,
            methods: methods.fallback(move |method: Method| async move { Problem::method(&method, allow).reply() }),
            reads: false,
        }
    }

    /// The handlers.
    pub(crate) fn methods(self) -> MethodRouter {
        self.methods
    }
}

/// The read side of the request's project.
#[derive(Debug)]
pub(crate) struct OfProject(pub(crate) Arc<Web>);

impl<S: Sync> FromRequestParts<S> for OfProject {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let web = parts.extensions.get::<Arc<Web>>().cloned();
        web.map(Self)
            .ok_or_else(|| Problem::internal("the request is of no project").reply())
    }
}
