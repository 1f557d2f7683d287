//! Reads and sends the journals left behind by ended processes.

use std::fs::{self, File};
use std::future::Future;
use std::io::{self, Read as _};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use opentelemetry_sdk::trace::SpanExporter;

use super::{Spool, folders, journals, size};
use crate::layer::{convert, parts};
use crate::otlp;
use crate::span::{Resource, Span};

/// Spans per request.
const BATCH: usize = 512;

impl Spool {
    /// Sends the journals of ended processes in the same root; whatever fails stays for the next start.
    pub(in crate::layer) fn send_leftovers<E: SpanExporter>(&self, exporter: impl Fn() -> Option<E>) {
        let Some(root) = self.folder.parent() else { return };
        for folder in folders(root) {
            let Ok(lock) = File::options().read(true).write(true).open(folder.join("lock")) else {
                continue;
            };
            if lock.try_lock().is_err() {
                continue;
            }
            let all = journals(&folder).iter().all(|journal| self.send_journal(journal, &exporter));
            if all {
                let _ = fs::remove_dir_all(&folder);
            }
        }
    }

    fn send_journal<E: SpanExporter>(&self, journal: &Path, exporter: &impl Fn() -> Option<E>) -> bool {
        let (spans, unreadable) = match read(journal) {
            Ok(read) => read,
            Err(error) => {
                tracing::warn!(target: "spanbridge", "{}: cannot be read, and stays: {error}", journal.display());
                return false;
            }
        };
        let (count, bytes) = (spans.len(), size(journal));
        if !send(spans, exporter) {
            return false;
        }
        tracing::info!(target: "spanbridge", "{count} spans that an earlier process left went out");
        if unreadable > 0 {
            tracing::warn!(target: "spanbridge", "{}: {unreadable} records are not OTLP, and are lost", journal.display());
        }
        let mut state = self.state();
        state.left = state.left.saturating_sub(bytes);
        fs::remove_file(journal).is_ok()
    }
}

/// The spans of a journal, and the number of records that are not OTLP. Ignores a torn record at the end.
fn read(file: &Path) -> io::Result<(Vec<Span>, usize)> {
    let (mut spans, mut unreadable) = (Vec::new(), 0);
    let mut reader = io::BufReader::new(File::open(file)?);
    loop {
        let mut length = Vec::with_capacity(4);
        reader.by_ref().take(4).read_to_end(&mut length)?;
        let Ok(length) = <[u8; 4]>::try_from(length) else { break };
        let length = u64::from(u32::from_le_bytes(length));
        let mut record = Vec::new();
        reader.by_ref().take(length).read_to_end(&mut record)?;
        if record.len() as u64 != length {
            break;
        }
        match otlp::decode::traces(&record) {
            Ok(decoded) => spans.extend(decoded.items),
            Err(_) => unreadable += 1,
        }
    }
    Ok((spans, unreadable))
}

fn send<E: SpanExporter>(spans: Vec<Span>, exporter: &impl Fn() -> Option<E>) -> bool {
    let mut by_resource: Vec<(Arc<Resource>, Vec<Span>)> = Vec::new();
    for span in spans {
        match by_resource.iter_mut().find(|(resource, _)| *resource == span.resource) {
            Some((_, list)) => list.push(span),
            None => by_resource.push((Arc::clone(&span.resource), vec![span])),
        }
    }
    by_resource.into_iter().all(|(resource, spans)| {
        let Some(mut exporter) = exporter() else { return false };
        exporter.set_resource(&convert::sdk_resource(&resource));
        spans.chunks(BATCH).all(|chunk| {
            let batch = chunk.iter().map(convert::sdk_span).collect();
            wait(parts::export(&exporter, batch, |_| (), |_| ())).is_ok()
        })
    })
}

/// Waits on this thread: exporters either block or must be polled to completion.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::{Mutex, PoisonError};

    use opentelemetry_sdk::error::OTelSdkResult;
    use opentelemetry_sdk::trace::SpanData;

    use super::*;
    use crate::span::{SpanId, TraceId};

    #[derive(Debug, Clone, Default)]
    struct Taker {
        takes: bool,
        taken: Arc<Mutex<usize>>,
    }

    impl SpanExporter for Taker {
        async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
            if !self.takes {
                return Err(opentelemetry_sdk::error::OTelSdkError::InternalFailure("no".to_owned()));
            }
            *self.taken.lock().unwrap_or_else(PoisonError::into_inner) += batch.len();
            Ok(())
        }
    }

    fn keep(spool: &Spool, spans: u64) {
        for number in 1..=spans {
            let ids = (TraceId::from_bytes(&[1; 16]), SpanId::from_bytes(&number.to_be_bytes()));
            let (Some(trace), Some(id)) = ids else { panic!("no zeros") };
            let mut span = Span::new(trace, id, "call");
            span.attributes.push("input.value", "x".repeat(100));
            spool.keep(&convert::sdk_span(&span), &Arc::default());
        }
    }

    #[test]
    fn what_is_left_counts_until_somebody_takes_it() -> io::Result<()> {
        let root = tempfile::tempdir()?;
        let first = Spool::open(root.path(), 1000)?;
        keep(&first, 100);
        let kept = first.state().waiting.len();
        assert!((1..10).contains(&kept), "{kept}");
        drop(first);

        let second = Spool::open(root.path(), 1000)?;
        keep(&second, 100);
        assert!(second.state().waiting.len() < 2, "the first process's spans fill it");
        second.send_leftovers(|| Some(Taker::default()));
        assert_eq!(folders(root.path()).len(), 2);
        let taker = Taker {
            takes: true,
            ..Taker::default()
        };
        second.send_leftovers(|| Some(taker.clone()));
        assert_eq!(*taker.taken.lock().unwrap_or_else(PoisonError::into_inner), kept);
        assert_eq!((folders(root.path()).len(), second.state().left), (1, 0));
        keep(&second, 100);
        assert_eq!(second.state().waiting.len(), kept);
        Ok(())
    }

    #[test]
    fn a_torn_record_is_cut() -> io::Result<()> {
        let root = tempfile::tempdir()?;
        let spool = Spool::open(root.path(), 1_000_000)?;
        keep(&spool, 3);
        let journal = spool.path(0);
        let bytes = fs::read(&journal)?;
        fs::write(&journal, bytes.get(..bytes.len() - 1).unwrap_or_default())?;
        assert_eq!(read(&journal)?.0.len(), 2);
        Ok(())
    }

    #[test]
    fn what_cannot_be_read_stays_and_what_is_no_otlp_is_counted() -> io::Result<()> {
        let root = tempfile::tempdir()?;
        let spool = Spool::open(root.path(), 1_000_000)?;
        keep(&spool, 1);
        let mut journal = File::options().append(true).open(spool.path(0))?;
        journal.write_all(&[1, 0, 0, 0, 0xff])?;
        let (spans, unreadable) = read(&spool.path(0))?;
        assert_eq!((spans.len(), unreadable), (1, 1));

        let folder = root.path().join("a folder where a journal should be");
        fs::create_dir(&folder)?;
        assert!(read(&folder).is_err());
        let taker = Taker {
            takes: true,
            ..Taker::default()
        };
        assert!(!spool.send_journal(&folder, &|| Some(taker.clone())));
        assert!(folder.exists());
        Ok(())
    }
}
