//! Start times of runs imported from rows of chat messages, which have no times.

use std::path::Path;
use std::time::SystemTime;

use clap::Args;

use super::time;
use crate::span::UnixNanos;

/// Start of the runs in rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Begin {
    /// Unknown: the times stay near 1970.
    #[default]
    Unknown,
    /// The file's modification time. Unknown for standard input.
    Written,
    /// This time.
    At(UnixNanos),
}

impl Begin {
    /// The start of the runs in this file.
    pub(super) fn of_file(self, path: &Path) -> Option<UnixNanos> {
        let time = match self {
            Self::Unknown => return None,
            Self::At(time) => return Some(time),
            Self::Written => std::fs::metadata(path).and_then(|file| file.modified()).ok()?,
        };
        let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        u64::try_from(since.as_nanos()).ok().map(UnixNanos)
    }
}

/// When the runs of rows began, as the command line has it.
#[derive(Debug, Args)]
pub(super) struct At {
    /// The start of runs that are read from rows of chat messages, which have no times: 2026-11-21T10:00:00Z, or a duration ago (2h)
    /// [default: the time when the file was last changed]. The attribute `spanbridge.times_unknown` marks such times.
    #[arg(long = "at", value_name = "TIME", value_parser = time::moment)]
    at: Option<u64>,
}

impl At {
    pub(super) fn begin(&self) -> Begin {
        self.at.map_or(Begin::Written, |at| Begin::At(UnixNanos(at)))
    }
}
