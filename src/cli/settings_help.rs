//! Arranges the settings in `serve --help` by heading; `serve -h` lists only those that most people need.

use clap::Arg;

/// The headings of the long help, and the settings below each.
const HEADINGS: &[(&str, &[&str])] = &[
    ("Addresses", &["otlp_grpc", "otlp_http", "http", "cors_origin", "allowed_host"]),
    (
        "Storage",
        &["data_dir", "search", "retain_hours", "retain_bytes", "compression_level"],
    ),
    (
        "Storage in a bucket",
        &[
            "store",
            "writer",
            "ack",
            "store_spool_bytes",
            "store_flush_milliseconds",
            "store_poll_milliseconds",
        ],
    ),
    (
        "Access",
        &[
            "tokens",
            "allow_anonymous",
            "tls_certificate",
            "tls_key",
            "tls_client_ca",
            "redact",
            "redact_hash_key",
        ],
    ),
    ("Forwarding", &["forward"]),
    ("Documents", &["semconv", "prices", "option"]),
    ("Log", &["log_level", "log_format"]),
    (
        "Limits",
        &[
            "max_request_bytes",
            "max_in_flight_bytes",
            "max_read_bytes",
            "max_concurrent_reads",
            "max_headers",
            "max_header_bytes",
            "max_connections",
            "max_streams",
            "header_timeout_seconds",
            "body_timeout_seconds",
            "request_timeout_seconds",
            "idle_timeout_seconds",
            "write_timeout_seconds",
        ],
    ),
];

/// Settings listed by `serve -h`.
const SHORT: &[&str] = &[
    "otlp_grpc",
    "otlp_http",
    "http",
    "data_dir",
    "store",
    "retain_hours",
    "retain_bytes",
    "tokens",
    "tls_certificate",
    "tls_key",
    "forward",
    "log_level",
];

/// Puts a setting of `serve` under its heading; other arguments are unchanged.
pub(super) fn under_headings(argument: Arg) -> Arg {
    let heading = HEADINGS.iter().find(|(_, settings)| settings.contains(&argument.get_id().as_str()));
    let Some((heading, _)) = heading else { return argument };
    let is_short = SHORT.contains(&argument.get_id().as_str());
    argument.help_heading(*heading).hide_short_help(!is_short)
}

/// Hides the settings of `serve` in the short help of another command that accepts them.
pub(super) fn long_help_only(argument: Arg) -> Arg {
    let is_setting = HEADINGS.iter().any(|(_, settings)| settings.contains(&argument.get_id().as_str()));
    argument.hide_short_help(is_setting)
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;
    use crate::cli::settings_sources::Sources;

    #[test]
    fn every_setting_has_one_heading() {
        let command = Sources::augment_args(clap::Command::new("serve"));
        let settings: Vec<&str> = command.get_arguments().map(|argument| argument.get_id().as_str()).collect();
        let headed: Vec<&str> = HEADINGS.iter().flat_map(|(_, settings)| settings.iter().copied()).collect();
        for setting in settings.iter().filter(|setting| **setting != "config") {
            assert_eq!(headed.iter().filter(|headed| *headed == setting).count(), 1, "{setting}");
        }
        for setting in headed.iter().chain(SHORT) {
            assert!(settings.contains(setting), "{setting} is not a setting");
        }
    }
}
