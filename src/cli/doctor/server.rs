//! The ports: what responds on them, and whether it is a bridge of this version that accepts spans.

use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use super::finding::Findings;
use super::processes::{self, Process};
use crate::cli::source::problem;
use crate::server::Config;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether the ports are free, or belong to the bridge that uses the data directory.
pub(super) fn ports(config: &Config, holder: Option<&Process>, found: &mut Findings) {
    for (address, flag, usual) in [
        (&config.grpc, "--otlp-grpc", 4_317),
        (&config.http, "--otlp-http", 4_318),
        (&config.api, "--http", 4_319),
    ] {
        let other = free(usual);
        let Ok(resolved) = address.to_socket_addrs() else {
            let what = format!("{address} ({flag}) is not an address of this machine, or its name cannot be resolved");
            found.wrong(what, "serve does not start", format!("{flag} 127.0.0.1:{other}"));
            continue;
        };
        let resolved: Vec<_> = resolved.collect();
        if resolved.iter().all(|address| address.port() == 0) {
            found.ok(format!("{flag}: the system picks a port"));
            continue;
        }
        let taken = resolved
            .iter()
            .any(|address| TcpStream::connect_timeout(address, REQUEST_TIMEOUT).is_ok());
        let listener = resolved
            .first()
            .filter(|_| taken)
            .and_then(|address| processes::listener(address.port()));
        match (taken, &listener, holder) {
            (false, _, None) => found.ok(format!("{address} ({flag}) is free")),
            (false, _, Some(process)) => found.warning(
                format!("{process} is running, but nothing listens on {address} ({flag})"),
                "it was started with other addresses, so exporters that are configured for this one cannot connect",
                "run spanbridge doctor with the flags or the --config of that server",
            ),
            (true, Some(listener), Some(holder)) if listener == holder => found.ok(format!("{address} ({flag}): {listener}")),
            // Without its rights we cannot tell whose port it is.
            (true, None, Some(_)) => found.ok(format!("{address} ({flag}) is in use, probably by the server")),
            (true, listener, _) => {
                let who = listener
                    .as_ref()
                    .map_or_else(|| "another user's process".to_owned(), ToString::to_string);
                found.wrong(
                    format!("{address} ({flag}) is in use by {who}"),
                    "serve cannot listen on it (Jaeger, Phoenix and the Collector use 4317 and 4318 too); spans sent there go to that program",
                    format!("stop it, or: spanbridge serve {flag} 127.0.0.1:{other}"),
                );
            }
        }
    }
}

/// A free port that ends like the usual one.
fn free(usual: u16) -> u16 {
    let candidates = (1..6).map(|thousands| usual + thousands * 10_000);
    let mut free = candidates.clone().filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().or_else(|| candidates.clone().next()).unwrap_or(usual)
}

/// Whether a bridge responds there, its version, and whether it accepts spans.
pub(super) fn answers(url: &str, certificates: bool, found: &mut Findings) {
    let url = url.trim_end_matches('/');
    // Neither a token nor a span is sent, so the certificate need not be verified.
    let tls = ureq::tls::TlsConfig::builder().disable_verification(true).build();
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(REQUEST_TIMEOUT))
        .proxy(None)
        .tls_config(tls)
        .build()
        .into();
    let get = |path: &str| {
        let mut response = agent.get(format!("{url}{path}")).call()?;
        Ok::<_, ureq::Error>((response.status().as_u16(), response.body_mut().read_to_string()?))
    };
    let front = match get("/") {
        Ok((_, front)) => front,
        Err(error) if certificates => {
            let mend = format!("curl --cert FILE --key FILE --cacert FILE {url}/readyz");
            let why = "it may be fine: it requires client certificates, and doctor has none";
            return found.warning(format!("{url}: {error}"), why, mend);
        }
        Err(error) => {
            let mend = "run spanbridge serve, or read its log (journalctl -u spanbridge)";
            return found.wrong(format!("{url}: {error}"), "ls, show and export --server cannot connect", mend);
        }
    };
    let Some(version) = front.strip_prefix("spanbridge ").and_then(|rest| rest.split_whitespace().next()) else {
        let mend = "set --server or SPANBRIDGE_SERVER to the URL of the server";
        return found.wrong(
            format!("{url} responds, but is not spanbridge"),
            "ls, show and export use this URL",
            mend,
        );
    };
    let ours = env!("CARGO_PKG_VERSION");
    if version == ours {
        found.ok(format!("{url} is spanbridge {version}"));
    } else {
        found.warning(
            format!("{url} is spanbridge {version}, this program is {ours}"),
            "the two may write different documents",
            "install the same version, and restart the server",
        );
    }
    match get("/readyz") {
        Ok((200, _)) => found.ok("it takes spans"),
        Ok((_, body)) => {
            found.wrong(
                format!("it is not ready: {}", problem(body.as_bytes())),
                "spans are rejected; exporters retry for a while, then drop them",
                "free disk space, or check the disk and restart the server (docs: operating, failure modes)",
            );
        }
        Err(error) => found.wrong(
            format!("{url}/readyz: {error}"),
            "it is not known whether the server accepts spans",
            "try again",
        ),
    }
}
