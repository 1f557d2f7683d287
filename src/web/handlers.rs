//! One function a path.

use hyper::Response;
use serde_json::{Value, json};

use super::documents::{self, Document};
use super::reply::{Problem, json_reply, reply};
use super::url::{percent_decoded, query_pairs};
use super::{Body, Web, listing};
use crate::access::Right;
use crate::formats::openreward::OpenReward;
use crate::formats::openreward::document::Block;
use crate::formats::openreward::stitch::stitch;
use crate::formats::{self, AnyFormat, Format as _, Layout, Options};
use crate::run::Run;
use crate::span::{TraceId, json};
use crate::store::{Filter, Store as _};

type Answer = Result<Response<Body>, Problem>;

/// Lists are this long unless the request says otherwise.
const LIST: usize = 50;

/// What is not named here takes the right to read.
pub(super) fn right(path: &str) -> Option<Right> {
    let parts = parts(path).unwrap_or_default();
    match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [""] | ["healthz"] | ["readyz"] => None,
        ["metrics"] => Some(Right::Admin),
        _ => Some(Right::Read),
    }
}

fn parts(path: &str) -> Option<Vec<String>> {
    path.split('/').skip(1).map(percent_decoded).collect()
}

pub(super) fn answer(web: &Web, path: &str, query: &str) -> Answer {
    let parts = parts(path).ok_or_else(|| Problem::invalid("the path is not UTF-8"))?;
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["healthz"] => Ok(reply("text/plain", "ok\n".to_owned())),
        ["readyz"] => ready(web),
        ["metrics"] => Ok(reply("text/plain; version=0.0.4", (web.metrics)())),
        ["api", "v1", "traces"] => traces(web, query),
        ["api", "v1", "traces", id] => trace(web, id),
        ["api", "v1", "traces", id, format] => trace_document(web, id, format, query),
        ["api", "v1", "sessions"] => sessions(web, query),
        ["api", "v1", "sessions", session, format] => session_document(web, session, format, query),
        ["v1", "organizations", organization, "traces", id, "blocks"] => blocks(web, organization, id, query, false),
        ["v1", "organizations", organization, "traces", id, "blocks.stitched"] => blocks(web, organization, id, query, true),
        [""] => Ok(reply("text/plain", front_page())),
        _ => Err(Problem::not_found(format!("there is nothing at {path}; GET / lists what is"))),
    }
}

fn front_page() -> String {
    let formats: Vec<&str> = formats::FORMATS.iter().map(|format| format.id).collect();
    format!(
        "spanbridge {}\n\n\
         GET /api/v1/traces\n\
         GET /api/v1/traces/{{id}}\n\
         GET /api/v1/traces/{{id}}/{{format}}\n\
         GET /api/v1/sessions\n\
         GET /api/v1/sessions/{{id}}/{{format}}\n\
         GET /v1/organizations/default/traces/tr_{{id}}/blocks.stitched\n\
         GET /healthz /readyz /metrics\n\n\
         formats: {}\n",
        env!("CARGO_PKG_VERSION"),
        formats.join(", ")
    )
}

fn ready(web: &Web) -> Answer {
    let first = Filter {
        limit: Some(1),
        ..Filter::default()
    };
    web.store.list(&first).map_err(|error| Problem::unready(&error))?;
    web.store.ready().map_err(|error| Problem::unready(&error))?;
    Ok(reply("text/plain", "ready\n".to_owned()))
}

fn traces(web: &Web, query: &str) -> Answer {
    let mut filter = Filter {
        limit: Some(LIST),
        ..Filter::default()
    };
    let mut summaries = true;
    for (name, value) in query_pairs(query) {
        let number = |value: &str| {
            value
                .parse::<u64>()
                .map_err(|_| Problem::invalid(format!("{name}={value} is no number")))
        };
        match name.as_str() {
            "service" => filter.service = Some(value),
            "session" => filter.session = Some(value),
            "since" => filter.since = Some(number(&value)?),
            "until" => filter.until = Some(number(&value)?),
            "summary" => summaries = value != "no",
            "order" => filter.oldest_first = value == "oldest",
            "limit" if value == "none" => filter.limit = None,
            "limit" => filter.limit = Some(usize::try_from(number(&value)?).unwrap_or(usize::MAX)),
            _ => {
                return Err(Problem::invalid(format!(
                    "there is no parameter {name}; there is service, session, since, until (nanoseconds since 1970), order, limit, summary"
                )));
            }
        }
    }
    let traces = if summaries {
        listing::list(&web.store, &web.vocabulary, &filter)?
    } else {
        listing::bare(&web.store, &filter)?
    };
    Ok(json_reply(json!({ "traces": traces }).to_string()))
}

fn sessions(web: &Web, query: &str) -> Answer {
    let limit = query_pairs(query).into_iter().find(|(name, _)| name == "limit");
    let limit = limit.and_then(|(_, value)| value.parse().ok()).unwrap_or(LIST);
    let sessions: Vec<Value> = web
        .store
        .sessions(limit)?
        .into_iter()
        .map(|row| {
            json!({
                "session": row.session,
                "traces": row.traces,
                "start_unix_nano": row.start,
                "end_unix_nano": row.end,
            })
        })
        .collect();
    Ok(json_reply(json!({ "sessions": sessions }).to_string()))
}

fn trace_id(text: &str) -> Result<TraceId, Problem> {
    TraceId::from_hex(text).ok_or_else(|| Problem::invalid(format!("{text} is no trace id: 32 hexadecimal digits, not all zero")))
}

/// One object that holds both signals: `convert` reads it as it is.
fn trace(web: &Web, id: &str) -> Answer {
    let id = trace_id(id)?;
    let Some(stored) = web.store.read_trace(id)? else {
        return Err(no_trace(id));
    };
    let mut object = json::spans(&stored.spans);
    if let (Some(object), Value::Object(logs)) = (object.as_object_mut(), json::log_records(&stored.logs)) {
        object.extend(logs);
        object.insert("damaged".to_owned(), json!(stored.damaged));
    }
    Ok(json_reply(object.to_string()))
}

fn no_trace(id: TraceId) -> Problem {
    Problem::not_found(format!("there is no trace {id}"))
}

fn run_of(web: &Web, id: TraceId) -> Result<Run, Problem> {
    let Some(stored) = web.store.read_trace(id)? else {
        return Err(no_trace(id));
    };
    let run = web.vocabulary.runs(stored.spans, stored.logs).into_iter().next();
    run.filter(Run::has_agent_work)
        .ok_or_else(|| Problem::not_found(format!("nothing an agent did stands in trace {id}, so it has no document")))
}

fn format_of(id: &str) -> Result<&'static AnyFormat, Problem> {
    formats::by_id(id).ok_or_else(|| {
        let known: Vec<&str> = formats::FORMATS.iter().map(|format| format.id).collect();
        Problem::not_found(format!("there is no format {id}; there is {}", known.join(", ")))
    })
}

/// The options that a request chooses, before those of the server.
fn options_of(web: &Web, query: &str) -> Result<Options, Problem> {
    let chosen = Options::of(query_pairs(query)).map_err(|error| Problem::invalid(error.to_string()))?;
    Ok(web.options.clone().with(chosen))
}

fn trace_document(web: &Web, id: &str, format: &str, query: &str) -> Answer {
    let format = format_of(format)?;
    let run = run_of(web, trace_id(id)?)?;
    let outcome = documents::of_run(&run, format, &options_of(web, query)?, Layout::Indented);
    Ok(json_reply(joined(&outcome.documents)))
}

fn session_document(web: &Web, session: &str, format: &str, query: &str) -> Answer {
    let format = format_of(format)?;
    let filter = Filter {
        session: Some(session.to_owned()),
        oldest_first: true,
        ..Filter::default()
    };
    let rows = web.store.list(&filter)?;
    if rows.is_empty() {
        return Err(Problem::not_found(format!("there is no session {session}")));
    }
    let (mut spans, mut logs) = (Vec::new(), Vec::new());
    for row in rows {
        let stored = web.store.read_trace(row.trace_id)?.unwrap_or_default();
        spans.extend(stored.spans);
        logs.extend(stored.logs);
    }
    let runs = web.vocabulary.runs(spans, logs);
    let outcome = documents::of_session(&runs, format, &options_of(web, query)?, Layout::Indented);
    let outcome = outcome.ok_or_else(|| Problem::not_found(format!("nothing an agent did stands in session {session}")))?;
    Ok(json_reply(joined(&outcome.documents)))
}

/// The text of the files that `export --output` writes.
fn joined(documents: &[Document]) -> String {
    documents.iter().map(|document| format!("{}\n", document.text)).collect()
}

/// Spans name no organization: theirs is that of the project whose store they are in.
fn blocks(web: &Web, organization: &str, id: &str, query: &str, stitched: bool) -> Answer {
    if organization != web.organization {
        return Err(Problem::not_found(format!(
            "there is no organization {organization}; spans belong to {}",
            web.organization
        )));
    }
    let id = trace_id(id.strip_prefix("tr_").unwrap_or(id))?;
    let run = run_of(web, id)?;
    let assembled = OpenReward::assemble(std::slice::from_ref(&run), &options_of(web, query)?);
    let blocks: Vec<Block> = assembled.into_iter().flat_map(|assembled| assembled.document.blocks).collect();
    let text = if stitched {
        serde_json::to_string(&stitch(&blocks))
    } else {
        serde_json::to_string(&blocks)
    };
    text.map(json_reply).map_err(|error| Problem::internal(error.to_string()))
}
