//! A rig agent under the Layer, against a scripted model server: rig's own spans become OpenInference, and documents.
//!
//! `cargo run -- contextforge` prints the run's document. With `OTEL_EXPORTER_OTLP_ENDPOINT` set, the same spans go there
//! too (`spanbridge serve` listens on `http://127.0.0.1:4318`).

use std::error::Error;
use std::fmt;
use std::io::{BufReader, Write as _};
use std::net::TcpListener;

use rig::prelude::*;
use rig::providers::openai::{OpenAIConfig, Route};
use rig::tool::{Tool, ToolContext};
use serde::Deserialize;
use serde_json::{Value, json};
use spanbridge::layer::{Documents, Setup};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

const QUESTION: &str = "What is the weather in Oslo and in Atlantis?";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let format = std::env::args().nth(1).unwrap_or_else(|| "contextforge".to_owned());
    let mut setup = Setup::from_env()
        .with_service_name("travel")
        .with_documents(Documents::to_callback(&format, |document| println!("{}", document.text))?);
    if std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_none() {
        setup = setup.without_otlp();
    }
    let guard = setup.build()?;
    tracing_subscriber::registry().with(guard.layer()).init();

    let model = OpenAIConfig::new("no key")
        .with_base_url(model_server()?)
        .with_route(Route::Chat)
        .client()
        .completion("gpt-4o-mini");
    let agent = AgentBuilder::new(model)
        .name("travel")
        .preamble("You are a concise travel assistant.")
        .record_content_telemetry(true)
        .default_max_turns(5)
        .tool(Weather)
        .build();
    let answer = agent.prompt(QUESTION).await?;
    eprintln!("{}", answer.output());
    Ok(())
}

#[derive(Deserialize)]
struct City {
    city: String,
}

#[derive(Debug)]
struct NoSuchCity(String);

impl fmt::Display for NoSuchCity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no such city: {}", self.0)
    }
}

impl Error for NoSuchCity {}

struct Weather;

impl Tool for Weather {
    const NAME: &'static str = "weather";
    type Args = City;
    type Output = String;
    type Error = NoSuchCity;

    fn description(&self) -> String {
        "The weather in a city.".to_owned()
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
    }

    async fn call(&self, _: &mut ToolContext, City { city }: City) -> Result<String, NoSuchCity> {
        match city.as_str() {
            "Oslo" => Ok("-3 °C, snow".to_owned()),
            _ => Err(NoSuchCity(city)),
        }
    }
}

/// Answers OpenAI's chat requests by a script: two tool calls, then the answer.
fn model_server() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}/v1", listener.local_addr()?);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone()?);
                while let Some(request) = read(&mut reader) {
                    let body = answer(&request).to_string();
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json";
                    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())?;
                }
                std::io::Result::Ok(())
            });
        }
    });
    Ok(address)
}

fn read(reader: &mut impl std::io::BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn answer(request: &Value) -> Value {
    let messages = request["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let told = messages.iter().any(|message| message["role"] == "tool");
    let call = |id: &str, city: &str| {
        let arguments = json!({"city": city}).to_string();
        json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": arguments}})
    };
    let message = if told {
        json!({"role": "assistant", "content": "Oslo: -3 °C, snow. Nobody knows about Atlantis."})
    } else {
        json!({"role": "assistant", "content": null, "tool_calls": [call("call_1", "Oslo"), call("call_2", "Atlantis")]})
    };
    json!({
        "id": if told { "answer_2" } else { "answer_1" }, "object": "chat.completion", "created": 1_767_261_600,
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [{"index": 0, "message": message, "finish_reason": if told { "stop" } else { "tool_calls" }}],
        "usage": {"prompt_tokens": 60, "completion_tokens": 20, "total_tokens": 80},
    })
}
