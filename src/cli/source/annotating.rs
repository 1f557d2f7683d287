//! People's judgements: sent to a running server, or stored in a data directory that no server uses.

use super::{Chosen, Kind, Source, Where};
use crate::cli::failure::Failure;
use crate::cli::out;
use crate::otlp::{encode, scan};
use crate::span::{Signal, TraceId};
use crate::store::{self, Chunk};
use crate::web::{NewEvaluation, annotation};

impl Where {
    /// Opens the source to annotate. A data directory is opened for writing.
    pub(in crate::cli) fn open_to_annotate(&self) -> Result<Source, Failure> {
        if matches!(self.chosen()?, Chosen::Bucket(_)) {
            return Err(Failure::usage("a bucket is written by its servers: pass one of them with --server"));
        }
        self.open_by(out::recovery, store::open)
    }
}

impl Source {
    /// Stores a person's judgement of a run or step.
    pub(in crate::cli) fn annotate(&self, id: TraceId, said: &NewEvaluation) -> Result<(), Failure> {
        let store = match &self.kind {
            Kind::Server(server) => {
                let json = serde_json::to_string(said).unwrap_or_default();
                return server.post(&format!("/api/v1/traces/{id}/evaluations"), &json);
            }
            Kind::Directory { store, .. } => store,
            Kind::Served(served) => served.store(),
        };
        let run = self.run(id)?.ok_or_else(|| Failure::missing(format!("there is no trace {id}")))?;
        let (span, _) = annotation(&run, said).map_err(|problem| Failure::missing(problem.message()))?;
        let bytes = encode::traces(&[span]);
        let keys: Vec<&str> = self.vocabulary.session_keys().iter().map(String::as_str).collect();
        let scanned = scan::scan(&bytes, Signal::Traces, &keys).map_err(|fault| Failure::usage(fault.to_string()))?;
        store.append(Chunk::of_request(scanned, bytes))?;
        Ok(())
    }
}
