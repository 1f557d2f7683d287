//! A bridge with a configuration file, and those who talk to it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Output;

use spanbridge::access::Secret;
use spanbridge::otlp::encode;
use spanbridge::span::{Span, SpanId, TraceId, UnixNanos};

use super::launch;
pub(crate) use super::launch::program;

pub(crate) fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    program().args(arguments).envs(variables.iter().copied()).output().expect("runs")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// A bridge with a configuration file.
pub(crate) struct Serving {
    process: launch::Serving,
    pub(crate) directory: tempfile::TempDir,
    pub(crate) grpc: SocketAddr,
    pub(crate) http: SocketAddr,
    pub(crate) api: SocketAddr,
    pub(crate) scheme: String,
}

impl Serving {
    pub(crate) fn start(config: &str) -> Self {
        Self::start_in(tempfile::tempdir().expect("a directory"), config)
    }

    /// The configuration, the data and whatever the test puts there share one directory.
    pub(crate) fn start_in(directory: tempfile::TempDir, config: &str) -> Self {
        let ports = ["otlp_grpc", "otlp_http", "http"].map(|name| match config.contains(&format!("{name} =")) {
            true => String::new(),
            false => format!("{name} = \"127.0.0.1:0\"\n"),
        });
        let config = format!("data_dir = \"data\"\n{}{config}", ports.concat());
        let path = directory.path().join("spanbridge.toml");
        fs::write(&path, config).expect("written");
        let process = launch::Serving::launch(program().arg("serve").arg("--config").arg(&path));
        let address = |url: &str| {
            let (_, address) = url.split_once("://").expect("a URL");
            let address: SocketAddr = address.parse().expect("an address");
            SocketAddr::from(([127, 0, 0, 1], address.port()))
        };
        Self {
            grpc: address(&process.grpc),
            http: address(&process.http),
            api: address(&process.api),
            scheme: process.api.split("://").next().expect("a URL").to_owned(),
            process,
            directory,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// Puts another configuration in place of the first, and says so.
    pub(crate) fn reload(&self, config: &str) {
        let first =
            format!("data_dir = \"data\"\notlp_grpc = \"127.0.0.1:0\"\notlp_http = \"127.0.0.1:0\"\nhttp = \"127.0.0.1:0\"\n{config}");
        fs::write(self.path("spanbridge.toml"), first).expect("written");
        self.hang_up();
    }

    pub(crate) fn hang_up(&self) {
        self.process.signal("-HUP");
    }

    /// The largest memory that it had since [`Serving::forget_peak`], in bytes.
    pub(crate) fn peak(&self) -> u64 {
        self.process.peak_memory().expect("a peak")
    }

    /// Measures the peak from now on.
    pub(crate) fn forget_peak(&self) {
        self.process.forget_peak_memory();
    }

    /// Everything that it has printed.
    pub(crate) fn said(&self) -> String {
        self.process.log()
    }

    /// The first line with these words; waits for it.
    pub(crate) fn wait_for(&self, words: &str) -> String {
        self.process.wait_for(words)
    }

    /// Ends it in order; all that it printed.
    pub(crate) fn stop(self) -> (String, tempfile::TempDir) {
        (self.process.stop(), self.directory)
    }

    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut request = agent(None, None).post(format!("http://{}{path}", self.http));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answer(request.send(body).expect("an answer"))
    }

    pub(crate) fn get(&self, path: &str, token: Option<&str>) -> Answer {
        let mut request = agent(None, None).get(format!("http://{}{path}", self.api));
        if let Some(token) = token {
            request = request.header("authorization", bearer(token));
        }
        answer(request.call().expect("an answer"))
    }

    pub(crate) fn delete(&self, path: &str, token: Option<&str>) -> Answer {
        let mut request = agent(None, None).delete(format!("http://{}{path}", self.api));
        if let Some(token) = token {
            request = request.header("authorization", bearer(token));
        }
        answer(request.call().expect("an answer"))
    }

    /// Sends a span of this trace with this name.
    pub(crate) fn send(&self, trace: u8, name: &str, token: Option<&str>) -> Answer {
        let bearer = token.map(bearer).unwrap_or_default();
        let mut headers = vec![("content-type", "application/x-protobuf")];
        if token.is_some() {
            headers.push(("authorization", &bearer));
        }
        self.post("/v1/traces", &headers, &encode::traces(&[span(trace, name)]))
    }

    pub(crate) fn metric(&self, name: &str, token: Option<&str>) -> u64 {
        let metrics = self.get("/metrics", token);
        assert_eq!(metrics.status, 200);
        let lines = metrics.text();
        let line = lines.lines().find(|line| line.starts_with(name));
        line.map_or(0, |line| line.rsplit(' ').next().expect("a value").parse().expect("a number"))
    }
}

/// A client, perhaps with an authority of its own and a certificate.
pub(crate) fn agent(authority: Option<&str>, identity: Option<(&str, &str)>) -> ureq::Agent {
    use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};
    let mut tls = TlsConfig::builder();
    if let Some(authority) = authority {
        let certificate = Certificate::from_pem(authority.as_bytes()).expect("PEM");
        tls = tls.root_certs(RootCerts::from([certificate].into_iter()));
    }
    if let Some((certificate, key)) = identity {
        let certificate = Certificate::from_pem(certificate.as_bytes()).expect("PEM");
        let key = PrivateKey::from_pem(key.as_bytes()).expect("PEM");
        tls = tls.client_cert(Some(ClientCert::new_with_certs(&[certificate], key)));
    }
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_idle_connections(0)
        .proxy(None)
        .tls_config(tls.build())
        .build()
        .into()
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: ureq::http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }
}

pub(crate) fn answer(mut response: ureq::http::Response<ureq::Body>) -> Answer {
    Answer {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        body: response.body_mut().with_config().limit(u64::MAX).read_to_vec().expect("a body"),
    }
}

pub(crate) fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

pub(crate) fn trace_id(trace: u8) -> TraceId {
    TraceId::from_bytes(&[trace; 16]).expect("an id")
}

pub(crate) fn span(trace: u8, name: &str) -> Span {
    let mut span = Span::new(trace_id(trace), SpanId::from_bytes(&[7; 8]).expect("an id"), name);
    span.start = UnixNanos(1_767_261_600_000_000_000);
    span.end = UnixNanos(1_767_261_601_000_000_000);
    span.attributes.push("session.id", format!("session of {name}"));
    span
}

/// A token and what the configuration says of it.
pub(crate) struct Given {
    pub(crate) token: String,
    pub(crate) config: String,
}

pub(crate) fn token(name: &str, rights: &[&str], project: &str) -> Given {
    let secret = Secret::new().expect("chance");
    Given {
        token: secret.text().to_owned(),
        config: format!(
            "[[tokens]]\nname = \"{name}\"\nhash = \"{}\"\nrights = {rights:?}\nproject = \"{project}\"\n",
            secret.hash()
        ),
    }
}

/// Every file below a directory, with its bytes. A file that is removed meanwhile, as SQLite's journals are, is not there.
pub(crate) fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
            continue;
        }
        match fs::read(&path) {
            Ok(bytes) => found.push((path, bytes)),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{}", path.display()),
        }
    }
    found
}

pub(crate) fn holds(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|window| window == words.as_bytes())
}
