//! The read side: documents computed on request, and the HTTP API.
//!
//! A list has 50 entries by default, and 1000 at most. If there are more, `next` is the value of `after` for the next page.
//!
//! A single document is returned as it is, several as a JSON array. `documents=array` asks for an array in any case,
//! `documents=ndjson` (or `Accept: application/x-ndjson`) for one document per line.
//!
//! A trace that is damaged on disk has no document (500, `DAMAGED`) unless the request has `damaged=allow`: then the
//! document is built from what is left. Reading has its own threads and memory ([`ReadLimits`]): 503 with `Retry-After`
//! while they are in use, 413 for what needs more than there is.
//!
//! One table (`openapi/paths.rs`) has the operations, their parameters and answers, and the right each requires; it is also
//! the OpenAPI document at `/api/v1/openapi.json`. Routes take their paths and rights from it.

pub(crate) mod allowance;
pub(crate) mod answer;
mod blocks;
pub(crate) mod cost;
mod deletion;
mod delivery;
mod detached;
mod evaluation;
pub(crate) mod facets;
pub(crate) mod failures;
mod import;
pub(crate) mod kept;
mod known;
pub mod listing;
pub(crate) mod lists;
pub(crate) mod live;
mod memory;
pub(crate) mod openapi;
mod places;
pub(crate) mod readers;
pub(crate) mod reply;
pub(crate) mod request;
mod route;
pub(crate) mod routes;
pub(crate) mod runs;
pub(crate) mod service;
pub(crate) mod sessions;
pub(crate) mod single;
pub(crate) mod url;
pub(crate) mod views;
pub(crate) mod words;
pub(crate) mod work;
mod write;

pub(crate) use blocks::cost_of_blocks;
pub(crate) use deletion::{Amount, Deletion};
pub use delivery::GivenUp;
pub(crate) use delivery::SlowClient;
pub(crate) use evaluation::{EVALUATION_BYTES, annotation};
pub(crate) use evaluation::{Judged, NewEvaluation};
pub(crate) use import::Imported;
pub(crate) use import::cost_of_documents;
pub use readers::{ReadLimits, Readers};
pub use request::{Named, Reading};
pub(crate) use route::OfProject;
pub use route::Route;
pub use routes::routes;
pub(crate) use routes::{elsewhere_route, normalized};
pub use service::{Metrics, Web};
pub use url::{percent_decoded, percent_encoded};

/// The body of a response.
pub type Body = axum::body::Body;
