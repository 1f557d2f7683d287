//! Mounts a service of another module on the API port.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;

use crate::access::Right;
use crate::web::Web;

type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A service that answers all requests to one path.
#[derive(Clone)]
pub(crate) struct Mount {
    pub(crate) path: &'static str,
    /// The right that the path requires.
    pub(crate) right: Right,
    /// Answers a request, given the read side of its project.
    pub(crate) answer: Arc<dyn Fn(Arc<Web>, Request) -> Answering + Send + Sync>,
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mount").field("path", &self.path).finish_non_exhaustive()
    }
}
