//! The store in a bucket: its laws, and programs that share one.

#[path = "support/load.rs"]
mod load;
#[path = "support/requests.rs"]
mod requests;
#[path = "support/s3_server.rs"]
mod s3_server;
#[path = "support/serving.rs"]
mod serving;
#[path = "support/spans.rs"]
mod spans;
#[path = "support/store_suite.rs"]
mod store_suite;

mod bucket_adopting;
mod bucket_bridges;
mod store_bucket;
mod store_differential;
