//! Tags of Jaeger's and Zipkin's spans: where OpenTelemetry's exporters and the Collector put what these spans have no other place for.
//! (opentelemetry.io/docs/specs/otel/common/mapping-to-non-otlp; the Collector's `pkg/translator/jaeger` and `pkg/translator/zipkin`.)

use serde_json::{Map, Value};

use super::pieces::{kind_number, status_number};

/// What tags say of a span beside its attributes.
#[derive(Default)]
pub(super) struct Tags {
    pub(super) scope: Map<String, Value>,
    pub(super) status: Map<String, Value>,
    pub(super) kind: Option<u32>,
    pub(super) trace_state: Option<String>,
}

impl Tags {
    /// Takes a tag that is no attribute.
    pub(super) fn take(&mut self, key: &str, value: &Value) -> bool {
        let Some(text) = value.as_str() else {
            let is_error = key == "error" && *value == Value::Bool(true);
            if is_error {
                self.fail();
            }
            return is_error;
        };
        match key {
            "otel.scope.name" | "otel.library.name" => _ = self.scope.insert("name".to_owned(), value.clone()),
            "otel.scope.version" | "otel.library.version" => _ = self.scope.insert("version".to_owned(), value.clone()),
            "otel.status_code" => _ = self.status.insert("code".to_owned(), status_number(text).into()),
            "otel.status_description" => _ = self.status.insert("message".to_owned(), value.clone()),
            "error" if text == "true" => self.fail(),
            "span.kind" => self.kind = Some(kind_number(text)),
            "w3c.tracestate" => self.trace_state = Some(text.to_owned()),
            // How a span was stored, and where its service's name came from.
            "internal.span.format" | "otlp.service.name.source" => {}
            _ => return false,
        }
        true
    }

    /// The status is an error, unless it says otherwise itself.
    pub(super) fn fail(&mut self) {
        self.status.entry("code").or_insert_with(|| status_number("ERROR").into());
    }
}

/// Whether a service has this name, or the exporter found none.
pub(super) fn is_service_name(name: &Value) -> bool {
    !matches!(name.as_str(), None | Some("" | "OTLPResourceNoServiceName"))
}

/// What keys of resources begin with in OpenTelemetry's conventions; Zipkin's spans have them among their own.
const OF_RESOURCE: [&str; 22] = [
    "service.name",
    "service.version",
    "service.namespace",
    "service.instance.",
    "telemetry.sdk.",
    "telemetry.distro.",
    "telemetry.auto.",
    "deployment.",
    "host.",
    "os.",
    "process.",
    "container.",
    "k8s.",
    "cloud.",
    "device.",
    "browser.",
    "webengine.",
    "heroku.",
    "aws.ecs.",
    "aws.eks.",
    "aws.log.",
    "gcp.cloud_run.",
];

/// Whether the conventions have a key for resources.
pub(super) fn is_of_resource(key: &str) -> bool {
    OF_RESOURCE.iter().any(|known| key.starts_with(known))
}
