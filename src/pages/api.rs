//! Routes of the API for the pages: a run's skeleton, previews of rows, a run or step as JSON or Markdown.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::time::Instant;

use axum::routing::get;
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use serde_json::json;

use super::asking::parameter;
use super::live;
use super::load::Loaded;
use super::markdown;
use super::outline::{self, Outline};
use super::query::{Query, sought};
use super::reply::HTML;
use super::rows;
use super::skeleton::{self, Skeleton};
use crate::operation::Kind;
use crate::run::{Run, Step};
use crate::transcript::calls::Results;
use crate::transcript::content;
use crate::view;
use crate::view::conversation::readable;
use crate::view::found::each_text;
use crate::view::json::WholeRun;
use crate::view::request;
use crate::view::seeking::Sought;
use crate::web::Route;
use crate::web::allowance::SEARCH_TIMEOUT;
use crate::web::answer::Answer;
use crate::web::openapi;
use crate::web::reply::{Outcome, Problem};
use crate::web::request::Asked;
use crate::web::service::Web;
use crate::web::single::{self, Wanted};

/// Maximum rows described at once.
const ROWS: usize = 400;
/// Maximum rows found by a search in a run.
const HITS: usize = 10_000;

/// The routes.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        openapi::RUNS.reads(runs),
        openapi::RUNS_DOCUMENTS.reads(rows::write),
        openapi::EVENTS.bare(get(live::events)),
        openapi::SKELETON.reads(skeleton),
        openapi::ROWS.reads(row_words),
        openapi::FIND.reads(find),
        openapi::RUN.reads(whole),
        openapi::MARKDOWN.reads(as_markdown),
        openapi::PAGE.reads(file),
        openapi::SESSION_MARKDOWN.reads(session_markdown),
        openapi::SESSION_PAGE.reads(session_file),
        openapi::RUN_STEP.reads(one_step),
        openapi::STEP_PART.reads(one_part),
    ]
}

fn whole(web: &Web, id: String, asked: &Asked, answer: &mut Answer) -> Outcome {
    let loaded = Loaded::of(web, &id, answer)?;
    loaded.reserve(4, answer)?;
    let logs = web.store.read_logs(loaded.row.trace_id)?;
    let run = loaded.run()?;
    answer.pack(asked);
    answer.json(&WholeRun { run, logs: &logs })
}

fn as_markdown(web: &Web, id: String, asked: &Asked, answer: &mut Answer) -> Outcome {
    let loaded = Loaded::of(web, &id, answer)?;
    loaded.reserve(3, answer)?;
    answer.pack(asked);
    text(answer, &markdown::run(loaded.run()?))
}

/// A page in a single file that opens from disk. Sent as a download: it must not run with the rights of the logged-in user.
fn file(web: &Web, id: String, asked: &Asked, answer: &mut Answer) -> Outcome {
    let loaded = Loaded::of(web, &id, answer)?;
    loaded.reserve(4, answer)?;
    to_be_stored(answer);
    answer.pack(asked);
    Ok(super::file::write(loaded.run()?, answer)?)
}

fn to_be_stored(answer: &mut Answer) {
    answer.of_type(HTML);
    for (name, value) in [
        (CONTENT_DISPOSITION, "attachment"),
        (CONTENT_SECURITY_POLICY, "sandbox"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        answer.header(name, value);
    }
}

fn session_markdown(web: &Web, session: String, asked: &Asked, answer: &mut Answer) -> Outcome {
    let runs = of_session(web, &session, asked, answer)?;
    answer.of_type("text/plain; charset=utf-8");
    answer.pack(asked);
    for run in &runs {
        answer.check()?;
        answer.write_all(markdown::run(run).as_bytes())?;
        answer.write_all(b"\n")?;
    }
    Ok(())
}

fn session_file(web: &Web, session: String, asked: &Asked, answer: &mut Answer) -> Outcome {
    let runs = of_session(web, &session, asked, answer)?;
    to_be_stored(answer);
    answer.pack(asked);
    Ok(super::file::write_runs("session", &session, &runs, answer)?)
}

/// The runs of a session, with memory reserved for writing their texts once more.
fn of_session(web: &Web, session: &str, asked: &Asked, answer: &mut Answer) -> Result<Vec<Run>, Problem> {
    let wanted = Wanted::of(web, asked, true)?;
    let runs = single::runs_of_session(web, session, &wanted, answer)?;
    let held = answer.reserved();
    answer.reserve(held)?;
    Ok(runs)
}

fn text(answer: &mut Answer, text: &str) -> Outcome {
    answer.of_type("text/plain; charset=utf-8");
    Ok(answer.write_all(text.as_bytes())?)
}

/// Compared as text: revisions have more digits than numbers in scripts. A request that names one is answered only for that one.
pub(crate) fn check_revision(asked: &Asked, loaded: &Loaded) -> Result<(), Problem> {
    match parameter(asked, "rev") {
        Some(revision) if revision != loaded.row.revision.to_string() => Err(Problem::changed(format!(
            "the trace is at revision {}; ask for its skeleton again",
            loaded.row.revision
        ))),
        _ => Ok(()),
    }
}

/// A page of the list of runs.
fn runs(web: &Web, (): (), asked: &Asked, answer: &mut Answer) -> Outcome {
    let found = Query::of(asked)?.find(web, answer)?.valid()?;
    answer.json(&json!({
        "runs": found.runs,
        "next": found.next.map(|next| next.to_string()),
        "searched_to_unix_nano": found.searched_to,
        "unsearched_bytes": found.behind,
    }))
}

fn skeleton(web: &Web, id: String, asked: &Asked, answer: &mut Answer) -> Outcome {
    let loaded = Loaded::of(web, &id, answer)?;
    let outline = Outline::of(loaded.run()?);
    if outline.rows.len() > skeleton::MAX_ROWS {
        return Err(Problem::refused(crate::web::readers::Refusal::TooLarge {
            bytes: outline.rows.len().saturating_mul(skeleton::ROW),
            limit: skeleton::MAX_ROWS.saturating_mul(skeleton::ROW),
        }));
    }
    answer.reserve(outline.rows.len().saturating_mul(3 * skeleton::ROW))?;
    let made = Skeleton::of(&outline, loaded.row.revision);
    match parameter(asked, "as") {
        Some(form) if form == "json" => return answer.json(&made.json()),
        Some(form) => return Err(Problem::invalid(format!("as={form} is not json"))),
        None => {}
    }
    answer.of_type("application/vnd.spanbridge.skeleton");
    let Some(since) = parameter(asked, "since") else {
        return answer.whole(asked, &made.bytes());
    };
    let (trace, digests) = (loaded.row.trace_id, made.digests());
    let known = since.parse().ok().and_then(|since| web.kept.of(trace, since));
    let newer = known.and_then(|known| made.since(&known, &digests));
    web.kept.keep(trace, loaded.row.revision, digests);
    answer.whole(asked, &newer.unwrap_or(made).bytes())
}

/// Previews next to names, for the visible rows.
fn row_words(web: &Web, id: String, asked: &Asked, answer: &mut Answer) -> Outcome {
    let loaded = Loaded::of(web, &id, answer)?;
    check_revision(asked, &loaded)?;
    let outline = Outline::of(loaded.run()?);
    let wanted = parameter(asked, "rows").unwrap_or_default();
    let invalid = || Problem::invalid(format!("rows={wanted} is not a list of rows, for example 12-60,100"));
    let mut words = Vec::new();
    for part in wanted.split(',').filter(|part| !part.is_empty()) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let from: usize = from.parse().map_err(|_| invalid())?;
        let to: usize = to.parse().map_err(|_| invalid())?;
        for row in from..=to {
            if words.len() == ROWS {
                return Err(Problem::invalid(format!("rows={wanted} has more than {ROWS} rows")));
            }
            words.push(
                outline
                    .step(row)
                    .map(|step| outline::preview(outline.run, step))
                    .unwrap_or_default(),
            );
        }
    }
    answer.json(&words)
}

/// The rows whose names or payloads contain these words in any case, as far as time allows.
fn find(web: &Web, id: String, asked: &Asked, answer: &mut Answer) -> Outcome {
    let sought = Sought::of(&sought(parameter(asked, "q").unwrap_or_default())?);
    let loaded = Loaded::of(web, &id, answer)?;
    check_revision(asked, &loaded)?;
    let run = loaded.run()?;
    let outline = Outline::of(run);
    let mut hits = Vec::new();
    let mut more = false;
    if let Some(sought) = sought {
        let goes_on = answer.goes_on(Some(Instant::now() + SEARCH_TIMEOUT));
        let results = Results::of(run);
        for (number, (_, step)) in outline.steps().enumerate() {
            match has_words(run, step, &results, &sought, &goes_on) {
                Some(true) if hits.len() < HITS => hits.push(number),
                Some(false) => {}
                _ => {
                    more = true;
                    break;
                }
            }
        }
        answer.check()?;
    }
    answer.json(&json!({ "rows": hits, "more": more }))
}

/// Whether a step contains these words; `None`: unknown, because the search was stopped.
fn has_words(run: &Run, step: &Step, results: &Results<'_>, words: &Sought, goes_on: &dyn Fn() -> bool) -> Option<bool> {
    let mut found = Some(false);
    let _ = each_text(run, step, results, &mut |_, text| {
        found = words.look(text.as_bytes(), goes_on);
        if found == Some(false) && goes_on() {
            return ControlFlow::Continue(());
        }
        // A match and a stopped search both end the loop.
        found = found.filter(|is_found| *is_found);
        ControlFlow::Break(())
    });
    found.filter(|_| goes_on())
}

fn no_step(step: &str) -> Problem {
    Problem::not_found(format!("there is no step {step} in this run"))
}

fn one_step(web: &Web, (id, step): (String, String), _: &Asked, answer: &mut Answer) -> Outcome {
    let loaded = Loaded::of(web, &id, answer)?;
    let run = loaded.run()?;
    let (_, of) = run.steps.enumerate().find(|(_, of)| of.id == step).ok_or_else(|| no_step(&step))?;
    answer.json(&view::json::one_step(run, of))
}

fn one_part(web: &Web, (id, step, part): (String, String, String), asked: &Asked, answer: &mut Answer) -> Outcome {
    let loaded = Loaded::of(web, &id, answer)?;
    let run = loaded.run()?;
    let outline = Outline::of(run);
    let row = outline.steps().position(|(_, of)| of.id == step).ok_or_else(|| no_step(&step))?;
    let of = outline.step(row).ok_or_else(|| no_step(&step))?;
    loaded.reserve(1, answer)?;
    let results = Results::of(run);
    let value = match part.as_str() {
        "markdown" => Some(markdown::subtree(&outline, row)),
        "request" => as_request(of, asked)?,
        "input" => content::input(run, of).map(readable),
        "output" => content::output(&results, of).map(readable),
        _ => {
            return Err(Problem::not_found(format!(
                "a step has input, output, markdown and request, and no {part}"
            )));
        }
    };
    match value {
        Some(value) => text(answer, &value),
        None => Err(Problem::not_found(format!("no {part} of the step was recorded"))),
    }
}

/// A model call as a request; `None`: the step is not a model call.
fn as_request(of: &Step, asked: &Asked) -> Result<Option<String>, Problem> {
    let api = match parameter(asked, "api") {
        None => request::api_of(&of.operation),
        Some(id) => request::APIS.iter().find(|api| api.id == id).ok_or_else(|| {
            let known = request::APIS.iter().map(|api| api.id).collect::<Vec<_>>().join(", ");
            Problem::invalid(format!("api={id} is none of {known}"))
        })?,
    };
    let form = parameter(asked, "form").unwrap_or_else(|| request::FORMS[0].to_owned());
    if !request::FORMS.contains(&form.as_str()) {
        return Err(Problem::invalid(format!("form={form} is none of {}", request::FORMS.join(", "))));
    }
    let is_call = of.operation.kind == Kind::Llm && of.operation.input_messages.is_some();
    Ok(is_call.then(|| request::written(&of.operation, api, &form)).flatten())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::pages;
    use crate::web::{self, openapi};

    #[test]
    fn every_path_of_the_document_has_a_route() {
        let routes = web::routes().into_iter().chain(pages::routes().1);
        let mut answered: BTreeSet<&str> = routes.map(|route| route.path).collect();
        assert!(answered.remove("/"), "the front page is for people");
        assert_eq!(openapi::paths().collect::<BTreeSet<_>>(), answered);
    }
    /// Whatever makes something of what is stored has an [`Answer`]: its memory, its time, and an end when nobody waits. These have none:
    /// what is the same for all data, what counts, what is written, and events, which have a bound of their own.
    #[test]
    fn every_route_that_reads_has_an_allowance() {
        let (of_pages, of_api) = pages::routes();
        let routes = web::routes().into_iter().chain(of_pages).chain(of_api);
        let bare: BTreeSet<&str> = routes.filter(|route| !route.reads).map(|route| route.path).collect();
        let expected = [
            "/",
            "/api/v1/events",
            "/api/v1/import",
            "/api/v1/import/{format}",
            "/api/v1/openapi.json",
            "/api/v1/sessions/{session}",
            "/api/v1/traces/{trace_id}/evaluations",
            "/assets/{version}/{file}",
            "/healthz",
            "/metrics",
            "/readyz",
        ];
        assert_eq!(bare, BTreeSet::from(expected));
    }
}
