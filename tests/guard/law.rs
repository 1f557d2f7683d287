//! What every way out may take of a server, measured from outside.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use spanbridge::formats;
use spanbridge::otlp::encode;
use spanbridge::span::{Span, TraceId};
use spanbridge::{pages, web};

use crate::serving::{Serving, program};

const MB: u64 = 1_000_000;

/// A request, and how it is named in what fails.
pub(super) struct Ask {
    pub(super) name: String,
    path: String,
    body: Option<String>,
}

/// What a request took.
pub(super) struct Took {
    pub(super) status: u16,
    pub(super) bytes: u64,
    /// How many documents were made into spans.
    pub(super) made: u64,
    pub(super) processor: Duration,
    pub(super) memory: u64,
}

/// A server, and its data.
pub(super) struct Guarded {
    serving: Serving,
    directory: tempfile::TempDir,
}

impl Guarded {
    pub(super) fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        let mut command = program();
        command
            .arg("serve")
            .arg("--data-dir")
            .arg(&data)
            .args(crate::serving::ANY_PORTS)
            .arg("--search");
        Self {
            serving: Serving::launch(&mut command),
            directory,
        }
    }

    fn processor(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.serving.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        Duration::from_millis(ticks * 10)
    }

    fn measured(&self, work: impl FnOnce() -> (u16, u64)) -> Took {
        self.serving.forget_peak_memory();
        let (before, began) = (self.serving.peak_memory().unwrap(), self.processor());
        let (status, bytes) = work();
        Took {
            status,
            bytes,
            made: 1,
            processor: self.processor().saturating_sub(began),
            // What was free by then may be less than before.
            memory: self.serving.peak_memory().unwrap().saturating_sub(before),
        }
    }

    /// Stores spans; how many bytes came in.
    pub(super) fn store(&self, spans: &[Span]) -> u64 {
        let body = encode::traces(spans);
        let agent = agent();
        let url = format!("{}/v1/traces", self.serving.http);
        let took = self.measured(|| {
            let sent = agent
                .post(url)
                .header("content-type", "application/x-protobuf")
                .send(&body[..])
                .unwrap();
            (sent.status().as_u16(), 0)
        });
        assert_eq!(took.status, 200);
        let came = body.len() as u64;
        assert!(took.memory <= most(came), "{} MB to store {came} bytes", took.memory / MB);
        came
    }

    /// Bytes on the disk.
    pub(super) fn stored(&self) -> u64 {
        fn below(folder: &Path) -> u64 {
            let entries = std::fs::read_dir(folder).unwrap();
            entries
                .filter_map(Result::ok)
                .map(|entry| match entry.metadata() {
                    Ok(of) if of.is_dir() => below(&entry.path()),
                    Ok(of) => of.len(),
                    Err(_) => 0,
                })
                .sum()
        }
        below(self.directory.path())
    }

    pub(super) fn ask(&self, ask: &Ask) -> Took {
        let url = format!("{}{}", self.serving.api, ask.path);
        let agent = agent();
        self.measured(|| {
            let answer = match &ask.body {
                Some(body) => agent
                    .post(url)
                    .header("content-type", "application/json")
                    .header("accept", "application/json, text/event-stream")
                    .send(body.as_bytes()),
                None => agent.get(url).header("accept", "text/html, */*").call(),
            };
            let mut answer = answer.unwrap();
            let bytes = std::io::copy(&mut answer.body_mut().as_reader(), &mut std::io::sink()).unwrap();
            (answer.status().as_u16(), bytes)
        })
    }

    /// Reads the document of a trace in a format, and stores it again; what came in, and what storing it took. `None`: there is no document.
    pub(super) fn import(&self, trace: TraceId, format: &str) -> Option<(u64, Took)> {
        let agent = agent();
        let mut answer = agent
            .get(format!("{}/api/v1/traces/{trace}/{format}", self.serving.api))
            .call()
            .unwrap();
        if answer.status() != 200 {
            return None;
        }
        let document = answer.body_mut().with_config().limit(u64::MAX).read_to_vec().unwrap();
        let url = format!("{}/api/v1/import/{format}", self.serving.api);
        let mut took = self.measured(|| {
            let sent = agent
                .post(url)
                .header("content-type", "application/json")
                .send(&document[..])
                .unwrap();
            (sent.status().as_u16(), 0)
        });
        took.made = match serde_json::from_slice(&document) {
            Ok(Value::Array(documents)) => documents.len() as u64,
            _ => 1,
        };
        Some((document.len() as u64, took))
    }

    /// Asks, and leaves at once. How long the server worked on.
    pub(super) fn leave(&self, ask: &Ask) -> Duration {
        let address = self.serving.api.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let request = match &ask.body {
            Some(body) => format!(
                "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
                ask.path,
                body.len()
            ),
            None => format!("GET {} HTTP/1.1\r\nhost: localhost\r\naccept: text/html\r\n\r\n", ask.path),
        };
        stream.write_all(request.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        drop(stream);
        let begin = Instant::now();
        let (mut last, mut quiet) = (self.processor(), 0);
        while quiet < 3 {
            std::thread::sleep(Duration::from_millis(30));
            let now = self.processor();
            quiet = if now == last { quiet + 1 } else { 0 };
            last = now;
        }
        begin.elapsed().saturating_sub(Duration::from_millis(90))
    }

    /// The names of the tools at `/mcp`.
    fn tools(&self) -> Vec<String> {
        let url = format!("{}/mcp", self.serving.api);
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
        let answer = agent()
            .post(url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .send(list.as_bytes());
        let answer: Value = answer.unwrap().body_mut().read_json().unwrap();
        let tools = answer["result"]["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Everything that can be asked about a trace: each route that is read and each tool. A new one is in it, or has no value here for a
    /// part of its path.
    pub(super) fn asks(&self, trace: TraceId, other: TraceId) -> Vec<Ask> {
        let (of_pages, of_api) = pages::routes();
        let routes = web::routes().into_iter().chain(of_pages).chain(of_api);
        let mut asks: Vec<Ask> = routes
            .flat_map(|route| paths(route.path, trace, other))
            .map(|path| Ask {
                name: format!("GET {}", path.replace(&trace.to_string(), "T").replace(&other.to_string(), "O")),
                path,
                body: None,
            })
            .collect();
        let calls = self.tools().into_iter().flat_map(|tool| {
            let of_format = tool == "read_document";
            formats::all()
                .take(if of_format { usize::MAX } else { 1 })
                .map(move |format| (tool.clone(), format.id))
        });
        asks.extend(calls.map(|(tool, format)| {
            let arguments = json!({"trace": trace.to_string(), "left": trace.to_string(), "right": other.to_string(), "format": format, "limit": 1_000});
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
            Ask {
                name: format!("{tool} {format}"),
                path: "/mcp".to_owned(),
                body: Some(call.to_string()),
            }
        }));
        asks
    }
}

/// The most memory for what came in.
pub(super) fn most(came: u64) -> u64 {
    8 * came + 64 * MB
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_idle_connections(0)
        .proxy(None)
        .build()
        .into()
}

/// The addresses of a route: all formats, and all parts of a step.
fn paths(route: &str, trace: TraceId, other: TraceId) -> Vec<String> {
    let mut paths = vec![String::new()];
    for part in route.split('/').skip(1) {
        let values: Vec<String> = match part {
            "{trace_id}" | "{trace}" | "{id}" => vec![trace.to_string()],
            "{format}" => formats::all().map(|format| format.id.to_owned()).collect(),
            "{session}" => vec!["s".to_owned()],
            "{step}" => vec![format!("{:016x}", 2)],
            "{part}" => ["input", "output", "markdown"].map(str::to_owned).to_vec(),
            "{row}" => vec!["1".to_owned()],
            "{org}" => vec!["default".to_owned()],
            "{name}" | "{version}" | "{file}" => vec!["x".to_owned()],
            literal if !literal.contains('{') || literal == "{trace_id}.stitched" => vec![literal.to_owned()],
            unknown => panic!("{route}: what is {unknown}?"),
        };
        paths = paths
            .iter()
            .flat_map(|path| values.iter().map(move |value| format!("{path}/{value}")))
            .collect();
    }
    let queries: Vec<String> = match route {
        "/api/v1/traces/{trace_id}/find" | "/api/v1/runs" | "/runs" => {
            vec!["?q=zz9".into(), format!("?q={}b", "a".repeat(900)), "?where=tool%20%3D%20t".into()]
        }
        "/api/v1/traces/{trace_id}/rows" => vec!["?rows=0-399".into()],
        "/api/v1/compare" | "/compare" => vec![format!("?a={trace}&b={other}")],
        "/api/v1/compare/sessions" | "/compare/sessions" => vec!["?a=s&b=s".into()],
        "/api/v1/compare/sets" | "/compare/sets" => vec!["?a=failures+%3D+0&b=failures+%3E+0".into()],
        "/rows" => vec![format!("?ids={trace},{other}&q=zz9")],
        "/api/v1/traces" => vec!["?limit=1000".into()],
        // It ends when the client leaves.
        "/api/v1/events" => return Vec::new(),
        _ => vec![String::new()],
    };
    paths
        .iter()
        .flat_map(|path| queries.iter().map(move |query| format!("{path}{query}")))
        .collect()
}
