//! One export request: how it is sent, and how the answer is interpreted.

mod connection;
mod grpc;
mod http;
mod outcome;
mod scheme;
mod scores;
mod secrets;
mod status;
mod tls;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::destination::Destination;
use super::error::ConfigError;
use super::settings::{Protocol, ScoreApi};
use super::via::Via;
use crate::span::Signal;
use connection::Connection;
pub use outcome::{Accepted, Class, Failure};

/// Sends requests to one destination.
#[derive(Debug)]
pub(crate) struct Exporter {
    connection: Connection,
    /// Where people's judgements are sent.
    scores: Option<(ScoreApi, Connection)>,
}

impl Exporter {
    /// Creates an exporter, which connects at the first request.
    ///
    /// # Errors
    ///
    /// A certificate or key cannot be used.
    pub(crate) fn new(destination: Arc<Destination>, via: Arc<Via>) -> Result<Self, ConfigError> {
        let scores = destination.scores.as_ref().map(|scores| -> Result<_, ConfigError> {
            let api = Destination {
                uri: scores.uri.clone(),
                protocol: Protocol::HttpJson,
                ..Destination::clone(&destination)
            };
            Ok((scores.api, Connection::new(Arc::new(api), Arc::clone(&via))?))
        });
        Ok(Self {
            scores: scores.transpose()?,
            connection: Connection::new(destination, via)?,
        })
    }

    /// Sends a request and waits for the answer, up to the destination's timeout.
    ///
    /// # Errors
    ///
    /// The request was not accepted.
    pub(crate) async fn export(&self, signal: Signal, message: Bytes) -> Result<Accepted, Failure> {
        let connection = &self.connection;
        let timeout = connection.destination.timeout;
        let answer = async {
            let judged = message.clone();
            let accepted = match connection.destination.protocol {
                Protocol::Grpc => grpc::export(connection, signal, message).await,
                Protocol::HttpProtobuf | Protocol::HttpJson => http::export(connection, signal, message).await,
            }?;
            if let (Some((api, connection)), Signal::Traces) = (&self.scores, signal) {
                scores::send(*api, connection, &judged).await?;
            }
            Ok(accepted)
        };
        let timed_out = |_| Failure::new(Class::Transport, format!("no answer within {} s", timeout.as_secs_f64()));
        match tokio::time::timeout(timeout, answer).await.map_err(timed_out).flatten() {
            Ok(accepted) => {
                connection.accepted.store(true, Ordering::Relaxed);
                Ok(accepted)
            }
            Err(failure) if connection.needs_tls(&failure).await => Err(Failure::new(Class::WrongScheme, scheme::HAS_TLS)),
            failed => failed,
        }
    }

    /// Sends a request without items, which every destination accepts.
    ///
    /// # Errors
    ///
    /// The request was not accepted.
    pub(crate) async fn probe(&self, signal: Signal) -> Result<Accepted, Failure> {
        self.export(signal, Bytes::new()).await
    }
}

#[cfg(test)]
mod tests {
    use ::http::{HeaderMap, StatusCode};

    use super::Class::{self, Exhausted, Overloaded, Refused, Request, Server, Unsupported};
    use super::secrets::Secrets;
    use super::{grpc, http};
    use crate::span::Signal;

    /// What the specification calls retryable is sent again, what a request is at fault for is divided, and what somebody has to mend
    /// waits for that.
    #[test]
    fn every_answer_calls_for_what_the_specification_says() {
        let by_code: [(usize, Class); 17] = [
            (1, Overloaded),
            (2, Server),
            (3, Request),
            (4, Overloaded),
            (5, Refused),
            (6, Server),
            (7, Refused),
            (8, Exhausted),
            (9, Refused),
            (10, Overloaded),
            (11, Overloaded),
            (12, Refused),
            (13, Server),
            (14, Overloaded),
            (15, Overloaded),
            (16, Refused),
            (99, Server),
        ];
        for (code, class) in by_code {
            assert_eq!(
                grpc::failure(Signal::Traces, code, &HeaderMap::new(), &Secrets::default()).class,
                class,
                "gRPC {code}"
            );
        }
        let by_status = [
            (301, Refused),
            (400, Request),
            (401, Refused),
            (403, Refused),
            (404, Refused),
            (408, Overloaded),
            (413, Request),
            (415, Refused),
            (422, Request),
            (429, Overloaded),
            (500, Server),
            (501, Refused),
            (502, Overloaded),
            (503, Overloaded),
            (504, Overloaded),
            (508, Refused),
        ];
        for (status, class) in by_status {
            let status = StatusCode::from_u16(status).expect("a status");
            assert_eq!(
                http::failure(Signal::Traces, status, &HeaderMap::new(), &[], &Secrets::default()).class,
                class,
                "HTTP {status}"
            );
        }
        for signal in [Signal::Logs, Signal::Metrics] {
            assert_eq!(grpc::failure(signal, 12, &HeaderMap::new(), &Secrets::default()).class, Unsupported);
            assert_eq!(
                http::failure(signal, StatusCode::NOT_FOUND, &HeaderMap::new(), &[], &Secrets::default()).class,
                Unsupported
            );
        }
    }
}
