//! OTLP over gRPC and HTTP: transport only.

pub mod limits;
