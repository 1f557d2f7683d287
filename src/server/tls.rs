//! TLS for all ports, with certificates that may change while the bridge runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::ServerCertVerifier as _;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use tokio_rustls::rustls::{self, CertificateError, RootCertStore, ServerConfig};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::time::Time;

/// The certificate files, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by those between it and its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Client authorities; if set, a client without a certificate from one of them is refused.
    pub client_ca: Option<PathBuf>,
}

/// Why certificates are unusable. The key is never shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {path}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file lacks the expected content.
    #[error("there is no {what} in {path}; it must be in PEM format", path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The expected content.
        what: &'static str,
    },
    /// The certificate is unusable, or the key does not belong to it.
    #[error("the certificate {path} and its key cannot be used: {source}", path = path.display())]
    Certificate {
        /// The certificate's file.
        path: PathBuf,
        /// The library's error.
        source: rustls::Error,
    },
    /// The client authorities are unusable.
    #[error("the authority of clients {path} cannot be used: {source}", path = path.display())]
    Authority {
        /// The file.
        path: PathBuf,
        /// The library's error.
        source: VerifierBuilderError,
    },
}

impl TlsFiles {
    /// The validity of the file's first certificate: begin and end, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no certificate.
    pub fn validity(&self) -> Result<(i64, i64), TlsError> {
        let path = &self.certificate;
        let missing = || TlsError::Missing {
            path: path.clone(),
            what: "certificate",
        };
        let first = certificates(path)?.into_iter().next().ok_or_else(missing)?;
        let certificate = Certificate::from_der(&first).map_err(|_| missing())?;
        let validity = certificate.tbs_certificate().validity();
        let seconds = |time: Time| i64::try_from(time.to_unix_duration().as_secs()).unwrap_or(i64::MAX);
        Ok((seconds(validity.not_before), seconds(validity.not_after)))
    }

    /// Why every client that verifies certificates refuses this one, whatever authority it trusts and name it uses; `None`:
    /// not every client does.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no certificate.
    pub fn refused_by_clients(&self) -> Result<Option<String>, TlsError> {
        let chain = certificates(&self.certificate)?;
        let Some((first, between)) = chain.split_first() else {
            return Ok(None);
        };
        let mut roots = RootCertStore::empty();
        let _ = roots.add_parsable_certificates(chain.iter().cloned());
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let (Ok(verifier), Ok(name)) = (verifier, ServerName::try_from("localhost")) else {
            return Ok(None);
        };
        let refused = verifier.verify_server_cert(first, between, &name, &[], UnixTime::now()).err();
        Ok(refused.and_then(|error| match &error {
            // Name and authority are the client's to check, and validity is reported separately.
            rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. }
                | CertificateError::UnknownIssuer
                | CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. },
            ) => None,
            error => Some(error.to_string()),
        }))
    }

    pub(super) fn load(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let unusable = |source| TlsError::Certificate {
            path: self.certificate.clone(),
            source,
        };
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|source| TlsError::Certificate {
                        path: path.clone(),
                        source,
                    })?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(verifier.map_err(|source| TlsError::Authority {
                    path: path.clone(),
                    source,
                })?)
            }
        };
        let key = PrivateKeyDer::from_pem_slice(&read(&self.key)?).map_err(|_| TlsError::Missing {
            path: self.key.clone(),
            what: "private key",
        })?;
        let mut config = builder.with_single_cert(certificates(&self.certificate)?, key).map_err(unusable)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    /// When the files were last written; `None` for a missing file.
    fn written(&self) -> Vec<Option<SystemTime>> {
        let files = [Some(&self.certificate), Some(&self.key), self.client_ca.as_ref()];
        let time = |path: &PathBuf| std::fs::metadata(path).and_then(|data| data.modified()).ok();
        files.into_iter().flatten().map(time).collect()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Read {
        path: path.to_owned(),
        source,
    })
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let certificates: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    certificates.ok().filter(|list| !list.is_empty()).ok_or_else(|| TlsError::Missing {
        path: path.to_owned(),
        what: "certificate",
    })
}

/// The certificates in use. Open connections keep those they started with.
#[derive(Debug)]
pub(super) struct Tls(RwLock<InUse>);

#[derive(Debug)]
struct InUse {
    files: TlsFiles,
    written: Vec<Option<SystemTime>>,
    config: Arc<ServerConfig>,
}

impl InUse {
    fn load(files: &TlsFiles) -> Result<Self, TlsError> {
        // Before reading the files, so that a change in between is noticed.
        let written = files.written();
        Ok(Self {
            files: files.clone(),
            written,
            config: files.load()?,
        })
    }
}

impl Tls {
    pub(super) fn load(files: &TlsFiles) -> Result<Self, TlsError> {
        InUse::load(files).map(|in_use| Self(RwLock::new(in_use)))
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let in_use = self.0.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&in_use.config))
    }

    /// Replaces the certificates in use.
    pub(super) fn set(&self, other: Self) {
        let other = other.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = other;
    }

    /// Reloads the files if one has changed. Unusable ones are not applied.
    pub(super) fn refresh(&self) -> Option<Result<(), TlsError>> {
        let files = {
            let mut in_use = self.0.write().unwrap_or_else(PoisonError::into_inner);
            let written = in_use.files.written();
            if written == in_use.written {
                return None;
            }
            // Bad files are reported once, not at every check.
            in_use.written = written;
            in_use.files.clone()
        };
        Some(Self::load(&files).map(|tls| self.set(tls)))
    }
}
