//! The files of `OTEL_EXPORTER_OTLP_CERTIFICATE`, `..._CLIENT_CERTIFICATE` and `..._CLIENT_KEY`.

use std::path::{Path, PathBuf};

use super::env::Env;
use super::error::InitError;

/// A PEM file.
pub(super) struct Pem {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

impl Pem {
    fn read(path: String) -> Result<Self, InitError> {
        let path = PathBuf::from(path);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Self { path, bytes }),
            Err(source) => Err(bad(&path, source)),
        }
    }
}

/// The error for a file that is not a valid certificate or key.
pub(super) fn bad(path: &Path, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> InitError {
    InitError::Certificate {
        path: path.to_owned(),
        source: source.into(),
    }
}

/// The TLS settings in the environment.
pub(super) struct Tls {
    /// The only trusted certificate authorities, if set.
    pub(super) authorities: Option<Pem>,
    /// The client's certificates and key.
    pub(super) client: Option<(Pem, Pem)>,
}

impl Tls {
    pub(super) fn of(env: &Env) -> Result<Self, InitError> {
        let file = |name: &str| {
            let names = [format!("OTEL_EXPORTER_OTLP_TRACES_{name}"), format!("OTEL_EXPORTER_OTLP_{name}")];
            names.iter().find_map(|name| env.text(name)).map(Pem::read).transpose()
        };
        let client = match (file("CLIENT_CERTIFICATE")?, file("CLIENT_KEY")?) {
            (Some(chain), Some(key)) => Some((chain, key)),
            (None, None) => None,
            (Some(one), None) | (None, Some(one)) => {
                let why = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY need each other";
                return Err(bad(&one.path, why));
            }
        };
        Ok(Self {
            authorities: file("CERTIFICATE")?,
            client,
        })
    }
}
