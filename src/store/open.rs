//! Opening a store: the only module that names the engines.

use std::path::Path;
use std::sync::Arc;

use super::error::Error;
use super::examined::Examined;
use super::listed_writer::ListedWriter;
use super::local::{Local, Opened};
use super::merged_writer::MergedWriter;
use super::options::{BucketOptions, OpenOptions};
use super::traits::Store;

impl<S: Store + 'static> Opened<S> {
    fn into_store(self) -> Opened<Arc<dyn Store>> {
        Opened {
            store: Arc::new(self.store),
            recovery: self.recovery,
        }
    }
}

/// Opens a store for reading and writing, and locks it.
///
/// # Errors
///
/// Another process writes to it, or it cannot be used.
pub fn open(options: &OpenOptions) -> Result<Opened<Arc<dyn Store>>, Error> {
    match &options.bucket {
        Some(bucket) => open_bucket(options, bucket, Purpose::Write),
        None => Local::open(options).map(Opened::into_store),
    }
}

/// Opens a store for reading, even while another process writes to it; see [`Local::open_up_to_date`].
///
/// # Errors
///
/// There is no store, or it cannot be read.
pub fn open_up_to_date(options: &OpenOptions) -> Result<Opened<Arc<dyn Store>>, Error> {
    match &options.bucket {
        Some(bucket) => open_bucket(options, bucket, Purpose::Read),
        None => Local::open_up_to_date(options).map(Opened::into_store),
    }
}

/// Rebuilds the index from the log, and opens the store.
///
/// # Errors
///
/// Another process writes to it, or it cannot be used.
pub fn reindex(options: &OpenOptions) -> Result<Opened<Arc<dyn Store>>, Error> {
    Local::reindex(options).map(Opened::into_store)
}

/// Checks that a bucket permits what a server needs. Writes one small object, and removes it.
///
/// # Errors
///
/// The first refusal by the bucket.
#[cfg(feature = "bucket")]
pub(crate) fn examine_bucket(bucket: &BucketOptions) -> Result<Vec<Examined>, Error> {
    super::bucket::examine(bucket)
}

/// Always fails.
///
/// # Errors
///
/// This program was built without buckets.
#[cfg(not(feature = "bucket"))]
pub(crate) fn examine_bucket(bucket: &BucketOptions) -> Result<Vec<Examined>, Error> {
    Err(not_built_in(bucket))
}

/// The servers that write to a bucket.
///
/// # Errors
///
/// The bucket cannot be read.
#[cfg(feature = "bucket")]
pub(crate) fn writers_of(bucket: &BucketOptions) -> Result<Vec<ListedWriter>, Error> {
    super::bucket::writers(bucket)
}

/// Opens the database of a server that is gone, lets `finish` complete its work given the names of its subscribers, and
/// marks it as adopted.
///
/// # Errors
///
/// The bucket or `finish` fails. Nothing is marked then.
#[cfg(feature = "bucket")]
pub(crate) fn adopt<E: From<Error>>(
    options: &OpenOptions,
    finish: impl FnOnce(Arc<dyn Store>, Vec<String>) -> Result<(), E>,
) -> Result<(), E> {
    match &options.bucket {
        Some(bucket) => super::bucket::adopt(options, bucket, finish),
        None => Err(Error::ReadOnly.into()),
    }
}

/// Merges the adopted databases into that of the options' writer; reports each.
///
/// # Errors
///
/// The bucket fails. Databases merged before that stay merged.
#[cfg(feature = "bucket")]
pub(crate) fn compact(bucket: &BucketOptions, reported: &mut dyn FnMut(MergedWriter)) -> Result<(), Error> {
    super::bucket::compact(bucket, reported)
}

/// Begins an upload to a bucket: removes an existing manifest.
///
/// # Errors
///
/// The bucket cannot be written to.
#[cfg(feature = "bucket")]
pub(crate) fn begin_upload(url: &str) -> Result<(), Error> {
    super::bucket::begin_upload(url)
}

/// Always fails.
///
/// # Errors
///
/// This program was built without buckets.
#[cfg(not(feature = "bucket"))]
pub(crate) fn begin_upload(url: &str) -> Result<(), Error> {
    Err(not_built_in(&BucketOptions::new(url)))
}

/// Uploads the files below a directory to a bucket, the manifest last; returns the names of other files with rows that are there.
///
/// # Errors
///
/// The bucket or the disk fails; then there is no manifest.
#[cfg(feature = "bucket")]
pub(crate) fn upload(url: &str, directory: &Path) -> Result<Vec<String>, Error> {
    super::bucket::upload(url, directory)
}

/// Always fails.
///
/// # Errors
///
/// This program was built without buckets.
#[cfg(not(feature = "bucket"))]
pub(crate) fn upload(url: &str, _: &Path) -> Result<Vec<String>, Error> {
    Err(not_built_in(&BucketOptions::new(url)))
}

/// Always fails.
///
/// # Errors
///
/// This program was built without buckets.
#[cfg(not(feature = "bucket"))]
pub(crate) fn compact(bucket: &BucketOptions, reported: &mut dyn FnMut(MergedWriter)) -> Result<(), Error> {
    let _ = reported;
    Err(not_built_in(bucket))
}

/// Always fails.
///
/// # Errors
///
/// This program was built without buckets.
#[cfg(not(feature = "bucket"))]
pub(crate) fn adopt<E: From<Error>>(
    options: &OpenOptions,
    finish: impl FnOnce(Arc<dyn Store>, Vec<String>) -> Result<(), E>,
) -> Result<(), E> {
    drop(finish);
    let bucket = options.bucket.as_ref();
    Err(bucket.map_or(Error::ReadOnly, not_built_in).into())
}

/// Always fails.
///
/// # Errors
///
/// This program was built without buckets.
#[cfg(not(feature = "bucket"))]
pub(crate) fn writers_of(bucket: &BucketOptions) -> Result<Vec<ListedWriter>, Error> {
    Err(not_built_in(bucket))
}

#[cfg(not(feature = "bucket"))]
fn not_built_in(bucket: &BucketOptions) -> Error {
    Error::NotBuiltIn {
        url: bucket.url.clone(),
        feature: "bucket",
    }
}

/// Why a store is opened.
enum Purpose {
    Read,
    Write,
}

#[cfg(feature = "bucket")]
fn open_bucket(options: &OpenOptions, bucket: &BucketOptions, purpose: Purpose) -> Result<Opened<Arc<dyn Store>>, Error> {
    let opened = match purpose {
        Purpose::Read => Opened {
            store: super::bucket::Bucket::open_to_read(bucket)?,
            recovery: super::log::Recovery::default(),
        },
        Purpose::Write => super::bucket::Bucket::open(options, bucket)?,
    };
    Ok(opened.into_store())
}

#[cfg(not(feature = "bucket"))]
fn open_bucket(_: &OpenOptions, bucket: &BucketOptions, _: Purpose) -> Result<Opened<Arc<dyn Store>>, Error> {
    Err(not_built_in(bucket))
}
