//! The settings as `serve` would read them: validity, expiry of the certificate, limit of open files.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::{Resource, getrlimit};

use super::finding::Findings;
use crate::cli::explain::explained;
use crate::cli::held::quoted;
use crate::cli::out::{many, with_causes};
use crate::cli::settings_file;
use crate::cli::settings_sources::{Sources, effective};
use crate::cli::variables;
use crate::server::Config;

/// Days before its expiry by which a certificate should have been renewed.
const SOON: i64 = 14;
const DAY: i64 = 86_400;

/// The configuration with which `serve` would start; `None`: it would not start.
pub(super) fn check(sources: &Sources, command: &clap::Command, found: &mut Findings) -> Option<Config> {
    let read = variables::check(command)
        .and_then(|()| sources.read())
        .and_then(|table| effective(&table)?.config());
    let why = "serve does not start, and SIGHUP keeps the old settings";
    let config = match read {
        Ok(config) => config,
        Err(failure) => {
            let mend = "spanbridge serve --print-config shows all settings and what each means";
            found.wrong(with_causes(&failure), why, mend);
            return None;
        }
    };
    if let Err(error) = config.security.check() {
        found.wrong(with_causes(&error), why, "correct the file or the rule that is named");
    } else {
        found.ok(format!(
            "valid; {}, {}",
            many(config.security.tokens.grants().count() as u64, "token"),
            many(config.security.redaction.len() as u64, "redaction rule")
        ));
    }
    secrets(sources, found);
    certificate(&config, found);
    exposure(&config, found);
    files(&config, found);
    Some(config)
}

fn certificate(config: &Config, found: &mut Findings) {
    let Some(files) = &config.security.tls else { return };
    let path = files.certificate.display();
    // Unreadable files were reported already.
    let Ok((from, until)) = files.validity() else { return };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let mend = "renew it and replace the files: a running server uses the new ones within ten seconds";
    if now >= until {
        let what = format!("the certificate {path} expired {} ago", days(now - until));
        found.wrong(what, "no client accepts it", mend);
    } else if now < from {
        let what = format!("the certificate {path} will not be valid for another {}", days(from - now));
        let mend = "check the clock of this machine, or renew the certificate";
        found.wrong(what, "no client accepts it", mend);
    } else if until - now < SOON * DAY {
        let what = format!("the certificate {path} expires in {}", days(until - now));
        found.warning(what, "clients do not accept it after that", mend);
    } else {
        found.ok(format!("the certificate {path} is valid for {}", days(until - now)));
    }
    if let Ok(Some(why)) = files.refused_by_clients() {
        found.wrong(
            format!("clients refuse the certificate {path}: {}", explained(why)),
            "ls, show and export --server cannot connect, and most exporters cannot either",
            "create another certificate (docs: security) and replace the files",
        );
    }
}

/// Warns if a file that every local user can read contains secrets.
fn secrets(sources: &Sources, found: &mut Findings) {
    let Some(path) = sources.file() else { return };
    let Ok(data) = std::fs::metadata(path) else { return };
    let mode = data.permissions().mode() & 0o777;
    let has_key = || settings_file::read(path).is_ok_and(|table| table.contains_key("redact_hash_key"));
    if mode & 0o004 != 0 && has_key() {
        found.warning(
            format!(
                "{} contains redact_hash_key, and all users of this machine can read it (mode {mode:04o})",
                path.display()
            ),
            "with the key, anyone can find out which phone number or mail address is behind a hash",
            format!("chmod o-rwx {}, or set SPANBRIDGE_REDACT_HASH_KEY instead", quoted(path)),
        );
    }
}

fn days(seconds: i64) -> String {
    many(u64::try_from(seconds / DAY).unwrap_or_default(), "day")
}

/// The same rule as at start, applied to the written addresses: names are resolved only at start.
fn exposure(config: &Config, found: &mut Findings) {
    for (address, flag) in [
        (&config.grpc, "--otlp-grpc"),
        (&config.http, "--otlp-http"),
        (&config.api, "--http"),
    ] {
        let Some((host, _)) = address.rsplit_once(':') else { continue };
        let ip: Option<std::net::IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        if ip.is_none_or(|ip| ip.to_canonical().is_loopback()) {
            continue;
        }
        if !config.security.may_listen_anywhere() {
            let what = format!("{address} ({flag}) can be reached from other machines without authentication");
            let mend = "spanbridge token new --name NAME, and add its entry to the configuration file";
            found.wrong(what, "serve does not start, because anyone could read and write", mend);
        } else if config.security.tls.is_none() {
            let what = format!("{address} ({flag}) can be reached from other machines without TLS");
            let mend = "serve --tls-certificate FILE --tls-key FILE, or put a proxy with TLS in front";
            found.warning(what, "spans and tokens are sent unencrypted", mend);
        }
    }
}

fn files(config: &Config, found: &mut Findings) {
    let connections = config.connections.at_once as u64;
    match getrlimit(Resource::Nofile).maximum.filter(|most| *most < connections) {
        None => found.ok("the limit of open files is high enough for --max-connections"),
        Some(most) => found.warning(
            format!("at most {most} files may be open, and --max-connections is {connections}"),
            "each connection is an open file: further clients must wait",
            "raise the limit (ulimit -Hn 65536, or LimitNOFILE=65536 in a systemd unit), or lower --max-connections",
        ),
    }
}
