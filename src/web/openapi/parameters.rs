//! Parameters of the API's operations.

use serde_json::{Value, json};

use super::operation::Place::{Path, Query, RequiredQuery};
use super::operation::{Parameter, Place, Schema};
use super::schemas::text;
use crate::formats::{AnyFormat, FORMATS};

const fn new(place: Place, name: &'static str, description: &'static str, schema: Schema) -> Parameter {
    Parameter {
        name,
        place,
        description,
        schema,
    }
}

fn name() -> Value {
    json!({"type": "string", "minLength": 1})
}

fn nanoseconds() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn trace_id() -> Value {
    json!({"type": "string", "pattern": "^(?!0{32}$)[0-9a-fA-F]{32}$"})
}

fn formats(which: impl Fn(&AnyFormat) -> bool) -> Value {
    let names: Vec<&str> = FORMATS.iter().filter(|format| which(format)).map(|format| format.id).collect();
    json!({"enum": names})
}

pub(super) const TRACE_ID: Parameter = new(Path, "trace_id", "32 hexadecimal digits, not all zero.", trace_id);
pub(super) const SESSION: Parameter = new(Path, "session", "The session's name.", name);
pub(super) const STEP: Parameter = new(Path, "step",
    "The id of a step: a span id, or that of a model call with a call id behind a colon.", name);
pub(super) const PART: Parameter = new(Path, "part",
    "Which part.", || json!({"type": "string", "enum": ["input", "output", "markdown", "request"]}));
pub(super) const FORMAT: Parameter = new(Path, "format",
    "The document format. Options of the format are query parameters, for example `?openreward.subagents=inline`.", || formats(|_| true));
pub(super) const IMPORTED_FORMAT: Parameter = new(Path, "format", "The format of the documents.", || formats(AnyFormat::is_read));
pub(super) const ORGANIZATION: Parameter = new(Path, "org", "The organization of the token's project; `default` without tokens.", name);
pub(super) const BLOCKS_TRACE_ID: Parameter = new(Path, "trace_id",
    "`tr_` and 1 to 253 bytes. `tr_` and 32 hexadecimal digits name a recorded trace, too.", || json!({"type": "string", "pattern": "^tr_.+$", "maxLength": 256}));

pub(super) const OF_SERVICE: Parameter = new(Query, "service", "Only of this service.", text);
pub(super) const OF_SESSION: Parameter = new(Query, "session", "Only of this session.", text);
pub(super) const BY_ID: Parameter = new(Query, "id",
    "Only traces whose ids begin with these digits.", || json!({"type": "string", "pattern": "^[0-9a-fA-F]{0,32}$"}));
pub(super) const OF_TRACE: Parameter = new(Query, "trace", "Only of this trace.", trace_id);
pub(super) const SINCE: Parameter = new(Query, "since",
    "Only traces that began at this time or later, in nanoseconds since 1970.", nanoseconds);
pub(super) const UNTIL: Parameter = new(Query, "until", "Only traces that began before this time.", nanoseconds);
pub(super) const LIMIT: Parameter = new(Query, "limit",
    "Entries of a page, 1 to 1000.", || json!({"type": "integer", "minimum": 1, "maximum": 1000, "default": 50}));
pub(super) const AFTER: Parameter = new(Query, "after", "The `next` of the page before.", name);
pub(super) const ORDER: Parameter = new(Query, "order", "`oldest`: oldest first.", || json!({"enum": ["newest", "oldest"]}));
pub(super) const SUMMARY: Parameter = new(Query, "summary",
    "`no`: without what the agent did, which is faster.", || json!({"enum": ["yes", "no"]}));
pub(super) const DRY_RUN: Parameter = new(Query, "dry_run", "Only count what would be deleted.", || json!({"type": "boolean"}));
pub(super) const DOCUMENTS: Parameter = new(Query, "documents",
    "`array`: an array in any case; `ndjson`: one document per line. Without it one document is written as it is, several as an array.", || json!({"enum": ["array", "ndjson"]}));
pub(super) const DAMAGED: Parameter = new(Query, "damaged", "`allow`: of a damaged trace, what is left.", || json!({"enum": ["allow"]}));
pub(super) const SKELETON_AS: Parameter = new(Query, "as", "`json`: the columns as JSON.", || json!({"type": "string", "enum": ["json"]}));
pub(super) const REQUEST_API: Parameter = new(Query, "api",
    "Of `request`: whose API. Without it, the one that the call most likely went to.", || json!({"type": "string", "enum": ["openai", "responses", "anthropic", "gemini"]}));
pub(super) const REQUEST_FORM: Parameter = new(Query, "form",
    "Of `request`: how it is written. Keys stay in the environment.", || json!({"type": "string", "enum": ["curl", "python", "json"]}));
pub(super) const SKELETON_SINCE: Parameter = new(Query, "since",
    "A revision, or nothing: the run is watched, and what is new since then is enough, if the server knows.", text);
pub(super) const ROWS: Parameter = new(Query, "rows", "Numbers of rows, 400 at most: `12-60,100`.", text);
pub(super) const REVISION: Parameter = new(Query, "rev", "The revision that the rows are of; another one is answered with 409.", text);
pub(super) const WORDS: Parameter = new(Query, "q", "The words, 1,024 bytes at most.", text);
pub(super) const RUNS: &[Parameter] = &[
    new(RequiredQuery, "a", "The first run: 32 hexadecimal digits of its trace.", trace_id),
    new(RequiredQuery, "b", "The second run: 32 hexadecimal digits of its trace.", trace_id),
];
pub(super) const SESSIONS: &[Parameter] = &[
    new(RequiredQuery, "a", "The first session.", text),
    new(RequiredQuery, "b", "The second session.", text),
];
pub(super) const SETS: &[Parameter] = &[
    new(RequiredQuery, "a", "An expression as for `where`: the runs of the first set.", text),
    new(RequiredQuery, "b", "An expression as for `where`: the runs of the second set.", text),
];
/// Parameters that select the rows of a list of runs.
pub(super) const OF_ROWS: &[Parameter] = &[
    new(RequiredQuery, "to", "The format.", || formats(|_| true)),
    new(Query, "dedup", "`1`: of equal runs only the first.", || json!({"enum": ["", "1"]})),
    new(Query, "split", "Sides by a hash of the session, for example `train:0.9,test:0.1`.", text),
    new(Query, "side", "Only this side of the split.", text),
    new(Query, "redact", "Rules as `spanbridge export --redact` takes them in a list.", text),
];
/// The filters of the list of runs.
pub(super) const OF_RUNS: &[Parameter] = &[
    new(Query, "q", "Words in names, attributes and payloads, in any case; a phrase in double quotes.", text),
    new(Query, "status", "How the run ended, if it did.", || json!({"enum": ["", "ok", "error", "cancelled", "running"]})),
    new(Query, "agent", "An agent's whole name.", text),
    new(Query, "model", "A model's whole name.", text),
    OF_SERVICE,
    OF_SESSION,
    new(Query, "version", "A whole version of the agent, else of its service.", text),
    new(Query, "label", "A label or a score, as `feedback=good` or `good`.", text),
    new(Query, "judged", "`no`: only runs without a judgement; `yes`: only runs with one.", || json!({"enum": ["", "no", "yes"]})),
    new(Query, "since", "Only runs that began then or later: a day, a time, or how long ago (`2h`).", text),
    new(Query, "until", "Only runs that began before.", text),
    new(Query, "where", "An expression as for `spanbridge export --where`.", text),
    new(Query, "all", "`1`: traces without an agent's work, too.", || json!({"enum": ["0", "1"]})),
    ORDER,
    new(Query, "after", "The `next` of the page before.", text),
];
