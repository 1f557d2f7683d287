//! What people write: paths and queries of the read API, and times of the command line.

use std::cell::OnceCell;
use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::{Request, Uri};
use spanbridge::cli::fuzzing;
use spanbridge::documents::Vocabulary;
use spanbridge::otlp::{encode, scan};
use spanbridge::span::{Signal, Span, SpanId, TraceId, UnixNanos};
use spanbridge::store::{Append as _, Chunk, Local, OpenOptions};
use spanbridge::web::{ReadLimits, Readers, Web, percent_decoded, percent_encoded};
use tokio::runtime::Runtime;

const TEMPLATES: [&str; 12] = [
    "/",
    "/api/v1/traces?",
    "/api/v1/traces?limit=2&",
    "/api/v1/traces/",
    "/api/v1/traces/01010101010101010101010101010101/",
    "/api/v1/traces/01010101010101010101010101010101/openreward?openreward.",
    "/api/v1/traces/01010101010101010101010101010101/invariant?invariant.",
    "/api/v1/sessions?",
    "/api/v1/sessions/a/reflex?",
    "/api/v1/sessions/",
    "/v1/organizations/default/traces/tr_01010101010101010101010101010101/blocks.stitched?",
    "/v1/organizations/",
];

struct Api {
    runtime: Runtime,
    web: Arc<Web>,
    // Last: the store lets go of it before it is deleted.
    _directory: tempfile::TempDir,
}

thread_local! {
    static API: OnceCell<Api> = const { OnceCell::new() };
}

/// Holds the law: the first byte chooses what is asked, the rest is what people wrote.
pub fn run(data: &[u8]) {
    let Some((choice, rest)) = data.split_first() else { return };
    if let Ok(text) = std::str::from_utf8(rest) {
        let encoded = percent_encoded(text);
        assert!(
            encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.%".contains(&byte)),
            "{encoded}"
        );
        assert_eq!(percent_decoded(&encoded).as_deref(), Some(text));
        let _ = percent_decoded(text);
        if let Ok(moment) = fuzzing::moment(text) {
            // To the microsecond: what is written is what was meant.
            let written = UnixNanos(moment).rfc3339();
            let again = fuzzing::moment(&written).expect("what is written reads");
            assert_eq!(again / 1_000_000, moment / 1_000_000, "{text} {written}");
        }
    }
    let template = usize::from(*choice) % (TEMPLATES.len() + 1);
    let target = [TEMPLATES.get(template).copied().unwrap_or("").as_bytes(), rest].concat();
    let Ok(uri) = Uri::try_from(target.as_slice()) else { return };
    API.with(|api| ask(api.get_or_init(api_with_traces), uri));
}

fn ask(api: &Api, uri: Uri) {
    let request = Request::get(uri.clone()).body(()).expect("a request");
    let response = api.runtime.block_on(Arc::clone(&api.web).handle(request));
    let status = response.status().as_u16();
    // A session by itself can only be deleted.
    let session = uri.path().strip_prefix("/api/v1/sessions/");
    let only_deleted = session.is_some_and(|name| !name.is_empty() && !name.contains('/'));
    assert!(
        matches!(status, 200 | 400 | 404) || status == 405 && only_deleted,
        "{status} for {uri}"
    );
    let json = response
        .headers()
        .get("content-type")
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    let body = api.runtime.block_on(response.into_body().collect()).expect("memory").to_bytes();
    if json {
        assert!(serde_json::from_slice::<serde_json::Value>(&body).is_ok(), "no JSON for {uri}");
    }
}

/// Two traces of one session.
fn api_with_traces() -> Api {
    let directory = tempfile::tempdir().expect("a directory");
    let vocabulary = Vocabulary::built_in();
    let options = OpenOptions {
        session_keys: vocabulary.session_keys().to_vec(),
        ..OpenOptions::new(directory.path())
    };
    let store = Local::open(&options).expect("opens").store;
    for number in 1..=2u8 {
        let mut span = Span::new(
            TraceId::from_bytes(&[number; 16]).expect("an id"),
            SpanId::from_bytes(&[number; 8]).expect("an id"),
            "chat",
        );
        (span.start, span.end) = (UnixNanos(1_767_261_600_000_000_000), UnixNanos(1_767_261_601_000_000_000));
        span.attributes.push("session.id", "a");
        span.attributes.push("gen_ai.operation.name", "chat");
        span.attributes.push(
            "gen_ai.output.messages",
            r#"[{"role":"assistant","parts":[{"type":"text","content":"b"}]}]"#,
        );
        let bytes = encode::traces(&[span]);
        let scanned = scan::scan(&bytes, Signal::Traces, &["session.id"]).expect("a request");
        let _ = store.append(Chunk::of_request(scanned, bytes)).expect("stores");
    }
    Api {
        runtime: tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime"),
        web: Arc::new(Web::new(
            Arc::new(store),
            Arc::new(vocabulary),
            "default",
            Arc::new(String::new),
            Arc::new(Readers::new(ReadLimits::default())),
        )),
        _directory: directory,
    }
}
