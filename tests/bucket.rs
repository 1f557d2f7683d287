//! The store in a bucket: its laws, and programs that share one.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

#[path = "support/load.rs"]
mod load;
#[path = "support/long_form.rs"]
mod long_form;
#[allow(dead_code, reason = "it measures more elsewhere")]
#[path = "growth/measure.rs"]
mod measure;
#[path = "support/requests.rs"]
mod requests;
#[path = "support/s3_server.rs"]
mod s3_server;
#[path = "support/serving.rs"]
mod serving;
#[allow(dead_code, reason = "others are measured elsewhere")]
#[path = "growth/shapes.rs"]
mod shapes;
#[path = "support/spans.rs"]
mod spans;
#[path = "support/store_suite.rs"]
mod store_suite;

mod bucket_adopting;
mod bucket_bridges;
mod bucket_growth;
mod bucket_spool;
mod store_bucket;
mod store_differential;
