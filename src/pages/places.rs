//! Finds where the runs of a list contain the words searched for.

use std::time::Instant;

use super::query::Query;
use crate::hash::HashMap;
use crate::view::found;
use crate::web::allowance::SEARCH_TIMEOUT;
use crate::web::answer::Answer;
use crate::web::listing::Listed;
use crate::web::lists;
use crate::web::reply::Problem;
use crate::web::service::Web;
use crate::web::single;

/// Maximum letters before the words.
const BEFORE: usize = 16;

/// An occurrence of the words in a run, with the text around it.
#[derive(Debug)]
pub(crate) struct Snippet {
    /// The id of the step.
    pub(crate) step: String,
    /// The step as text, and the place in it.
    pub(crate) place: String,
    /// The text before the words, the words, the text after.
    pub(crate) text: [String; 3],
}

impl Query {
    /// Finds an occurrence of the words in each run, as far as time allows.
    pub(super) fn places(&self, runs: &[Listed], web: &Web, answer: &mut Answer) -> Result<HashMap<String, Snippet>, Problem> {
        let mut places = HashMap::default();
        if self.words.is_empty() {
            return Ok(places);
        }
        let given_up = Instant::now() + SEARCH_TIMEOUT / 2;
        for listed in runs {
            let Some(row) = lists::row_of(web, listed)? else { continue };
            if Instant::now() > given_up {
                break;
            }
            let Some(built) = single::built_if_it_fits(web, &row, answer)? else {
                continue;
            };
            let goes_on = answer.goes_on(Some(given_up));
            let hit = built.run.as_ref().and_then(|run| {
                let hit = found::hits(run, &self.words, 1, &goes_on).pop()?;
                let place = format!("{}, {}", hit.of(run), hit.place);
                let text = [end_of(&hit.before).to_owned(), hit.words, hit.behind];
                let step = hit.step.id.clone();
                Some(Snippet { step, place, text })
            });
            drop(built);
            answer.shrink_to(lists::MEMORY);
            if let Some(hit) = hit {
                places.insert(listed.trace_id.clone(), hit);
            }
        }
        Ok(places)
    }
}

/// The text before the words, shortened so that the words are visible.
fn end_of(before: &str) -> &str {
    let from = before.char_indices().rev().nth(BEFORE).map_or(0, |(at, _)| at);
    before.get(from..).unwrap_or_default()
}
