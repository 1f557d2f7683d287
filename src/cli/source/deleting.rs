//! Deleting from a running server over its API, or from a store that no server uses.

use super::opening::forget;
use super::{Kind, Source};
use crate::cli::failure::Failure;
use crate::store::Unwanted;
use crate::web::{Amount, percent_encoded};

impl Source {
    /// How much would be deleted; `None`: it does not exist.
    pub(in crate::cli) fn to_delete(&self, what: &Unwanted) -> Result<Option<Amount>, Failure> {
        self.deleted(what, true)
    }

    /// Deletes, and returns once the bytes are gone; `None`: it does not exist.
    pub(in crate::cli) fn delete(&self, what: &Unwanted) -> Result<Option<Amount>, Failure> {
        self.deleted(what, false)
    }

    fn deleted(&self, what: &Unwanted, dry_run: bool) -> Result<Option<Amount>, Failure> {
        let deleted = match &self.kind {
            Kind::Server(server) => {
                let path = match what {
                    Unwanted::Trace(id) => format!("/api/v1/traces/{id}"),
                    Unwanted::Session(session) => format!("/api/v1/sessions/{}", percent_encoded(session)),
                };
                let body = server.delete(&format!("{path}{}", if dry_run { "?dry_run=true" } else { "" }))?;
                return body.map(|body| server.read(&body)).transpose();
            }
            Kind::Store { store, .. } if dry_run => store.to_delete(what)?,
            Kind::Store { store, path } => store.delete(what, &mut |traces| forget(path, traces))?,
        };
        Ok((!deleted.is_empty()).then(|| Amount::of(&deleted, dry_run)))
    }
}
