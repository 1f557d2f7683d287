//! `spanbridge doctor`: what is wrong with this installation, why it matters, and the command that fixes it.
//!
//! It only reads, and takes no lock: a bridge that is running or starting is not affected.

mod bucket;
mod destinations;
mod directory;
mod exporters;
mod finding;
mod losses;
mod processes;
mod records;
mod server;
mod settings;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::address::reached_here;
use super::data_dir::projects_in;
use super::failure::{Failure, exit_status};
use super::out;
use super::settings_sources::Sources;
use crate::access::{Grant, Project, Right};
use crate::documents::Vocabulary;
use crate::server::Config;
use finding::{Finding, Findings, Status};

const EXAMPLES: &str = "\
Without --acknowledge, doctor changes nothing. It can run next to a server. It reads the whole log and compares the index with \
it, which takes a while if the log is large; use --only to skip this.

Checks: settings (configuration, certificate, open files), directory (permissions, free space, file system), bucket (with --store: \
rights, conditional writes, clock; writes one small object and removes it), log, index, \
ports (free, or in use by which process), server (responds, ready), exporters (OTEL_* variables of this shell), forward (whether each destination responds).

Exit status: 0 if nothing is wrong (there may be warnings), 1 if something is, 2 for a usage error.

Examples:
  spanbridge doctor
  spanbridge doctor --config /etc/spanbridge/spanbridge.toml
  sudo -u spanbridge spanbridge doctor --data-dir /var/lib/spanbridge
  spanbridge doctor --acknowledge  after a loss that no backup can mend
  spanbridge doctor --only server  for a health check
  spanbridge doctor --json | jq -r '.findings[] | select(.status == \"wrong\") | .mend'";

/// Find problems with this installation and say how to fix them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Doctor {
    /// Run only this check. Repeatable.
    #[arg(long, value_name = "CHECK", value_enum)]
    only: Vec<Check>,
    /// The URL of a running server [default: the configured address, if a server uses the data directory].
    #[arg(long, value_name = "URL", env = "SPANBRIDGE_SERVER")]
    server: Option<String>,
    /// Acknowledge records that are lost: no command, metric or later check reports them again. What is lost from now on is reported.
    #[arg(long)]
    acknowledge: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// The settings of `serve`.
    #[command(flatten, next_help_heading = "Settings of serve")]
    sources: Sources,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Check {
    Settings,
    Directory,
    Bucket,
    Log,
    Index,
    Ports,
    Server,
    Exporters,
    Forward,
}

impl Doctor {
    pub(super) fn run(self, command: &clap::Command) -> Result<ExitCode, Failure> {
        let findings = self.examine(command);
        let worst = findings.iter().map(|finding| finding.status).max().unwrap_or(Status::Ok);
        let printed = |source| Failure::Output { source };
        if self.json {
            let text = json!({ "version": env!("CARGO_PKG_VERSION"), "status": worst, "findings": findings });
            out::json(text.to_string()).map_err(printed)?;
        } else {
            for line in findings.iter().flat_map(Finding::lines) {
                out::line(&line).map_err(printed)?;
            }
            let count = |status| findings.iter().filter(|finding| finding.status == status).count();
            let (wrong, warnings) = (count(Status::Wrong), count(Status::Warning));
            out::note(&format!("{}, {}", out::many(wrong, "error"), out::many(warnings, "warning")));
        }
        Ok(exit_status(worst != Status::Wrong))
    }

    fn wants(&self, check: Check) -> bool {
        self.only.is_empty() || self.only.contains(&check)
    }

    fn examine(&self, command: &clap::Command) -> Vec<Finding> {
        let mut all = Vec::new();
        let mut found = Findings::of("settings");
        let config = settings::check(&self.sources, command, &mut found);
        // Invalid settings are reported whatever was asked for: nothing else can be checked then.
        if self.wants(Check::Settings) || config.is_none() {
            all.append(&mut found.list);
        }
        if let Some(config) = &config {
            self.examine_with(config, &mut all);
        }
        all
    }

    /// Reports the projects whose logs are examined, and configured ones without a log here: a copy may lack them.
    fn examine_projects(&self, config: &Config, projects: &[Project], all: &mut Vec<Finding>) {
        if !self.wants(Check::Log) {
            return;
        }
        let mut found = Findings::of("log");
        let names: Vec<String> = projects.iter().map(ToString::to_string).collect();
        if !names.is_empty() {
            found.ok(format!("of {}: {}", out::many(names.len() as u64, "project"), names.join(", ")));
        }
        // A token that only administers gives access to no spans.
        let reaches_spans = |grant: &&Grant| grant.rights.iter().any(|right| *right != Right::Admin);
        let grants = config.security.tokens.grants().filter(reaches_spans);
        let granted: BTreeSet<&Project> = grants.map(|grant| &grant.project).collect();
        for project in granted
            .into_iter()
            .filter(|project| !names.is_empty() && !projects.contains(project))
        {
            found.warning(
                format!("there is no log of project {project} in {}", config.data_dir.display()),
                "a token gives access to it; if this is a copy, its spans were not copied",
                "copy all of the data directory's *.log files, also those in projects/ (docs: operating, backup)",
            );
        }
        all.append(&mut found.list);
    }

    fn examine_store(&self, directory: &Path, vocabulary: &Vocabulary, running: bool, all: &mut Vec<Finding>) {
        let mut found = Findings::of("log");
        if self.acknowledge {
            losses::acknowledge(directory, &mut found);
        }
        let kept = losses::kept(directory, &mut found);
        if self.wants(Check::Log) {
            losses::open(directory, &kept, &mut found);
            losses::deletions(directory, &mut found);
            records::log(directory, running, &kept, &mut found);
        }
        all.append(&mut found.list);
        if self.wants(Check::Index) {
            let mut found = Findings::of("index");
            records::index(directory, running, &kept, vocabulary, &mut found);
            all.append(&mut found.list);
        }
    }

    fn examine_with(&self, config: &Config, all: &mut Vec<Finding>) {
        let directory = &config.data_dir;
        let mut found = Findings::of("directory");
        let holder = directory::check(directory, &mut found);
        let running = holder.is_some();
        if self.wants(Check::Directory) {
            all.append(&mut found.list);
        }
        if let Some(bucket) = config.bucket.as_ref().filter(|_| self.wants(Check::Bucket)) {
            let mut found = Findings::of("bucket");
            bucket::check(bucket, &mut found);
            all.append(&mut found.list);
        }
        let projects = projects_in(directory);
        self.examine_projects(config, &projects, all);
        for project in &projects {
            self.examine_store(&project.directory(directory), &config.vocabulary, running, all);
        }
        if self.wants(Check::Ports) {
            let mut found = Findings::of("ports");
            server::ports(config, holder.as_ref(), &mut found);
            all.append(&mut found.list);
        }
        // An explicit request implies that the server should be running.
        let asked = self.server.is_some() || self.only.contains(&Check::Server);
        if self.wants(Check::Server) && (running || asked) {
            let mut found = Findings::of("server");
            let url = self.server.clone().unwrap_or_else(|| url_of(config));
            let certificates = config.security.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
            server::answers(&url, certificates && self.server.is_none(), &mut found);
            all.append(&mut found.list);
        }
        if self.wants(Check::Exporters) {
            let mut found = Findings::of("exporters");
            exporters::check(config, &mut found);
            all.append(&mut found.list);
        }
        if self.wants(Check::Forward) && !config.forward.is_empty() {
            let mut found = Findings::of("forward");
            destinations::check(config, &mut found);
            for project in &projects {
                destinations::removed(&project.directory(directory), &mut found);
            }
            all.append(&mut found.list);
        }
    }
}

/// The URL of the API from this machine.
fn url_of(config: &Config) -> String {
    let scheme = if config.security.tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{}", reached_here(&config.api))
}
