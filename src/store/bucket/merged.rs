//! Databases that were merged into another one.
//!
//! ```text
//! PREFIX/writers/NAME.merged     all that NAME has is in another database; bridges stop reading it
//! PREFIX/writers/NAME.removed    and its objects are removed
//! ```
//!
//! Its last WAL object and its last manifest stay: a fenced bridge of this name that does not know it yet still runs into them, so
//! it cannot acknowledge what would never be read. A bridge that starts with the name takes the next free one, `NAME.2`.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt as _};

use super::failed::failed;
use super::place::{Place, WRITERS};
use crate::store::error::Error;

/// How long objects no longer needed are kept, because other bridges may still read them.
pub(super) const MIN_OBJECT_AGE: Duration = Duration::from_secs(15 * 60);

/// The databases below a prefix.
#[derive(Debug, Default)]
pub(super) struct Databases {
    /// Databases to read.
    pub(super) names: Vec<String>,
    /// Databases merged into another one, including those already removed.
    pub(super) merged: BTreeSet<String>,
    /// Merged databases whose objects can be removed now.
    pub(super) removable: Vec<String>,
}

impl Databases {
    pub(super) async fn list(place: &Place) -> Result<Self, Error> {
        let listed = place.objects.list_with_delimiter(Some(&place.prefix.clone().join(WRITERS))).await;
        let listed = listed.map_err(failed("list", place.url()))?;
        let mut databases = Self::default();
        for object in &listed.objects {
            match object.location.filename().and_then(|name| name.rsplit_once('.')) {
                Some((name, "merged")) => {
                    databases.merged.insert(name.to_owned());
                    if is_older(object, MIN_OBJECT_AGE) {
                        databases.removable.push(name.to_owned());
                    }
                }
                Some((name, "removed")) => {
                    databases.merged.insert(name.to_owned());
                }
                _ => {}
            }
        }
        let names = listed.common_prefixes.iter().filter_map(|path| path.filename());
        let names = names.filter(|name| !databases.merged.contains(*name)).map(str::to_owned);
        databases.names = names.collect();
        Ok(databases)
    }

    /// The database for a bridge with this name: a merged one is not reused.
    pub(super) fn free(&self, name: &str) -> String {
        let later = (2_u64..).map(|number| format!("{name}.{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(later);
        names.find(|name| !self.merged.contains(name)).unwrap_or_else(|| name.to_owned())
    }
}

fn is_older(object: &ObjectMeta, age: Duration) -> bool {
    let written = SystemTime::from(object.last_modified);
    SystemTime::now().duration_since(written).is_ok_and(|since| since >= age)
}

fn marker(place: &Place, name: &str, what: &str) -> Path {
    place.prefix.clone().join(WRITERS).join(format!("{name}.{what}"))
}

/// Notes that all chunks of a database are in another one.
pub(super) async fn note(place: &Place, name: &str, into: &str) -> Result<(), Error> {
    let path = marker(place, name, "merged");
    let put = place.objects.put(&path, into.to_owned().into()).await;
    put.map(|_| ()).map_err(failed("write", path.as_ref()))
}

/// Removes the note.
pub(super) async fn take_back(place: &Place, name: &str) -> Result<(), Error> {
    place.remove(&marker(place, name, "merged")).await
}

/// Removes the objects of a merged database.
pub(super) async fn remove(place: &Place, name: &str) -> Result<(), Error> {
    let root = place.prefix.clone().join(WRITERS).join(name);
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        let listed = place.objects.list_with_delimiter(Some(&folder)).await;
        let listed = listed.map_err(failed("list", folder.as_ref()))?;
        folders.extend(listed.common_prefixes);
        let mut objects: Vec<Path> = listed.objects.into_iter().map(|object| object.location).collect();
        objects.sort_unstable();
        if matches!(folder.filename(), Some("wal" | "manifest")) {
            objects.pop();
        }
        for path in objects {
            place.remove(&path).await?;
        }
    }
    let path = marker(place, name, "removed");
    place
        .objects
        .put(&path, "removed".into())
        .await
        .map_err(failed("write", path.as_ref()))?;
    place.remove(&marker(place, name, "merged")).await
}
