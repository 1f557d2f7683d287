//! A hand-written agent loop under the Layer: documents on standard output, no server
//! (`cargo run --no-default-features --features layer-documents --example agent_loop -- openreward`).
//!
//! The model is a script, so that the run is the same each time. With `OTEL_EXPORTER_OTLP_ENDPOINT` set, the same spans go
//! there too.
#![allow(dead_code, clippy::print_stdout, unreachable_pub, reason = "an example, which tests run too")]

use std::error::Error;
use std::fmt;

use serde_json::{Value, json};
use spanbridge::layer::{Documents, ModelCall, Setup, SpanExt as _};
use tracing::{Span, instrument};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

const QUESTION: &str = "What should I wear in Oslo today?";

fn main() -> Result<(), Box<dyn Error>> {
    let format = std::env::args().nth(1).unwrap_or_else(|| "contextforge".to_owned());
    run(&format)
}

/// Runs the agent once and prints its document in this format.
pub fn run(format: &str) -> Result<(), Box<dyn Error>> {
    let documents = Documents::to_callback(format, |document| println!("{}", document.text))?;
    let mut setup = Setup::from_env().with_service_name("wardrobe").with_documents(documents);
    if std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_none() {
        setup = setup.without_otlp();
    }
    let guard = setup.build()?;
    tracing_subscriber::registry().with(guard.layer()).init();
    wardrobe(QUESTION)?;
    Ok(())
}

/// The agent: asks the model, runs the tools that it asks for, until it answers.
#[instrument(err, fields(step_type = "agent", agent.name = "wardrobe", session_id = "session-1", input = question, output))]
fn wardrobe(question: &str) -> Result<String, Box<dyn Error>> {
    let mut messages = vec![
        json!({"role": "system", "content": "Recommend clothes. Look at the weather first."}),
        json!({"role": "user", "content": question}),
    ];
    for turn in 0..8 {
        let request = json!({"model": "scripted-1", "temperature": 0, "messages": messages, "tools": tools()});
        let call = ModelCall::of_request("script", &request);
        let answer = call.finish_sync(|| model(turn))?;
        let message = answer.pointer("/choices/0/message").cloned().unwrap_or_default();
        messages.push(message.clone());
        let calls = message.get("tool_calls").and_then(Value::as_array).cloned().unwrap_or_default();
        if calls.is_empty() {
            let text = message.get("content").and_then(Value::as_str).unwrap_or_default().to_owned();
            Span::current().record("output", text.as_str());
            return Ok(text);
        }
        for call in &calls {
            let text = |path| call.pointer(path).and_then(Value::as_str).unwrap_or_default();
            let (id, arguments) = (text("/id"), serde_json::from_str(text("/function/arguments"))?);
            let result = run_tool(text("/function/name"), id, &arguments).unwrap_or_else(|error| format!("error: {error}"));
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
        }
    }
    Err("no answer after eight turns".into())
}

#[instrument(err, skip_all)]
fn run_tool(name: &str, id: &str, arguments: &Value) -> Result<String, ToolError> {
    let span = Span::current();
    span.set_tool_call(name, Some(id), arguments);
    let city = arguments.get("city").and_then(Value::as_str).unwrap_or_default();
    let result = match (name, city) {
        ("weather", "Oslo") => "-3 °C, snow".to_owned(),
        ("wardrobe", _) => return Err(ToolError("the wardrobe is locked".to_owned())),
        _ => return Err(ToolError(format!("no weather for {city:?}"))),
    };
    span.set_tool_result(&result);
    Ok(result)
}

#[derive(Debug)]
struct ToolError(String);

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ToolError {}

fn tools() -> Value {
    json!([
        {"type": "function", "function": {"name": "weather", "description": "The weather in a city.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}},
        {"type": "function", "function": {"name": "wardrobe", "description": "What hangs in the wardrobe.", "parameters": {"type": "object", "properties": {}}}},
    ])
}

/// Stands for a model: asks for two tools, then answers.
fn model(turn: u64) -> Result<Value, ToolError> {
    let call =
        |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let (message, reason) = match turn {
        0 => (
            json!({"role": "assistant", "content": null, "tool_calls": [call("call_1", "weather", r#"{"city":"Oslo"}"#), call("call_2", "wardrobe", "{}")]}),
            "tool_calls",
        ),
        1 => (
            json!({"role": "assistant", "content": "A warm coat and boots: it snows at -3 °C."}),
            "stop",
        ),
        _ => return Err(ToolError("the script has ended".to_owned())),
    };
    Ok(json!({
        "id": format!("answer_{turn}"), "model": "scripted-1",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 40 + 30 * turn, "completion_tokens": 12, "total_tokens": 52 + 30 * turn},
    }))
}
