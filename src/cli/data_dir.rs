//! The data directory where none is named.

use std::env;
use std::path::PathBuf;

use super::failure::Failure;

/// `$XDG_DATA_HOME/spanbridge`, else `~/.local/share/spanbridge`.
pub(super) fn default_data_dir() -> Result<PathBuf, Failure> {
    let of = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    of("XDG_DATA_HOME")
        .or_else(|| of("HOME").map(|home| home.join(".local/share")))
        .map(|base| base.join("spanbridge"))
        .ok_or_else(|| Failure::usage("neither XDG_DATA_HOME nor HOME is set; pass --data-dir DIR"))
}
