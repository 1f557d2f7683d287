//! `spanbridge send`: files in, spans out to an OTLP backend, no server.

use std::convert::Infallible;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::convert::vocabulary;
use super::failure::Failure;
use super::input::{Batch, DEFAULT_LIMIT};
use super::{out, status};
use crate::forward::send::send;
use crate::forward::{DestinationText, Dialect, Logs, Protocol, Sample};

const EXAMPLES: &str = "\
Input is recognised by content, as `convert` does it: OTLP protobuf or OTLP/JSON, traces or logs, plain, gzip or zstd. What is sent is
encoded anew.

Examples:
  spanbridge send --to phoenix=http://127.0.0.1:6006 spans.json       in the attributes that Phoenix reads
  spanbridge send --to http://127.0.0.1:4318 --dialect genai *.bin    in those of OTel's GenAI conventions
  spanbridge send --to https://otlp.example.com --header 'authorization=Bearer ${env:TOKEN}' run.jsonl.gz

Exit status: 0 all was accepted, 1 some was not, 2 the call is at fault.";

/// Send files with spans to Jaeger, Phoenix or any OTLP backend, without a server.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Send {
    /// Where to: a URL, or NAME=URL, where the names phoenix, jaeger, langfuse, datadog and mlflow set what these need.
    #[arg(long, value_name = "[NAME=]URL")]
    to: String,
    /// The attributes that the destination reads: as-received, openinference, genai or both [default: as NAME needs, else
    /// as-received].
    #[arg(long, value_name = "DIALECT", value_parser = word::<Dialect>)]
    dialect: Option<Dialect>,
    /// What becomes of log records: send, into-spans or leave [default: as NAME needs, else send].
    #[arg(long, value_name = "WORD", value_parser = word::<Logs>)]
    logs: Option<Logs>,
    /// The transport: grpc, http/protobuf or http/json [default: grpc on port 4317, else http/protobuf].
    #[arg(long, value_name = "PROTOCOL", value_parser = word::<Protocol>)]
    protocol: Option<Protocol>,
    /// A header of every request; a value may hold ${env:NAME} and ${file:PATH}. Repeatable.
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// Seconds after which to give up if nothing is accepted.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    give_up_seconds: u64,
    /// A file with attribute keys of your own, in the form of semconv/<dialect>/attributes.yaml.
    #[arg(long, value_name = "FILE")]
    semconv: Option<PathBuf>,
    /// The most bytes that a file may have after decompression.
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_LIMIT)]
    max_bytes: usize,
    /// Files with spans and log records; `-` is standard input.
    #[arg(required = true, value_name = "FILE|-")]
    files: Vec<PathBuf>,
}

fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

/// How often a long transfer says how far it is.
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
        let registry = Arc::new(vocabulary(self.semconv.as_deref())?.registry().clone());
        let mut batch = Batch::new(self.max_bytes);
        self.files.iter().for_each(|file| batch.read(file));
        batch.notes.iter().for_each(|note| out::note(note));
        batch.problems.iter().for_each(|problem| out::error(problem));
        let clean = batch.problems.is_empty();
        let all = [batch.spans.len() as u64, batch.logs.len() as u64];
        if all == [0, 0] {
            out::note("no spans and no log records in the input, so nothing to send");
            return Ok(status(clean));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|source| Failure::Runtime { source })?;
        let (stopping, stop) = watch::channel(false);
        let mut told = Instant::now();
        let mut progress = |sample: &Sample| {
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
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
        let [spans, records] = sample.sent;
        out::note(&format!(
            "{} and {} sent to {}",
            counted(spans, "span"),
            counted(records, "log record"),
            sample.name
        ));
        if sample.left_out + sample.not_taken > 0 {
            let left = counted(sample.left_out + sample.not_taken, "log record");
            out::note(&format!(
                "{left} not sent: no span takes them, or the destination takes no log records"
            ));
        }
        if let Some(reason) = &outcome.gave_up {
            out::note(&format!("the rest was not sent: {reason}"));
        }
        Ok(status(clean && outcome.refused.is_empty() && outcome.gave_up.is_none()))
    }
}

fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}
