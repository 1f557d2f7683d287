//! Whether each destination of `--forward` answers, and what it would refuse.

use std::sync::Arc;
use std::time::Duration;

use super::finding::Findings;
use crate::forward::export::{Class, Exporter, Failure};
use crate::forward::{Destination, Logs, Via};
use crate::span::Signal;

/// How long a destination has to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends each destination a request without spans, and one without log records where it is sent log records.
pub(super) fn check(destinations: &[Destination], found: &mut Findings) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let what = format!("destinations cannot be asked: {error}");
            return found.warning(what, "nobody knows whether they answer", "spanbridge doctor, once more");
        }
    };
    for destination in destinations {
        runtime.block_on(examine(destination, found));
    }
}

async fn examine(destination: &Destination, found: &mut Findings) {
    let name = &destination.name;
    let mut asked = destination.clone();
    asked.timeout = asked.timeout.min(PATIENCE);
    let exporter = match Exporter::new(Arc::new(asked), Arc::new(Via::anonymous())) {
        Ok(exporter) => exporter,
        Err(error) => return found.wrong(format!("{name}: {error}"), "serve does not start", "mend its [[forward]] table"),
    };
    if let Err(failure) = exporter.probe(Signal::Traces).await {
        return refused(destination, &failure, found);
    }
    if destination.logs == Logs::Send
        && let Err(failure) = exporter.probe(Signal::Logs).await
        && failure.class == Class::Unsupported
    {
        return found.warning(
            format!("{name} ({}) takes spans, and no log records", destination.uri),
            "log records are not sent to it, and what they say of spans is not seen there",
            "logs = \"into-spans\" in its [[forward]] table, with a dialect; or logs = \"leave\"",
        );
    }
    found.ok(format!("{name} ({}) accepts what is sent", destination.uri));
}

fn refused(destination: &Destination, failure: &Failure, found: &mut Findings) {
    let what = format!("{} ({}): {}", destination.name, destination.uri, failure.reason);
    let mend = match failure.class {
        Class::Transport => "start it, or correct its URL; OTLP over gRPC is port 4317 mostly, HTTP 4318: see protocol",
        Class::Refused => "give it the headers that it asks for: headers = { authorization = \"Bearer ${env:NAME}\" }",
        Class::Unsupported => "correct its URL or its protocol: it knows no OTLP there",
        Class::Overloaded | Class::Exhausted | Class::Server | Class::Request => "look at its own log",
    };
    found.warning(
        what,
        "spans wait in the log until it accepts them; retention may remove them before",
        mend,
    );
}
