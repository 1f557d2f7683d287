//! A running server, read over its API.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::AsSendBody;

use crate::access::Right;
use crate::cli::address::reached_here;
use crate::cli::explain::explained;
use crate::cli::failure::Failure;
use crate::cli::out;
use crate::server::SPEAKS_TLS;
use crate::span::TraceId;
use crate::span::json::Message;
use crate::store::Stored;
use crate::web::NewEvaluation;

/// How long a busy server is retried.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum bytes of an answer.
const MAX_ANSWER_BYTES: u64 = 1 << 30;

/// A token that is never shown.
#[derive(Clone)]
pub(super) struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl std::str::FromStr for Token {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.trim().to_owned()))
    }
}

/// A running server.
#[derive(Debug)]
pub(in crate::cli) struct Server {
    agent: ureq::Agent,
    pub(super) url: String,
    token: Option<Token>,
}

impl Server {
    /// Connects to the server at this URL, and checks that it is spanbridge. `ca`: the authority of its certificate.
    pub(super) fn connect(url: &str, token: Option<Token>, ca: Option<&Path>) -> Result<Self, Failure> {
        let with_scheme = (!url.contains("://")).then(|| format!("http://{url}"));
        let url = with_scheme.as_deref().unwrap_or(url);
        let mut tls = ureq::tls::TlsConfig::builder();
        if let Some(path) = ca {
            tls = tls.root_certs(authorities(path)?);
        }
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(2)))
            .proxy(None)
            .tls_config(tls.build())
            .build();
        let server = Self {
            agent: config.into(),
            url: url.trim_end_matches('/').to_owned(),
            token,
        };
        // Another program may listen on that port, so no token is sent.
        match server.get("/", None) {
            Ok((200, front)) if front.starts_with(b"spanbridge ") => Ok(server),
            Ok((status, said)) => Err(Failure::Server {
                url: url.to_owned(),
                message: match status {
                    // The answer of a TLS port to plain HTTP.
                    400 if said.starts_with(SPEAKS_TLS.as_bytes()) => "the server speaks TLS on this port; write https:// in the URL",
                    404 if is_receiver(&said) => "spanbridge receives OTLP on this port; its API is on another (4319 by default)",
                    _ => "the server there is not spanbridge",
                }
                .to_owned(),
            }),
            Err(failure) => Err(failure),
        }
    }

    /// Retries for a while if the bridge is busy.
    fn get(&self, path: &str, token: Option<&Token>) -> Result<(u16, Vec<u8>), Failure> {
        let begin = Instant::now();
        loop {
            match self.send("GET", path, token, ())? {
                (503, _) if begin.elapsed() < BUSY_TIMEOUT => std::thread::sleep(Duration::from_secs(1)),
                answer => return Ok(answer),
            }
        }
    }

    fn send(&self, method: &str, path: &str, token: Option<&Token>, body: impl AsSendBody) -> Result<(u16, Vec<u8>), Failure> {
        let Self { agent, url, .. } = self;
        let fault = |source: ureq::Error| Failure::Server {
            url: url.clone(),
            message: explained(source.to_string()),
        };
        let mut request = ureq::http::Request::builder().method(method).uri(format!("{url}{path}"));
        if let Some(Token(token)) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if method == "POST" {
            request = request.header("content-type", "application/json");
        }
        let request = request.body(body).map_err(|error| fault(error.into()))?;
        let mut response = agent.run(request).map_err(fault)?;
        let too_large = || {
            self.unreadable(format!(
                "the answer has more than {MAX_ANSWER_BYTES} bytes; ask for less, or read the data directory with --data-dir on the server's machine"
            ))
        };
        if response.body().content_length().is_some_and(|reported| reported > MAX_ANSWER_BYTES) {
            return Err(too_large());
        }
        let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec();
        let body = body.map_err(|source| match source {
            ureq::Error::BodyExceedsLimit(_) => too_large(),
            source => fault(source),
        })?;
        Ok((response.status().as_u16(), body))
    }

    pub(super) fn get_ok(&self, path: &str) -> Result<Option<Vec<u8>>, Failure> {
        let answer = self.get(path, self.token.as_ref())?;
        self.answered(answer, Right::Read)
    }

    /// All of one trace; `None` if there is none.
    pub(super) fn trace(&self, id: TraceId) -> Result<Option<Stored>, Failure> {
        let Some(body) = self.get_ok(&format!("/api/v1/traces/{id}"))? else {
            return Ok(None);
        };
        let message = Message::parse(&body).map_err(|error| self.unreadable(out::with_causes(&error)))?;
        let (spans, logs) = message.into_parts();
        Ok(Some(Stored {
            spans: spans.items,
            logs: logs.items,
            damaged: damage_of(&body),
            ends: Vec::new(),
        }))
    }

    /// Sends DELETE; `None`: there is nothing to delete.
    pub(super) fn delete(&self, path: &str) -> Result<Option<Vec<u8>>, Failure> {
        let answer = self.send("DELETE", path, self.token.as_ref(), ())?;
        self.answered(answer, Right::Delete)
    }

    /// Sends a judgement of a trace.
    pub(super) fn post(&self, path: &str, said: &NewEvaluation) -> Result<(), Failure> {
        let json = serde_json::to_string(said).unwrap_or_default();
        let answer = self.send("POST", path, self.token.as_ref(), json)?;
        let missing = out::shown(&problem(&answer.1), 500);
        let answered = self.answered(answer, Right::Annotate)?;
        answered.map(drop).ok_or_else(|| Failure::missing(missing))
    }

    /// Parses an answer.
    pub(super) fn read<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, Failure> {
        serde_json::from_slice(body).map_err(|error| self.unreadable(error.to_string()))
    }

    fn answered(&self, answer: (u16, Vec<u8>), right: Right) -> Result<Option<Vec<u8>>, Failure> {
        let Self { url, token, .. } = self;
        match answer {
            (200 | 201, body) => Ok(Some(body)),
            (401, _) => Err(Failure::Server {
                url: url.clone(),
                message: match token {
                    None => format!("it requires a token; set SPANBRIDGE_TOKEN to one with the right `{right}`"),
                    Some(_) => "the token is unknown".to_owned(),
                },
            }),
            (403, _) => Err(Failure::Server {
                url: url.clone(),
                message: format!(
                    "the token lacks the right `{right}`: add it to the token's `rights` in the server's configuration file, or make \
                     another token (spanbridge token new --right {right})"
                ),
            }),
            (404 | 410, _) => Ok(None),
            (status, body) => Err(self.unreadable(format!("{status}: {}", out::shown(&problem(&body), 500)))),
        }
    }

    fn unreadable(&self, message: String) -> Failure {
        let url = self.url.clone();
        Failure::Answer { url, message }
    }
}

/// The bridge's report of what of a trace is damaged on disk.
fn damage_of(body: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct Damage {
        damaged: Vec<String>,
    }
    // The end of an answer about an undamaged trace.
    if body.ends_with(br#""damaged":[]}"#) {
        return Vec::new();
    }
    // A span may nest too deeply for this parser, so errors are ignored; the trace itself is read with a higher limit.
    serde_json::from_slice(body).map_or_else(|_| Vec::new(), |damage: Damage| damage.damaged)
}

/// The error message in a bridge's answer.
pub(in crate::cli) fn problem(body: &[u8]) -> String {
    let said: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let words = said.pointer("/error/message").and_then(serde_json::Value::as_str);
    words.map_or_else(|| String::from_utf8_lossy(body).trim().to_owned(), str::to_owned)
}

/// Whether a spanbridge listens on this address, on any of its ports.
pub(in crate::cli) fn is_spanbridge(address: &str) -> bool {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(2)))
        .proxy(None)
        .build();
    let asked = ureq::Agent::from(config).get(format!("http://{}/", reached_here(address))).call();
    let said = asked
        .ok()
        .and_then(|mut answer| answer.body_mut().with_config().limit(4_096).read_to_vec().ok());
    said.is_some_and(|said| said.starts_with(b"spanbridge ") || said.starts_with(SPEAKS_TLS.as_bytes()) || is_receiver(&said))
}

/// Whether this is the answer of the OTLP/HTTP port to an unknown path.
fn is_receiver(said: &[u8]) -> bool {
    String::from_utf8_lossy(said).contains("OTLP/HTTP takes /v1/traces")
}

fn authorities(path: &Path) -> Result<ureq::tls::RootCerts, Failure> {
    let text = std::fs::read(path).map_err(Failure::read(path))?;
    let found = ureq::tls::parse_pem(&text).filter_map(|item| match item {
        Ok(ureq::tls::PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    Ok(ureq::tls::RootCerts::from(found))
}
