//! Tokens, their rights, their projects; and that no secret is told to anyone.

use std::net::SocketAddr;

use base64::Engine as _;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use prost::Message as _;
use spanbridge::otlp::encode;
use tonic::{Code, Request};

use super::serving::{Serving, bearer, files, holds, run, span, text, token, trace_id};

const PROTOBUF: &str = "application/x-protobuf";
const NO_TOKEN: &str = "this request needs a token: send the header `authorization: Bearer TOKEN`";
const UNKNOWN: &str = "the token is unknown";

/// Code and message of a `google.rpc.Status`.
#[derive(Clone, PartialEq, prost::Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

async fn grpc(address: SocketAddr, trace: u8, authorization: Option<&str>) -> Result<(), tonic::Status> {
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{address}")).expect("a URL");
    let mut client = TraceServiceClient::new(endpoint.connect().await.expect("connects"));
    let body = encode::traces(&[span(trace, "over gRPC")]);
    let mut request = Request::new(ExportTraceServiceRequest::decode(body.as_slice()).expect("a request"));
    if let Some(value) = authorization {
        request.metadata_mut().insert("authorization", value.parse().expect("text"));
    }
    client.export(request).await.map(|_| ())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_the_right_is_refused_in_the_form_of_its_protocol() {
    let ingest = token("agents", &["ingest"], "acme/web");
    let read = token("people", &["read"], "acme/web");
    let bridge = Serving::start(&format!("{}{}", ingest.config, read.config));
    let (good, wrong, unknown) = (bearer(&ingest.token), bearer(&read.token), bearer("spanbridge_5481"));
    let no_right = "the token `people` lacks the right `ingest`";
    let realm = "Bearer realm=\"spanbridge\"";
    for (value, status, code, message, challenge) in [
        (None, 401, Code::Unauthenticated, NO_TOKEN, realm.to_owned()),
        (Some("Basic YTpi"), 401, Code::Unauthenticated, NO_TOKEN, realm.to_owned()),
        (
            Some(unknown.as_str()),
            401,
            Code::Unauthenticated,
            UNKNOWN,
            format!("{realm}, error=\"invalid_token\""),
        ),
        (
            Some(wrong.as_str()),
            403,
            Code::PermissionDenied,
            no_right,
            format!("{realm}, error=\"insufficient_scope\""),
        ),
    ] {
        let authorization = value.map(|value| ("authorization", value));
        let headers = |content_type| {
            [("content-type", content_type)]
                .into_iter()
                .chain(authorization)
                .collect::<Vec<_>>()
        };
        let answer = bridge.post("/v1/traces", &headers(PROTOBUF), &encode::traces(&[span(1, "a")]));
        assert_eq!((answer.status, answer.header("www-authenticate")), (status, challenge.as_str()));
        assert_eq!(answer.header("content-type"), PROTOBUF);
        let told = Status::decode(answer.body.as_slice()).expect("a status");
        assert_eq!((told.code, told.message.as_str()), (code as i32, message));
        let answer = bridge.post("/v1/logs", &headers("application/json"), b"{}");
        assert_eq!((answer.status, answer.header("www-authenticate")), (status, challenge.as_str()));
        assert_eq!(answer.json()["code"], code as i32);
        assert_eq!(answer.json()["message"], message);
        // Not even what is no request tells anything else.
        assert_eq!(bridge.post("/other", &headers(PROTOBUF), b"\xff\xff").status, status);
        let refused = grpc(bridge.grpc, 1, value).await.expect_err("refused");
        assert_eq!((refused.code(), refused.message()), (code, message));
    }
    assert_eq!(bridge.send(1, "a", Some(&ingest.token)).status, 200);
    grpc(bridge.grpc, 2, Some(&good)).await.expect("taken");
    let line = bridge.wait_for("reason=\"unknown_token\"");
    assert!(line.contains("WARN") && line.contains("port=\"OTLP\""), "{line}");
}

#[test]
fn the_api_asks_for_the_right_that_a_path_takes() {
    let ingest = token("agents", &["ingest"], "acme/web");
    let read = token("people", &["read"], "acme/web");
    let admin = token("prometheus", &["admin"], "default/default");
    let bridge = Serving::start(&[&ingest, &read, &admin].map(|given| given.config.as_str()).concat());
    for open in ["/", "/healthz", "/readyz"] {
        assert_eq!(bridge.get(open, None).status, 200, "{open}");
    }
    let reading = [
        "/api/v1/traces",
        "/api/v1/sessions",
        "/api/v1/traces/x/reflex",
        "/anything",
        "//",
        "/%2F",
        "/healthz/x",
    ];
    for (paths, right) in [(&reading[..], "read"), (&["/metrics", "/%6detrics", "/%6Detric%73"][..], "admin")] {
        for path in paths {
            let none = bridge.get(path, None);
            assert_eq!(
                (none.status, none.header("www-authenticate")),
                (401, "Bearer realm=\"spanbridge\""),
                "{path}"
            );
            assert_eq!(none.json()["error"]["message"], NO_TOKEN);
            assert_eq!(none.json()["error"]["code"], "UNAUTHORIZED");
            assert_eq!(bridge.get(path, Some("spanbridge_5481")).json()["error"]["message"], UNKNOWN);
            let other = bridge.get(path, Some(&ingest.token));
            assert_eq!(other.status, 403, "{path}");
            assert_eq!(
                other.json()["error"]["message"],
                format!("the token `agents` lacks the right `{right}`")
            );
        }
    }
    assert_eq!(bridge.get("/metrics", Some(&read.token)).status, 403);
    assert_eq!(bridge.get("/api/v1/traces", Some(&admin.token)).status, 403);
    assert_eq!(bridge.get("/api/v1/traces", Some(&read.token)).status, 200);
    assert_eq!(
        bridge.metric("spanbridge_api_refused_requests_total{reason=\"no_right\"}", Some(&admin.token)),
        12
    );

    // Our own commands.
    let url = format!("http://{}", bridge.api);
    let ls = |token: &str| {
        let variables: &[(&str, &str)] = if token.is_empty() { &[] } else { &[("SPANBRIDGE_TOKEN", token)] };
        let output = run(&["ls", "--server", &url], variables);
        (output.status.code(), text(&output.stderr).trim().to_owned())
    };
    assert_eq!(ls(&read.token).0, Some(0));
    let said = |words: &str| (Some(1), format!("spanbridge: {url}: {words}"));
    assert_eq!(
        ls(""),
        said("it requires a token; set SPANBRIDGE_TOKEN to one with the right `read`")
    );
    assert_eq!(ls("spanbridge_5481"), said("the token is unknown"));
    let (code, words) = ls(&ingest.token);
    assert_eq!(code, Some(1));
    assert!(words.starts_with(&said("the token lacks the right `read`: ").1), "{words}");
    assert!(words.contains("token new --right read"), "it says what to do: {words}");
    let both = run(&["ls", "--server", &url, "--project", "acme/web"], &[]);
    assert_eq!(both.status.code(), Some(2));
    assert!(text(&both.stderr).contains("with a server, the token selects the project"));
}

#[test]
fn projects_see_nothing_of_each_other() {
    let all = ["ingest", "read"];
    let givens = [
        ("acme/web", token("a", &all, "acme/web")),
        ("acme/shop", token("b", &all, "acme/shop")),
        ("other/web", token("c", &all, "other/web")),
        ("default/default", token("d", &all, "default/default")),
    ];
    let config: String = givens.iter().map(|(_, given)| given.config.clone()).collect();
    let bridge = Serving::start(&config);
    // The same trace and span id in all of them, and one trace that only one has.
    for (project, given) in &givens {
        assert_eq!(bridge.send(1, &format!("secret of {project}"), Some(&given.token)).status, 200);
    }
    assert_eq!(bridge.send(2, "only here", Some(&givens[0].1.token)).status, 200);
    for (number, (project, given)) in givens.iter().enumerate() {
        let get = |path: &str| bridge.get(path, Some(&given.token));
        let mut seen = String::new();
        for path in [
            "/api/v1/traces".to_owned(),
            "/api/v1/sessions".to_owned(),
            format!("/api/v1/traces/{}", trace_id(1)),
        ] {
            let answer = get(&path);
            assert_eq!(answer.status, 200, "{project} {path}");
            seen += &answer.text();
        }
        for (other, _) in &givens {
            assert_eq!(
                seen.contains(&format!("secret of {other}\"")),
                other == project,
                "{project} sees {other}: {seen}"
            );
        }
        let of_one = get(&format!("/api/v1/traces/{}", trace_id(2)));
        assert_eq!(of_one.status, if number == 0 { 200 } else { 404 }, "{project}");
        let session = get("/api/v1/sessions/session%20of%20only%20here/reflex");
        assert!(session.text().contains(if number == 0 {
            "has no agent operations"
        } else {
            "there is no session"
        }));
        let organization = project.split('/').next().expect("a name");
        let other = if organization == "acme" { "other" } else { "acme" };
        let blocks = get(&format!("/v1/organizations/{other}/traces/tr_{}/blocks", trace_id(1)));
        assert_eq!(
            blocks.json()["error"]["message"],
            format!("there is no organization {other}; spans belong to {organization}")
        );
    }
    let (_, directory) = bridge.stop();
    let data = directory.path().join("data");
    for (path, bytes) in files(&data) {
        for (project, _) in &givens {
            let own = match *project {
                "default/default" => !path.starts_with(data.join("projects")),
                project => path.starts_with(data.join("projects").join(project)),
            };
            assert!(
                own || !holds(&bytes, &format!("secret of {project}")),
                "{project} in {}",
                path.display()
            );
        }
    }
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(&data).expect("a directory").permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "its owner's alone");
    let data = data.to_str().expect("text");
    let ls = |project: &str| {
        let output = run(&["ls", "--json", "--data-dir", data, "--project", project], &[]);
        (output.status.code(), text(&output.stdout).lines().count(), text(&output.stderr))
    };
    assert_eq!(ls("acme/web").1, 2);
    assert_eq!(ls("other/web").1, 1);
    assert_eq!(ls("default/default").1, 1);
    let none = ls("acme/none");
    assert!(none.0 == Some(2) && none.2.contains("has no project acme/none"), "{none:?}");
    let trick = ls("../acme/web");
    assert!(trick.0 == Some(2) && trick.2.contains("a project is ORG/PROJECT"), "{trick:?}");
    let again = run(&["reindex", "--data-dir", data, "--project", "acme/web"], &[]);
    assert!(text(&again.stderr).contains("2 traces in the index"), "{}", text(&again.stderr));
    let show = run(&["show", "0101", "--data-dir", data, "--project", "other/web"], &[]);
    assert!(!text(&show.stdout).contains("acme"), "{}", text(&show.stdout));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_told_to_anyone() {
    for format in ["text", "json"] {
        let agents = token("agents", &["ingest"], "acme/web");
        let read = token("people", &["read", "admin"], "acme/web");
        let stray = token("stray", &["read"], "acme/web").token;
        let settings = format!("log_level = \"trace\"\nlog_format = \"{format}\"\n");
        let key = "pepper-5481-pepper";
        let rule = "[[redact]]\nkey = \"session.id\"\naction = \"hash\"\n";
        let bridge = Serving::start(&format!(
            "redact_hash_key = \"{key}\"\n{settings}{}{}{rule}",
            agents.config, read.config
        ));
        let mut told = String::new();
        for given in [&agents.token, &read.token, &stray] {
            told += &bridge.send(1, "payload-7751", Some(given)).text();
            for path in ["/metrics", "/api/v1/traces", "/nothing"] {
                told += &bridge.get(path, Some(given)).text();
            }
            let status = grpc(bridge.grpc, 1, Some(&bearer(given))).await;
            told += &status.err().map_or_else(String::new, |status| format!("{status:?}"));
            // In places where tokens do not belong.
            told += &bridge.post("/v1/traces", &[("content-type", given)], b"x").text();
            told += &bridge
                .post(
                    "/v1/traces",
                    &[("content-type", "application/json"), ("authorization", given)],
                    b"{",
                )
                .text();
        }
        bridge.hang_up();
        bridge.wait_for("in force");
        let (said, directory) = bridge.stop();
        assert!(said.contains("unknown_token"), "the log says something: {said}");
        let json = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
        assert!(format == "text" || said.lines().all(json), "all of it is JSON: {said}");
        let hashes: Vec<String> = [&agents, &read]
            .iter()
            .map(|given| {
                given
                    .config
                    .split('"')
                    .find(|part| part.starts_with("sha256:"))
                    .expect("a hash")
                    .to_owned()
            })
            .collect();
        let bytes = base64::engine::general_purpose::STANDARD.encode(&agents.token);
        let secrets = [agents.token.as_str(), &read.token, &stray, key, &hashes[0], &hashes[1], &bytes];
        for secret in secrets {
            assert!(!said.contains(secret), "{secret} in the log: {said}");
            assert!(!told.contains(secret) || secret == stray, "{secret} in answers: {told}");
            for (path, bytes) in files(&directory.path().join("data")) {
                assert!(!holds(&bytes, secret), "{secret} in {}", path.display());
            }
        }
        assert!(!said.contains("payload-7751"), "the log says what was sent: {said}");
    }
}
