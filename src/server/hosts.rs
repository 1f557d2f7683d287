//! The host names by which a port may be reached. Any web site can make its name resolve to this machine, and a browser then
//! treats our responses as those of the site (DNS rebinding). Only the host name in the request shows the difference.

use std::net::Ipv6Addr;

use hyper::Request;
use hyper::header::HOST;

use crate::receiver::Rejection;

/// The names by which a loopback port may be reached.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts {
    /// In addition to `localhost` and the addresses.
    allowed: Vec<String>,
}

impl Hosts {
    pub(super) fn new(allowed: &[String]) -> Self {
        let allowed = allowed.iter().map(|name| name.trim_end_matches('.').to_ascii_lowercase());
        Self {
            allowed: allowed.collect(),
        }
    }

    /// Checks that a request names this machine. A request without a host does not come from a browser.
    pub(super) fn check<B>(&self, request: &Request<B>) -> Result<(), Rejection> {
        let authority = request.uri().authority().map(|authority| authority.as_str().as_bytes());
        let headers = request.headers().get_all(HOST).iter().map(|value| value.as_bytes());
        for named in authority.into_iter().chain(headers) {
            let named = String::from_utf8_lossy(named);
            if !self.is_ours(&named) {
                return Err(Rejection::Host {
                    host: named.chars().take(100).collect(),
                });
            }
        }
        Ok(())
    }

    fn is_ours(&self, named: &str) -> bool {
        let named = named.rsplit_once('@').map_or(named, |(_, host)| host);
        if let Some(rest) = named.strip_prefix('[') {
            let Some((address, port)) = rest.split_once(']') else {
                return false;
            };
            let loopback = |address: Ipv6Addr| address.to_canonical().is_loopback();
            return is_port(port) && address.parse().is_ok_and(loopback);
        }
        let (name, port) = named.find(':').map_or((named, ""), |colon| named.split_at(colon));
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_loopback = name.parse().is_ok_and(|address: std::net::Ipv4Addr| address.is_loopback());
        // Every name below localhost is this machine (RFC 6761, 6.3).
        let is_local = name == "localhost" || name.ends_with(".localhost");
        is_port(port) && (is_loopback || is_local || self.allowed.contains(&name))
    }
}

/// Whether the text is empty, or a colon and digits.
fn is_port(text: &str) -> bool {
    text.is_empty()
        || text
            .strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine() {
        let hosts = Hosts::new(&["Bridge.Example.".to_owned(), "10.0.0.7".to_owned()]);
        for ours in [
            "localhost",
            "LOCALHOST:4319",
            "localhost.:4319",
            "a.localhost:1",
            "127.0.0.1",
            "127.9.9.9:80",
            "[::1]:4319",
            "[::1]",
            "[::ffff:127.0.0.1]:1",
            "bridge.example:4318",
            "10.0.0.7:4318",
        ] {
            assert!(hosts.is_ours(ours), "{ours}");
        }
        for other in [
            "",
            ":4319",
            "evil.example:4319",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1:80:80",
            "localhost:4319@evil.example",
            "128.0.0.1",
            "0.0.0.0:4319",
            "[::1",
            "[::2]:1",
            "[::1]x",
            "bridge.example.org",
            "2130706433",
        ] {
            assert!(!hosts.is_ours(other), "{other}");
        }
    }
}
