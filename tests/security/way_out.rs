//! Errors say what to do: the wrong scheme in a URL, certificates, a port that is taken, a token without the right.

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

use super::serving::{Serving, run, text};
use super::tls::{Authority, TLS, directory_with};

/// What `ls` says on standard error, and that it fails.
fn ls(url: &str, more: &[&str]) -> String {
    let output = run(&[&["ls", "--server", url], more].concat(), &[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    text(&output.stderr)
}

#[test]
fn the_wrong_scheme_or_port_is_told() {
    let secure = Serving::start_in(directory_with(&Authority::new("servers")), TLS);
    let said = ls(&format!("http://{}", secure.api), &[]);
    assert!(said.contains("speaks TLS on this port; write https://"), "{said}");
    let said = ls(&format!("https://{}", secure.api), &[]);
    assert!(
        said.contains("authority that this machine does not trust") && said.contains("--ca FILE"),
        "{said}"
    );
    let plain = Serving::start("");
    let said = ls(&format!("https://{}", plain.api), &[]);
    assert!(said.contains("speaks plain HTTP on this port; write http://"), "{said}");
    let said = ls(&format!("http://{}", plain.http), &[]);
    assert!(said.contains("receives OTLP on this port; its API is on another"), "{said}");
}

#[test]
fn a_certificate_of_an_authority_is_told_in_words() {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).expect("signed").pem();
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("cert.pem"), &certificate).expect("written");
    fs::write(directory.path().join("key.pem"), key.serialize_pem()).expect("written");
    let bridge = Serving::start_in(directory, TLS);
    let ca = bridge.path("cert.pem");
    let said = ls(&format!("https://{}", bridge.api), &["--ca", ca.to_str().expect("text")]);
    assert!(said.contains("CA:TRUE") && said.contains("CA:FALSE"), "{said}");
}

#[test]
fn a_port_of_another_spanbridge_is_said_to_be_so() {
    let bridge = Serving::start("");
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().to_str().expect("text");
    let serve = |flag: &str, address: &str| {
        let mut arguments = vec!["serve", "--data-dir", data];
        for (name, port) in [
            ("--otlp-grpc", "127.0.0.1:0"),
            ("--otlp-http", "127.0.0.1:0"),
            ("--http", "127.0.0.1:0"),
        ] {
            arguments.extend([name, if name == flag { address } else { port }]);
        }
        let output = run(&arguments, &[]);
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };
    for (flag, address) in [("--otlp-grpc", bridge.grpc), ("--otlp-http", bridge.http), ("--http", bridge.api)] {
        let said = serve(flag, &address.to_string());
        assert!(said.contains("another spanbridge listens on") && said.contains(flag), "{said}");
    }
    let said = serve("--http", &stranger.local_addr().expect("bound").to_string());
    assert!(said.contains("in use by another program"), "{said}");
}

#[test]
fn a_token_that_cannot_read_is_told_when_it_is_made() {
    let made = run(&["token", "new", "--name", "agents"], &[]);
    assert!(text(&made.stderr).contains("--right read"), "{}", text(&made.stderr));
    let made = run(&["token", "new", "--name", "agents", "--right", "read"], &[]);
    assert!(!text(&made.stderr).contains("cannot read"), "{}", text(&made.stderr));
}
