//! Turns the `tracing` spans of an agent into OpenInference spans, and sends them over OTLP or writes documents from them.
//!
//! Set up the layer, keep the guard, and annotate your functions as usual:
//!
//! ```no_run
//! use tracing::instrument;
//!
//! // The parameters become the tool's arguments, the returned value its result.
//! #[instrument(ret(Display), err, fields(step_type = "tool_call", tool_name = "weather"))]
//! fn weather(city: &str) -> Result<String, std::io::Error> {
//!     Ok(format!("{city}: -3 °C"))
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let _guard = spanbridge::init()?;
//!     weather("Oslo")?;
//!     Ok(())
//! }
//! ```
//!
//! # Composing
//!
//! [`layer()`] is a [`tracing_subscriber::Layer`]: it works next to `fmt`, with filters, on any registry. [`Setup::build`] creates the
//! provider without installing a subscriber; the guard's layer sends there. Use one such layer per subscriber. It replaces the layer of
//! `tracing-opentelemetry`, whose `OpenTelemetrySpanExt` and `get_otel_context` find its spans. Only `reload` it while no span is open:
//! values recorded on open spans would be lost. If both layers are in one subscriber, a line on standard error warns that spans may be
//! exported twice.
//!
//! A filter added with `.with(..)` applies to all layers, in whatever order they are added: `EnvFilter` without `RUST_LOG` lets only errors
//! through, and then no span reaches the Layer. Attach filters to individual layers, as below. If filters keep out all spans during the
//! first minute, a line on standard error names the reason.
//!
//! ```
//! use spanbridge::layer::Setup;
//! use tracing_subscriber::Layer as _;
//! use tracing_subscriber::filter::LevelFilter;
//! use tracing_subscriber::layer::SubscriberExt as _;
//!
//! let guard = Setup::from_env().without_otlp().with_service_name("planner").build()?;
//! let subscriber = tracing_subscriber::registry().with(guard.layer().with_filter(LevelFilter::INFO));
//! # drop(subscriber);
//! # Ok::<(), spanbridge::layer::InitError>(())
//! ```
//!
//! To use your own provider: `spanbridge::layer().with_tracer(provider.tracer("planner"))`. It keeps its own limits: by default, the SDK
//! drops attributes beyond 128 per span, which is about two dozen messages. With [`span_limits`] it drops none. If a provider drops
//! something, a warning is logged once. Only [`Setup`] reads the variables below for exporters, processors, the resource and propagation;
//! your own provider reads what its builder reads.
//!
//! # Special fields
//!
//! A field becomes an attribute of its type: integers (including `u64`) stay integers, floats become doubles. If a field is
//! recorded several times, the last value is used. These fields become something else, or something more:
//!
//! | field | becomes |
//! |---|---|
//! | OpenInference's keys (`llm.model_name`, `session.id`, ...) | the same key |
//! | `openinference.span.kind`, `step_type` | the kind, in any case; `step_type` takes ContextForge's words too (`llm_call`, `tool_call`, `memory_write`, ...) |
//! | short names, if the kind is known: `model`, `provider`, `tokens_in`, `tokens_out`, `tokens_total`, `cost_estimate`, `input`, `output`, `tool_name`, `tool_call_id`, `arguments`, `result`, `query`, `results`, `session_id`, `user_id`, `prompt_id`, `step`, `reward`, ... | the OpenInference key, or one of `spanbridge.*` if OpenInference has none |
//! | other fields of a tool span, such as the parameters of an `#[instrument]` function, if no `arguments` or `input` are recorded | the tool's arguments, as one JSON object |
//! | the value of `#[instrument(ret)]`, if the kind is known and no `output` or `result` is recorded | the output (of a tool: its result); `Err(..)` becomes error status |
//! | `success = false`, `error = "..."`, if the kind is known | error status and an exception event |
//! | `llm.input_messages`, `llm.output_messages`, `llm.tools`, `retrieval.documents`, `embedding.embeddings`, `reranker.input_documents`, `reranker.output_documents`, as JSON | OpenInference's indexed keys |
//! | keys of other dialects (`gen_ai.*`, `traceloop.*`, ...) | the same key, and the OpenInference key in addition |
//! | `otel.name`, `otel.kind` | the span's name and its role between processes |
//! | `otel.status_code`, `otel.status_description`, `otel.status_message` | the span's status |
//! | `&dyn Error` values | their text, error status and an exception event with the causes |
//!
//! If a span does not have a kind, it is derived from its keys (`llm.*`: LLM, `tool.*`: TOOL, `retrieval.*`: RETRIEVER,
//! `agent.name` alone: AGENT, ...); otherwise it stays a plain span. Crates with their own instrumentation (rig,
//! agent-framework, adk-rust) are read by the tables in `semconv/`, as in the server.
//!
//! Samplers see no fields, because fields are set when the span ends.
//!
//! # Beyond fields
//!
//! [`SpanExt`] records what does not fit into fields: messages, tool calls, usage, documents, prompts. [`ModelCall`] covers one
//! model call from request to response. [`TracedExt::traced`] keeps a span open until a stream ends.
//!
//! ```
//! use serde_json::json;
//! use spanbridge::layer::SpanExt as _;
//!
//! let span = tracing::info_span!("weather");
//! span.set_tool_call("weather", Some("call_1"), &json!({"city": "Oslo"}));
//! span.set_tool_result("-3 °C");
//! ```
//!
//! ## Fields that are not declared
//!
//! The fields of a span are fixed in its macro: `span.record("result", ..)` has no effect if the span does not declare `result`.
//! `tracing` drops the value before any layer sees it, so this layer can neither keep it nor warn. Declare the field
//! (`result = tracing::field::Empty`, or just the name in `#[instrument(fields(result))]`), or record it with
//! [`SpanExt::record_field`]. That keeps any field, and in debug builds warns once per callsite about a field that
//! `Span::record` would have dropped.
//!
//! # Errors
//!
//! `#[instrument(err)]`, [`SpanExt::set_error`], events of level `ERROR` and panics set the status and, if there is an error value, add an
//! `exception` event. The message of a panic is recorded if [`init`] or [`Setup`] was used. If a span continues after a panic, because the
//! task or thread that panicked inside it was awaited, the panic is an event of that span, not its failure.
//!
//! # Privacy
//!
//! Content is recorded unless `OPENINFERENCE_HIDE_*` or `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` turns it off: see
//! [`Privacy`], which also accepts a hook.
//!
//! # Documents without a server
//!
//! [`Documents`] (with the feature `layer-documents`) is an exporter that collects the spans of a run until it has finished, and writes documents of any format to a
//! folder, a file or a function. They are the same as those of `spanbridge export`. Pass it to [`Setup::with_documents`]. If a
//! run has not finished when the program ends, its document includes the spans that are still open, with what was recorded so
//! far. [`Documents::to_runs`] gives the runs themselves to a function, for a format of your own.
//!
//! # Without `tracing`
//!
//! [`Documents`] and [`Translating`] are exporters for `opentelemetry_sdk`: add them to the provider of any other instrumentation.
//! [`Translating`] passes spans on in the vocabulary that a backend reads.
//!
//! # The end of a program
//!
//! Spans are sent in batches. Dropping the [`Guard`] sends the last batch and writes the documents of unfinished runs, within [a time
//! limit](Setup::with_flush_bound). SIGTERM and SIGINT (Ctrl-C) do the same and then end the process as they would without the layer; a
//! second Ctrl-C ends it at once. Spans that ended before the signal are sent, those that end meanwhile are not. A signal that the program
//! handled before the layer was set up is left to the program. If your program installs its handlers later, call
//! [`Setup::without_signals`]. `std::process::exit` and `abort` do not drop the guard: call [`Guard::flush`] first, or use a spool. If
//! spans could not be delivered, a line on standard error states their number, the address and the reason; other lines report spans dropped
//! because the queue (`OTEL_BSP_MAX_QUEUE_SIZE`) was full, and spans created after the guard was dropped. Batches are sent in requests of
//! at most about 2 MiB; if a single larger span is refused, it is named.
//!
//! # Crash spool
//!
//! With [`Setup::with_spool`] (or `SPANBRIDGE_SPOOL`) a span is on disk from its end until it has been delivered over OTLP. Spans that
//! remain after a crash, or because the receiver was down, are sent at the next start with the same folder: at least once, unchanged, with
//! the resource of the process that created them.
//!
//! # Environment
//!
//! | variable | |
//! |---|---|
//! | `OTEL_SDK_DISABLED` | `true`: nothing is set up |
//! | `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` | the resource |
//! | `OTEL_TRACES_EXPORTER` | `otlp` (default), `console` (OTLP/JSON lines), `none`; several with commas |
//! | `OTEL_EXPORTER_OTLP_{ENDPOINT,HEADERS,PROTOCOL,TIMEOUT,COMPRESSION,CERTIFICATE,CLIENT_KEY,CLIENT_CERTIFICATE}` and `..._TRACES_...` | the exporter; `http/protobuf` (default), `http/json`, and `grpc` with the feature `layer-grpc` (which reads `..._INSECURE` too) |
//! | `OTEL_BSP_{MAX_QUEUE_SIZE,MAX_EXPORT_BATCH_SIZE,SCHEDULE_DELAY,EXPORT_TIMEOUT}` | the batch processor |
//! | `OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG` | the sampler |
//! | `OTEL_{ATTRIBUTE,SPAN_ATTRIBUTE,SPAN_EVENT,SPAN_LINK,EVENT_ATTRIBUTE,LINK_ATTRIBUTE}_COUNT_LIMIT`, `OTEL_{ATTRIBUTE,SPAN_ATTRIBUTE}_VALUE_LENGTH_LIMIT` | limits; none unless set |
//! | `OTEL_PROPAGATORS`, `TRACEPARENT`, `TRACESTATE` | propagation; the trace that started this process |
//! | `PHOENIX_COLLECTOR_ENDPOINT`, `PHOENIX_API_KEY` | Phoenix, if the OTLP variables set no endpoint |
//! | `SPANBRIDGE_DOCUMENTS`, `SPANBRIDGE_FORMAT` | a folder for [`Documents`], and their format; several with commas |
//! | `SPANBRIDGE_SPOOL` | a folder for the crash spool |
//! | `RUST_LOG` | which spans [`init`] records: levels by target |
//!
//! `OTEL_SEMCONV_STABILITY_OPT_IN` has no effect: the layer writes OpenInference, and leaves keys of other dialects unchanged.

mod access;
mod begin;
mod block_log;
mod call;
#[cfg(feature = "documents")]
mod collect;
mod composition;
mod console;
mod convert;
mod debug_form;
#[cfg(feature = "documents")]
mod documents;
#[cfg(not(feature = "documents"))]
#[path = "no_documents.rs"]
mod documents;
mod emit;
mod env;
mod error;
mod exit;
mod flags;
mod global;
mod handed;
mod http;
mod init;
mod life;
mod limits;
mod lives;
mod mapping;
mod names;
mod open;
mod otlp;
mod panics;
mod parameters;
mod parts;
mod plan;
pub mod privacy;
mod private;
mod quiet;
mod record;
mod role;
#[cfg(feature = "documents")]
mod run_document;
mod scope;
mod shadow;
mod signal;
#[cfg(feature = "documents")]
mod sink;
mod snapshot;
mod span_contents;
mod span_ext;
mod span_layer;
mod span_traits;
mod spool;
mod stream;
mod subscribe;
mod tls;
mod tracer;
mod translating;
mod typed;
mod undelivered;
mod visit;
mod words;
mod write;

pub use block_log::BlockLog;
pub use call::ModelCall;
#[cfg(feature = "documents")]
pub use documents::{Documents, DocumentsError};
pub use error::InitError;
pub use global::GlobalTracer;
pub use init::{Guard, Setup, init, span_limits};
pub use privacy::Privacy;
#[cfg(feature = "documents")]
pub use run_document::{RunDocument, RunSnapshot};
pub use scope::SCOPE;
pub use span_ext::{FieldValue, SpanExt};
pub use span_layer::{Layer, layer};
pub use stream::{Traced, TracedEach, TracedExt};
pub use tracer::{LayerSpan, LayerTracer};
pub use translating::Translating;
