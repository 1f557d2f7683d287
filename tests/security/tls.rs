//! TLS for gRPC, HTTP and the API; certificates of clients.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use prost::Message as _;
use spanbridge::otlp::encode;
use std::fs;
use std::io::Read as _;
use std::net::TcpStream;
use std::time::Duration;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use super::serving::{Answer, Serving, agent, answer, run, span, text, trace_id};

pub(crate) use crate::authority::Authority;

pub(crate) const TLS: &str = "tls_certificate = \"cert.pem\"\ntls_key = \"key.pem\"\n";
const CLIENTS: &str = "tls_client_ca = \"clients.pem\"\n";

pub(crate) fn directory_with(authority: &Authority) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    put(&directory, authority);
    directory
}

pub(crate) fn put(directory: &tempfile::TempDir, authority: &Authority) {
    let (certificate, key) = authority.sign();
    fs::write(directory.path().join("cert.pem"), certificate).expect("written");
    fs::write(directory.path().join("key.pem"), key).expect("written");
}

/// Sends a span over TLS; `Err`: no connection came about.
pub(crate) fn send(bridge: &Serving, agent: &ureq::Agent) -> Result<Answer, ureq::Error> {
    let request = agent.post(format!("https://{}/v1/traces", bridge.http));
    let body = encode::traces(&[span(1, "over HTTP")]);
    request.header("content-type", "application/x-protobuf").send(body).map(answer)
}

async fn grpc(bridge: &Serving, tls: ClientTlsConfig) -> Result<(), tonic::Status> {
    let endpoint = Endpoint::from_shared(format!("https://{}", bridge.grpc)).expect("a URL");
    let channel = endpoint.tls_config(tls.domain_name("localhost")).expect("TLS").connect_lazy();
    let request = ExportTraceServiceRequest::decode(encode::traces(&[span(2, "over gRPC")]).as_slice()).expect("a request");
    TraceServiceClient::new(channel).export(request).await.map(|_| ())
}

#[tokio::test(flavor = "multi_thread")]
async fn all_ports_speak_tls_and_nothing_else() {
    let authority = Authority::new("servers");
    let bridge = Serving::start_in(directory_with(&authority), TLS);
    assert_eq!(bridge.scheme, "https");
    let known = agent(Some(&authority.pem()), None);
    assert_eq!(send(&bridge, &known).expect("a connection").status, 200);
    let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority.pem()));
    grpc(&bridge, tls).await.expect("taken");
    let listed = answer(
        known
            .get(format!("https://{}/api/v1/traces", bridge.api))
            .call()
            .expect("an answer"),
    );
    assert_eq!(listed.json()["traces"].as_array().expect("a list").len(), 2);

    // Our own commands.
    let ca = bridge.path("ca.pem");
    fs::write(&ca, authority.pem()).expect("written");
    let url = format!("https://{}", bridge.api);
    let ls = run(&["ls", "--json", "--server", &url, "--ca", ca.to_str().expect("text")], &[]);
    assert!(text(&ls.stdout).contains(&trace_id(2).to_string()), "{}", text(&ls.stderr));

    // Without TLS each port says only that.
    for port in [bridge.api, bridge.http, bridge.grpc] {
        let refused = answer(agent(None, None).get(format!("http://{port}/healthz")).call().expect("an answer"));
        assert_eq!(refused.status, 400);
        assert_eq!(refused.text(), "this port speaks TLS; write https:// in the URL\n");
    }
    let stranger = agent(Some(&Authority::new("others").pem()), None);
    assert!(
        send(&bridge, &stranger).is_err(),
        "a client trusted an authority that it does not know"
    );
    bridge.wait_for("reason=\"tls\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_a_certificate_is_refused() {
    let (servers, clients, others) = (Authority::new("servers"), Authority::new("clients"), Authority::new("others"));
    let directory = directory_with(&servers);
    fs::write(directory.path().join("clients.pem"), clients.pem()).expect("written");
    // Certificates are enough to listen anywhere.
    let bridge = Serving::start_in(directory, &format!("{TLS}{CLIENTS}otlp_http = \"0.0.0.0:0\"\n"));
    let pem = servers.pem();
    let (certificate, key) = clients.sign();
    let known = send(&bridge, &agent(Some(&pem), Some((&certificate, &key))));
    assert_eq!(known.expect("a connection").status, 200);
    assert!(send(&bridge, &agent(Some(&pem), None)).is_err(), "no certificate");
    let (other, other_key) = others.sign();
    assert!(
        send(&bridge, &agent(Some(&pem), Some((&other, &other_key)))).is_err(),
        "one of others"
    );

    let tls = || ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&pem));
    grpc(&bridge, tls().identity(Identity::from_pem(&certificate, &key)))
        .await
        .expect("taken");
    assert!(grpc(&bridge, tls()).await.is_err(), "no certificate");
    assert!(grpc(&bridge, tls().identity(Identity::from_pem(&other, &other_key))).await.is_err());
    let health = agent(Some(&pem), None).get(format!("https://{}/healthz", bridge.api)).call();
    assert!(health.is_err(), "the API asks too");
}

#[test]
fn certificates_that_cannot_be_used_are_told_at_the_start() {
    let (one, other) = (Authority::new("one"), Authority::new("other"));
    let directory = directory_with(&one);
    let path = |name: &str| directory.path().join(name).to_str().expect("text").to_owned();
    let (certificate, key, data) = (path("cert.pem"), path("key.pem"), path("data"));
    fs::write(path("other.pem"), other.sign().1).expect("written");
    let refused = |certificate: &str, key: &str| {
        let arguments = ["serve", "--data-dir", &data, "--tls-certificate", certificate, "--tls-key", key];
        let output = run(&arguments, &[]);
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr).trim().to_owned()
    };
    let missing = path("missing.pem");
    assert!(refused(&missing, &key).starts_with(&format!("spanbridge: cannot read {missing}: No such file")));
    assert_eq!(
        refused(&key, &key),
        format!("spanbridge: there is no certificate in {key}; it must be in PEM format")
    );
    assert_eq!(
        refused(&certificate, &certificate),
        format!("spanbridge: there is no private key in {certificate}; it must be in PEM format")
    );
    let foreign = refused(&certificate, &path("other.pem"));
    assert!(
        foreign.starts_with(&format!("spanbridge: the certificate {certificate} and its key cannot be used: ")),
        "{foreign}"
    );
}

#[test]
fn a_handshake_that_does_not_come_is_not_waited_for() {
    let authority = Authority::new("servers");
    let bridge = Serving::start_in(directory_with(&authority), &format!("{TLS}header_timeout_seconds = 1\n"));
    let mut silent = TcpStream::connect(bridge.http).expect("connects");
    silent.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket");
    assert_eq!(silent.read(&mut [0]).expect("closed"), 0);
    bridge.wait_for("reason=\"slow_head\"");
}
