//! Sends spans and log records from files, without a store.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;

use super::choice::Chooser;
use super::counts::{Counts, Health, Sample};
use super::dead_letters::DeadLetter;
use super::delivery::{Delivery, DeliveryMode, Interrupted};
use super::destination::Destination;
use super::error::ConfigError;
use super::export::Exporter;
use super::in_full::spans_in_full;
use super::payload::{Part, Payload, count};
use super::records::SpanRecords;
use super::settings::Logs;
use super::translate::Translator;
use super::via::Via;
use crate::dialect::Registry;
use crate::otlp::encode;
use crate::span::{LogRecord, Signal, Span, SpanId, TraceId};

/// The outcome of sending files.
#[derive(Debug)]
pub struct Outcome {
    /// Final counts.
    pub counts: Sample,
    /// Items refused for good.
    pub refused: Vec<DeadLetter>,
    /// Why sending ended early, if so.
    pub gave_up: Option<String>,
}

/// Sends spans and log records to a destination as `serve --forward` does. Gives up when no request is accepted for the time
/// `give_up`, when the destination refuses everything (a wrong scheme, path or token), and when `stop` returns true.
/// `progress` gets the counts after each request, and repeatedly while the destination accepts nothing.
///
/// # Errors
///
/// The destination's certificates cannot be used.
pub async fn send(
    destination: &Destination,
    (spans, logs): (Vec<Span>, Vec<LogRecord>),
    registry: &Arc<Registry>,
    give_up: Duration,
    mut stop: watch::Receiver<bool>,
    mut progress: impl FnMut(&Sample),
) -> Result<Outcome, ConfigError> {
    let counts = Arc::new(Counts::default());
    let destination = Arc::new(destination.clone());
    let exporter = Exporter::new(Arc::clone(&destination), Arc::new(Via::anonymous()))?;
    let mut delivery = Delivery::new(
        Arc::clone(&destination),
        exporter,
        Arc::clone(&counts),
        stop.clone(),
        DeliveryMode::SendFiles,
    );
    let mut refused = Vec::new();
    let mut gave_up = None;
    for payload in payloads(&destination, spans, logs, registry, &counts) {
        let delivered = tokio::select! {
            delivered = delivery.deliver(payload, false, &mut refused) => delivered,
            () = refusals(&counts, &destination, &mut progress) => break,
            () = silence(&counts, give_up) => {
                let reason = match counts.health() {
                    Health::Down(reason) => reason,
                    Health::Up | Health::Unknown => "it does not respond".to_owned(),
                };
                gave_up = Some(format!("nothing was accepted for {} s: {reason}", give_up.as_secs()));
                break;
            }
            _ = stop.wait_for(|stop| *stop) => {
                gave_up = Some("interrupted".to_owned());
                break;
            }
        };
        if let Err(Interrupted::Refused(reason)) = delivered {
            gave_up = Some(reason);
            break;
        }
        progress(&counts.sample(&destination));
    }
    Ok(Outcome {
        counts: counts.sample(&destination),
        refused,
        gave_up,
    })
}

/// Never returns. Reports the counts once when the destination stops accepting requests, since retrying may take long.
async fn refusals(counts: &Counts, destination: &Destination, progress: &mut impl FnMut(&Sample)) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let sample = counts.sample(destination);
        if matches!(sample.health, Health::Down(_)) {
            progress(&sample);
        }
    }
}

/// How often to check whether the destination refuses requests.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Waits until no request was accepted for this time. A payload may be divided into many requests.
async fn silence(counts: &Counts, time: Duration) {
    let accepted = || counts.sent.now();
    let mut before = accepted();
    loop {
        tokio::time::sleep(time).await;
        let now = accepted();
        if now == before {
            return;
        }
        before = now;
    }
}

/// The requests, trace by trace.
fn payloads(destination: &Destination, spans: Vec<Span>, logs: Vec<LogRecord>, registry: &Arc<Registry>, counts: &Counts) -> Vec<Payload> {
    let translator = Translator::new(destination.dialect, registry);
    let chooser = Chooser::new(&destination.choice, registry);
    let mut traces: BTreeMap<Option<TraceId>, (Vec<Span>, Vec<LogRecord>)> = BTreeMap::new();
    for span in spans {
        traces.entry(Some(span.trace_id)).or_default().0.push(span);
    }
    for record in logs {
        traces.entry(record.trace_id).or_default().1.push(record);
    }
    let mut parts: [Vec<Part>; 2] = [Vec::new(), Vec::new()];
    let [of_spans, of_logs] = &mut parts;
    let add = |list: &mut Vec<Part>, signal: Signal, message: Bytes| {
        let items = count(&message, signal);
        let message = match &chooser {
            Some(chooser) => chooser.of_items(message, signal),
            None => message,
        };
        let part = Part::new(None, message, signal);
        counts.not_chosen.add(signal, items.saturating_sub(part.items));
        list.push(part);
    };
    for (mut spans, logs) in traces.into_values() {
        if !spans.is_empty() {
            spans_in_full(&mut spans, &[], registry);
            let message = Bytes::from(encode::traces(&spans));
            let records = match destination.logs {
                Logs::IntoSpans => SpanRecords::of_message(&encode::logs(&logs)),
                _ => SpanRecords::default(),
            };
            let message = match &translator {
                None => message,
                Some(translator) => {
                    let translated = translator.translate(message, &records);
                    counts.as_received.fetch_add(translated.as_received, Ordering::Relaxed);
                    counts.left_out.fetch_add(translated.left_out, Ordering::Relaxed);
                    translated.message
                }
            };
            add(of_spans, Signal::Traces, message);
        }
        if destination.logs == Logs::Send && !logs.is_empty() {
            add(of_logs, Signal::Logs, encode::logs(&logs).into());
        } else {
            let known: HashSet<SpanId> = spans.iter().map(|span| span.span_id).collect();
            let is_written =
                |record: &LogRecord| destination.logs == Logs::IntoSpans && record.span_id.is_some_and(|id| known.contains(&id));
            let left_out = logs.iter().filter(|record| !is_written(record)).count();
            counts.left_out.fetch_add(left_out as u64, Ordering::Relaxed);
        }
    }
    let [of_spans, of_logs] = parts;
    let mut out = Payload::pack(Signal::Traces, of_spans, destination.max_message_bytes);
    out.extend(Payload::pack(Signal::Logs, of_logs, destination.max_message_bytes));
    out
}
