//! One function a path.

use hyper::{Response, Uri};

use super::answer::Answer;
use super::reply::{Problem, json_reply, reply};
use super::url::percent_decoded;
use super::{Body, Web, blocks, lists, single};
use crate::access::Right;
use crate::formats;
use crate::store::{Filter, Store as _};

/// Whether an answer was made; what there is of it, was written.
pub(super) type Outcome = Result<(), Problem>;

/// What is asked for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) uri: Uri,
    pub(super) accept: Option<String>,
}

impl Asked {
    pub(super) fn query(&self) -> &str {
        self.uri.query().unwrap_or_default()
    }

    /// Whether one document a line is asked for.
    pub(super) fn accepts_lines(&self) -> bool {
        let types = self.accept.iter().flat_map(|accept| accept.split(','));
        let mut essences = types.map(|one| one.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
        essences.any(|essence| {
            matches!(
                essence.as_str(),
                "application/x-ndjson" | "application/ndjson" | "application/jsonl"
            )
        })
    }
}

/// Makes an answer from the store.
pub(super) type Read = Box<dyn FnOnce(&Web, &Asked, &mut Answer) -> Outcome + Send>;

/// Who answers a request.
pub(super) enum Work {
    /// Nobody need be asked.
    Known(Response<Body>),
    /// What operators ask for: it is answered whatever else is read.
    Operator(fn(&Web) -> Result<Response<Body>, Problem>),
    /// A thread of those that read.
    Reading(Read),
}

/// What is not named here takes the right to read.
pub(super) fn right(path: &str) -> Option<Right> {
    let parts = parts(path).unwrap_or_default();
    match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [""] | ["healthz"] | ["readyz"] | ["api", "v1", "openapi.json"] => None,
        ["metrics"] => Some(Right::Admin),
        _ => Some(Right::Read),
    }
}

pub(super) fn parts(path: &str) -> Option<Vec<String>> {
    path.split('/').skip(1).map(percent_decoded).collect()
}

pub(super) fn work(path: &str) -> Result<Work, Problem> {
    let parts = parts(path).ok_or_else(|| Problem::invalid("the path is not UTF-8"))?;
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let own = |part: &&str| (*part).to_owned();
    let read: Read = match parts.as_slice() {
        ["healthz"] => return Ok(Work::Known(reply("text/plain", "ok\n".to_owned()))),
        ["readyz"] => return Ok(Work::Operator(ready)),
        ["metrics"] => return Ok(Work::Operator(|web| Ok(reply("text/plain; version=0.0.4", (web.metrics)())))),
        [""] => return Ok(Work::Known(reply("text/plain", front_page()))),
        ["api", "v1", "openapi.json"] => return Ok(Work::Known(json_reply(OPENAPI.to_owned()))),
        ["api", "v1", "traces"] => Box::new(lists::traces),
        ["api", "v1", "sessions"] => Box::new(lists::sessions),
        ["api", "v1", "traces", id] => {
            let id = own(id);
            Box::new(move |web, _, answer| single::trace(web, &id, answer))
        }
        ["api", "v1", "traces", id, format] => {
            let (id, format) = (own(id), own(format));
            Box::new(move |web, asked, answer| single::trace_document(web, &id, &format, asked, answer))
        }
        ["api", "v1", "sessions", session, format] => {
            let (session, format) = (own(session), own(format));
            Box::new(move |web, asked, answer| single::session_document(web, &session, &format, asked, answer))
        }
        [
            "v1",
            "organizations",
            organization,
            "traces",
            id,
            kind @ ("blocks" | "blocks.stitched"),
        ] => {
            let (organization, id, stitched) = (own(organization), own(id), *kind == "blocks.stitched");
            Box::new(move |web, asked, answer| blocks::blocks(web, &organization, &id, stitched, asked, answer))
        }
        _ => return Err(Problem::not_found(format!("there is nothing at {path}; GET / lists what is"))),
    };
    Ok(Work::Reading(read))
}

/// What there is, for programs.
const OPENAPI: &str = include_str!("openapi.json");

fn front_page() -> String {
    let formats: Vec<&str> = formats::FORMATS.iter().map(|format| format.id).collect();
    format!(
        "spanbridge {}\n\n\
         GET /api/v1/traces\n\
         GET /api/v1/traces/{{id}}\n\
         GET /api/v1/traces/{{id}}/{{format}}\n\
         GET /api/v1/sessions\n\
         GET /api/v1/sessions/{{id}}/{{format}}\n\
         POST /api/v1/import/{{format}}\n\
         GET, POST /v1/organizations/default/traces/tr_{{id}}/blocks\n\
         GET /v1/organizations/default/traces/tr_{{id}}/blocks.stitched\n\
         GET /healthz /readyz /metrics\n\
         GET /api/v1/openapi.json\n\n\
         formats: {}\n",
        env!("CARGO_PKG_VERSION"),
        formats.join(", ")
    )
}

fn ready(web: &Web) -> Result<Response<Body>, Problem> {
    let first = Filter {
        limit: Some(1),
        ..Filter::default()
    };
    web.store.list(&first).map_err(|error| Problem::unready(&error))?;
    web.store.ready().map_err(|error| Problem::unready(&error))?;
    Ok(reply("text/plain", "ready\n".to_owned()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test")]
    use std::collections::BTreeSet;

    use serde_json::{Map, Value};

    use super::super::Write;
    use super::*;

    #[test]
    fn the_openapi_document_has_the_paths_that_are_answered() {
        let document: Value = serde_json::from_str(OPENAPI).unwrap();
        let paths: &Map<String, Value> = document.get("paths").and_then(Value::as_object).unwrap();
        for (path, methods) in paths {
            let filled = path
                .replace("{format}", "reflex")
                .replace("{trace_id}", "tr_1")
                .replace("{org}", "default")
                .replace("{session}", "s");
            assert_eq!(work(&filled).is_ok(), methods.get("get").is_some(), "GET {path}");
            assert_eq!(Write::at(&filled).is_some(), methods.get("post").is_some(), "POST {path}");
            let is_open = methods.pointer("/get/security").is_some();
            assert_eq!(right(&filled).is_none(), is_open, "GET {path}");
        }
        // The formats that can be imported stand in it by name.
        let known: BTreeSet<&str> = formats::FORMATS
            .iter()
            .filter(|format| format.is_read())
            .map(|format| format.id)
            .collect();
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
