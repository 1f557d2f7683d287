//! OTLP over TLS into the real `spanbridge serve`, behind a proxy that ends TLS: own authorities, client certificates, and
//! the variables of the traces' signal before those of all signals.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test")]

#[path = "layer_support/harness.rs"]
mod harness;
#[path = "support/serving.rs"]
mod serving;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serving::{Serving, spanbridge};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tracing::info_span;

#[cfg(not(feature = "layer-grpc"))]
const PROTOCOLS: [&str; 2] = ["http/protobuf", "http/json"];
#[cfg(feature = "layer-grpc")]
const PROTOCOLS: [&str; 3] = ["http/protobuf", "http/json", "grpc"];

fn one_span() {
    let _guard = spanbridge::init().unwrap();
    drop(info_span!("call", step_type = "llm_call", model = "m"));
}

/// The Layer says why it cannot be set up.
fn cannot_start() {
    let error = spanbridge::init().expect_err("no certificate");
    assert!(error.to_string().contains("cannot read a certificate or key"), "{error}");
}

/// An authority, a server's and a client's certificate from it, and another authority, as files.
struct Certificates {
    folder: TempDir,
    server: Arc<ServerConfig>,
    server_of_known_clients: Arc<ServerConfig>,
}

impl Certificates {
    fn made() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let authority = || {
            let mut params = CertificateParams::default();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
        };
        let (trusted, other) = (authority(), authority());
        write("trusted.pem", &trusted.pem());
        write("other.pem", &other.pem());
        let of = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
            (params.signed_by(&key, &trusted).unwrap(), key)
        };
        let (client, client_key) = of("client");
        write("client.pem", &client.pem());
        write("client.key", &client_key.serialize_pem());
        let (server, server_key) = of("127.0.0.1");
        let mut roots = RootCertStore::empty();
        roots.add(trusted.der().clone()).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let known = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let known = known.build().unwrap();
        let config = |verifier| {
            let key = PrivateKeyDer::try_from(server_key.serialize_der()).unwrap();
            let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
            let builder = builder.unwrap().with_client_cert_verifier(verifier);
            let mut config = builder.with_single_cert(vec![server.der().clone()], key).unwrap();
            config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            Arc::new(config)
        };
        Self {
            server: config(WebPkiClientVerifier::no_client_auth()),
            server_of_known_clients: config(known),
            folder,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Ends TLS in front of an address `http://host:port`; gives the address that it listens at.
async fn proxy(config: &Arc<ServerConfig>, behind: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    let (acceptor, behind) = (TlsAcceptor::from(Arc::clone(config)), behind.replace("http://", ""));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            tokio::spawn(async move {
                let mut outside = acceptor.accept(stream).await?;
                let mut inside = TcpStream::connect(behind).await?;
                tokio::io::copy_bidirectional(&mut outside, &mut inside).await
            });
        }
    });
    address
}

/// How many spans the server has.
fn spans_of(serving: &Serving) -> u64 {
    let listed = spanbridge(&["ls", "--json", "--server", &serving.api]);
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let lines = String::from_utf8(listed.stdout).unwrap();
    let runs = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    runs.map(|run| run.get("spans").and_then(serde_json::Value::as_u64).unwrap()).sum()
}

/// Sends one span over each protocol with these files; how many arrive.
fn arrive(known_clients_only: bool, files: &[(&str, &str)]) -> u64 {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let certificates = Certificates::made();
    let config = if known_clients_only {
        &certificates.server_of_known_clients
    } else {
        &certificates.server
    };
    let data = tempfile::tempdir().unwrap();
    let serving = Serving::start(data.path());
    for protocol in PROTOCOLS {
        let behind = if protocol == "grpc" { &serving.grpc } else { &serving.http };
        let endpoint = runtime.block_on(proxy(config, behind));
        let paths: Vec<PathBuf> = files.iter().map(|(_, name)| certificates.path(name)).collect();
        let mut variables = vec![
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2000"),
        ];
        let named = files.iter().zip(&paths).map(|((name, _), path)| (*name, path.to_str().unwrap()));
        variables.extend(named);
        harness::run("one_span", &variables);
    }
    let spans = spans_of(&serving);
    serving.stop();
    spans
}

fn an_own_authority_is_trusted() {
    assert_eq!(
        arrive(false, &[("OTEL_EXPORTER_OTLP_CERTIFICATE", "trusted.pem")]),
        PROTOCOLS.len() as u64
    );
}

fn an_unknown_authority_is_not() {
    assert_eq!(arrive(false, &[]), 0);
    assert_eq!(arrive(false, &[("OTEL_EXPORTER_OTLP_CERTIFICATE", "other.pem")]), 0);
}

fn a_client_certificate_is_shown() {
    let files = [
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "trusted.pem"),
        ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "client.pem"),
        ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "client.key"),
    ];
    assert_eq!(arrive(true, &files), PROTOCOLS.len() as u64);
    assert_eq!(arrive(true, &files[..1]), 0);
}

fn the_variables_of_traces_go_before() {
    let files = [
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "other.pem"),
        ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "trusted.pem"),
        ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "other.pem"),
        ("OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE", "client.pem"),
        ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "none"),
        ("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "client.key"),
    ];
    assert_eq!(arrive(true, &files), PROTOCOLS.len() as u64);
}

fn files_that_are_no_certificates_are_errors() {
    let certificates = Certificates::made();
    let path = |name: &str| certificates.path(name).to_str().unwrap().to_owned();
    let (key, chain, none) = (path("client.key"), path("client.pem"), path("none.pem"));
    assert!(!Path::new(&none).exists());
    harness::run("cannot_start", &[("OTEL_EXPORTER_OTLP_CERTIFICATE", &none)]);
    harness::run("cannot_start", &[("OTEL_EXPORTER_OTLP_CERTIFICATE", &key)]);
    harness::run("cannot_start", &[("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", &chain)]);
    let swapped = [
        ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", key.as_str()),
        ("OTEL_EXPORTER_OTLP_CLIENT_KEY", &chain),
    ];
    harness::run("cannot_start", &swapped);
}

#[cfg(feature = "layer-grpc")]
fn without_a_scheme_grpc_is_insecure_if_told_so() {
    let data = tempfile::tempdir().unwrap();
    let serving = Serving::start(data.path());
    let bare = serving.grpc.replace("http://", "");
    for (name, told, wanted) in [
        ("OTEL_EXPORTER_OTLP_INSECURE", "true", 1),
        ("OTEL_EXPORTER_OTLP_TRACES_INSECURE", "true", 2),
        ("OTEL_EXPORTER_OTLP_INSECURE", "false", 2),
    ] {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", bare.as_str()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2000"),
            (name, told),
        ];
        harness::run("one_span", &variables);
        assert_eq!(spans_of(&serving), wanted, "{name}={told}");
    }
    serving.stop();
}

fn main() -> ExitCode {
    harness::main(
        named![one_span, cannot_start],
        named![
            an_own_authority_is_trusted,
            an_unknown_authority_is_not,
            a_client_certificate_is_shown,
            the_variables_of_traces_go_before,
            files_that_are_no_certificates_are_errors,
            #[cfg(feature = "layer-grpc")]
            without_a_scheme_grpc_is_insecure_if_told_so,
        ],
    )
}
