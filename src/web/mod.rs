//! The read side: documents computed when asked for, and the API over HTTP.
//!
//! | path | answers |
//! |---|---|
//! | `GET /api/v1/traces?service=&session=&since=&until=&limit=&after=` | traces, newest first; times in nanoseconds since 1970; `order=oldest`, or `order=arrival` for those that came last |
//! | `GET /api/v1/traces/{id}` | the trace's spans and log records as OTLP/JSON |
//! | `GET /api/v1/traces/{id}/{format}` | its document; format options as query parameters (`?openreward.subagents=inline`) |
//! | `DELETE /api/v1/traces/{id}?dry_run=`, `/api/v1/sessions/{id}` | deletes a trace, or all traces of a session |
//! | `GET /api/v1/sessions?limit=&after=` | sessions, newest first |
//! | `GET /api/v1/sessions/{id}/{format}` | the document of the session's runs together |
//! | `POST /api/v1/import/{format}` | stores documents of a format as spans; without a format each is recognised |
//! | `POST /api/v1/traces/{id}/evaluations` | a person's judgement of a run or a step: a note, a label, a score |
//! | `GET /v1/organizations/{org}/traces/{id}/blocks` | OpenReward's blocks of a trace, in insertion order |
//! | `POST /v1/organizations/{org}/traces/{id}/blocks` | adds one block, or a list of them, to a trace |
//! | `GET /v1/organizations/{org}/traces/{id}/blocks.stitched` | the same as a tree |
//! | `GET /healthz`, `/readyz`, `/metrics` | for operators |
//! | `GET /api/v1/openapi.json` | all of this as an OpenAPI document |
//!
//! A list has 50 entries by default, and 1000 at most. Where it has more, `next` is what `after` is set to
//! for those behind.
//!
//! One document is answered as it is, several as a JSON array. `documents=array` asks for an array in any case,
//! `documents=ndjson` (or `Accept: application/x-ndjson`) for one document a line.
//!
//! Of a trace that is damaged on the disk there is no document (500, `DAMAGED`) unless the request has `damaged=allow`: then
//! it is made of what is left. Reading has its own threads and memory ([`ReadLimits`]): 503 with `Retry-After` while others
//! have them, 413 for what takes more than there are.
//!
//! The routes are in one list, each with the right that it takes ([`routes`]); axum finds them and reads their paths.
//!
//! Where there are tokens, `/`, `/healthz`, `/readyz` and the OpenAPI document take none, `/metrics` takes the right `admin`,
//! judgements of runs take `annotate`, what deletes `delete`, what else writes `ingest`, all others `read`; what they show is the
//! token's project alone.

pub(crate) mod answer;
mod blocks;
pub(crate) mod cost;
mod deletion;
mod delivery;
mod detached;
mod evaluation;
mod import;
pub mod listing;
pub(crate) mod lists;
pub(crate) mod live;
pub(crate) mod readers;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod routes;
pub(crate) mod runs;
pub(crate) mod service;
pub(crate) mod single;
pub(crate) mod url;
mod write;

pub(crate) use blocks::cost_of_blocks;
pub(crate) use deletion::Deletion;
pub use delivery::GivenUp;
pub(crate) use delivery::SlowClient;
pub(crate) use evaluation::EVALUATION_BYTES;
pub(crate) use evaluation::{Judged, NewEvaluation};
pub(crate) use import::Imported;
pub(crate) use import::cost_of_documents;
pub use readers::{ReadLimits, Readers};
pub use request::{Named, Reading};
pub use routes::{BLOCKS, Route, routes};
pub(crate) use routes::{EVALUATIONS, IMPORT, IMPORT_OF_FORMAT, SESSION, TRACE, elsewhere_route, normalized};
pub use service::{Metrics, Web};
pub use url::{percent_decoded, percent_encoded};

/// The body of a response.
pub type Body = axum::body::Body;
