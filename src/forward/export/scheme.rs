//! Whether the scheme of a destination's URL fits its port.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};

use crate::forward::destination::Destination;

/// What is wrong with `https://` where the port has no TLS.
pub(super) const HAS_NO_TLS: &str = "the server speaks plain HTTP on this port; write http:// in the URL";
/// What is wrong with `http://` where the port has TLS.
pub(super) const HAS_TLS: &str = "the server speaks TLS on this port; write https:// in the URL";

/// How long a server has to answer a TLS handshake.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether an error means that the server answered a TLS handshake with bytes that are not TLS.
pub(super) fn is_no_tls(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(rustls::Error::InvalidMessage(_)) = error.downcast_ref() {
            return true;
        }
        // The source of an `io::Error` is the source of the error in it.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    false
}

/// Whether the port of a destination speaks TLS: asked by a handshake, because to a plain request some servers answer an alert, some a
/// page in HTTP and some nothing.
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
    match tokio::time::timeout(PATIENCE, handshake).await {
        Ok(Ok(_)) => true,
        // The server took part in the handshake, whatever it or we did not like about it.
        Ok(Err(error)) => error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) && !is_no_tls(&error),
        Err(_) => false,
    }
}
