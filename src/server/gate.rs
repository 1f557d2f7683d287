//! The gate that every request passes: authentication and authorization.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use axum::Router;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_SECURITY_POLICY, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::service::Service as _;
use hyper::{Request, Response};
use hyper_util::service::TowerToHyperService;

use super::config::{Connections, Security};
use super::cookie;
use super::hosts::Hosts;
use super::listen;
use super::projects::{ProjectServices, Projects};
use crate::access::{Denied, Right, Tokens};
use crate::forward::Via;
use crate::pages;
use crate::receiver::{Body, Receiver, Refusals, Rejection};
use crate::web::{self, Web};

/// Content security policy for responses that are not pages.
const NO_PAGE: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// Routes each request to the project of its token.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) projects: Projects,
    tokens: RwLock<Arc<Tokens>>,
    /// Whether clients must present certificates.
    certificates: AtomicBool,
    /// Whether connections use TLS.
    tls: bool,
    limits: Connections,
    hosts: Hosts,
    /// Counts of refused API requests.
    refused: Arc<Refusals>,
    via: Arc<Via>,
}

impl Gate {
    pub(super) fn new(
        projects: Projects,
        security: &Security,
        limits: Connections,
        hosts: Hosts,
        refused: Arc<Refusals>,
        via: Arc<Via>,
    ) -> Self {
        let gate = Self {
            projects,
            tokens: RwLock::default(),
            certificates: AtomicBool::default(),
            tls: security.tls.is_some(),
            limits,
            hosts,
            refused,
            via,
        };
        gate.set_security(security);
        gate
    }

    pub(super) fn set_security(&self, security: &Security) {
        let certificates = security.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        self.certificates.store(certificates, Ordering::Relaxed);
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(security.tokens.clone());
    }

    pub(super) fn tokens(&self) -> Arc<Tokens> {
        Arc::clone(&self.tokens.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Without authentication, a web page in a browser on this machine must not pass for a local program. Beyond the
    /// loopback interface, the names of this machine are unknown.
    fn host<B>(&self, request: &Request<B>, at: SocketAddr) -> Result<(), Rejection> {
        let asked = self.certificates.load(Ordering::Relaxed) || !self.tokens().is_empty();
        if asked || !listen::is_loopback(&at) {
            return Ok(());
        }
        self.hosts.check(request)
    }

    /// The project of a request, by its token.
    pub(super) fn project<B>(&self, request: &Request<B>, right: Right) -> Result<Arc<ProjectServices>, Denied> {
        self.project_and_name(request, right).map(|(project, _)| project)
    }

    /// The project of a request and the token's name, if there are tokens.
    pub(super) fn project_and_name<B>(&self, request: &Request<B>, right: Right) -> Result<(Arc<ProjectServices>, Option<String>), Denied> {
        let tokens = self.tokens();
        let values = request.headers().get_all(AUTHORIZATION).iter();
        let mut values: Vec<Cow<'_, [u8]>> = values.map(|value| value.as_bytes().into()).collect();
        if values.is_empty() && !tokens.is_empty() {
            values.extend(cookie::of_request(request, self.tls).map(Cow::from));
        }
        let grant = tokens.grant(values.iter().map(AsRef::as_ref), right)?;
        let project = grant.as_ref().map(|grant| grant.project.clone()).unwrap_or_default();
        // Projects are opened before their tokens become known.
        let project = self.projects.of(&project).ok_or(Denied::UnknownToken)?;
        Ok((project, grant.map(|grant| grant.name.clone())))
    }

    /// Limits the head of a request: HTTP/1.1's own limit is about its buffer, and HTTP/2 does not count fields.
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

    /// Answers a request to an OTLP port with this address.
    pub(super) async fn otlp(self: Arc<Self>, request: Request<Incoming>, at: SocketAddr) -> Response<Body> {
        let first = self.projects.first();
        let passed = self.head(&request).and_then(|()| self.host(&request, at));
        if let Err(rejection) = passed.and_then(|()| first.receiver.origin(&request)) {
            return first.receiver.refuse(request, &rejection).await;
        }
        if Receiver::is_open(&request) {
            return Arc::clone(&first.receiver).handle(request).await;
        }
        match self.project(&request, Right::Ingest) {
            Ok(_) if self.via.is_loop(request.headers()) => first.receiver.refuse(request, &Rejection::Loop).await,
            Ok(project) => Arc::clone(&project.receiver).handle(request).await,
            Err(denied) => first.receiver.refuse(request, &Rejection::Denied(denied)).await,
        }
    }

    /// Answers a request to the API port with this address.
    pub(super) async fn api(self: Arc<Self>, router: Router, request: Request<Incoming>, at: SocketAddr) -> Response<web::Body> {
        let mut response = if let Err(rejection) = self.head(&request) {
            self.refused(rejection.name());
            Web::too_large_head(rejection.to_string())
        } else if let Err(rejection) = self.host(&request, at) {
            self.refused(rejection.name());
            Web::foreign_host(rejection.to_string())
        } else {
            let mut request = request;
            *request.uri_mut() = pages::addressed(&request).unwrap_or_else(|| web::normalized(request.uri()));
            let Ok(response) = TowerToHyperService::new(router).call(request.map(web::Body::new)).await;
            response
        };
        // Content from strangers must not act as a page of this server, whatever a browser takes it for.
        for (name, value) in [(X_CONTENT_TYPE_OPTIONS, "nosniff"), (CONTENT_SECURITY_POLICY, NO_PAGE)] {
            response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
        }
        response
    }

    /// Counts a refused API request.
    pub(super) fn refused(&self, reason: &'static str) {
        self.refused.add("API", reason);
    }
}
