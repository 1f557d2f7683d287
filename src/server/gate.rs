//! Every request passes here: whose it is, and whether it may.

use std::sync::{Arc, PoisonError, RwLock};

use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::{Request, Response};

use super::config::Connections;
use super::projects::{Place, Projects};
use crate::access::{Denied, Right, Tokens};
use crate::receiver::{Body, Receiver, Refusals, Rejection};
use crate::web::Web;

/// Leads each request to the project of its token.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) projects: Projects,
    tokens: RwLock<Arc<Tokens>>,
    limits: Connections,
    /// Requests of the API that were refused.
    refused: Arc<Refusals>,
}

impl Gate {
    pub(super) fn new(projects: Projects, tokens: Tokens, limits: Connections, refused: Arc<Refusals>) -> Self {
        Self {
            projects,
            tokens: RwLock::new(Arc::new(tokens)),
            limits,
            refused,
        }
    }

    pub(super) fn set_tokens(&self, tokens: Tokens) {
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tokens);
    }

    fn place<B>(&self, request: &Request<B>, right: Right) -> Result<Arc<Place>, Denied> {
        let tokens = Arc::clone(&self.tokens.read().unwrap_or_else(PoisonError::into_inner));
        let values = request.headers().get_all(AUTHORIZATION).iter();
        let project = tokens.allow(values.map(|value| value.as_bytes()), right)?;
        // Every project of a token is open before the token is known.
        self.projects.of(&project).ok_or(Denied::UnknownToken)
    }

    /// What the protocols' own bounds let through: those of HTTP/1.1 are about its buffer, HTTP/2 counts no fields.
    fn head<B>(&self, request: &Request<B>) -> Result<(), Rejection> {
        let headers = request.headers();
        let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        for (what, found, limit) in [
            ("header fields", headers.len(), self.limits.headers),
            ("bytes of header fields", bytes, self.limits.header_bytes),
        ] {
            if found > limit {
                return Err(Rejection::Headers { what, found, limit });
            }
        }
        Ok(())
    }

    /// Answers a request on an OTLP port.
    pub(super) async fn otlp(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let first = self.projects.first();
        if let Err(rejection) = self.head(&request) {
            return first.receiver.refuse(request, &rejection).await;
        }
        if Receiver::is_open(&request) {
            return Arc::clone(&first.receiver).handle(request).await;
        }
        match self.place(&request, Right::Ingest) {
            Ok(place) => Arc::clone(&place.receiver).handle(request).await,
            Err(denied) => first.receiver.refuse(request, &Rejection::Denied(denied)).await,
        }
    }

    /// Answers a request on the API's port.
    pub(super) async fn api(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        if let Err(rejection) = self.head(&request) {
            self.refused.add("API", rejection.name());
            return Web::too_large_head(rejection.to_string());
        }
        let Some(right) = Web::right(request.uri().path()) else {
            return Arc::clone(&self.projects.first().web).handle(request).await;
        };
        match self.place(&request, right) {
            Ok(place) => Arc::clone(&place.web).handle(request).await,
            Err(denied) => {
                let reason = match &denied {
                    Denied::NoToken => "no_token",
                    Denied::NoRight { .. } => "no_right",
                    _ => "unknown_token",
                };
                self.refused.add("API", reason);
                Web::refuse(&denied)
            }
        }
    }
}
