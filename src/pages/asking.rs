//! Shared by the routes of the pages: parameters, and rendering on reader threads.

use maud::Markup;
use serde::de::DeserializeOwned;

use super::reply::HTML;
use crate::access::Right;
use crate::web::Route;
use crate::web::answer::Answer;
use crate::web::reply::{GET, Outcome, Problem};
use crate::web::request::Asked;
use crate::web::service::Web;
use crate::web::url::query_pairs;

/// A page, rendered on a reader thread. `T`: the variable parts of its path.
pub(crate) fn page<T: DeserializeOwned + Send + 'static>(
    path: &'static str,
    right: Right,
    make: impl Fn(&Web, T, &Asked, &mut Answer) -> Result<Markup, Problem> + Clone + Send + Sync + 'static,
) -> Route {
    Route::reads(path, Some(right), GET, move |web, named, asked, answer| {
        let page = make(web, named, asked, answer)?;
        write(asked, answer, page)
    })
}

/// Answers with a page.
pub(crate) fn write(asked: &Asked, answer: &mut Answer, page: Markup) -> Outcome {
    answer.of_type(HTML);
    answer.whole(asked, page.into_string().as_bytes())
}

/// A parameter of the query.
pub(crate) fn parameter(asked: &Asked, wanted: &str) -> Option<String> {
    query_pairs(asked.query())
        .into_iter()
        .find(|(name, _)| name == wanted)
        .map(|(_, value)| value)
}

/// The same as a number; 0 if missing.
pub(crate) fn number(asked: &Asked, name: &str) -> Result<usize, Problem> {
    match parameter(asked, name) {
        None => Ok(0),
        Some(text) => text
            .parse()
            .map_err(|_| Problem::invalid(format!("{name}={text} is not a whole number"))),
    }
}
