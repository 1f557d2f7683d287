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
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::address::reached_here;
use super::data_dir::projects_in;
use super::failure::{Failure, exit_status};
use super::out;
use super::settings_sources::Sources;
use crate::access::{Grant, Project, Right};
use crate::server::Config;
use finding::{Finding, Findings, Status};
use processes::Process;

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
        if self.json {
            let text = json!({ "version": env!("CARGO_PKG_VERSION"), "status": worst, "findings": findings });
            out::json(text.to_string())?;
        } else {
            for line in findings.iter().flat_map(Finding::lines) {
                out::line(&line)?;
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
        let mut found = Findings::of("settings");
        let config = settings::check(&self.sources, command, &mut found);
        // Invalid settings are reported whatever was asked for: nothing else can be checked then.
        let Some(config) = config else { return found.list };
        let keep = |found: &mut Findings, check, before| {
            if !self.wants(check) {
                found.list.truncate(before);
            }
        };
        keep(&mut found, Check::Settings, 0);
        found.check = "directory";
        let before = found.list.len();
        let holder = directory::check(&config.data_dir, &mut found);
        keep(&mut found, Check::Directory, before);
        let of = Examined {
            doctor: self,
            projects: projects_in(&config.data_dir),
            config,
            holder,
        };
        for (check, name, run) in CHECKS {
            if check.is_none_or(|check| self.wants(check)) {
                found.check = name;
                run(&of, &mut found);
            }
        }
        found.list
    }
}

/// What is checked.
struct Examined<'a> {
    doctor: &'a Doctor,
    config: Config,
    projects: Vec<Project>,
    /// The process that writes to the data directory.
    holder: Option<Process>,
}

/// Adds the findings of a check.
type Examine = fn(&Examined<'_>, &mut Findings);

/// The checks besides those of the settings and the directory, on which they depend. Without a `Check` it always runs.
const CHECKS: &[(Option<Check>, &str, Examine)] = &[
    (Some(Check::Bucket), "bucket", |of, found| {
        of.config.bucket.iter().for_each(|bucket| bucket::check(bucket, found));
    }),
    (Some(Check::Log), "log", projects),
    (None, "log", |of, found| {
        of.projects.iter().for_each(|project| store(of, project, found));
    }),
    (Some(Check::Ports), "ports", |of, found| {
        server::ports(&of.config, of.holder.as_ref(), found)
    }),
    (Some(Check::Server), "server", responds),
    (Some(Check::Exporters), "exporters", |of, found| exporters::check(&of.config, found)),
    (Some(Check::Forward), "forward", |of, found| {
        if !of.config.forward.is_empty() {
            destinations::check(&of.config, found);
            let directories = of.projects.iter().map(|project| project.directory(&of.config.data_dir));
            directories.for_each(|directory| destinations::removed(&directory, found));
        }
    }),
];

/// Reports the projects whose logs are examined, and configured ones without a log here: a copy may lack them.
fn projects(Examined { config, projects, .. }: &Examined<'_>, found: &mut Findings) {
    if projects.is_empty() {
        return;
    }
    let names: Vec<String> = projects.iter().map(ToString::to_string).collect();
    found.ok(format!("of {}: {}", out::many(names.len(), "project"), names.join(", ")));
    // A token that only administers gives access to no spans.
    let reaches_spans = |grant: &&Grant| grant.rights.iter().any(|right| *right != Right::Admin);
    let grants = config.security.tokens.grants().filter(reaches_spans);
    let granted: BTreeSet<&Project> = grants.map(|grant| &grant.project).collect();
    for project in granted.into_iter().filter(|project| !projects.contains(project)) {
        found.warning(
            format!("there is no log of project {project} in {}", config.data_dir.display()),
            "a token gives access to it; if this is a copy, its spans were not copied",
            "copy all of the data directory's *.log files, also those in projects/ (docs: operating, backup)",
        );
    }
}

/// The log and the index of a project.
fn store(of: &Examined<'_>, project: &Project, found: &mut Findings) {
    let (directory, running) = (&project.directory(&of.config.data_dir), of.holder.is_some());
    found.check = "log";
    if of.doctor.acknowledge {
        losses::acknowledge(directory, found);
    }
    let kept = losses::kept(directory, found);
    if of.doctor.wants(Check::Log) {
        losses::open(directory, &kept, found);
        losses::deletions(directory, found);
        records::log(directory, running, &kept, found);
    }
    if of.doctor.wants(Check::Index) {
        found.check = "index";
        records::index(directory, running, &kept, &of.config.vocabulary, found);
    }
}

/// Whether the server responds. An explicit request implies that it should be running.
fn responds(of: &Examined<'_>, found: &mut Findings) {
    let server = &of.doctor.server;
    if of.holder.is_some() || server.is_some() || of.doctor.only.contains(&Check::Server) {
        let url = server.clone().unwrap_or_else(|| url_of(&of.config));
        let certificates = of.config.security.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        server::answers(&url, certificates && server.is_none(), found);
    }
}

/// The URL of the API from this machine.
fn url_of(config: &Config) -> String {
    let scheme = if config.security.tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{}", reached_here(&config.api))
}
