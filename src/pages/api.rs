//! Routes of the API for the pages: a run's skeleton, words for rows, a run or a step as JSON or Markdown.

use std::io::Write as _;

use axum::extract::Path;
use axum::response::Response;
use axum::routing::get;
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use serde_json::{Value, json};

use super::live;
use super::load::Loaded;
use super::markdown;
use super::outline::{self, Outline};
use super::reply::HTML;
use super::skeleton::{self, Skeleton};
use crate::access::Right;
use crate::run::Run;
use crate::transcript::calls::Results;
use crate::transcript::content;
use crate::view;
use crate::view::conversation::readable;
use crate::web::Route;
use crate::web::answer::Answer;
use crate::web::reply::{Outcome, Problem};
use crate::web::request::{Asked, Named};
use crate::web::routes::{OfProject, only_get};
use crate::web::service::Web;
use crate::web::url::query_pairs;

/// Rows that are reported at once.
const ROWS: usize = 400;
/// Rows that a search in a run finds.
const HITS: usize = 10_000;

/// The routes.
pub(crate) fn routes() -> Vec<Route> {
    let read = |path, methods: axum::routing::MethodRouter| Route {
        path,
        right: Some(Right::Read),
        methods: methods.fallback(only_get),
    };
    vec![
        read("/api/v1/events", get(live::events)),
        read("/api/v1/traces/{trace_id}/skeleton", get(of_skeleton)),
        read("/api/v1/traces/{trace_id}/rows", get(of_rows)),
        read("/api/v1/traces/{trace_id}/find", get(of_find)),
        read("/api/v1/traces/{trace_id}/run", get(of_run)),
        read("/api/v1/traces/{trace_id}/markdown", get(of_markdown)),
        read("/api/v1/traces/{trace_id}/page", get(of_page)),
        read("/api/v1/traces/{trace_id}/steps/{step}", get(of_step)),
        read("/api/v1/traces/{trace_id}/steps/{step}/{part}", get(of_part)),
    ]
}

async fn of_skeleton(OfProject(web): OfProject, Named(id): Named<String>, asked: Asked) -> Response {
    web.read(asked, move |web, asked, answer| skeleton(web, &id, asked, answer)).await
}

async fn of_rows(OfProject(web): OfProject, Named(id): Named<String>, asked: Asked) -> Response {
    web.read(asked, move |web, asked, answer| rows(web, &id, asked, answer)).await
}

async fn of_find(OfProject(web): OfProject, Named(id): Named<String>, asked: Asked) -> Response {
    web.read(asked, move |web, asked, answer| find(web, &id, asked, answer)).await
}

async fn of_run(OfProject(web): OfProject, Named(id): Named<String>, asked: Asked) -> Response {
    web.read(asked, move |web, _, answer| {
        let loaded = Loaded::of(web, &id, answer)?;
        let run = loaded.run()?;
        answer.reserve(
            usize::try_from(loaded.row.bytes)
                .unwrap_or(usize::MAX)
                .saturating_mul(4)
                .saturating_add(run.repeated_bytes()),
        )?;
        let logs = web.store.read_logs(loaded.row.trace_id)?;
        answer.json(&view::json::run(run, &logs))
    })
    .await
}

async fn of_markdown(OfProject(web): OfProject, Named(id): Named<String>, asked: Asked) -> Response {
    web.read(asked, move |web, _, answer| {
        let loaded = Loaded::of(web, &id, answer)?;
        answer.reserve(usize::try_from(loaded.row.bytes).unwrap_or(usize::MAX).saturating_mul(3))?;
        text(answer, &markdown::run(loaded.run()?))
    })
    .await
}

/// One file that opens from disk. As an answer it is to be stored, not shown: it may not act for who is logged in here.
async fn of_page(OfProject(web): OfProject, Named(id): Named<String>, asked: Asked) -> Response {
    let answer = web.read(asked, move |web, _, answer| {
        let loaded = Loaded::of(web, &id, answer)?;
        answer.reserve(usize::try_from(loaded.row.bytes).unwrap_or(usize::MAX).saturating_mul(8))?;
        let page = super::file::page(loaded.run()?);
        answer.of_type(HTML);
        Ok(answer.write_all(page.as_bytes())?)
    });
    let mut answer = answer.await;
    for (name, value) in [
        (CONTENT_DISPOSITION, "attachment"),
        (CONTENT_SECURITY_POLICY, "sandbox"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

async fn of_step(OfProject(web): OfProject, Named((id, step)): Named<(String, String)>, asked: Asked) -> Response {
    web.read(asked, move |web, _, answer| one_step(web, &id, &step, answer)).await
}

async fn of_part(OfProject(web): OfProject, Path((id, step, part)): Path<(String, String, String)>, asked: Asked) -> Response {
    web.read(asked, move |web, _, answer| one_part(web, &id, &step, &part, answer))
        .await
}

fn text(answer: &mut Answer, text: &str) -> Outcome {
    answer.of_type("text/plain; charset=utf-8");
    Ok(answer.write_all(text.as_bytes())?)
}

/// Revisions have more digits than numbers of scripts: as text. A request that names one gets an answer of that one alone.
pub(crate) fn check_revision(asked: &Asked, loaded: &Loaded) -> Result<(), Problem> {
    let wanted = query_pairs(asked.query()).into_iter().find(|(name, _)| name == "rev");
    match wanted {
        Some((_, revision)) if revision != loaded.row.revision.to_string() => Err(Problem::changed(format!(
            "the trace is at revision {}; ask for its skeleton again",
            loaded.row.revision
        ))),
        _ => Ok(()),
    }
}

fn skeleton(web: &Web, id: &str, asked: &Asked, answer: &mut Answer) -> Outcome {
    let loaded = Loaded::of(web, id, answer)?;
    let outline = Outline::of(loaded.run()?);
    if outline.rows.len() > skeleton::MOST {
        return Err(Problem::refused(crate::web::readers::Refusal::TooLarge {
            bytes: outline.rows.len().saturating_mul(skeleton::ROW),
            limit: skeleton::MOST.saturating_mul(skeleton::ROW),
        }));
    }
    answer.reserve(outline.rows.len().saturating_mul(3 * skeleton::ROW))?;
    let made = Skeleton::of(&outline, loaded.row.revision);
    match query_pairs(asked.query()).into_iter().find(|(name, _)| name == "as") {
        Some((_, form)) if form == "json" => return answer.json(&made.json()),
        Some((_, form)) => return Err(Problem::invalid(format!("as={form} is not json"))),
        None => {}
    }
    answer.of_type("application/vnd.spanbridge.skeleton");
    Ok(answer.write_all(&made.bytes())?)
}

/// Words beside names, for rows that are in sight.
fn rows(web: &Web, id: &str, asked: &Asked, answer: &mut Answer) -> Outcome {
    let loaded = Loaded::of(web, id, answer)?;
    check_revision(asked, &loaded)?;
    let outline = Outline::of(loaded.run()?);
    let wanted = query_pairs(asked.query()).into_iter().find(|(name, _)| name == "rows");
    let wanted = wanted.map(|(_, value)| value).unwrap_or_default();
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

/// The rows whose names or payloads have these words, in any case.
fn find(web: &Web, id: &str, asked: &Asked, answer: &mut Answer) -> Outcome {
    let loaded = Loaded::of(web, id, answer)?;
    check_revision(asked, &loaded)?;
    let run = loaded.run()?;
    let outline = Outline::of(run);
    let wanted = query_pairs(asked.query()).into_iter().find(|(name, _)| name == "q");
    let words = wanted.map(|(_, value)| value.to_lowercase()).unwrap_or_default();
    let mut hits = Vec::new();
    let mut more = false;
    if !words.is_empty() {
        let results = Results::of(run);
        for (number, (_, step)) in outline.steps().enumerate() {
            if number.is_multiple_of(256) {
                answer.check()?;
            }
            if has_words(run, step, &results, &words) {
                if hits.len() == HITS {
                    more = true;
                    break;
                }
                hits.push(number);
            }
        }
    }
    answer.json(&json!({ "rows": hits, "more": more }))
}

/// Whether a step contains these words, which are in small letters. What a call shares with earlier calls is theirs.
fn has_words(run: &Run, step: &crate::run::Step, results: &Results<'_>, words: &str) -> bool {
    let has = |text: &str| contains(text, words);
    let operation = &step.operation;
    let messages = || {
        let input = operation.input_messages.as_ref().map(|messages| messages.own()).unwrap_or_default();
        input.iter().chain(operation.output_messages.as_deref().unwrap_or_default())
    };
    has(&operation.name)
        || has(view::step::name(run, step))
        || operation.failure.as_ref().is_some_and(|failure| has(&view::errors::words(failure)))
        || messages().any(|message| {
            has(&message.joined_text())
                || message.result.as_ref().is_some_and(|result| has(&content::text(result)))
                || message.tool_calls.iter().any(|call| has(&call.name) || has(&call.arguments_json()))
        })
        || view::step::arguments(run, step).is_some_and(|text| has(&text))
        || (operation.output_messages.is_none() && content::output(results, step).is_some_and(|output| has(&readable(output))))
        || (operation.input_messages.is_none() && content::input(run, step).is_some_and(|input| has(&readable(input))))
        || operation.unmapped.iter().any(|(key, value)| has(key) || has(&content::text(value)))
}

fn contains(text: &str, words: &str) -> bool {
    if text.is_ascii() && words.is_ascii() {
        let (text, words) = (text.as_bytes(), words.as_bytes());
        return text.windows(words.len().max(1)).any(|window| window.eq_ignore_ascii_case(words));
    }
    text.to_lowercase().contains(words)
}

fn no_step(step: &str) -> Problem {
    Problem::not_found(format!("there is no step {step} in this run"))
}

fn one_step(web: &Web, id: &str, step: &str, answer: &mut Answer) -> Outcome {
    let loaded = Loaded::of(web, id, answer)?;
    let run = loaded.run()?;
    let (_, of) = run.steps.enumerate().find(|(_, of)| of.id == step).ok_or_else(|| no_step(step))?;
    let value: Value = view::json::one_step(run, of);
    answer.json(&value)
}

fn one_part(web: &Web, id: &str, step: &str, part: &str, answer: &mut Answer) -> Outcome {
    let loaded = Loaded::of(web, id, answer)?;
    let run = loaded.run()?;
    let outline = Outline::of(run);
    let row = outline.steps().position(|(_, of)| of.id == step).ok_or_else(|| no_step(step))?;
    let of = outline.step(row).ok_or_else(|| no_step(step))?;
    answer.reserve(usize::try_from(loaded.row.bytes).unwrap_or(usize::MAX))?;
    let results = Results::of(run);
    let value = match part {
        "markdown" => Some(markdown::subtree(&outline, row)),
        "input" => content::input(run, of).map(readable),
        "output" => content::output(&results, of).map(readable),
        _ => return Err(Problem::not_found(format!("a step has input, output and markdown, and no {part}"))),
    };
    match value {
        Some(value) => text(answer, &value),
        None => Err(Problem::not_found(format!("no {part} of the step was recorded"))),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Map;

    use super::*;
    use crate::formats::FORMATS;
    use crate::web::routes::{OPENAPI, SESSION, TRACE};
    use crate::web::{self, BLOCKS, EVALUATIONS, IMPORT, IMPORT_OF_FORMAT};

    #[test]
    fn the_openapi_document_has_the_paths_that_are_answered() {
        let document: Value = serde_json::from_str(OPENAPI).unwrap();
        let paths: &Map<String, Value> = document.get("paths").and_then(Value::as_object).unwrap();
        let writes = [BLOCKS, EVALUATIONS, IMPORT, IMPORT_OF_FORMAT];
        let routes: Vec<Route> = web::routes().into_iter().chain(crate::pages::routes().1).collect();
        let mut known: BTreeSet<&str> = routes.iter().map(|route| route.path).chain(writes).collect();
        assert!(known.remove("/"), "the front page is for people");
        assert_eq!(paths.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
        for route in routes.into_iter().filter(|route| route.path != "/") {
            let methods = paths.get(route.path).unwrap();
            let only_writes = [EVALUATIONS, IMPORT, IMPORT_OF_FORMAT, SESSION].contains(&route.path);
            assert_eq!(methods.get("get").is_none(), only_writes, "GET {}", route.path);
            assert_eq!(methods.get("post").is_some(), writes.contains(&route.path), "POST {}", route.path);
            let deletes = [TRACE, SESSION].contains(&route.path);
            assert_eq!(methods.get("delete").is_some(), deletes, "DELETE {}", route.path);
            let is_open = methods.pointer("/get/security").is_some();
            assert_eq!(route.right.is_none(), is_open, "GET {}", route.path);
        }
        // The formats that can be imported are in it by name.
        let known = FORMATS.iter().filter(|format| format.is_read());
        let known: BTreeSet<&str> = known.map(|format| format.id).collect();
        let parameters = document.pointer("/paths/~1api~1v1~1import~1{format}/post/parameters/0/schema/enum");
        let named: BTreeSet<&str> = parameters
            .and_then(Value::as_array)
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(named, known);
    }
}
