//! Destinations that speak TLS.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use spanbridge::forward::{DestinationText, Protocol, TlsText};
use spanbridge::otlp::encode;
use spanbridge::server::{Config, TlsFiles};

use super::support::{Bridge, spans, to, until};

use crate::authority::Authority;

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

/// `send` does not try again what cannot be sent, and says what to write.
#[tokio::test(flavor = "multi_thread")]
async fn send_stops_at_once_where_the_scheme_is_wrong() {
    let [files, first, second] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let (certificate, key) = signed(&Authority::new("a test"), files.path(), "server");
    let mut config = Config::new(first.path());
    config.security.tls = Some(TlsFiles {
        certificate,
        key,
        client_ca: None,
    });
    let (secure, plain) = (Bridge::with(&config).await, Bridge::start(second.path(), &[]).await);
    let file = files.path().join("spans.bin");
    fs::write(&file, encode::traces(&spans(0, 0..3))).unwrap();
    let [to_https, to_http] = [
        "the server speaks TLS on this port; write https:// in the URL",
        "the server speaks plain HTTP on this port; write http:// in the URL",
    ];
    for (scheme, bridge, expected) in [("http", &secure, to_https), ("https", &plain, to_http)] {
        for (protocol, port) in [
            ("http/protobuf", bridge.addresses.http.port()),
            ("http/json", bridge.addresses.http.port()),
            ("grpc", bridge.addresses.grpc.port()),
        ] {
            let begin = Instant::now();
            let output = Command::new(env!("CARGO_BIN_EXE_spanbridge"))
                .args(["send", "--to", &format!("{scheme}://localhost:{port}"), "--protocol", protocol])
                .arg(&file)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.code() == Some(1) && said.contains(expected),
                "{scheme}, {protocol}: {said}"
            );
            assert_eq!(said.matches("in the URL").count(), 1, "{said}");
            assert!(begin.elapsed() < Duration::from_secs(30), "{scheme}, {protocol}: {said}");
        }
    }
    secure.stop().await;
    plain.stop().await;
}
