//! `spanbridge send`: files in, spans out to an OTLP backend, no server.

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::begin::At;
use super::explain::refusal_explained;
use super::failure::{Failure, exit_status};
use super::input::Files;
use super::out;
use crate::forward::send::send;
use crate::forward::{DestinationText, Dialect, Health, Logs, Protocol, Sample};

const EXAMPLES: &str = "\
The input is detected by its content, as `convert` does: OTLP protobuf or OTLP/JSON, traces or logs, plain, gzip or zstd. Spans are \
decoded and encoded again, so fields that OTLP does not define are not sent. The ids of a document's spans are derived from the document: \
imported and sent to a spanbridge, it is one run there, though both copies of its spans are stored.

Examples:
  spanbridge send --to phoenix=http://127.0.0.1:6006 spans.json     as Phoenix reads them
  spanbridge send --to http://127.0.0.1:4318 --dialect genai *.bin  as OTel GenAI
  spanbridge send --to https://otlp.example.com --header 'api-key=${env:KEY}' run.jsonl.gz

Exit status: 0 if everything was accepted, 1 if not, 2 for a usage error.";

/// Send files with spans to Jaeger, Phoenix or any OTLP backend, without a server.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Send {
    /// The destination: a URL, or NAME=URL. The names phoenix, jaeger, langfuse, langsmith, datadog and mlflow select presets for these backends.
    #[arg(long, value_name = "[NAME=]URL")]
    to: String,
    /// The attributes to add: as-received (none), openinference, genai or both [default: the preset of NAME, else
    /// as-received].
    #[arg(long, value_name = "DIALECT", value_parser = word::<Dialect>)]
    dialect: Option<Dialect>,
    /// What to do with log records: send, into-spans or leave [default: the preset of NAME, else send].
    #[arg(long, value_name = "WORD", value_parser = word::<Logs>)]
    logs: Option<Logs>,
    /// The transport: grpc, http/protobuf or http/json [default: grpc on port 4317, else http/protobuf].
    #[arg(long, value_name = "PROTOCOL", value_parser = word::<Protocol>)]
    protocol: Option<Protocol>,
    /// Add a header to every request; the value may contain ${env:NAME} and ${file:PATH}. Repeatable.
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// Give up if the destination accepts nothing for this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    give_up_seconds: u64,
    #[command(flatten)]
    at: At,
    #[command(flatten)]
    files: Files,
}

fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

/// Interval of progress reports.
const PROGRESS: Duration = Duration::from_secs(2);

impl Send {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let text = DestinationText {
            dialect: self.dialect,
            logs: self.logs,
            protocol: self.protocol,
            headers: self.headers.into_iter().collect(),
            ..DestinationText::of_flag(&self.to)
        };
        let usage = |error| Failure::usage(format!("--to {}: {}", self.to, out::with_causes(&error)));
        let destination = text.resolve(None).map_err(usage)?;
        let registry = Arc::new(self.files.vocabulary()?.registry().clone());
        let mut batch = self.files.read(self.at.begin(), false);
        let mut sessions = batch.sessions();
        batch.spans.append(&mut sessions);
        batch.report_documents();
        let clean = batch.problems.is_empty();
        let all = [batch.spans.len() as u64, batch.logs.len() as u64];
        if all == [0, 0] {
            out::note("the input has no spans and no log records, so there is nothing to send");
            return Ok(exit_status(clean));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|source| Failure::Runtime { source })?;
        let (stopping, stop) = watch::channel(false);
        let mut reported = Instant::now();
        let (mut told_down, give_up) = (false, self.give_up_seconds);
        let mut progress = |sample: &Sample| {
            if let Health::Down(reason) = &sample.health {
                if !std::mem::replace(&mut told_down, true) {
                    let reason = refusal_explained(reason.clone());
                    out::note(&format!("{}: {reason}; trying again for {give_up} s", self.to));
                }
                return;
            }
            if reported.elapsed() >= PROGRESS {
                reported = Instant::now();
                out::note(&format!("{} of {} sent", sample.sent.iter().sum::<u64>(), all.iter().sum::<u64>()));
            }
        };
        let outcome = runtime.block_on(async {
            let sent = send(
                &destination,
                (batch.spans, batch.logs),
                &registry,
                Duration::from_secs(self.give_up_seconds),
                stop,
                &mut progress,
            );
            let interrupt = async {
                let _ = tokio::signal::ctrl_c().await;
                stopping.send_replace(true);
                std::future::pending::<Infallible>().await
            };
            tokio::select! {
                outcome = sent => outcome,
                never = interrupt => match never {},
            }
        });
        let outcome = outcome.map_err(usage)?;
        for letter in &outcome.refused {
            let span = letter.span_id.as_ref().map(|id| format!("span {id}: ")).unwrap_or_default();
            out::note(&format!("{span}{} refused: {}", letter.items, letter.reason));
        }
        let sample = outcome.counts;
        let [spans, records, _] = sample.sent;
        out::note(&format!(
            "{} and {} sent to {}",
            out::many(spans, "span"),
            out::many(records, "log record"),
            self.to
        ));
        let not_taken: u64 = sample.not_taken.iter().sum();
        if sample.left_out + not_taken > 0 {
            let left = out::many(sample.left_out + not_taken, "log record");
            out::note(&format!(
                "{left} not sent: they belong to no span in the input, or the destination does not accept log records"
            ));
        }
        if let Some(reason) = &outcome.gave_up {
            out::note(&format!("the rest was not sent: {}", refusal_explained(reason.clone())));
        }
        Ok(exit_status(clean && outcome.refused.is_empty() && outcome.gave_up.is_none()))
    }
}
