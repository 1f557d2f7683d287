//! Counts the requests to a bucket, since they cost money.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use futures_core::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, RenameOptions, Result,
};
use slatedb::bytes::Bytes;

/// Requests since the start. A client's own retries are not counted.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// PUT and copy requests.
    pub(super) writes: AtomicU64,
    /// GET and HEAD.
    pub(super) reads: AtomicU64,
    pub(super) lists: AtomicU64,
    pub(super) written_bytes: AtomicU64,
    pub(super) read_bytes: AtomicU64,
    /// Failed requests, including those for objects that do not exist, or already do.
    pub(super) failures: AtomicU64,
}

/// A client that counts its requests.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) inner: Arc<dyn ObjectStore>,
    pub(super) requests: Arc<Requests>,
}

impl std::fmt::Display for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}

impl Counted {
    fn count<T>(&self, what: &AtomicU64, result: Result<T>) -> Result<T> {
        what.fetch_add(1, Ordering::Relaxed);
        if result.is_err() {
            self.requests.failures.fetch_add(1, Ordering::Relaxed);
        }
        result
    }
}

#[async_trait]
impl ObjectStore for Counted {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let bytes = payload.content_length() as u64;
        self.requests.written_bytes.fetch_add(bytes, Ordering::Relaxed);
        let result = self.inner.put_opts(location, payload, options).await;
        self.count(&self.requests.writes, result)
    }

    async fn put_multipart_opts(&self, location: &Path, options: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        let result = self.inner.put_multipart_opts(location, options).await;
        self.count(&self.requests.writes, result)
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let result = self.inner.get_opts(location, options).await;
        if let Ok(found) = &result {
            let bytes = found.range.end.saturating_sub(found.range.start);
            self.requests.read_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        self.count(&self.requests.reads, result)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let result = self.inner.get_ranges(location, ranges).await;
        if let Ok(found) = &result {
            let bytes = found.iter().map(|bytes| bytes.len() as u64).sum();
            self.requests.read_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        self.count(&self.requests.reads, result)
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.requests.lists.fetch_add(1, Ordering::Relaxed);
        self.inner.list(prefix)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.requests.lists.fetch_add(1, Ordering::Relaxed);
        self.inner.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let result = self.inner.list_with_delimiter(prefix).await;
        self.count(&self.requests.lists, result)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let result = self.inner.copy_opts(from, to, options).await;
        self.count(&self.requests.writes, result)
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        let result = self.inner.rename_opts(from, to, options).await;
        self.count(&self.requests.writes, result)
    }
}
