//! The routes of the API with their required rights, and the choice of a request's project.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{any, delete, post};
use axum::{Extension, Router};

use super::gate::Gate;
use super::mount::Mount;
use super::{login, writes};
use crate::access::{Denied, Right};
use crate::forward::Forwarder;
use crate::forward::order::Order;
use crate::pages;
use crate::web::OfProject;
use crate::web::openapi::{self, Verb};
use crate::web::{self, Web};

/// The router for requests whose head has passed the gate.
pub(super) fn router(gate: &Arc<Gate>, addresses: pages::Addresses, forwarder: Arc<Forwarder>, mounts: &[Mount], tls: bool) -> Router {
    let needs = |right| from_fn_with_state((Arc::clone(gate), right), admit);
    let writes = [
        (&openapi::BLOCKS, Verb::Post, post(writes::blocks)),
        (&openapi::IMPORT, Verb::Post, post(writes::import)),
        (&openapi::IMPORT_OF_FORMAT, Verb::Post, post(writes::import_of_format)),
        (&openapi::EVALUATIONS, Verb::Post, post(writes::evaluation)),
        (&openapi::TRACE, Verb::Delete, delete(writes::delete_trace)),
        (&openapi::SESSION, Verb::Delete, delete(writes::delete_session)),
    ];
    let mut router = Router::new();
    let (of_pages, of_api) = pages::routes();
    for route in web::routes().into_iter().chain(of_api) {
        let (path, right) = (route.path, route.right);
        router = router.route(path, route.methods().layer(needs(right)));
    }
    for route in of_pages {
        let (path, right) = (route.path, route.right);
        let methods = route.methods().layer(needs(right)).layer(from_fn(pages::dressed));
        router = router.route(path, methods);
    }
    for (path, verb, methods) in writes {
        let methods = methods.layer(needs(path.right(verb)));
        // Web pages are refused, whatever credentials they send.
        router = router.route(path.path, methods.layer(from_fn_with_state(Arc::clone(gate), check_origin)));
    }
    let evaluate = post(writes::evaluation_of_form)
        .layer(needs(Some(Right::Annotate)))
        .layer(from_fn(pages::dressed));
    router = router.route("/runs/{trace}/evaluations", evaluate);
    let evaluate_many = post(writes::evaluations_of_form)
        .layer(needs(Some(Right::Annotate)))
        .layer(from_fn(pages::dressed));
    router = router.route("/runs/evaluations", evaluate_many);
    let view = post(writes::view_of_form).layer(needs(Some(Right::Annotate)));
    router = router.route("/views", view.layer(from_fn(pages::dressed)));
    for (path, order) in [("/operations/{name}/retry", Order::Retry), ("/operations/{name}/skip", Order::Skip)] {
        let give = post(writes::order).layer(Extension(order)).layer(needs(Some(Right::Admin)));
        router = router.route(path, give.layer(from_fn(pages::dressed)));
    }
    for Mount { path, right, answer } in mounts {
        let answer = Arc::clone(answer);
        let methods = any(move |OfProject(web): OfProject, request: Request| answer(web, request)).layer(needs(Some(*right)));
        router = router.route(path, methods.layer(from_fn_with_state(Arc::clone(gate), check_origin)));
    }
    let log_in = post(login::log_in).get(login::ask).layer(from_fn(pages::dressed));
    let log_out = post(login::log_out).layer(from_fn(pages::dressed));
    router = router
        .route("/login", log_in.with_state((Arc::clone(gate), tls)))
        .route("/logout", log_out.with_state((Arc::clone(gate), tls)))
        .layer(Extension(addresses))
        .layer(Extension(forwarder));
    router.fallback_service(web::elsewhere_route().layer(needs(Some(Right::Read))))
}

/// Routes a request to the project of its token, if the token has the right.
async fn admit(State((gate, right)): State<(Arc<Gate>, Option<Right>)>, mut request: Request, next: Next) -> Response {
    let admitted = match right {
        None => Ok((Arc::clone(gate.projects.first()), None)),
        Some(right) => gate.project_and_name(&request, right),
    };
    match admitted {
        Ok((project, name)) => {
            request.extensions_mut().insert(writes::TokenName(name));
            request.extensions_mut().insert(project.name.clone());
            request.extensions_mut().insert(Arc::clone(&project.web));
            request.extensions_mut().insert(project);
            next.run(request).await
        }
        Err(denied) => {
            gate.refused(match &denied {
                Denied::NoToken => "no_token",
                Denied::NoRight { .. } => "no_right",
                _ => "unknown_token",
            });
            Web::refuse(&denied)
        }
    }
}

async fn check_origin(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    match gate.projects.first().receiver.origin(&request) {
        Ok(()) => next.run(request).await,
        Err(rejection) => {
            gate.refused(rejection.name());
            writes::refuse(&rejection)
        }
    }
}
