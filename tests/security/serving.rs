//! A bridge in a process of its own, and those who talk to it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use spanbridge::access::Secret;
use spanbridge::otlp::encode;
use spanbridge::span::{Span, SpanId, TraceId, UnixNanos};

/// The program without what the environment of the tests sets.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spanbridge"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SPANBRIDGE_") {
            command.env_remove(name);
        }
    }
    command
}

pub(crate) fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    program().args(arguments).envs(variables.iter().copied()).output().expect("runs")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// A bridge with a configuration file.
pub(crate) struct Serving {
    child: Child,
    reader: Option<JoinHandle<()>>,
    pub(crate) directory: tempfile::TempDir,
    pub(crate) grpc: SocketAddr,
    pub(crate) http: SocketAddr,
    pub(crate) api: SocketAddr,
    pub(crate) scheme: String,
    said: Arc<Mutex<Vec<String>>>,
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
        let mut child = program()
            .arg("serve")
            .arg("--config")
            .arg(&path)
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let said = Arc::<Mutex<Vec<String>>>::default();
        let (tell, told) = std::sync::mpsc::channel();
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let log = Arc::clone(&said);
        let reader = std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let words: Vec<&str> = line.split_whitespace().collect();
                if let [name @ ("OTLP/gRPC" | "OTLP/HTTP" | "API"), url, ..] = words.as_slice() {
                    let _ = tell.send(((*name).to_owned(), (*url).to_owned()));
                }
                let json: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
                if json["message"] == "serving" {
                    for (name, field) in [("OTLP/gRPC", "grpc"), ("OTLP/HTTP", "http"), ("API", "api")] {
                        let address = json[field].as_str().expect("an address");
                        let _ = tell.send((name.to_owned(), format!("http://{address}")));
                    }
                }
                log.lock().expect("unbroken").push(line);
            }
        });
        let mut scheme = String::new();
        let mut address = |wanted: &str| {
            let told = told.recv_timeout(Duration::from_secs(60));
            let (name, url) = told.unwrap_or_else(|_| panic!("it did not start: {:?}", said.lock().expect("unbroken")));
            assert_eq!(name, wanted);
            let (before, address) = url.split_once("://").expect("a URL");
            scheme = before.to_owned();
            let address: SocketAddr = address.parse().expect("an address");
            SocketAddr::from(([127, 0, 0, 1], address.port()))
        };
        let (grpc, http, api) = (address("OTLP/gRPC"), address("OTLP/HTTP"), address("API"));
        Self {
            child,
            reader: Some(reader),
            directory,
            grpc,
            http,
            api,
            scheme,
            said,
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
        self.signal("-HUP");
    }

    /// The largest memory that it had since [`Serving::forget_peak`], in bytes.
    pub(crate) fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kilobytes * 1_024
    }

    /// From now on the peak is counted anew.
    pub(crate) fn forget_peak(&self) {
        fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").expect("resets");
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("runs").success());
    }

    /// Everything that was said so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().expect("unbroken").join("\n")
    }

    /// The first line with these words; waits for it.
    pub(crate) fn wait_for(&self, words: &str) -> String {
        let begin = Instant::now();
        loop {
            if let Some(line) = self.said.lock().expect("unbroken").iter().find(|line| line.contains(words)) {
                return line.clone();
            }
            assert!(begin.elapsed() < Duration::from_secs(30), "{words:?} was not said: {}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it in order; all that it said.
    pub(crate) fn stop(mut self) -> (String, tempfile::TempDir) {
        self.signal("-TERM");
        assert!(self.child.wait().expect("ends").success(), "{}", self.said());
        self.reader.take().expect("once").join().expect("reads");
        let said = self.said();
        let directory = std::mem::replace(&mut self.directory, tempfile::tempdir().expect("a directory"));
        (said, directory)
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

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
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

/// Every file below a directory, with its bytes.
pub(crate) fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.clone(), fs::read(&path).expect("reads")));
        }
    }
    found
}

pub(crate) fn holds(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|window| window == words.as_bytes())
}
