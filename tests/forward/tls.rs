//! Destinations that speak TLS.

use std::fs;
use std::path::{Path, PathBuf};

use spanbridge::forward::{DestinationText, Protocol, TlsText};
use spanbridge::server::{Config, TlsFiles};

use super::support::{Bridge, spans, to, until};

#[path = "../support/authority.rs"]
mod authority;
use authority::Authority;

/// Writes a certificate of this authority and its key.
fn signed(authority: &Authority, folder: &Path, name: &str) -> (PathBuf, PathBuf) {
    let (certificate, key) = authority.sign();
    let [certificate_file, key_file] = ["certificate", "key"].map(|what| folder.join(format!("{name}-{what}.pem")));
    fs::write(&certificate_file, certificate).unwrap();
    fs::write(&key_file, key).unwrap();
    (certificate_file, key_file)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_authority_and_a_client_certificate_are_used() {
    let [files, first, second] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let authority = Authority::new("a test");
    let ca = files.path().join("ca.pem");
    fs::write(&ca, authority.pem()).unwrap();
    let (certificate, key) = signed(&authority, files.path(), "server");
    let mut config = Config::new(second.path());
    config.security.tls = Some(TlsFiles {
        certificate,
        key,
        client_ca: Some(ca.clone()),
    });
    let destination = Bridge::with(&config).await;
    let (certificate, key) = signed(&authority, files.path(), "client");
    for (trace, protocol) in [(0, Protocol::Grpc), (1, Protocol::HttpProtobuf)] {
        let address = match protocol {
            Protocol::Grpc => destination.addresses.grpc,
            _ => destination.addresses.http,
        };
        let with = |tls: TlsText, name: &str| DestinationText {
            name: Some(name.to_owned()),
            protocol: Some(protocol),
            tls: Some(tls),
            ..to(&format!("https://localhost:{}", address.port()))
        };
        let known = TlsText {
            ca: Some(ca.clone()),
            certificate: Some(certificate.clone()),
            key: Some(key.clone()),
        };
        let nobody = TlsText {
            certificate: None,
            key: None,
            ..known.clone()
        };
        let destinations = [with(known, "known"), with(nobody, "nobody"), with(TlsText::default(), "stranger")];
        let bridge = Bridge::start(first.path(), &destinations).await;
        bridge.send_spans(&spans(trace, 0..3)).await;
        until("it is sent", || async {
            bridge.metric("otelcol_exporter_sent_spans", "known").await >= 3
        })
        .await;
        for name in ["nobody", "stranger"] {
            until("it is tried", || async {
                bridge.metric("spanbridge_forward_retries_total", name).await > 0
            })
            .await;
            assert_eq!(bridge.metric("otelcol_exporter_sent_spans", name).await, 0, "{name}, {protocol:?}");
        }
        bridge.stop().await;
    }
    destination.stop().await;
}
