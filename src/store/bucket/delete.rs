//! Deleting on request from a bucket.

use std::sync::Arc;

use object_store::ObjectStoreExt as _;
use object_store::path::Path;

use super::deletions::{Deletion, FOLDER};
use super::engine::Bucket;
use super::failed::failed;
use super::keys::Owner;
use super::place::{CLAIMS, unread};
use super::rows::fold;
use super::runtime;
use super::views::Views;
use crate::span::TraceId;
use crate::store::clock::now;
use crate::store::deletion::{Beside, Deleted, Unwanted, digest_of};
use crate::store::error::Error;
use crate::store::lists::Filter;
use crate::store::traits::Read as _;

/// What is deleted, and each of its traces with its session.
type FoundTraces = (Deleted, Vec<(TraceId, Option<String>)>);

impl Bucket {
    pub(super) fn find_to_delete(&self, what: &Unwanted) -> Result<FoundTraces, Error> {
        let (mut deleted, mut found) = (Deleted::default(), Vec::new());
        let traces = match what {
            Unwanted::Trace(trace_id) => vec![*trace_id],
            Unwanted::Session(session) => {
                let filter = Filter {
                    session: Some(session.clone()),
                    ..Filter::default()
                };
                self.list(&filter)?.into_iter().map(|row| row.trace_id).collect()
            }
        };
        for trace_id in traces {
            let (_, heads) = self.heads(Owner::trace(trace_id))?;
            let Some(row) = fold(trace_id, &heads).map(|row| row.row) else {
                continue;
            };
            deleted.traces.push(trace_id);
            deleted.spans += row.spans;
            deleted.log_records += row.logs;
            deleted.bytes += row.bytes;
            found.push((trace_id, row.session));
        }
        if let Unwanted::Session(session) = what {
            let (_, loose) = self.heads(Owner::session(session))?;
            deleted.log_records += loose.len() as u64;
            deleted.bytes += loose.iter().map(|placed| placed.head.bytes).sum::<u64>();
        }
        Ok((deleted, found))
    }

    pub(super) fn delete_at_once(&self, what: &Unwanted, beside: &mut Beside<'_>) -> Result<Deleted, Error> {
        let (deleted, found) = self.find_to_delete(what)?;
        if deleted.is_empty() {
            return Ok(deleted);
        }
        let time = now();
        let mut deletions: Vec<Deletion> = found
            .into_iter()
            .map(|(trace_id, session)| Deletion::Trace {
                trace_id,
                time,
                session: session.as_deref().map(digest_of),
            })
            .collect();
        if let Unwanted::Session(session) = what {
            let digest = digest_of(session);
            deletions.push(Deletion::Session { digest, time });
        }
        let views = Arc::clone(&self.views);
        runtime::wait(async move {
            // Write all objects first: after a crash, any bridge that sees them finishes the work.
            for deletion in &deletions {
                let path = views.place().prefix.clone().join(FOLDER).join(deletion.name());
                let put = views.place().objects.put(&path, "deleted".into()).await;
                put.map_err(failed("write", path.as_ref()))?;
            }
            // A store opened for reading has no database: the bridges that have one remove the data.
            for deletion in &deletions {
                views.delete(deletion).await?;
            }
            Ok(())
        })?;
        deleted.traces.iter().for_each(|trace_id| self.summaries.forget(*trace_id));
        beside(&deleted.traces)?;
        Ok(deleted)
    }
}

impl Views {
    /// Hides what a deletion names, and removes it from this bridge's database and from the claims.
    pub(super) async fn delete(&self, deletion: &Deletion) -> Result<(), Error> {
        self.deletions().add(deletion);
        if let Some(db) = self.own_db() {
            let failure = unread(self.place());
            if self.deletions().apply(&db, deletion).await.map_err(&failure)? {
                self.purge_later(now());
            }
        }
        if let (Deletion::Session { .. }, Some(spool)) = (deletion, self.spool()) {
            let deletions = Arc::clone(self.deletions());
            let forgotten = tokio::task::spawn_blocking(move || spool.forget_loose(&deletions)).await;
            forgotten.unwrap_or(Err(Error::Closed))?;
        }
        match deletion {
            Deletion::Trace { trace_id, .. } => {
                let folder = self.place().prefix.clone().join(CLAIMS).join(trace_id.to_string());
                self.remove_all(&folder).await
            }
            Deletion::Session { .. } => Ok(()),
        }
    }

    async fn remove_all(&self, folder: &Path) -> Result<(), Error> {
        let listed = self.place().objects.list_with_delimiter(Some(folder)).await;
        for object in listed.map_err(failed("list", folder.as_ref()))?.objects {
            self.place().remove(&object.location).await?;
        }
        Ok(())
    }

    pub(super) async fn look_for_deletions(&self) -> Result<(), Error> {
        let folder = self.place().prefix.clone().join(FOLDER);
        let listed = self.place().objects.list_with_delimiter(Some(&folder)).await;
        for object in listed.map_err(failed("list", folder.as_ref()))?.objects {
            if let Some(deletion) = object.location.filename().and_then(Deletion::parse)
                && !self.deletions().knows(&deletion)
            {
                match self.own_db() {
                    Some(_) => self.delete(&deletion).await?,
                    None => {
                        self.deletions().add(&deletion);
                    }
                }
            }
        }
        Ok(())
    }
}
