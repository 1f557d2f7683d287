//! OpenReward blocks from Rust: over HTTP to the server that `SPANBRIDGE_API` names, else as spans, with the blocks on standard
//! output (`cargo run --no-default-features --features layer-documents --example blocks`).
#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;

use serde_json::json;
use spanbridge::client::{Client, Role};
use spanbridge::layer::{BlockLog, Documents, Setup};
use spanbridge::operation;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::var("SPANBRIDGE_API") {
        Ok(api) => to_server(&api),
        Err(_) => as_spans(),
    }
}

/// Each block is on the server's disk when `send` returns.
fn to_server(api: &str) -> Result<(), Box<dyn Error>> {
    let trace = Client::new(api).trace("tr_example");
    let question = trace.log_message(Role::User, "Weather in Oslo?").send()?;
    trace.log_think(&question, "A tool knows the weather.").send()?;
    let call = trace
        .log_act(&question, format!("call_{}", question.id), "weather", json!({"city": "Oslo"}))
        .send()?;
    let result = trace.log_observe(&call, "-3 °C").reward(1.0).send()?;
    println!("{}", serde_json::to_string_pretty(&*result)?);
    Ok(())
}

/// The same run as spans: any format and any backend can have it.
fn as_spans() -> Result<(), Box<dyn Error>> {
    let documents = Documents::to_callback("openreward", |document| println!("{}", document.text))?;
    let guard = Setup::from_env().without_otlp().with_documents(documents).build()?;
    tracing_subscriber::registry().with(guard.layer()).init();
    let mut log = BlockLog::new("forecaster");
    log.log_message(operation::Role::User, "Weather in Oslo?");
    log.log_think("A tool knows the weather.");
    log.log_act("call_1", "weather", json!({"city": "Oslo"}));
    log.log_observe("call_1", "-3 °C", Some(1.0));
    Ok(())
}
