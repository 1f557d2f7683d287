//! Requests to the receiver, gRPC and HTTP: framing, compression, limits. Each is answered, and nothing is kept in work.

use std::cell::OnceCell;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Version};
use spanbridge::otlp::decode;
use spanbridge::receiver::{Limits, Receiver};
use spanbridge::store::ChunkKind;
use tokio::runtime::Runtime;

use super::memory::MemoryStore;

const PATHS: [&str; 8] = [
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    "/grpc.health.v1.Health/Check",
    "/v1/traces",
    "/v1/logs",
    "/v1/metrics",
    "/else",
];
const TYPES: [&str; 4] = ["application/x-protobuf", "application/json", "application/grpc+proto", "text/plain"];
const ENCODINGS: [&str; 4] = ["", "gzip", "zstd", "identity"];

/// Decompressed, a request may have so many bytes.
const LIMITS: Limits = Limits {
    request_seconds: 60,
    request_bytes: 1 << 16,
    in_flight_bytes: 1 << 19,
    body_seconds: 30,
};

struct Bridge {
    runtime: Runtime,
    store: Arc<MemoryStore>,
    receiver: Arc<Receiver>,
}

thread_local! {
    static BRIDGE: OnceCell<Bridge> = const { OnceCell::new() };
}

/// Holds the law: two bytes choose path and headers, the rest is the body. The highest bit of the first one frames it.
pub fn run(data: &[u8]) {
    let [path, headers, body @ ..] = data else { return };
    let choose = |list: &[&'static str], number: u8| list[usize::from(number) % list.len()];
    let at = path & 0x7;
    let content_type = if at < 4 { "application/grpc" } else { choose(&TYPES, headers & 3) };
    let encoding = choose(&ENCODINGS, headers >> 2 & 3);
    let body = if path & 0x80 == 0 {
        body.to_vec()
    } else {
        let length = u32::try_from(body.len()).expect("small").to_be_bytes();
        [&[u8::from(!encoding.is_empty())], length.as_slice(), body].concat()
    };
    BRIDGE.with(|bridge| {
        send(
            bridge.get_or_init(bridge_to_memory),
            choose(&PATHS, at),
            content_type,
            encoding,
            body,
        )
    });
}

fn send(bridge: &Bridge, path: &str, content_type: &str, encoding: &str, body: Vec<u8>) {
    // A message that says that it is compressed, and nothing says how: gRPC asks for "internal".
    let says_nothing_of_how = matches!(encoding, "" | "identity") && body.first() == Some(&1);
    let grpc = content_type.starts_with("application/grpc");
    let version = if grpc { Version::HTTP_2 } else { Version::HTTP_11 };
    let mut request = Request::post(path).version(version).header("content-type", content_type);
    if !encoding.is_empty() {
        request = request.header(if grpc { "grpc-encoding" } else { "content-encoding" }, encoding);
    }
    let request = request.body(Full::new(Bytes::from(body))).expect("a request");
    let response = bridge.runtime.block_on(Arc::clone(&bridge.receiver).handle(request));
    let (head, body) = response.into_parts();
    let answer = bridge.runtime.block_on(body.collect()).expect("memory");
    if grpc {
        assert_eq!(head.status.as_u16(), 200);
        let trailers = answer.trailers().cloned().unwrap_or_default();
        let code = head.headers.get("grpc-status").or(trailers.get("grpc-status")).expect("a status");
        assert!(code.as_bytes() != b"13" || says_nothing_of_how, "internal");
    } else {
        assert!(!matches!(head.status.as_u16(), 500 | 503), "{}", head.status);
    }
    assert_eq!(bridge.receiver.in_flight_bytes(), 0);
    for chunk in bridge.store.take() {
        let message = chunk.message();
        let items = match chunk.kind() {
            ChunkKind::Spans => {
                let decoded = decode::traces(&message).expect("what is stored decodes");
                assert!(decoded.refused.is_empty());
                assert!(decoded.items.iter().all(|span| Some(span.trace_id) == chunk.trace_id()));
                decoded.items.len()
            }
            ChunkKind::Logs | ChunkKind::LooseLogs => decode::logs(&message).expect("what is stored decodes").items.len(),
            ChunkKind::Metrics => panic!("nobody wants metrics here"),
        };
        assert_eq!(items, chunk.part().items);
    }
}

fn bridge_to_memory() -> Bridge {
    let store = Arc::new(MemoryStore::default());
    let keys = vec!["session.id".to_owned()];
    Bridge {
        runtime: tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime"),
        receiver: Arc::new(Receiver::new(Arc::clone(&store) as _, keys, LIMITS)),
        store,
    }
}
