//! The source of a destination's spans, and the place of its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::Store;

/// The folder next to a store's log with positions, dead letters and orders.
pub const FOLDER: &str = "forward";

/// Where the files of a store's destinations are.
#[must_use]
pub fn folder(store: &Path) -> PathBuf {
    store.join(FOLDER)
}

/// What a destination is fed from.
#[derive(Debug, Clone)]
pub struct Source {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The directory of positions, dead letters and orders: [`folder`] of the store's.
    pub folder: PathBuf,
}
