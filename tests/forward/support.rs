//! A bridge in the process, and spans to send to it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use spanbridge::forward::DestinationText;
use spanbridge::otlp::encode;
use spanbridge::server::{Addresses, Config, Server};
use spanbridge::span::{Resource, Span, SpanId, TraceId, UnixNanos};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A bridge that runs until it is stopped.
pub(crate) struct Bridge {
    pub(crate) addresses: Addresses,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Bridge {
    pub(crate) async fn start(directory: &Path, destinations: &[DestinationText]) -> Self {
        let mut config = Config::new(directory);
        config.forward = spanbridge::forward::resolve_all(destinations, None).expect("destinations");
        Self::with(&config).await
    }

    pub(crate) async fn with(config: &Config) -> Self {
        let server = Server::start(config).await.expect("starts");
        let addresses = server.addresses();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self {
            addresses,
            stop: Some(stop),
            task,
        }
    }

    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        self.task.await.expect("ends");
    }

    /// Sends a request to it.
    pub(crate) async fn send(&self, path: &'static str, message: Vec<u8>) {
        self.send_as(path, message, "application/x-protobuf").await;
    }

    pub(crate) async fn send_as(&self, path: &'static str, message: Vec<u8>, content_type: &'static str) {
        assert_eq!(self.post(path, message, content_type).await, 200, "accepted");
    }

    /// Sends a request to it, and tells the status of its answer.
    pub(crate) async fn post(&self, path: &'static str, message: Vec<u8>, content_type: &'static str) -> u16 {
        let url = format!("http://{}{path}", self.addresses.http);
        let sent = tokio::task::spawn_blocking(move || {
            let config = ureq::Agent::config_builder().proxy(None).http_status_as_error(false);
            let agent: ureq::Agent = config.build().into();
            agent.post(&url).header("content-type", content_type).send(&message[..])
        });
        sent.await.expect("no panic").expect("answers").status().as_u16()
    }

    pub(crate) async fn send_spans(&self, spans: &[Span]) {
        self.send("/v1/traces", encode::traces(spans)).await;
    }

    pub(crate) async fn metrics(&self) -> String {
        let url = format!("http://{}/metrics", self.addresses.api);
        let text = tokio::task::spawn_blocking(move || {
            let agent: ureq::Agent = ureq::Agent::config_builder().proxy(None).build().into();
            agent.get(&url).call().expect("answers").body_mut().read_to_string().expect("text")
        });
        text.await.expect("no panic")
    }

    /// The number behind a metric of a destination.
    pub(crate) async fn metric(&self, name: &str, destination: &str) -> u64 {
        let start = format!("{name}{{exporter=\"{destination}\",project=\"default/default\"}} ");
        let text = self.metrics().await;
        let line = text.lines().find_map(|line| line.strip_prefix(&start));
        line.unwrap_or_else(|| panic!("no {start} in {text}")).parse().expect("a number")
    }
}

/// A destination that tries again soon.
pub(crate) fn to(url: &str) -> DestinationText {
    DestinationText {
        url: url.to_owned(),
        name: Some("sink".to_owned()),
        max_backoff_seconds: Some(0.05),
        timeout_seconds: Some(5.0),
        ..DestinationText::default()
    }
}

/// Spans of one trace, by numbers.
pub(crate) fn spans(trace: u64, numbers: std::ops::Range<u64>) -> Vec<Span> {
    let mut resource = Resource::default();
    resource.attributes.push("service.name", "test");
    let resource = Arc::new(resource);
    let trace_id = TraceId::from_bytes(&u128::from(trace + 1).to_be_bytes()).expect("an id");
    numbers
        .map(|number| {
            let span_id = SpanId::from_bytes(&(number + 1).to_be_bytes()).expect("an id");
            let mut span = Span::new(trace_id, span_id, format!("span {number}"));
            (span.start, span.end) = (UnixNanos(1_000 + number), UnixNanos(2_000 + number));
            span.attributes.push("input.value", "a word ".repeat(50));
            span.resource = Arc::clone(&resource);
            span
        })
        .collect()
}

pub(crate) fn names(spans: &[Span]) -> Vec<String> {
    let mut names: Vec<String> = spans.iter().map(|span| span.name.clone()).collect();
    names.sort();
    names
}

/// Tries until it holds.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    for _ in 0..1_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("never: {what}");
}
