//! Why a request is refused as a whole: one table from reason to gRPC code, HTTP status and retry hint.

use crate::access::Denied;
use crate::otlp::Fault;
use crate::span::json::JsonError;
use crate::span::{Refused, Signal};

use super::limits::InflateError;

/// Why a request is refused as a whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The body is not valid protobuf of this signal.
    #[error("the body is not an OTLP {signal} request: {fault}")]
    Protobuf {
        /// The signal of the path.
        signal: Signal,
        /// Where it is invalid.
        fault: Fault,
    },
    /// The body is not valid JSON of this signal.
    #[error("the body is not an OTLP/JSON {signal} request: {detail}")]
    Json {
        /// The signal of the path.
        signal: Signal,
        /// What is wrong, and where.
        detail: String,
        /// The cause.
        source: JsonError,
    },
    /// The body has another signal.
    #[error("the body has {found}, but this is {path}: send it to {right}", path = wanted.path(), right = found.path())]
    WrongSignal {
        /// The signal of the path.
        wanted: Signal,
        /// The signal of the body.
        found: Signal,
    },
    /// All ids of the request are in base64.
    #[error("{first}; all {count} items of the request were rejected, so nothing is stored")]
    Base64Ids {
        /// The first such id.
        first: Refused,
        /// Number of ids.
        count: usize,
    },
    /// No content type.
    #[error("the request has no content-type; use application/x-protobuf or application/json")]
    NoContentType,
    /// A content type that OTLP does not define.
    #[error("content-type {content_type} is not supported; use application/x-protobuf or application/json")]
    ContentType {
        /// The request's value.
        content_type: String,
    },
    /// A document or blocks with a type other than JSON.
    #[error("content-type {content_type} is not supported; use application/json")]
    DocumentType {
        /// The request's value.
        content_type: String,
    },
    /// An unsupported compression.
    #[error("content-encoding {encoding} is not supported; use gzip, zstd, deflate or none")]
    ContentEncoding {
        /// The request's value.
        encoding: String,
    },
    /// The compressed stream is corrupt.
    #[error("the body cannot be decompressed: {source}")]
    Compressed {
        /// The decoder's error.
        source: InflateError,
    },
    /// An archive whose files cannot be read.
    #[error("the body cannot be unpacked: {source}")]
    Packed {
        /// What is wrong with it.
        source: crate::formats::UnpackError,
    },
    /// Larger than the limit, compressed or not.
    #[error("the request has more than {limit} bytes after decompression; send smaller batches, or raise --max-request-bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// JSON with very many tiny objects, which would take a multiple of any limit in memory.
    #[error("{objects} objects in {bytes} bytes of JSON are too many; OTLP messages have fewer and larger ones")]
    Hollow {
        /// Number of objects and lists.
        objects: usize,
        /// Size of the text.
        bytes: usize,
    },
    /// The request would need more memory than allowed.
    #[error(
        "the request would need more than {limit} bytes of memory; send smaller batches with fewer traces in each, or raise \
         --max-in-flight-bytes"
    )]
    Costly {
        /// The limit in bytes.
        limit: usize,
    },
    /// JSON that takes a multiple of its size once parsed.
    #[error(
        "the {bytes} bytes of JSON consist of so many values that reading them would take {needed} bytes of memory; the limit is {limit}: \
         send less in one request, or import the documents with `spanbridge import`"
    )]
    Dense {
        /// Size of the text.
        bytes: usize,
        /// Bytes needed.
        needed: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// The request would take a multiple of its size on disk, or when its traces are read.
    #[error(
        "the {parts} traces in {bytes} bytes would take {becomes} bytes {place}; the limit is {limit}: send fewer traces in one request"
    )]
    Spread {
        /// Number of traces, or of sessions of log records.
        parts: usize,
        /// Size of the request.
        bytes: usize,
        /// Resulting size.
        becomes: usize,
        /// Where that size occurs.
        place: &'static str,
        /// Bytes allowed.
        limit: usize,
    },
    /// The requests in progress take too much memory.
    #[error("{in_flight} bytes of requests are in progress, and the limit is {limit}; try again")]
    Overloaded {
        /// Bytes in use.
        in_flight: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// The store cannot accept it now.
    #[error("nothing of the request is stored: {source}")]
    Store {
        /// The store's error.
        source: crate::store::Error,
    },
    /// The receiver is shutting down.
    #[error("the server is shutting down; try again")]
    ShuttingDown,
    /// The body arrived too slowly.
    #[error("the body did not arrive in time: no data for {seconds} s, or less than 16 KiB a second")]
    Slow {
        /// How long the receiver waited, for more of it or for all of it.
        seconds: u64,
    },
    /// The body was not complete in time.
    #[error("the body was not complete after {seconds} s")]
    Late {
        /// How long the receiver waited.
        seconds: u64,
    },
    /// The client's own deadline, `grpc-timeout`, has passed.
    #[error("the deadline of the call has passed ({milliseconds} ms)")]
    Deadline {
        /// The client's timeout.
        milliseconds: u128,
    },
    /// A malformed `grpc-timeout`.
    #[error("grpc-timeout {value} is not up to eight digits and one of H, M, S, m, u, n")]
    Timeout {
        /// The request's value.
        value: String,
    },
    /// The connection broke while the body arrived.
    #[error("the body ended early")]
    Broken,
    /// The request has no token, or one without the right.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The host name does not belong to this machine, and no token is required.
    #[error("the request is for {host}, which is not a name of this machine; allow it with --allowed-host {host}, or use a token")]
    Host {
        /// The host in the request.
        host: String,
    },
    /// A web page from an origin that is not allowed to send.
    #[error("web pages of {origin} may not send requests; allow them with --cors-origin {origin}")]
    Origin {
        /// The browser's `Origin` header.
        origin: String,
    },
    /// Too many or too large header fields.
    #[error("the request has {found} {what}, the limit is {limit}")]
    Headers {
        /// What is limited.
        what: &'static str,
        /// The actual number.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// The request passed this bridge before.
    #[error(
        "these spans have already passed through this server (spanbridge-via): two servers forward to each other; remove one of the two destinations"
    )]
    Loop,
    /// No such path, or method of a service.
    #[error("there is nothing at {path}; OTLP/HTTP takes /v1/traces, /v1/logs and /v1/metrics, also below a prefix")]
    NotFound {
        /// The requested path.
        path: String,
    },
    /// Not POST.
    #[error("{path} takes POST only")]
    Method {
        /// The requested path.
        path: String,
    },
    /// gRPC over HTTP/1.1.
    #[error("gRPC needs HTTP/2; over HTTP/1.1 send application/x-protobuf or application/json")]
    GrpcNeedsHttp2,
    /// No message or several in a unary call.
    #[error("a unary call has exactly one message: {what}")]
    Cardinality {
        /// What was received.
        what: &'static str,
    },
    /// A message is flagged as compressed, but the call names no compression.
    #[error("the message's compressed flag is set, but grpc-encoding names no compression")]
    CompressedFlag,
    /// The health service does not know this service.
    #[error("no service {service}")]
    UnknownService {
        /// The requested service.
        service: String,
    },
    /// A malformed gRPC frame.
    #[error("the gRPC message is not framed correctly: {what}")]
    Frame {
        /// What is wrong.
        what: &'static str,
    },
    /// Too many `Watch` calls of the health service are open.
    #[error("{limit} calls of Watch are open {place}, and that is the limit: end one of them, or call Check")]
    Watches {
        /// The scope of the limit.
        place: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A gRPC method that does not exist here.
    #[error("there is no method {path}")]
    Unimplemented {
        /// The requested path.
        path: String,
    },
}

/// The form of a rejection on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResponseStatus {
    /// gRPC's code.
    pub(super) code: i32,
    /// HTTP's status.
    pub(super) http: u16,
    /// Seconds after which a retry may succeed; `None`: a retry is pointless.
    pub(super) retry: Option<u64>,
    /// Name in counters.
    pub(super) name: &'static str,
}

const INVALID_ARGUMENT: i32 = 3;
const DEADLINE_EXCEEDED: i32 = 4;
const NOT_FOUND: i32 = 5;
const PERMISSION_DENIED: i32 = 7;
const RESOURCE_EXHAUSTED: i32 = 8;
const FAILED_PRECONDITION: i32 = 9;
const UNIMPLEMENTED: i32 = 12;
const INTERNAL: i32 = 13;
const UNAVAILABLE: i32 = 14;
const UNAUTHENTICATED: i32 = 16;

impl Rejection {
    /// Overload is 503 rather than 429: the specification allows both, but older releases of OpenTelemetry's Python exporter
    /// drop a batch on 429. The hints are short because an export has ten seconds in total, and SDKs give up at once if the
    /// hint exceeds what is left.
    pub(super) fn response_status(&self) -> ResponseStatus {
        let (code, http, retry, name) = match self {
            Self::Protobuf { .. } => (INVALID_ARGUMENT, 400, None, "undecodable"),
            Self::Json { .. } => (INVALID_ARGUMENT, 400, None, "undecodable"),
            Self::WrongSignal { .. } => (INVALID_ARGUMENT, 400, None, "wrong_signal"),
            Self::Base64Ids { .. } => (INVALID_ARGUMENT, 400, None, "base64_ids"),
            Self::NoContentType | Self::ContentType { .. } | Self::DocumentType { .. } => (INVALID_ARGUMENT, 415, None, "content_type"),
            Self::ContentEncoding { .. } => (UNIMPLEMENTED, 415, None, "content_encoding"),
            Self::Compressed { .. } | Self::Packed { .. } => (INVALID_ARGUMENT, 400, None, "compression"),
            Self::Hollow { .. } => (INVALID_ARGUMENT, 400, None, "hollow"),
            Self::TooLarge { .. } | Self::Costly { .. } | Self::Dense { .. } => (RESOURCE_EXHAUSTED, 413, None, "too_large"),
            Self::Spread { .. } => (RESOURCE_EXHAUSTED, 413, None, "spread"),
            Self::Overloaded { .. } => (UNAVAILABLE, 503, Some(1), "overloaded"),
            Self::Store {
                source: crate::store::Error::TooLarge { .. },
            } => (RESOURCE_EXHAUSTED, 413, None, "too_large"),
            Self::Store { source } if source.is_transient() => (UNAVAILABLE, 503, Some(3), "store"),
            Self::Store { .. } => (UNAVAILABLE, 503, Some(5), "store"),
            Self::ShuttingDown => (UNAVAILABLE, 503, Some(2), "shutting_down"),
            Self::Slow { .. } => (DEADLINE_EXCEEDED, 408, None, "slow"),
            Self::Late { .. } => (DEADLINE_EXCEEDED, 408, None, "late"),
            Self::Deadline { .. } => (DEADLINE_EXCEEDED, 504, None, "deadline"),
            Self::GrpcNeedsHttp2 => (UNIMPLEMENTED, 505, None, "http_version"),
            Self::Cardinality { .. } => (UNIMPLEMENTED, 400, None, "broken"),
            Self::CompressedFlag => (INTERNAL, 400, None, "broken"),
            Self::Timeout { .. } => (INTERNAL, 400, None, "broken"),
            Self::UnknownService { .. } => (NOT_FOUND, 404, None, "not_found"),
            Self::Broken | Self::Frame { .. } => (INVALID_ARGUMENT, 400, None, "broken"),
            Self::Denied(Denied::NoRight { .. }) => (PERMISSION_DENIED, 403, None, "no_right"),
            Self::Denied(Denied::NoToken) => (UNAUTHENTICATED, 401, None, "no_token"),
            Self::Denied(_) => (UNAUTHENTICATED, 401, None, "unknown_token"),
            Self::Host { .. } => (PERMISSION_DENIED, 403, None, "host"),
            Self::Origin { .. } => (PERMISSION_DENIED, 403, None, "origin"),
            Self::Headers { .. } => (RESOURCE_EXHAUSTED, 431, None, "headers"),
            Self::Loop => (FAILED_PRECONDITION, 508, None, "loop"),
            Self::Watches { .. } => (RESOURCE_EXHAUSTED, 429, None, "watches"),
            Self::NotFound { .. } => (NOT_FOUND, 404, None, "not_found"),
            Self::Method { .. } => (UNIMPLEMENTED, 405, None, "method"),
            Self::Unimplemented { .. } => (UNIMPLEMENTED, 404, None, "not_found"),
        };
        ResponseStatus { code, http, retry, name }
    }

    /// The HTTP status, and the seconds after which to retry.
    #[must_use]
    pub fn http(&self) -> (u16, Option<u64>) {
        let ResponseStatus { http, retry, .. } = self.response_status();
        (http, retry)
    }

    /// Name in counters and logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.response_status().name
    }

    /// The invalid field, for a `BadRequest` detail.
    pub(super) fn violation(&self) -> Option<String> {
        match self {
            Self::Protobuf { fault, .. } => Some(format!("byte {}", fault.offset)),
            Self::Json { .. } | Self::Hollow { .. } => Some("body".to_owned()),
            Self::WrongSignal { found, .. } => Some(format!("resource_{found}")),
            Self::Base64Ids { first, .. } => Some(first.path.to_string()),
            _ => None,
        }
    }
}
