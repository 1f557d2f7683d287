//! Shared by the routes of the pages: parameters, and rendering on reader threads.

use std::io::Write as _;
use std::sync::Arc;

use axum::response::Response;
use axum::routing::MethodRouter;
use maud::Markup;

use super::reply::HTML;
use crate::access::Right;
use crate::web::Route;
use crate::web::answer::Answer;
use crate::web::reply::Problem;
use crate::web::request::Asked;
use crate::web::routes::only_get;
use crate::web::service::Web;
use crate::web::url::query_pairs;

/// A route that reads.
pub(crate) fn route(path: &'static str, right: Option<Right>, methods: MethodRouter) -> Route {
    Route {
        path,
        right,
        methods: methods.fallback(only_get),
    }
}

/// Answers with a page that is made by a thread of those that read.
pub(crate) async fn page(
    web: Arc<Web>,
    asked: Asked,
    make: impl FnOnce(&Web, &Asked, &mut Answer) -> Result<Markup, Problem> + Send + 'static,
) -> Response {
    web.read(asked, move |web, asked, answer| {
        let page = make(web, asked, answer)?.into_string();
        answer.of_type(HTML);
        Ok(answer.write_all(page.as_bytes())?)
    })
    .await
}

/// A parameter of the address.
pub(crate) fn parameter(asked: &Asked, wanted: &str) -> Option<String> {
    query_pairs(asked.query())
        .into_iter()
        .find(|(name, _)| name == wanted)
        .map(|(_, value)| value)
}

/// The same as a number; 0 without it.
pub(crate) fn number(asked: &Asked, name: &str) -> Result<usize, Problem> {
    match parameter(asked, name) {
        None => Ok(0),
        Some(text) => text
            .parse()
            .map_err(|_| Problem::invalid(format!("{name}={text} is not a whole number"))),
    }
}
