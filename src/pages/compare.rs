//! Comparing two runs, two sessions or two sets; as pages and as JSON.

use maud::Markup;
use serde::Serialize;

use super::asking::{page, parameter};
use super::differences;
use super::frame::{self, Place};
use super::load::Loaded;
use super::sets::{self, Sides};
use super::{runs, sessions};
use crate::access::Right;
use crate::view::compare::{self, Comparison, Effort, Key, Members, SetComparison};
use crate::web::Route;
use crate::web::answer::Answer;
use crate::web::lists;
use crate::web::openapi;
use crate::web::reply::{Outcome, Problem};
use crate::web::request::Asked;
use crate::web::service::Web;
use crate::web::single;

/// Memory for the texts of both runs, their words and the differences, as a multiple of what is stored.
const TAKES: usize = 4;

/// The routes of the pages, and those of the API.
pub(crate) fn routes() -> (Vec<Route>, Vec<Route>) {
    let pages = vec![
        page("/compare", Right::Read, of_runs),
        page("/compare/sets", Right::Read, sets::page),
        page("/compare/sessions", Right::Read, of_sessions),
    ];
    let api = vec![
        openapi::COMPARE.reads(|web, (), asked, answer| {
            let compared = two_runs(web, asked, answer)?;
            answer.json(&compared)
        }),
        openapi::COMPARE_SETS.reads(answer_with_sets),
        openapi::COMPARE_SESSIONS.reads(|web, (), asked, answer| {
            let (left, right) = (needed(asked, "a")?, needed(asked, "b")?);
            let (compared, left_out) = two_sessions(web, &left, &right, answer)?;
            answer.json(&Sets { compared, left_out })
        }),
    ];
    (pages, api)
}

/// Compares two runs, or shows the list to choose the second from.
fn of_runs(web: &Web, (): (), asked: &Asked, answer: &mut Answer) -> Result<Markup, Problem> {
    if parameter(asked, "b").is_none() {
        return runs::page(web, (), asked, answer);
    }
    let compared = two_runs(web, asked, answer)?;
    Ok(frame::page("Compare", Place::Runs, &[], &differences::runs(&compared)))
}

/// Compares two sessions, or shows the list to choose the second from.
fn of_sessions(web: &Web, (): (), asked: &Asked, answer: &mut Answer) -> Result<Markup, Problem> {
    let left = needed(asked, "a")?;
    let Some(right) = parameter(asked, "b") else {
        return sessions::page(web, asked, Some(&left), answer);
    };
    let (compared, left_out) = two_sessions(web, &left, &right, answer)?;
    let body = sets::sessions(&left, &right, &compared, left_out);
    Ok(frame::page("Compare sessions", Place::Sessions, &[], &body))
}

/// A comparison of two sets as JSON.
#[derive(Debug, Serialize)]
struct Sets {
    #[serde(flatten)]
    compared: SetComparison,
    /// Whether a set has more runs than were compared.
    left_out: bool,
}

fn answer_with_sets(web: &Web, (): (), asked: &Asked, answer: &mut Answer) -> Outcome {
    let sides = Sides::of(asked)?;
    for (name, expression) in [("a", &sides.left), ("b", &sides.right)] {
        if expression.is_empty() {
            return Err(missing(name));
        }
    }
    let (compared, left_out) = sides.compared(web, answer)?;
    answer.json(&Sets { compared, left_out })
}

fn needed(asked: &Asked, name: &str) -> Result<String, Problem> {
    parameter(asked, name).ok_or_else(|| missing(name))
}

fn missing(name: &str) -> Problem {
    Problem::invalid(format!("the parameter {name} is missing"))
}

fn two_runs(web: &Web, asked: &Asked, answer: &mut Answer) -> Result<Comparison, Problem> {
    let (left, right) = (needed(asked, "a")?, needed(asked, "b")?);
    let (left, right) = (Loaded::of(web, &left, answer)?, Loaded::of(web, &right, answer)?);
    for one in [&left, &right] {
        let bytes = usize::try_from(one.row.bytes).unwrap_or(usize::MAX);
        answer.reserve(bytes.saturating_mul(TAKES).saturating_add(one.run()?.repeated_bytes()))?;
    }
    let goes_on = answer.goes_on(None);
    let compared = compare::runs(left.run()?, right.run()?, &mut Effort::new(&goes_on));
    answer.check()?;
    Ok(compared)
}

/// Compares two sessions; also returns whether runs were left out.
fn two_sessions(web: &Web, left: &str, right: &str, answer: &mut Answer) -> Result<(SetComparison, bool), Problem> {
    answer.reserve_in_all(lists::MEMORY)?;
    let mut kept = lists::MEMORY;
    let mut left_out = false;
    let mut members = |session: &str| -> Result<Members, Problem> {
        let (rows, are_more) = sessions::runs(web, session)?;
        left_out |= are_more;
        let mut members = Members::new(&Key::Question);
        for row in &rows {
            answer.check()?;
            match single::built_if_it_fits(web, row, answer)? {
                Some(built) => built.work().into_iter().for_each(|run| members.add(run)),
                None => left_out = true,
            }
            answer.shrink_to(kept.saturating_add(members.bytes()));
            answer.reserve_in_all(kept.saturating_add(members.bytes()))?;
        }
        kept = kept.saturating_add(members.bytes());
        Ok(members)
    };
    let (ones, others) = (members(left)?, members(right)?);
    let goes_on = answer.goes_on(None);
    Ok((compare::sets(ones, others, &mut Effort::new(&goes_on)), left_out))
}
