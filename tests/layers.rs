//! The Layer in this process, beside other subscribers and across tasks.

mod layer_support;

mod layer;
mod layer_async;
mod layer_context;
mod layer_random;
mod layer_reentry;
