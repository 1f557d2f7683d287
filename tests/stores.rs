//! The store: its laws, its files after a crash, retention, and records of requests.

#[path = "support/local.rs"]
mod local;
#[path = "support/memory_disk.rs"]
mod memory_disk;
#[path = "support/memory_store.rs"]
mod memory_store;
#[cfg(feature = "bucket")]
#[path = "support/s3_server.rs"]
mod s3_server;
#[path = "support/spans.rs"]
mod spans;
#[path = "support/store_suite.rs"]
mod store_suite;

mod store;
#[cfg(feature = "bucket")]
mod store_bucket;
mod store_crash;
mod store_deletion;
#[cfg(feature = "bucket")]
mod store_differential;
mod store_maintenance;
mod store_packed;
mod store_shared;
