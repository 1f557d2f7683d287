//! A place where finished spans go, and a subscriber that sends them there.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "not every test uses all of it")]

use std::sync::{Arc, Mutex};

use opentelemetry::Value;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, SpanData, SpanExporter, SpanLimits};
use spanbridge::layer::Layer;
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;

#[derive(Debug, Clone, Default)]
pub struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(batch);
        Ok(())
    }
}

impl Kept {
    pub fn spans(&self) -> Vec<SpanData> {
        self.0.lock().unwrap().clone()
    }

    /// The only span with this name.
    pub fn span(&self, name: &str) -> Seen {
        let mut named: Vec<SpanData> = self.spans().into_iter().filter(|span| span.name == name).collect();
        assert_eq!(
            named.len(),
            1,
            "spans: {:?}",
            self.spans().iter().map(|span| span.name.clone()).collect::<Vec<_>>()
        );
        Seen(named.pop().unwrap())
    }
}

/// A finished span.
#[derive(Debug)]
pub struct Seen(pub SpanData);

impl Seen {
    pub fn get(&self, key: &str) -> Option<Value> {
        let mut found = self.0.attributes.iter().filter(|pair| pair.key.as_str() == key);
        let value = found.next().map(|pair| pair.value.clone());
        assert!(found.next().is_none(), "{key} stands twice");
        value
    }

    pub fn text(&self, key: &str) -> String {
        self.get(key)
            .unwrap_or_else(|| panic!("no {key} among {:#?}", self.0.attributes))
            .to_string()
    }

    pub fn int(&self, key: &str) -> i64 {
        match self.get(key) {
            Some(Value::I64(number)) => number,
            other => panic!("{key} is {other:?}"),
        }
    }

    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub fn event(&self, name: &str, key: &str) -> Option<String> {
        let event = self.0.events.iter().find(|event| event.name == name)?;
        event
            .attributes
            .iter()
            .find(|pair| pair.key.as_str() == key)
            .map(|pair| pair.value.to_string())
    }
}

pub fn provider(kept: &Kept) -> SdkTracerProvider {
    let limits = SpanLimits {
        max_attributes_per_span: u32::MAX,
        ..SpanLimits::default()
    };
    SdkTracerProvider::builder()
        .with_simple_exporter(kept.clone())
        .with_span_limits(limits)
        .build()
}

pub type TestLayer = Layer<Registry, SdkTracer>;

/// Runs `program` under the Layer and gives what was exported.
pub fn run(program: impl FnOnce()) -> Kept {
    run_with(|layer| layer, program)
}

pub fn run_with(change: impl FnOnce(TestLayer) -> TestLayer, program: impl FnOnce()) -> Kept {
    let kept = Kept::default();
    let provider = provider(&kept);
    let layer = change(spanbridge::layer().with_tracer(provider.tracer("test")));
    tracing::subscriber::with_default(Registry::default().with(layer), program);
    kept
}
