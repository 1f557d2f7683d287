//! A row of the table: a rule, where it stands, what is sent, what must come back.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;
use serde_json::Value;

use super::body::{Status, framed};
use super::bridge::Bridge;
use super::wire::{self, Answer};

pub(crate) const TRACES: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
pub(crate) const LOGS: &str = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
pub(crate) const METRICS: &str = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";

/// What holds, or what was expected and what came instead.
pub(crate) type Verdict = Result<(), String>;

pub(crate) struct Row {
    /// The point of the list of rules, `1` to `18`, and the case.
    pub(crate) point: &'static str,
    /// The rule in words.
    pub(crate) rule: &'static str,
    /// Where it stands.
    pub(crate) spec: &'static str,
    pub(crate) what: What,
}

pub(crate) enum What {
    /// One request and its answer.
    Exchange(Box<Exchange>),
    /// Several, or a state that has to be brought about first.
    Scenario(fn(&Bridges) -> Verdict),
}

/// The bridges that rows share.
pub(crate) struct Bridges {
    /// As it is without any flag.
    pub(crate) plain: Bridge,
    /// With a limit of 1 MiB a request.
    pub(crate) small: Bridge,
    /// With pages of `https://app.example` allowed.
    pub(crate) cors: Bridge,
}

#[derive(Clone, Copy)]
pub(crate) enum Who {
    Plain,
    Small,
    Cors,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    Http1,
    Http2,
    Grpc,
}

pub(crate) struct Exchange {
    who: Who,
    via: Via,
    other_port: bool,
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    status: u16,
    has: Vec<(&'static str, &'static str)>,
    lacks: Vec<&'static str>,
    comes: Comes,
    stored: Option<(u16, usize)>,
    plain_status: bool,
}

/// What the body must be.
enum Comes {
    Nothing,
    Json(Value),
    Status {
        code: i32,
        words: &'static str,
        detail: Option<&'static str>,
    },
    Partial {
        rejected: i64,
        words: &'static str,
    },
    Bytes(Vec<u8>),
}

fn request(via: Via, path: &str, content_type: &str, body: Vec<u8>) -> Exchange {
    Exchange {
        who: Who::Plain,
        via,
        other_port: false,
        method: "POST",
        path: path.to_owned(),
        headers: vec![("content-type", content_type.to_owned())],
        body,
        status: 200,
        has: Vec::new(),
        lacks: vec!["retry-after"],
        comes: Comes::Nothing,
        stored: None,
        plain_status: false,
    }
}

/// OTLP/HTTP with protobuf over HTTP/1.1.
pub(crate) fn protobuf(path: &str, body: Vec<u8>) -> Exchange {
    request(Via::Http1, path, "application/x-protobuf", body)
}

/// OTLP/HTTP with JSON over HTTP/1.1.
pub(crate) fn json(path: &str, body: impl Into<Vec<u8>>) -> Exchange {
    let mut exchange = request(Via::Http1, path, "application/json", body.into());
    exchange.comes = Comes::Json(Value::Object(serde_json::Map::new()));
    exchange
}

/// OTLP/gRPC: the message is framed here.
pub(crate) fn grpc(path: &str, message: &[u8]) -> Exchange {
    framed_grpc(path, framed(0, message))
}

/// gRPC with a body as it is.
pub(crate) fn framed_grpc(path: &str, body: Vec<u8>) -> Exchange {
    request(Via::Grpc, path, "application/grpc", body).header("te", "trailers").code(0)
}

impl Exchange {
    pub(crate) fn to(mut self, who: Who) -> Self {
        self.who = who;
        self
    }
    pub(crate) fn over_h2(mut self) -> Self {
        self.via = Via::Http2;
        self
    }
    /// gRPC to the port of HTTP, and the other way round.
    pub(crate) fn on_the_other_port(mut self) -> Self {
        self.other_port = true;
        self
    }
    pub(crate) fn method(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }
    /// Adds a header; the content type is replaced.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.retain(|(known, _)| *known != name || name != "content-type");
        self.headers.push((name, value.into()));
        self
    }
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self
    }
    pub(crate) fn twice(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
    /// The HTTP status, or over gRPC the code.
    pub(crate) fn code(mut self, code: u16) -> Self {
        self.status = code;
        self
    }
    pub(crate) fn has(mut self, name: &'static str, value: &'static str) -> Self {
        self.has.push((name, value));
        self
    }
    pub(crate) fn lacks(mut self, name: &'static str) -> Self {
        self.lacks.push(name);
        self
    }
    /// Refused before it was clear in which encoding: the Status is in JSON.
    pub(crate) fn refused_in_json(mut self, status: u16, code: i32, words: &'static str) -> Self {
        self.plain_status = true;
        self.refused(status, code, words)
    }
    /// These bytes come back.
    pub(crate) fn says(mut self, bytes: Vec<u8>) -> Self {
        self.comes = Comes::Bytes(bytes);
        self
    }
    pub(crate) fn empty(mut self) -> Self {
        self.comes = Comes::Nothing;
        self
    }
    pub(crate) fn stores(mut self, trace: u16, spans: usize) -> Self {
        self.stored = Some((trace, spans));
        self
    }
    /// Refused: a `google.rpc.Status` of this code in the request's encoding that says these words.
    pub(crate) fn refused(mut self, status: u16, code: i32, words: &'static str) -> Self {
        self.status = if self.via == Via::Grpc {
            u16::try_from(code).expect("small")
        } else {
            status
        };
        self.comes = Comes::Status { code, words, detail: None };
        self
    }
    /// With a `BadRequest` detail.
    pub(crate) fn bad_request(mut self, words: &'static str) -> Self {
        self = self.refused(400, 3, words);
        self.comes = Comes::Status {
            code: 3,
            words,
            detail: Some("google.rpc.BadRequest"),
        };
        self
    }
    pub(crate) fn partial(mut self, rejected: i64, words: &'static str) -> Self {
        self.comes = Comes::Partial { rejected, words };
        self
    }
    pub(crate) fn row(self, point: &'static str, rule: &'static str, spec: &'static str) -> Row {
        let what = What::Exchange(Box::new(self));
        Row { point, rule, spec, what }
    }

    pub(crate) fn check(&self, bridges: &Bridges) -> Verdict {
        let bridge = match self.who {
            Who::Plain => &bridges.plain,
            Who::Small => &bridges.small,
            Who::Cors => &bridges.cors,
        };
        let address = match (self.via == Via::Grpc) != self.other_port {
            true => &bridge.grpc,
            false => &bridge.http,
        };
        let headers: Vec<(&str, &str)> = self.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let send = if self.via == Via::Http1 { wire::http1 } else { wire::http2 };
        let answer = send(address, self.method, &self.path, &headers, &self.body);
        self.judge(&answer)
            .map_err(|wrong| format!("{wrong}\n    answer: {}", shown(&answer)))?;
        match self.stored {
            Some((trace, spans)) => same("spans stored", &spans, &bridge.stored(trace)),
            None => Ok(()),
        }
    }

    fn judge(&self, answer: &Answer) -> Verdict {
        if self.via == Via::Grpc {
            same("HTTP status", &200, &answer.status)?;
            same(
                "grpc-status",
                &Some(self.status.to_string().as_str()),
                &answer.metadata("grpc-status"),
            )?;
            same("content-type", &Some("application/grpc"), &answer.header("content-type"))?;
            if self.status == 0 {
                same("status in trailers, not in headers", &None, &answer.header("grpc-status"))?;
            }
        } else {
            same("status", &self.status, &answer.status)?;
        }
        for (name, value) in &self.has {
            same(name, &Some(*value), &answer.metadata(name))?;
        }
        for name in &self.lacks {
            same(name, &None, &answer.metadata(name))?;
        }
        at_most("bytes of the answer", 4 << 20, answer.body.len())?;
        at_most(
            "bytes of metadata",
            8 << 10,
            answer.headers.iter().map(|(name, value)| name.len() + value.len() + 32).sum(),
        )?;
        match &self.comes {
            Comes::Nothing if self.via == Via::Grpc => same("message", &framed(0, b""), &answer.body),
            Comes::Nothing => same("body", &Vec::new(), &answer.body),
            Comes::Bytes(bytes) => same("body", bytes, &answer.body),
            Comes::Json(value) => {
                same("content-type", &Some("application/json"), &answer.header("content-type"))?;
                same("body", value, &serde_json::from_slice(&answer.body).unwrap_or_default())
            }
            Comes::Status { code, words, detail } => self.judge_status(answer, *code, words, *detail),
            Comes::Partial { rejected, words } => self.judge_partial(answer, *rejected, words),
        }
    }

    fn is_json(&self) -> bool {
        let protobuf = |value: &String| value.contains("protobuf") || value.contains("grpc");
        !self.headers.iter().any(|(name, value)| *name == "content-type" && protobuf(value))
    }

    fn judge_status(&self, answer: &Answer, code: i32, words: &str, detail: Option<&str>) -> Verdict {
        let status = status_of(answer, self.via, self.plain_status || self.is_json())?;
        same("code of the Status", &code, &status.code)?;
        contains("message of the Status", words, &status.message)?;
        let details: Vec<&str> = status.details.iter().filter_map(|any| any.type_url.rsplit('/').next()).collect();
        same("details of the Status", &detail.into_iter().collect::<Vec<_>>(), &details)
    }

    fn judge_partial(&self, answer: &Answer, rejected: i64, words: &str) -> Verdict {
        let (have, message) = if self.is_json() {
            let value: Value = serde_json::from_slice(&answer.body).map_err(|error| error.to_string())?;
            let partial = value.get("partialSuccess").cloned().unwrap_or_default();
            let text = |key: &str| partial.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            (text("rejectedSpans").parse().unwrap_or_default(), text("errorMessage"))
        } else {
            let bytes = answer.body.get(if self.via == Via::Grpc { 5 } else { 0 }..).unwrap_or_default();
            let response = ExportTraceServiceResponse::decode(bytes).map_err(|error| error.to_string())?;
            let partial = response.partial_success.unwrap_or_default();
            (partial.rejected_spans, partial.error_message)
        };
        same("rejected_spans", &rejected, &have)?;
        contains("error_message", words, &message)
    }
}

/// The `google.rpc.Status` of an answer, in the encoding it has to have.
pub(crate) fn status_of(answer: &Answer, via: Via, json: bool) -> Result<Status, String> {
    use base64::Engine as _;
    if via == Via::Grpc {
        let encoded = answer.metadata("grpc-status-details-bin").ok_or("no grpc-status-details-bin")?;
        let bytes = base64::engine::general_purpose::STANDARD_NO_PAD
            .decode(encoded)
            .map_err(|error| error.to_string())?;
        let status = Status::decode(&*bytes).map_err(|error| error.to_string())?;
        same(
            "code of the details",
            &answer.metadata("grpc-status"),
            &Some(status.code.to_string().as_str()),
        )?;
        return Ok(status);
    }
    if !json {
        same("content-type", &Some("application/x-protobuf"), &answer.header("content-type"))?;
        return Status::decode(&*answer.body).map_err(|error| format!("the body is no Status: {error}"));
    }
    same("content-type", &Some("application/json"), &answer.header("content-type"))?;
    let value: Value = serde_json::from_slice(&answer.body).map_err(|error| format!("the body is no Status: {error}"))?;
    let detail = |detail: &Value| super::body::Any {
        type_url: detail.get("@type").and_then(Value::as_str).unwrap_or_default().to_owned(),
        value: detail.to_string().into_bytes(),
    };
    Ok(Status {
        code: value
            .get("code")
            .and_then(Value::as_i64)
            .and_then(|code| i32::try_from(code).ok())
            .unwrap_or_default(),
        message: value.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        details: value
            .get("details")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(detail)
            .collect(),
    })
}

pub(crate) fn same<T: PartialEq + std::fmt::Debug>(what: &str, wanted: &T, have: &T) -> Verdict {
    if wanted == have {
        return Ok(());
    }
    Err(format!("{what}\n    expected: {wanted:?}\n    got:      {have:?}"))
}

pub(crate) fn contains(what: &str, wanted: &str, have: &str) -> Verdict {
    if have.contains(wanted) {
        return Ok(());
    }
    Err(format!("{what}\n    expected: ...{wanted}...\n    got:      {have}"))
}

pub(crate) fn at_most(what: &str, limit: usize, have: usize) -> Verdict {
    if have <= limit {
        return Ok(());
    }
    Err(format!("{what}\n    expected: at most {limit}\n    got:      {have}"))
}

fn shown(answer: &Answer) -> String {
    let body: String = String::from_utf8_lossy(&answer.body).chars().take(300).collect();
    format!("{} {:?} {:?} {body:?}", answer.status, answer.headers, answer.trailers)
}
