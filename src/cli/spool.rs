//! A temporary directory for files that are uploaded to a bucket once all are written. Removed on drop.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::out;
use crate::span::hex;
use crate::store;

/// Files to be uploaded to a bucket.
#[derive(Debug)]
pub(super) struct Spool {
    directory: PathBuf,
    url: String,
}

impl Spool {
    /// Opens it for the URL of a bucket; `None`: the output is a directory.
    pub(super) fn open(output: &Path) -> Result<Option<Self>, Failure> {
        let Some(url) = output.to_str().filter(|text| text.contains("://")) else {
            return Ok(None);
        };
        store::begin_upload(url)?;
        let mut name = [0; 8];
        let drawn = getrandom::fill(&mut name).map_err(|error| std::io::Error::other(error.to_string()));
        let directory = std::env::temp_dir().join(format!("spanbridge-{}", hex(&name)));
        let made = drawn.and_then(|()| DirBuilder::new().mode(0o700).create(&directory));
        made.map_err(Failure::write(&directory))?;
        let url = url.to_owned();
        Ok(Some(Self { directory, url }))
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Uploads all files.
    pub(super) fn send(&self) -> Result<(), Failure> {
        let others = store::upload(&self.url, &self.directory)?;
        if !others.is_empty() {
            out::note(&format!(
                "{} has files of another data set, which loaders may read too: {}",
                self.url,
                others.join(", ")
            ));
        }
        Ok(())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
