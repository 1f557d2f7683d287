//! What to do where another process has the data directory.

use std::path::Path;

use super::address::reached_here;
use super::failure::Failure;
use crate::store::{Error, Served};

/// Why a data directory cannot be opened for writing. `instead` names the command that does the same over the server that has it.
pub(super) fn held(error: Error, data_dir: &Path, instead: impl FnOnce(Served) -> String) -> Failure {
    let Error::Locked { path, holder } = error else {
        return error.into();
    };
    let advice = match Served::announced(data_dir) {
        Some(server) => instead(Served {
            http: reached_here(&server.http),
            api: reached_here(&server.api),
            ..server
        }),
        None => "try again when it is done".to_owned(),
    };
    Failure::InUse { path, holder, advice }
}

/// For commands that take `--server`.
pub(super) fn over_the_server(Served { scheme, api, .. }: Served) -> String {
    format!("it is a server: pass --server {scheme}://{api}")
}

/// A path as a shell reads it back.
pub(super) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}
