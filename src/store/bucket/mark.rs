//! The mark of an adopted database: no bridge writes to it.

use slatedb::bytes::Bytes;
use slatedb::config::{PutOptions, Ttl};
use slatedb::{Db, WriteBatch};

use super::keys::ADOPTED;
use super::views::Source;

/// Marks a database as adopted at a time, or removes the mark; returns once that is durable.
pub(super) async fn mark(db: &Db, adopted: Option<u64>) -> Result<(), slatedb::Error> {
    let mut batch = WriteBatch::new();
    match adopted {
        Some(time) => {
            let value = Bytes::copy_from_slice(&time.to_be_bytes());
            batch.put_bytes_with_options(Bytes::from_static(ADOPTED), value, &PutOptions { ttl: Ttl::NoExpiry });
        }
        None if db.get(ADOPTED).await?.is_none() => return Ok(()),
        None => batch.delete(ADOPTED),
    }
    db.write(batch).await?.await_durable().await
}

/// When a database was adopted; `None`: it was not.
pub(super) async fn adopted_at(source: &Source) -> Result<Option<u64>, slatedb::Error> {
    let value = source.get(ADOPTED).await?;
    Ok(value.and_then(|value| value.first_chunk::<8>().map(|time| u64::from_be_bytes(*time))))
}
