//! The store that feeds a destination, and the folder of its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::Store;

/// Name of the folder, next to a store's log, with positions, dead letters and orders.
pub const FOLDER: &str = "forward";

/// The folder of a store's destinations.
#[must_use]
pub fn folder(store: &Path) -> PathBuf {
    store.join(FOLDER)
}

/// The store and folder of a destination.
#[derive(Debug, Clone)]
pub struct Source {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The folder of positions, dead letters and orders: [`folder`] of the store's directory.
    pub folder: PathBuf,
}
