//! Figures of a bucket for `/metrics`.

use std::sync::atomic::{AtomicU64, Ordering};

use super::spool::Spool;
use super::views::Views;
use super::writer::Writer;
use crate::store::traits::Count;

pub(super) fn of(views: &Views, writer: Option<&Writer>, spool: Option<&Spool>) -> Vec<Count> {
    let requests = &views.place().requests;
    let total = |name, help, value: &AtomicU64| Count {
        name,
        is_total: true,
        help,
        value: value.load(Ordering::Relaxed),
    };
    let gauge = |name, help, value| Count {
        name,
        is_total: false,
        help,
        value,
    };
    let mut counts = vec![
        total("bucket_put_requests_total", "Requests that wrote an object.", &requests.writes),
        total("bucket_get_requests_total", "Requests that read an object.", &requests.reads),
        total("bucket_list_requests_total", "Requests that listed objects.", &requests.lists),
        total(
            "bucket_failed_requests_total",
            "Requests that failed, also because an object is not there, or is there already.",
            &requests.failures,
        ),
        total(
            "bucket_written_bytes_total",
            "Bytes of objects that were written.",
            &requests.written_bytes,
        ),
        total("bucket_read_bytes_total", "Bytes of objects that were read.", &requests.read_bytes),
        gauge("bucket_writers", "Databases of servers in the bucket.", views.writers() as u64),
        gauge(
            "bucket_unreadable_writers",
            "Databases that cannot be read; the log says why.",
            views.unreadable().len() as u64,
        ),
    ];
    if let Some(writer) = writer {
        let acknowledged = writer.acknowledged();
        counts.extend([
            gauge(
                "bucket_waiting_bytes",
                "Bytes of requests that are not durable yet.",
                writer.waiting(),
            ),
            gauge(
                "bucket_fenced",
                "1 once another process writes as this writer; then nothing more is stored.",
                writer.state().failure().is_some().into(),
            ),
            total(
                "bucket_durable_batches_total",
                "Batches that became durable.",
                &acknowledged.batches,
            ),
            total(
                "bucket_durable_milliseconds_total",
                "How long these took, from when they were written.",
                &acknowledged.milliseconds,
            ),
        ]);
    }
    if let Some(spool) = spool {
        counts.extend([
            gauge(
                "bucket_spool_bytes",
                "Bytes in the own log that are not in the bucket yet.",
                spool.waiting.bytes.load(Ordering::Relaxed),
            ),
            gauge(
                "bucket_spool_seconds",
                "How long what came first of these waits already.",
                spool.waits().as_secs(),
            ),
            total(
                "bucket_spool_damaged_bytes_total",
                "Bytes of the own log that are damaged on the disk and do not reach the bucket.",
                &spool.waiting.damaged,
            ),
        ]);
    }
    counts
}
