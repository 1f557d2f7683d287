//! Whether the scheme of a destination's URL matches its port.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};

use crate::forward::destination::Destination;

/// Reported for `https://` if the port does not use TLS.
pub(super) const HAS_NO_TLS: &str = "the server speaks plain HTTP on this port; write http:// in the URL";
/// Reported for `http://` if the port uses TLS.
pub(super) const HAS_TLS: &str = "the server speaks TLS on this port; write https:// in the URL";

/// How long a server may take for a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether an error means that the server answered a TLS handshake with something other than TLS.
pub(super) fn is_no_tls(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(rustls::Error::InvalidMessage(_)) = error.downcast_ref() {
            return true;
        }
        // `io::Error::source` skips the inner error itself.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    false
}

/// Whether a destination's port uses TLS, tested by a handshake: to a plain request some servers answer with an alert, some
/// with an HTTP page, and some not at all.
pub(super) async fn speaks_tls(destination: &Destination, config: &Arc<ClientConfig>) -> bool {
    let host = destination.uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let Ok(name) = ServerName::try_from(host.to_owned()) else {
        return false;
    };
    let port = destination.uri.port_u16().unwrap_or(80);
    let handshake = async {
        let stream = TcpStream::connect((host, port)).await?;
        TlsConnector::from(Arc::clone(config)).connect(name, stream).await
    };
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake).await {
        Ok(Ok(_)) => true,
        // The server took part in the handshake, even if it failed.
        Ok(Err(error)) => error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) && !is_no_tls(&error),
        Err(_) => false,
    }
}
