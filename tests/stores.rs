//! The store: its laws, its files after a crash, retention, and records of requests.

#[path = "support/failing_disk.rs"]
mod failing_disk;
#[path = "support/local.rs"]
mod local;
#[path = "support/long_form.rs"]
mod long_form;
#[path = "support/memory_disk.rs"]
mod memory_disk;
#[path = "support/memory_store.rs"]
mod memory_store;
#[path = "support/spans.rs"]
mod spans;
#[path = "support/store_suite.rs"]
mod store_suite;

mod store;
mod store_crash;
mod store_deletion;
mod store_maintenance;
mod store_overlap;
mod store_packed;
mod store_shared;
