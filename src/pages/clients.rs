//! How to point each client at this server.

use maud::{Markup, html};

/// Addresses to which clients send their spans: `http://127.0.0.1:4318`.
#[derive(Debug, Clone, Default)]
pub struct Addresses {
    /// OTLP over HTTP.
    pub http: String,
    /// OTLP over gRPC.
    pub grpc: String,
}

/// Name and settings. `HTTP` and `GRPC` are replaced by the addresses of the OTLP ports.
const CLIENTS: [(&str, &str); 8] = [
    (
        "Any OpenTelemetry SDK",
        "export OTEL_EXPORTER_OTLP_ENDPOINT=HTTP\nexport OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
    ),
    (
        "Claude Code",
        "export CLAUDE_CODE_ENABLE_TELEMETRY=1\nexport OTEL_LOGS_EXPORTER=otlp\nexport OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\nexport OTEL_EXPORTER_OTLP_ENDPOINT=HTTP",
    ),
    (
        "OpenAI Agents SDK",
        "from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor\n\nOpenAIAgentsInstrumentor().instrument(tracer_provider=provider)",
    ),
    (
        "LangGraph and LangChain",
        "from openinference.instrumentation.langchain import LangChainInstrumentor\n\nLangChainInstrumentor().instrument(tracer_provider=provider)",
    ),
    (
        "pydantic-ai",
        "Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))",
    ),
    ("Vercel AI SDK", "experimental_telemetry: { isEnabled: true }"),
    (
        "gRPC",
        "export OTEL_EXPORTER_OTLP_ENDPOINT=GRPC\nexport OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
    ),
    ("Recorded files", "spanbridge send traces.json --to HTTP"),
];

/// A card for each client. `http` and `grpc`: addresses of the OTLP ports.
pub(crate) fn view(http: &str, grpc: &str) -> Markup {
    html! {
        div.cards {
            @for (name, settings) in CLIENTS {
                section.card {
                    h2 { (name) button.quiet.small data-copyval { "Copy" } }
                    div.in { pre { (settings.replace("HTTP", http).replace("GRPC", grpc)) } }
                }
            }
        }
    }
}
