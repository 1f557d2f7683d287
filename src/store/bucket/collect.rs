//! Removing claims of traces that retention removed.
//!
//! All claims of a trace are removed together, once the last is older than the retention time: a bridge that sees no chunk
//! of the trace looks for the first free number, and must find the claims that others may still see.

use std::sync::Weak;
use std::time::{Duration, SystemTime};

use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt as _};

use super::failed::failed;
use super::place::{CLAIMS, Place};
use super::views::Views;
use crate::store::error::Error;

/// How often to look. Listing takes one request for each 1,000 claims.
const POLL_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Upper bound for the difference between bridges' clocks and views.
const MARGIN: Duration = Duration::from_secs(60 * 60);

/// Removes old claims until the store is dropped.
pub(super) async fn follow(views: Weak<Views>, kept: Duration) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let Some(views) = views.upgrade() else { return };
        if let Err(error) = collect(views.place(), kept + MARGIN).await {
            tracing::warn!(%error, "cannot remove claims of traces that are gone");
        }
    }
}

/// Removes the claims of traces whose last claim is older than `age`; returns how many.
pub(super) async fn collect(place: &Place, age: Duration) -> Result<u64, Error> {
    let claims = place.prefix.clone().join(CLAIMS);
    let listed = place.objects.list_with_delimiter(Some(&claims)).await;
    let mut removed = 0;
    for folder in listed.map_err(failed("list", claims.as_ref()))?.common_prefixes {
        let listed = place.objects.list_with_delimiter(Some(&folder)).await;
        let objects = listed.map_err(failed("list", folder.as_ref()))?.objects;
        if !objects.iter().all(|object| is_older(object, age)) {
            continue;
        }
        let mut paths: Vec<Path> = objects.into_iter().map(|object| object.location).collect();
        paths.sort_unstable();
        for path in paths {
            // Another bridge may have removed it meanwhile, and a new one may be there.
            match place.objects.head(&path).await {
                Ok(object) if is_older(&object, age) => {}
                Ok(_) => break,
                Err(object_store::Error::NotFound { .. }) => continue,
                Err(error) => return Err(failed("read", path.as_ref())(error)),
            }
            place.remove(&path).await?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn is_older(object: &ObjectMeta, age: Duration) -> bool {
    let written = SystemTime::from(object.last_modified);
    SystemTime::now().duration_since(written).is_ok_and(|since| since >= age)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn claims_go_all_at_once_when_the_last_is_old() {
        let directory = tempfile::tempdir().expect("a directory");
        let place = Place::of(&format!("file://{}", directory.path().display())).expect("a place");
        assert_eq!(collect(&place, Duration::ZERO).await.expect("nothing is there"), 0);
        let day = Duration::from_secs(24 * 60 * 60);
        for (trace, number, age) in [("old", 1, 3), ("old", 2, 2), ("young", 1, 3), ("young", 2, 0)] {
            let path = place.prefix.clone().join(CLAIMS).join(trace).join(format!("{number:010}"));
            place.objects.put(&path, "claim".into()).await.expect("puts");
            let file = std::fs::File::options().write(true).open(directory.path().join(path.as_ref()));
            file.expect("opens").set_modified(SystemTime::now() - day * age).expect("sets");
        }
        assert_eq!(collect(&place, day + MARGIN).await.expect("collects"), 2);
        let left = |trace: &str| std::fs::read_dir(directory.path().join(CLAIMS).join(trace)).map_or(0, Iterator::count);
        assert_eq!((left("old"), left("young")), (0, 2));
    }
}
