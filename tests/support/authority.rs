//! Certificates for tests.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// An authority, and what it signs.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("a name");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("signed"))
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for the loopback interface, and its key.
    pub(crate) fn sign(&self) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let certificate = CertificateParams::new(names)
            .expect("names")
            .signed_by(&key, &self.0)
            .expect("signed");
        (certificate.pem(), key.serialize_pem())
    }
}
