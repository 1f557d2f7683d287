//! `spanbridge serve`: the bridge.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::convert::vocabulary;
use super::failure::Failure;
use super::out;
use super::source::default_data_dir;
use crate::receiver::{Cors, Limits};
use crate::server::{Addresses, Config, Server};

const EXAMPLES: &str = "\
Spans and log records are acknowledged once they are on the disk. Everything listens on the loopback interface; to take
spans from other machines, bind an address of yours: --otlp-http 0.0.0.0:4318 (there is no authentication).

Examples:
  spanbridge serve
  spanbridge serve --data-dir ./spans --otlp-grpc 127.0.0.1:14317      beside Jaeger or Phoenix, which take 4317 too
  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python agent.py    in another terminal
  spanbridge ls";

/// Receive OTLP spans and logs, keep them, answer questions about them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Serve {
    /// Where the log and the index are kept [default: $XDG_DATA_HOME/spanbridge].
    #[arg(long, value_name = "DIR", env = "SPANBRIDGE_DATA_DIR")]
    data_dir: Option<PathBuf>,
    /// Where OTLP/gRPC listens; port 0 lets the system choose.
    #[arg(long, value_name = "HOST:PORT", env = "SPANBRIDGE_OTLP_GRPC", default_value = "127.0.0.1:4317")]
    otlp_grpc: String,
    /// Where OTLP/HTTP listens.
    #[arg(long, value_name = "HOST:PORT", env = "SPANBRIDGE_OTLP_HTTP", default_value = "127.0.0.1:4318")]
    otlp_http: String,
    /// Where the API listens.
    #[arg(long, value_name = "HOST:PORT", env = "SPANBRIDGE_HTTP", default_value = "127.0.0.1:4319")]
    http: String,
    /// The largest request, counted after decompression.
    #[arg(long, value_name = "BYTES", env = "SPANBRIDGE_MAX_REQUEST_BYTES", default_value_t = Limits::default().request_bytes)]
    max_request_bytes: usize,
    /// Bytes of all requests in work together; beyond that, clients are asked to come again.
    #[arg(long, value_name = "BYTES", env = "SPANBRIDGE_MAX_IN_FLIGHT_BYTES", default_value_t = Limits::default().in_flight_bytes)]
    max_in_flight_bytes: usize,
    /// A page of this origin may send from a browser (https://app.example; * is every origin). Repeatable.
    #[arg(long, value_name = "ORIGIN", env = "SPANBRIDGE_CORS_ORIGIN", value_delimiter = ',')]
    cors_origin: Vec<String>,
    /// A file with attribute keys of your own, in the form of semconv/<dialect>/attributes.yaml.
    #[arg(long, value_name = "FILE")]
    semconv: Option<PathBuf>,
}

impl Serve {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let data_dir = self.data_dir.map_or_else(default_data_dir, Ok)?;
        let config = Config {
            data_dir,
            grpc: self.otlp_grpc,
            http: self.otlp_http,
            api: self.http,
            limits: Limits {
                request_bytes: self.max_request_bytes,
                in_flight_bytes: self.max_in_flight_bytes,
                ..Limits::default()
            },
            cors: Cors { origins: self.cors_origin },
            vocabulary: Arc::new(vocabulary(self.semconv.as_deref())?),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .max_blocking_threads(16)
            .enable_all()
            .build()
            .map_err(|source| Failure::Runtime { source })?;
        runtime.block_on(serve(config))
    }
}

async fn serve(config: Config) -> Result<ExitCode, Failure> {
    let runtime = |source| Failure::Runtime { source };
    // Before the store is open: a signal that comes while it recovers ends it in order too.
    let mut interrupt = signal(SignalKind::interrupt()).map_err(runtime)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(runtime)?;
    let server = Server::start(&config).await?;
    out::recovery(server.recovery());
    out::note(&greeting(&config, server.addresses()));
    let counters = server.counters();
    let mut name = "";
    server
        .run(async {
            name = tokio::select! {
                _ = interrupt.recv() => "SIGINT",
                _ = terminate.recv() => "SIGTERM",
            };
            out::note(&format!("{name}: no new requests, those in work are finished"));
        })
        .await;
    let (stored, duplicates) = counters.accepted();
    out::note(&format!(
        "stopped; {stored} spans and log records stored, {duplicates} were there already"
    ));
    Ok(ExitCode::SUCCESS)
}

fn greeting(config: &Config, addresses: Addresses) -> String {
    let Addresses { grpc, http, api } = addresses;
    format!(
        "serving, data in {}\n\
         \n  OTLP/gRPC  http://{grpc}\
         \n  OTLP/HTTP  http://{http}  (/v1/traces, /v1/logs, /v1/metrics; protobuf or JSON)\
         \n  API        http://{api}\
         \n\n\
         Point an exporter here:\n\
         \n  export OTEL_EXPORTER_OTLP_ENDPOINT=http://{http} OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\
         \n  export OTEL_EXPORTER_OTLP_ENDPOINT=http://{grpc} OTEL_EXPORTER_OTLP_PROTOCOL=grpc\
         \n\n\
         Then: spanbridge ls, spanbridge show TRACE, spanbridge export --to FORMAT. Ctrl-C stops.\n",
        config.data_dir.display()
    )
}
