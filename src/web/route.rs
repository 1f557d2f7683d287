//! A path that is answered.

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
    /// Its path, with `{names}` for what differs.
    pub path: &'static str,
    /// The right that it takes; `None`: it is answered to anyone, and has nothing of any data.
    pub right: Option<Right>,
    /// What it answers, for the [`Web`] in the request's extensions.
    methods: MethodRouter,
    /// Whether it makes its answers with an [`Answer`].
    pub reads: bool,
}

impl Route {
    /// Makes something of what is stored: on a thread of those that read, with the memory and the time of an [`Answer`]. There is no
    /// other way to what is stored. `T`: what differs in the path.
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

    /// Answers without an [`Answer`]: what is the same whatever is stored, or is bounded where it is made. A test names each.
    pub(crate) fn bare(path: &'static str, right: Option<Right>, allow: &'static str, methods: MethodRouter) -> Self {
        Self {
            path,
            right,
            methods: methods.fallback(move |method: Method| async move { Problem::method(&method, allow).reply() }),
            reads: false,
        }
    }

    /// What it answers.
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
