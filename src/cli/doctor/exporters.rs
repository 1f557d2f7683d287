//! The variables that exporters in this shell would read, and whether their spans would arrive here.

use std::env;
use std::net::ToSocketAddrs as _;

use super::finding::Findings;
use crate::cli::address::reached_here;
use crate::server::Config;

const ENDPOINTS: &[(&str, Option<&str>)] = &[
    ("OTEL_EXPORTER_OTLP_ENDPOINT", None),
    ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", Some("/v1/traces")),
    ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", Some("/v1/logs")),
];

fn set(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Checks the environment of this process.
pub(super) fn check(config: &Config, found: &mut Findings) {
    let tls = config.security.tls.is_some();
    let scheme = if tls { "https" } else { "http" };
    let address = reached_here(&config.http);
    let ours = format!("export OTEL_EXPORTER_OTLP_ENDPOINT={scheme}://{address}");
    let mut any = false;
    for (name, path) in ENDPOINTS {
        let Some(value) = set(name) else { continue };
        any = true;
        endpoint(config, (name, &value, *path), tls, &ours, found);
    }
    if !any {
        found.ok(format!("none is set in this shell; to send spans here: {ours}"));
    }
    silent(found);
    protocol(found);
    if any && !config.security.tokens.is_empty() && set("OTEL_EXPORTER_OTLP_HEADERS").is_none() {
        found.warning(
            "OTEL_EXPORTER_OTLP_HEADERS is not set, and the server requires tokens",
            "requests without a token are refused with UNAUTHENTICATED or 401",
            "export OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN",
        );
    }
}

fn endpoint(config: &Config, (name, value, path): (&str, &str, Option<&str>), tls: bool, ours: &str, found: &mut Findings) {
    let unset = format!("{ours}   (or: unset {name})");
    let (scheme, rest) = value.split_once("://").unwrap_or(("", value));
    let (authority, place) = rest.split_once('/').map_or((rest, ""), |(authority, place)| (authority, place));
    if scheme.is_empty() {
        let what = format!("{name}={value} has no http:// or https://");
        found.warning(what, "some exporters reject it, others use TLS", unset);
        return;
    }
    let with_port = match authority.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => authority.to_owned(),
        _ => format!("{authority}:{}", if scheme == "https" { 443 } else { 80 }),
    };
    let same = |address: &String| reaches(&with_port, address);
    if !same(&config.grpc) && !same(&config.http) {
        let what = format!("{name}={value} is not this server ({}, {})", config.grpc, config.http);
        found.warning(what, "spans of programs started in this shell go there", unset);
    } else if (scheme == "https") != tls {
        let what = format!("{name}={value}: the server uses {}", if tls { "TLS" } else { "no TLS" });
        found.wrong(what, "exporters cannot connect", unset);
    } else if let Some(path) = path.filter(|path| !grpc() && !format!("/{place}").trim_end_matches('/').ends_with(path)) {
        let what = format!("{name}={value} does not end in {path}");
        let why = "over HTTP, exporters use the endpoint of a signal unchanged, so they get 404";
        found.wrong(what, why, format!("export {name}={}{path}", value.trim_end_matches('/')));
    } else {
        found.ok(format!("{name}={value} is this server"));
    }
}

/// Whether one address reaches the other; `0.0.0.0:4318` is reached by any loopback address.
fn reaches(asked: &str, listening: &str) -> bool {
    let of = |text: &str| text.to_socket_addrs().map(|found| found.collect::<Vec<_>>()).unwrap_or_default();
    let listening = of(listening);
    of(asked).iter().any(|asked| {
        listening.iter().any(|listening| {
            let (from, to) = (asked.ip().to_canonical(), listening.ip().to_canonical());
            asked.port() == listening.port() && (from == to || to.is_unspecified())
        })
    })
}

fn grpc() -> bool {
    let protocol = set("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL").or_else(|| set("OTEL_EXPORTER_OTLP_PROTOCOL"));
    protocol.is_some_and(|protocol| protocol == "grpc")
}

fn protocol(found: &mut Findings) {
    let Some(value) = set("OTEL_EXPORTER_OTLP_PROTOCOL") else { return };
    if !matches!(value.as_str(), "grpc" | "http/protobuf" | "http/json") {
        let what = format!("OTEL_EXPORTER_OTLP_PROTOCOL={value} is not an OTLP protocol");
        let why = "exporters fail, or use their default";
        found.warning(what, why, "export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf");
    }
}

/// Variables that keep an SDK from sending anything.
fn silent(found: &mut Findings) {
    let is = |name: &str, values: &[&str]| set(name).filter(|value| values.contains(&value.to_ascii_lowercase().as_str()));
    for (name, values) in [
        ("OTEL_SDK_DISABLED", &["true"][..]),
        ("OTEL_TRACES_EXPORTER", &["none", "console"]),
        ("OTEL_TRACES_SAMPLER", &["always_off", "parentbased_always_off"]),
    ] {
        if let Some(value) = is(name, values) {
            let what = format!("{name}={value}");
            found.wrong(what, "programs started in this shell send no spans", format!("unset {name}"));
        }
    }
}
