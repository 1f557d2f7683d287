//! OTLP/HTTP: protobuf and JSON, distinguished by content type.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::header::{
    ACCEPT_ENCODING, ALLOW, CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Version};

use super::admission::Reservation;
use super::export::{Export, Form, Taken, Transport};
use super::headers::{encoding, is_grpc};
use super::limits::Encoding;
use super::reject::Rejection;
use super::response_body::{Body, full};
use super::service::Receiver;
use super::status;
use crate::span::Signal;

const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

pub(super) async fn handle<B>(receiver: Arc<Receiver>, request: Request<B>) -> Response<Body>
where
    B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
{
    let (head, mut body) = request.into_parts();
    let origin = receiver.cors.allowed(&head.headers);
    let mut response = match receiver.cors.preflight(&head.method, &head.headers) {
        Some(preflight) => preflight,
        None => answer(&receiver, &head, &mut body).await,
    };
    receiver.cors.mark(origin, &mut response);
    response
}

async fn answer<B>(receiver: &Receiver, head: &Parts, body: &mut B) -> Response<Body>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
{
    let form = form(&head.headers);
    // Requests without a content type are often made by hand, so their errors are in JSON.
    let answer = *form.as_ref().unwrap_or(&Form::Json);
    match export(receiver, head, form, body).await {
        Ok((signal, taken)) => {
            let body = match answer {
                Form::Protobuf => status::response_protobuf(&taken),
                Form::Json => status::response_json(signal, &taken).to_string().into_bytes(),
            };
            respond(StatusCode::OK, answer, body)
        }
        Err(rejection) => {
            receiver.counters.refused(&rejection);
            drain(body, head, &rejection).await;
            refuse(&rejection, answer)
        }
    }
}

/// Rejects a request without processing its body.
pub(super) async fn refuse_unread<B>(receiver: &Receiver, request: Request<B>, rejection: &Rejection) -> Response<Body>
where
    B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
{
    let (head, mut body) = request.into_parts();
    drain(&mut body, &head, rejection).await;
    let mut response = refuse(rejection, form(&head.headers).unwrap_or(Form::Json));
    receiver.cors.mark(receiver.cors.allowed(&head.headers), &mut response);
    response
}

async fn export<B>(receiver: &Receiver, head: &Parts, form: Result<Form, Rejection>, body: &mut B) -> Result<(Signal, Taken), Rejection>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
{
    let path = head.uri.path();
    if is_grpc(&head.headers) && head.version != Version::HTTP_2 {
        return Err(Rejection::GrpcNeedsHttp2);
    }
    let signal = signal_of(path).ok_or_else(|| Rejection::NotFound { path: path.to_owned() })?;
    if head.method != Method::POST {
        return Err(Rejection::Method { path: path.to_owned() });
    }
    let form = form?;
    let encoding = encoding(&head.headers, &CONTENT_ENCODING)?;
    let mut reservation = Reservation::new(&receiver.budget)?;
    let limit = receiver.limits.request_bytes;
    let body = receiver.read_body(body, &mut reservation, limit, |_| None).await?;
    let export = Export {
        signal,
        transport: Transport::Http,
        form,
        of_document: false,
        encoding,
        body: body.into(),
        reservation,
    };
    Ok((signal, receiver.take(export).await?))
}

/// The signal of a path with any prefix: some clients post below one.
fn signal_of(path: &str) -> Option<Signal> {
    let path = path.strip_suffix('/').unwrap_or(path);
    [Signal::Traces, Signal::Logs, Signal::Metrics]
        .into_iter()
        .find(|signal| path.ends_with(signal.path()))
}

fn form(headers: &HeaderMap) -> Result<Form, Rejection> {
    let mut essences = headers.get_all(CONTENT_TYPE).iter().map(|value| {
        let text = String::from_utf8_lossy(value.as_bytes());
        text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    });
    let mut essence = essences.next().unwrap_or_default();
    for another in essences.filter(|another| *another != essence).collect::<Vec<_>>() {
        essence = format!("{essence}, {another}");
    }
    match essence.as_str() {
        "application/x-protobuf" | "application/protobuf" => Ok(Form::Protobuf),
        "application/json" => Ok(Form::Json),
        "" => Err(Rejection::NoContentType),
        _ => Err(Rejection::ContentType {
            content_type: essence.chars().take(100).collect(),
        }),
    }
}

/// Reads the rest of a body. A client reads the response only once it has sent everything; otherwise its connection breaks.
pub(super) async fn drain<B>(body: &mut B, head: &Parts, rejection: &Rejection)
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
{
    const AT_MOST: usize = 256 << 20;
    // A client that sent `expect: 100-continue` does not send the body.
    if head.headers.contains_key(EXPECT) || matches!(rejection, Rejection::Slow { .. } | Rejection::Late { .. } | Rejection::Broken) {
        return;
    }
    let drain = async {
        let mut drained = 0;
        while let Some(Ok(frame)) = body.frame().await {
            drained += frame.data_ref().map_or(0, Bytes::len);
            if drained > AT_MOST {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(5), drain).await;
}

fn refuse(rejection: &Rejection, form: Form) -> Response<Body> {
    let response_status = rejection.response_status();
    let body = match form {
        Form::Protobuf => status::status_protobuf(rejection),
        Form::Json => status::status_json(rejection).to_string().into_bytes(),
    };
    let status = StatusCode::from_u16(response_status.http).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = respond(status, form, body);
    let headers = response.headers_mut();
    if let Some(seconds) = response_status.retry {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    match rejection {
        Rejection::ContentEncoding { .. } => {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(Encoding::ALL));
        }
        Rejection::Denied(denied) => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(denied.challenge()));
        }
        Rejection::Method { .. } => {
            headers.insert(ALLOW, HeaderValue::from_static("POST"));
        }
        _ => {}
    }
    response
}

fn respond(status: StatusCode, form: Form, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(full(body));
    *response.status_mut() = status;
    let content_type = match form {
        Form::Protobuf => PROTOBUF,
        Form::Json => JSON,
    };
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
