//! The Layer in this process, beside other subscribers and across tasks.
#![expect(clippy::unwrap_used, reason = "a test")]

mod layer_support;

mod layer;
mod layer_async;
