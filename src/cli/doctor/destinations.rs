//! Whether each destination of `--forward` responds, and what it would refuse.

use std::sync::Arc;
use std::time::Duration;

use super::finding::Findings;
use crate::cli::serve::not_forwarded;
use crate::forward::export::{Class, Exporter, Failure};
use crate::forward::{self, Destination, Logs, Via, progress, removed_segments};
use crate::server::Config;
use crate::span::Signal;

/// Timeout for a destination.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends each destination a request without spans and, if it gets log records, one without log records.
pub(super) fn check(config: &Config, found: &mut Findings) {
    for project in config.projects_without_destination() {
        found.warning(
            not_forwarded(&project),
            "backends do not show what is sent with the tokens of this project",
            format!("add a [[forward]] table with project = \"{project}\""),
        );
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let what = format!("destinations cannot be asked: {error}");
            return found.warning(what, "it is not known whether they respond", "run spanbridge doctor again");
        }
    };
    for destination in &config.forward {
        runtime.block_on(examine(destination, found));
    }
}

async fn examine(destination: &Destination, found: &mut Findings) {
    let name = &destination.name;
    let mut asked = destination.clone();
    asked.timeout = asked.timeout.min(RESPONSE_TIMEOUT);
    let exporter = match Exporter::new(Arc::new(asked), Arc::new(Via::anonymous())) {
        Ok(exporter) => exporter,
        Err(error) => return found.wrong(format!("{name}: {error}"), "serve does not start", "correct its [[forward]] table"),
    };
    let first = match destination.traces {
        true => Signal::Traces,
        false if destination.logs == Logs::Send => Signal::Logs,
        false => Signal::Metrics,
    };
    if let Err(failure) = exporter.probe(first).await {
        return refused(destination, &failure, found);
    }
    if destination.metrics
        && let Err(failure) = exporter.probe(Signal::Metrics).await
        && failure.class == Class::Unsupported
    {
        return found.warning(
            format!("{name} ({}) accepts no metrics", destination.uri),
            "metrics are stored for it and are not forwarded to it",
            "remove \"metrics\" from the signals of its [[forward]] table",
        );
    }
    if destination.logs == Logs::Send
        && let Err(failure) = exporter.probe(Signal::Logs).await
        && failure.class == Class::Unsupported
    {
        return found.warning(
            format!("{name} ({}) accepts spans but no log records", destination.uri),
            "log records are not forwarded to it, so it does not show what they contain about spans",
            "set logs = \"into-spans\" and a dialect in its [[forward]] table, or logs = \"leave\"",
        );
    }
    let Destination { uri, preset, project, .. } = destination;
    found.ok(format!(
        "{name} ({uri}) responds and accepts the spans of project {project}, which it gets by preset {preset}"
    ));
}

/// Data that retention removed before a store's destinations had it.
pub(super) fn removed(directory: &std::path::Path, found: &mut Findings) {
    let folder = forward::folder(directory);
    for name in progress::names(&folder) {
        let Ok(Some(progress)) = progress::read(&folder, &name) else {
            found.warning(
                format!("the position of {name} in {} is damaged", folder.display()),
                "the next start sends everything that is stored to it again",
                "nothing; or, before the next start: spanbridge forward skip",
            );
            continue;
        };
        let removed = progress.removed_segments + removed_segments(directory, progress.position());
        if removed > 0 {
            found.warning(
                format!("retention removed {removed} segments before {name} had them"),
                "their spans are not sent to it",
                "raise the limits of retention, or make the destination faster; see: spanbridge forward status",
            );
        }
    }
}

fn refused(destination: &Destination, failure: &Failure, found: &mut Findings) {
    let what = format!("{} ({}): {}", destination.name, destination.uri, failure.reason);
    let mend = match failure.class {
        Class::Transport => "start it, or correct its URL; OTLP/gRPC usually listens on port 4317, OTLP/HTTP on port 4318 (see `protocol`)",
        Class::Refused => "set the headers that it requires: headers = { authorization = \"Bearer ${env:NAME}\" }",
        Class::Unsupported => "correct its URL or its protocol; there is no OTLP receiver at this URL",
        Class::WrongScheme => "correct the scheme of its URL",
        Class::Overloaded | Class::Exhausted | Class::Server | Class::Request => "see the log of the destination",
    };
    let why = "spans wait in the store until it accepts them; retention may remove them first";
    found.warning(what, why, mend);
}
