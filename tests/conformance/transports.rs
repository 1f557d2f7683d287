//! Points 13 to 16 and 18, and browsers: ports, protocols, content types, paths, headers.

use super::body::{self, framed, fresh};
use super::row::{Exchange, Row, TRACES, Who, framed_grpc, grpc, json, protobuf};

const TYPES: &str = "otlp: OTLP/HTTP Request, content types";
const GRPC: &str = "grpc: PROTOCOL-HTTP2.md";
const FETCH: &str = "fetch: CORS protocol";

fn one_port() -> Vec<Row> {
    const RULE: &str = "both protocols, both encodings, HTTP/1.1 and h2 on either port";
    const SPEC: &str = "otlp: OTLP/HTTP Connection";
    let mut rows = Vec::new();
    let asks: [fn(u16) -> Exchange; 5] = [
        |trace| protobuf("/v1/traces", body::protobuf(trace)),
        |trace| json("/v1/traces", body::json(trace)),
        |trace| protobuf("/v1/traces", body::protobuf(trace)).over_h2(),
        |trace| json("/v1/traces", body::json(trace)).over_h2(),
        |trace| grpc(TRACES, &body::protobuf(trace)),
    ];
    for ask in asks {
        let (here, there) = (fresh(), fresh());
        rows.push(ask(here).stores(here, 2).row("13.port", RULE, SPEC));
        rows.push(ask(there).on_the_other_port().stores(there, 2).row("13.port", RULE, SPEC));
    }
    rows
}

fn content_types() -> Vec<Row> {
    let mut rows = Vec::new();
    for written in [
        "application/x-protobuf; charset=utf-8",
        "Application/X-Protobuf",
        "application/x-protobuf;messageType=\"x\"",
        "application/protobuf",
    ] {
        let trace = fresh();
        let ask = protobuf("/v1/traces", body::protobuf(trace)).header("content-type", written);
        rows.push(
            ask.stores(trace, 2)
                .row("13.type", "parameters after the type, and any case", "rfc 9110, 8.3.1"),
        );
    }
    for written in [
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "APPLICATION/JSON",
    ] {
        let trace = fresh();
        let ask = json("/v1/traces", body::json(trace)).header("content-type", written);
        rows.push(
            ask.stores(trace, 2)
                .row("13.type", "parameters after the type, and any case", "rfc 9110, 8.3.1"),
        );
    }
    for written in ["application/grpc+proto", "application/grpc; charset=utf-8"] {
        let trace = fresh();
        let ask = grpc(TRACES, &body::protobuf(trace)).header("content-type", written);
        rows.push(
            ask.stores(trace, 2)
                .row("13.type", "gRPC: the type of the messages after a plus", GRPC),
        );
    }
    let good = || body::json(fresh());
    rows.extend([
        json("/v1/traces", good())
            .without("content-type")
            .refused(415, 3, "no content-type")
            .row("14.none", "no content type: 415 and a Status", TYPES),
        json("/v1/traces", good())
            .header("content-type", "")
            .refused(415, 3, "no content-type")
            .row("14.none", "an empty content type: the same", TYPES),
        json("/v1/traces", good())
            .header("content-type", "text/plain")
            .refused(415, 3, "text/plain is not supported")
            .row("14.other", "another content type: 415 and a Status", TYPES),
        json("/v1/traces", good())
            .twice("content-type", "application/x-protobuf")
            .refused_in_json(415, 3, "application/json, application/x-protobuf is not supported")
            .row("14.two", "two content types that differ: 415", TYPES),
        json("/v1/traces", good())
            .header("content-type", "application/grpc+json")
            .over_h2()
            .refused_in_json(415, 3, "application/grpc+json is not supported")
            .row("14.other", "gRPC with messages in JSON: 415", GRPC),
        json("/v1/traces", good())
            .header("content-type", "application/grpc-web")
            .refused_in_json(415, 3, "application/grpc-web is not supported")
            .row("14.other", "gRPC-Web: 415", GRPC),
    ]);
    rows
}

fn calls() -> Vec<Row> {
    const HEALTH: &str = "grpc: health-checking.md";
    const CHECK: &str = "/grpc.health.v1.Health/Check";
    let named = |name: &str| [&[0x0a, u8::try_from(name.len()).expect("short")], name.as_bytes()].concat();
    let serving = |name: &str| grpc_says(CHECK, &named(name), &[8, 1]);
    let (te, timed) = (fresh(), fresh());
    let two = [framed(0, &body::protobuf(1)), framed(0, b"")].concat();
    let good = body::protobuf(1);
    let cut = framed(0, &good).get(..good.len()).unwrap_or_default().to_vec();
    vec![
        serving("").row("15.health", "Check: the program serves", HEALTH),
        serving("opentelemetry.proto.collector.trace.v1.TraceService").row("15.health", "Check: each service serves", HEALTH),
        serving("opentelemetry.proto.collector.logs.v1.LogsService").row("15.health", "Check: each service serves", HEALTH),
        serving("opentelemetry.proto.collector.metrics.v1.MetricsService").row("15.health", "Check: each service serves", HEALTH),
        grpc(CHECK, &named("nobody")).refused(200, 5, "no service nobody").row(
            "15.health",
            "Check: an unknown service is NOT_FOUND",
            HEALTH,
        ),
        grpc(CHECK, &[0xff])
            .refused(200, 3, "not a HealthCheckRequest")
            .row("15.health", "Check: a request that is none", HEALTH),
        grpc(TRACES, &body::protobuf(te)).without("te").stores(te, 2).row(
            "15.call",
            "a call without te: trailers is answered all the same",
            GRPC,
        ),
        grpc(TRACES, &body::protobuf(timed))
            .header("grpc-timeout", "10000m")
            .stores(timed, 2)
            .row("15.call", "a deadline that is kept", GRPC),
        grpc(TRACES, b"")
            .header("grpc-timeout", "123456789S")
            .refused(200, 13, "grpc-timeout")
            .row("15.call", "a deadline that is none is INTERNAL", GRPC),
        grpc(TRACES, b"").header("grpc-timeout", "1x").refused(200, 13, "grpc-timeout").row(
            "15.call",
            "a deadline that is none is INTERNAL",
            GRPC,
        ),
        framed_grpc(TRACES, Vec::new()).refused(200, 12, "there is none").row(
            "15.call",
            "no message in a unary call is UNIMPLEMENTED",
            "grpc: statuscodes.md",
        ),
        framed_grpc(TRACES, two).refused(200, 12, "there are more").row(
            "15.call",
            "two messages in a unary call are UNIMPLEMENTED",
            "grpc: statuscodes.md",
        ),
        framed_grpc(TRACES, cut)
            .refused(200, 3, "ends before its message does")
            .row("15.call", "a frame that is cut off", GRPC),
        framed_grpc(TRACES, framed(7, b"")).refused(200, 3, "neither 0 nor 1").row(
            "15.call",
            "a compressed flag that does not exist",
            GRPC,
        ),
        grpc("/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export", b"")
            .refused(200, 12, "there is no method")
            .row("16.grpc", "an unknown method is UNIMPLEMENTED", "grpc: statuscodes.md"),
        json("/v1/traces", "{}")
            .method("GET")
            .refused(405, 12, "takes POST only")
            .has("allow", "POST")
            .row("16.http", "another method: 405 with Allow", "rfc 9110, 15.5.6"),
        json("/v1/traces", "{}")
            .method("OPTIONS")
            .refused(405, 12, "takes POST only")
            .lacks("access-control-allow-origin")
            .row("16.http", "OPTIONS too, unless CORS was asked for", "rfc 9110, 15.5.6"),
        protobuf(TRACES, framed(0, b""))
            .header("content-type", "application/grpc")
            .refused_in_json(505, 12, "gRPC needs HTTP/2")
            .row("16.http", "gRPC over HTTP/1.1: 505, not an answer without trailers", GRPC),
        json("/v1/profiles", "{}")
            .refused(404, 5, "OTLP/HTTP takes /v1/traces, /v1/logs and /v1/metrics")
            .row(
                "16.http",
                "a path that does not exist: 404 and the paths that do",
                "otlp: OTLP/HTTP Request",
            ),
    ]
}

fn grpc_says(path: &str, message: &[u8], answer: &[u8]) -> Exchange {
    grpc(path, message).says(framed(0, answer))
}

fn paths() -> Vec<Row> {
    const RULE: &str = "the signal's path below any prefix, which a base URL may bring";
    const SPEC: &str = "otlp: exporter, Endpoint URLs for OTLP/HTTP";
    let mut rows = Vec::new();
    for path in [
        "/v1/traces",
        "/v1/traces/",
        "/api/public/otel/v1/traces",
        "/v1/traces?key=1",
        "//v1/traces",
    ] {
        let trace = fresh();
        rows.push(protobuf(path, body::protobuf(trace)).stores(trace, 2).row("18.path", RULE, SPEC));
    }
    let wrong = protobuf("/", body::protobuf(1)).refused(404, 5, "/v1/traces, /v1/logs and /v1/metrics");
    rows.push(wrong.row(
        "18.path",
        "a signal's own URL is taken verbatim by clients: without a path it is 404, and says the path",
        SPEC,
    ));
    rows
}

fn browsers() -> Vec<Row> {
    const PAGE: &str = "https://app.example";
    let preflight = |who, origin: &str| {
        let ask = json("/v1/traces", "")
            .to(who)
            .method("OPTIONS")
            .empty()
            .code(204)
            .without("content-type");
        let ask = ask.header("origin", origin).header("access-control-request-method", "POST");
        ask.header("access-control-request-headers", "content-type,x-project")
    };
    let (one, two, three) = (fresh(), fresh(), fresh());
    vec![
        preflight(Who::Cors, PAGE)
            .has("access-control-allow-origin", PAGE)
            .has("access-control-allow-methods", "POST")
            .has("access-control-allow-headers", "content-type,x-project")
            .has("access-control-max-age", "7200")
            .has("vary", "origin")
            .row("cors", "a preflight from a page that may send", FETCH),
        preflight(Who::Cors, "https://evil.example")
            .lacks("access-control-allow-origin")
            .lacks("access-control-allow-methods")
            .has("vary", "origin")
            .row("cors", "a preflight from one that may not", FETCH),
        json("/v1/traces", body::json(one))
            .to(Who::Cors)
            .header("origin", PAGE)
            .stores(one, 2)
            .has("access-control-allow-origin", PAGE)
            .has("access-control-expose-headers", "retry-after")
            .row("cors", "the answer may be read by a page that may send", FETCH),
        json("/v1/traces", "{")
            .to(Who::Cors)
            .header("origin", "https://other.example")
            .bad_request("EOF")
            .has("access-control-allow-origin", "https://other.example")
            .row("cors", "an error too", FETCH),
        json("/v1/traces", body::json(two))
            .to(Who::Cors)
            .stores(two, 2)
            .lacks("access-control-allow-origin")
            .row("cors", "what is no browser is told nothing of it", FETCH),
        json("/v1/traces", body::json(three))
            .header("origin", PAGE)
            .refused(403, 7, "allow them with --cors-origin")
            .lacks("access-control-allow-origin")
            .lacks("vary")
            .row("cors", "not asked for: a page may not send", FETCH),
        preflight(Who::Plain, PAGE)
            .refused(405, 12, "takes POST only")
            .lacks("access-control-allow-origin")
            .row("cors", "not asked for: no preflight", FETCH),
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    [one_port(), content_types(), calls(), paths(), browsers()]
        .into_iter()
        .flatten()
        .collect()
}
