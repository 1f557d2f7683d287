//! Uploading the files of a directory to a bucket: data sets.
//!
//! Each file is sent in parts and becomes an object once all parts are there: a failure leaves no partial object. The
//! manifest is removed first and written last, so if it exists, everything it names does too.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use object_store::path::Path as Key;
use object_store::{ObjectStoreExt as _, WriteMultipart};

use super::failed::failed;
use super::place::Place;
use super::runtime;
use crate::store::error::{Error, of_io};

/// The file that lists the others.
const MANIFEST: &str = "manifest.json";

/// Bytes of a part.
const PART_BYTES: usize = 8 << 20;

/// Parts sent concurrently.
const MAX_CONCURRENT_PARTS: usize = 4;

/// Removes an existing manifest, so that the set is incomplete from now on. Reports a wrong URL or missing rights before any work.
pub(in crate::store) fn begin_upload(url: &str) -> Result<(), Error> {
    let place = Place::of(url)?;
    runtime::wait(async move { place.remove(&place.prefix.clone().join(MANIFEST)).await })
}

/// Uploads all files below a directory, the manifest last; returns the names of other files with rows that are there.
pub(in crate::store) fn upload(url: &str, directory: &Path) -> Result<Vec<String>, Error> {
    let place = Place::of(url)?;
    let mut names = names(directory)?;
    names.sort_by_key(|name| (name == Path::new(MANIFEST), name.clone()));
    let directory = directory.to_owned();
    runtime::wait(async move {
        let mut written = Vec::new();
        for name in names {
            let parts = name.iter().filter_map(|part| part.to_str());
            let key = parts.fold(place.prefix.clone(), |key, part| key.join(part));
            send(&place, &directory.join(&name), &key).await?;
            written.push(key);
        }
        let listed = place.objects.list_with_delimiter(Some(&place.prefix)).await;
        let there = listed.map_err(failed("list", place.url()))?.objects.into_iter();
        let others = there.map(|object| object.location).filter(|key| !written.contains(key));
        let names = others.filter_map(|key| key.filename().map(str::to_owned));
        Ok(names
            .filter(|name| name.ends_with(".jsonl") || name.ends_with(".parquet"))
            .collect())
    })
}

/// The files below a directory, as relative paths.
fn names(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let (mut names, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        let path = directory.join(&folder);
        let entries = std::fs::read_dir(&path).map_err(|source| of_io("read", &path, source))?;
        for entry in entries {
            let entry = entry.map_err(|source| of_io("read", &path, source))?;
            let kind = entry.file_type().map_err(|source| of_io("read", &path, source))?;
            let into = if kind.is_dir() { &mut folders } else { &mut names };
            into.push(folder.join(entry.file_name()));
        }
    }
    Ok(names)
}

async fn send(place: &Place, path: &Path, key: &Key) -> Result<(), Error> {
    let mut file = File::open(path).map_err(|source| of_io("read", path, source))?;
    let mut part = vec![0; PART_BYTES];
    let mut length = fill(&mut file, &mut part).map_err(|source| of_io("read", path, source))?;
    let failure = || failed("write", key.as_ref());
    if length < PART_BYTES {
        part.truncate(length);
        return place.objects.put(key, part.into()).await.map(|_| ()).map_err(failure());
    }
    let upload = place.objects.put_multipart(key).await.map_err(failure())?;
    let mut writing = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
    while length > 0 {
        writing.wait_for_capacity(MAX_CONCURRENT_PARTS).await.map_err(failure())?;
        writing.write(part.get(..length).unwrap_or_default());
        length = match fill(&mut file, &mut part) {
            Ok(length) => length,
            Err(source) => {
                let _ = writing.abort().await;
                return Err(of_io("read", path, source));
            }
        };
    }
    writing.finish().await.map(|_| ()).map_err(failure())
}

/// Reads until the part is full or the file ends.
fn fill(file: &mut File, part: &mut [u8]) -> std::io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = part.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_objects_of_the_same_names_in_parts_or_at_once() {
        let (from, to) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let url = format!("file://{}", to.path().display());
        let large: Vec<u8> = (0..PART_BYTES * 2 + 5).map(|at| u8::try_from(at % 251).expect("small")).collect();
        std::fs::create_dir(from.path().join("train")).expect("makes");
        for (name, bytes) in [("manifest.json", &b"{}"[..]), ("train/a.json", b""), ("test.jsonl", &large)] {
            std::fs::write(from.path().join(name), bytes).expect("writes");
        }
        std::fs::write(to.path().join("old.jsonl"), "").expect("writes");
        std::fs::write(to.path().join("manifest.json"), "old").expect("writes");
        begin_upload(&url).expect("begins");
        assert!(!to.path().join("manifest.json").exists());
        assert_eq!(upload(&url, from.path()).expect("uploads"), ["old.jsonl"]);
        assert!(std::fs::read(to.path().join("test.jsonl")).expect("is there") == large);
        assert_eq!(std::fs::read(to.path().join("manifest.json")).expect("is there"), b"{}");
        assert_eq!(std::fs::read(to.path().join("train/a.json")).expect("is there"), b"");
    }
}
