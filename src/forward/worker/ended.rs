//! Why a step of a destination's task ended early.

use std::time::Duration;

use tokio::task::JoinError;

use crate::forward::delivery::Interrupted;
use crate::forward::error::ForwardError;
use crate::store;

/// Why a step ended early.
pub(super) enum Ended {
    Stopped,
    Ordered,
    /// The request must be prepared again after this time.
    PutOff(Duration),
    /// Preparing requests panicked.
    Panicked,
    Failed(ForwardError),
}

impl From<Interrupted> for Ended {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::Stopped => Self::Stopped,
            Interrupted::Ordered => Self::Ordered,
            Interrupted::PutOff(pause) => Self::PutOff(pause),
            Interrupted::Refused(reason) => Self::Failed(ForwardError::Refused { reason }),
        }
    }
}

impl From<ForwardError> for Ended {
    fn from(error: ForwardError) -> Self {
        Self::Failed(error)
    }
}

impl From<store::Error> for Ended {
    fn from(error: store::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Runs work off the async threads.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Ended> {
    tokio::task::spawn_blocking(work).await.map_err(|error| broken(&error))
}

pub(super) fn broken(error: &JoinError) -> Ended {
    match error.is_panic() {
        true => Ended::Panicked,
        // The runtime is shutting down.
        false => Ended::Stopped,
    }
}
