//! Plain and TLS connections.

use std::path::Path;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use crate::forward::destination::Destination;
use crate::forward::error::ConfigError;
use crate::forward::settings::TlsText;

pub(super) fn connector(destination: &Destination, config: ClientConfig) -> HttpsConnector<HttpConnector> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(destination.timeout));
    let builder = HttpsConnectorBuilder::new().with_tls_config(config);
    builder.https_or_http().enable_http1().enable_http2().wrap_connector(connector)
}

fn authorities(path: &Path) -> Result<RootCertStore, ConfigError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| unusable("the authority", path, &error))?;
    }
    Ok(roots)
}

pub(super) fn config(tls: &TlsText) -> Result<ClientConfig, ConfigError> {
    let roots = match &tls.ca {
        None => RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        },
        Some(path) => authorities(path)?,
    };
    let builder = ClientConfig::builder_with_provider(std::sync::Arc::new(ring::default_provider()));
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable("the TLS settings", Path::new(""), &error))?
        .with_root_certificates(roots);
    match (&tls.certificate, &tls.key) {
        (None, None) => Ok(builder.with_no_client_auth()),
        (Some(certificate), Some(key)) => {
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable("no private key", key, &error))?;
            let chain = certificates(certificate)?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error: rustls::Error| unusable("the certificate", certificate, &error))
        }
        (certificate, key) => {
            let path = certificate.as_ref().or(key.as_ref()).map_or(Path::new(""), |path| path);
            Err(unusable(
                "a certificate needs its key, and a key its certificate;",
                path,
                &"set both `certificate` and `key`",
            ))
        }
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(list) if !list.is_empty() => Ok(list),
        Ok(_) => Err(unusable("no certificate", path, &"it must be in PEM format")),
        Err(error) => Err(unusable("no certificate", path, &error)),
    }
}

fn unusable(what: &'static str, path: &Path, reason: &dyn std::fmt::Display) -> ConfigError {
    ConfigError::Tls {
        what,
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}
