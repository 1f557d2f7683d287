//! How a run ended.

use super::model::Run;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunStatus {
    /// It ended without a recorded failure.
    Ok,
    /// It failed.
    Error,
    /// It was stopped before it ended.
    Cancelled,
    /// It has not ended yet.
    Running,
}

impl RunStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ok, Self::Error, Self::Cancelled, Self::Running];

    /// Its name in lists, conditions and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
            Self::Running => "running",
        }
    }
}

impl Run {
    /// How it ended.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        match (&self.failure, self.ended_at) {
            (Some(failed), _) if failed.failure.is_cancellation() => RunStatus::Cancelled,
            (Some(_), _) => RunStatus::Error,
            (None, None) => RunStatus::Running,
            (None, Some(_)) => RunStatus::Ok,
        }
    }
}
