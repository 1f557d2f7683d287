//! Points that need a broken disk, the end of the bridge, or a body that trickles: asked of the receiver without a socket.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use spanbridge::receiver::{Limits, Receiver};
use spanbridge::store::{Append, Chunk, Error, OnAppended, Receipt};

use super::body::{self, framed};
use super::row::{Bridges, Row, TRACES, Verdict, Via, What, contains, same, status_of};
use super::scenarios::{GRPC, JSON, PROTOBUF, block_on};
use super::wire::{self, Answer};

/// A store that always fails in the same way.
#[derive(Debug)]
struct Failing(Error);

impl Append for Failing {
    fn submit(&self, _: Vec<Chunk>, done: OnAppended<Receipt>) {
        done(Err(self.0.clone()));
    }
    fn submit_at(&self, _: u64, _: Chunk, done: OnAppended<u64>) {
        done(Err(self.0.clone()));
    }
}

fn receiver(error: Error) -> Arc<Receiver> {
    Arc::new(Receiver::new(Arc::new(Failing(error)), Vec::new(), Limits::default()))
}

/// One request without a socket: such states last too short a time, or need a broken disk.
async fn ask(receiver: &Arc<Receiver>, via: Via, path: &str, header: (&str, &str), body: Vec<u8>) -> Answer {
    let version = if via == Via::Http1 {
        hyper::http::Version::HTTP_11
    } else {
        hyper::http::Version::HTTP_2
    };
    let request = hyper::http::Request::post(path).version(version).header(header.0, header.1);
    let response = Arc::clone(receiver)
        .handle(request.body(Full::new(Bytes::from(body))).expect("a request"))
        .await;
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("a body");
    let trailers = body.trailers().map(wire::list).unwrap_or_default();
    Answer {
        status: head.status.as_u16(),
        headers: wire::list(&head.headers),
        trailers,
        body: body.to_bytes().to_vec(),
    }
}

/// Both transports refuse, with this hint.
async fn both_hint(receiver: &Arc<Receiver>, seconds: &str, words: &str) -> Verdict {
    let answer = ask(receiver, Via::Http1, "/v1/traces", JSON, body::json(1)).await;
    same("status", &503, &answer.status)?;
    same("retry-after", &Some(seconds), &answer.header("retry-after"))?;
    contains("message", words, &status_of(&answer, Via::Http1, true)?.message)?;
    let answer = ask(receiver, Via::Grpc, TRACES, GRPC, framed(0, &body::protobuf(1))).await;
    same("grpc-status", &Some("14"), &answer.metadata("grpc-status"))?;
    same("a hint", &true, &answer.metadata("google.rpc.retryinfo-bin").is_some())?;
    contains("message", words, &status_of(&answer, Via::Grpc, false)?.message)
}

fn a_full_disk(_: &Bridges) -> Verdict {
    let source = Arc::new(std::io::Error::from(std::io::ErrorKind::StorageFull));
    let full = Error::Full {
        path: "/data".into(),
        source: Arc::clone(&source),
    };
    block_on(both_hint(&receiver(full), "3", "is full"))?;
    block_on(both_hint(
        &receiver(Error::Poisoned { source }),
        "5",
        "syncing the log to disk failed",
    ))
}

fn a_chunk_that_no_record_holds(_: &Bridges) -> Verdict {
    let receiver = receiver(Error::TooLarge { bytes: 1 << 40 });
    let answer = block_on(ask(&receiver, Via::Http1, "/v1/traces", PROTOBUF, body::protobuf(1)));
    same("status", &413, &answer.status)?;
    same("retry-after", &None, &answer.header("retry-after"))
}

/// A body that comes in pieces of so many bytes, ten a second, and ends after so many of them.
struct Trickle {
    piece: usize,
    left: usize,
    clock: tokio::time::Interval,
}

impl hyper::body::Body for Trickle {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        std::task::ready!(self.clock.poll_tick(context));
        self.left -= 1;
        Poll::Ready(Some(Ok(hyper::body::Frame::data(Bytes::from(vec![b' '; self.piece])))))
    }
}

/// A byte now and then keeps no place for long; a slow body that does come is waited for.
fn trickle(_: &Bridges) -> Verdict {
    let limits = Limits {
        body_seconds: 1,
        ..Limits::default()
    };
    let receiver = Arc::new(Receiver::new(Arc::new(Failing(Error::Closed)), Vec::new(), limits));
    let ask = |piece, left| {
        let clock = tokio::time::interval(Duration::from_millis(100));
        let request = hyper::Request::post("/v1/traces").header(JSON.0, JSON.1);
        let request = request.body(Trickle { piece, left, clock }).expect("a request");
        tokio::time::timeout(Duration::from_secs(60), Arc::clone(&receiver).handle(request))
    };
    block_on(async {
        let status = ask(1, usize::MAX).await.map(|response| response.status().as_u16());
        same("status of a byte now and then", &Ok(408), &status.map_err(|_| "none"))?;
        let status = ask(8_000, 25).await.map(|response| response.status().as_u16());
        same("status of a slow body, of spaces", &Ok(400), &status.map_err(|_| "none"))
    })
}

fn the_end(_: &Bridges) -> Verdict {
    let receiver = receiver(Error::Closed);
    receiver.shut();
    block_on(both_hint(&receiver, "2", "shutting down"))?;
    let answer = block_on(ask(&receiver, Via::Grpc, "/grpc.health.v1.Health/Check", GRPC, framed(0, b"")));
    same("health", &framed(0, &[8, 2]), &answer.body)
}

pub(crate) fn rows() -> Vec<Row> {
    let row = |point, rule, spec, scenario| Row {
        point,
        rule,
        spec,
        what: What::Scenario(scenario),
    };
    let retry = "otlp: OTLP/gRPC Throttling; OTLP/HTTP Throttling";
    vec![
        row(
            "9.disk",
            "a full or broken disk: UNAVAILABLE + RetryInfo, 503 + Retry-After",
            retry,
            a_full_disk,
        ),
        row(
            "9.never",
            "what will never fit is not to be retried",
            retry,
            a_chunk_that_no_record_holds,
        ),
        row(
            "9.end",
            "at the end: UNAVAILABLE + RetryInfo, 503 + Retry-After, health NOT_SERVING",
            retry,
            the_end,
        ),
        row(
            "2.slow",
            "a body that only trickles is given up: its place is for others",
            "rfc 9110, 15.5.9",
            trickle,
        ),
    ]
}
