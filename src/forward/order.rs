//! Orders for a destination from another process: a file that a running server reads at once, otherwise at its next start.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::ForwardError;
use super::progress::replace;

/// An order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Send the dead letters again.
    Retry,
    /// Skip everything that is not sent yet.
    Skip,
    /// Send again everything that arrived since this time, in nanoseconds since 1970.
    Rewind(u64),
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.order.json"))
}

/// Leaves an order, replacing a pending one.
///
/// # Errors
///
/// The disk failed.
pub fn give(folder: &Path, name: &str, order: Order) -> Result<(), ForwardError> {
    replace(&path(folder, name), &serde_json::to_vec(&order).unwrap_or_default())
}

/// The pending order, if any.
#[must_use]
pub fn waiting(folder: &Path, name: &str) -> Option<Order> {
    serde_json::from_slice(&fs::read(path(folder, name)).ok()?).ok()
}

/// Takes the pending order, if any.
pub(super) fn take(folder: &Path, name: &str) -> Option<Order> {
    let path = path(folder, name);
    let bytes = fs::read(&path).ok()?;
    match serde_json::from_slice(&bytes) {
        Ok(order) => {
            fs::remove_file(&path).ok()?;
            Some(order)
        }
        Err(error) => {
            let aside = path.with_extension("unreadable");
            let moved = fs::rename(&path, &aside).is_ok();
            if moved {
                tracing::warn!(
                    destination = name,
                    %error,
                    path = %aside.display(),
                    "an order for the destination cannot be read and was put aside; give it again: spanbridge forward"
                );
            }
            None
        }
    }
}
