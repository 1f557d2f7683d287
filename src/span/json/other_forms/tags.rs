//! Tags of Jaeger's and Zipkin's spans, in which OpenTelemetry's exporters and the Collector store data that these spans have no field for
//! (opentelemetry.io/docs/specs/otel/common/mapping-to-non-otlp; the Collector's `pkg/translator/jaeger` and `pkg/translator/zipkin`).

use serde_json::{Map, Value};

use super::pieces::{kind_number, status_number};

/// Facts in tags that are not attributes.
#[derive(Default)]
pub(super) struct Tags {
    pub(super) scope: Map<String, Value>,
    pub(super) status: Map<String, Value>,
    pub(super) kind: Option<u32>,
    pub(super) trace_state: Option<String>,
}

impl Tags {
    /// Takes a tag; returns false if it is an attribute.
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
            // How a span was stored, and the source of the service's name.
            "internal.span.format" | "otlp.service.name.source" => {}
            _ => return false,
        }
        true
    }

    /// Marks the status as an error, unless it has a code.
    pub(super) fn fail(&mut self) {
        self.status.entry("code").or_insert_with(|| status_number("ERROR").into());
    }
}

/// Whether this is a service's name, rather than the exporter's placeholder.
pub(super) fn is_service_name(name: &Value) -> bool {
    !matches!(name.as_str(), None | Some("" | "OTLPResourceNoServiceName"))
}

/// Prefixes of resource keys in OpenTelemetry's conventions; Zipkin's spans have these among their own tags.
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

/// Whether the conventions define a key for resources.
pub(super) fn is_of_resource(key: &str) -> bool {
    OF_RESOURCE.iter().any(|known| key.starts_with(known))
}
