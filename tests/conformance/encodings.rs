//! Points 1 to 3: compressions, and limits after decompression.

use super::body::{self, framed, fresh, gzip, raw_deflate, zlib, zstd};
use super::row::{Row, TRACES, Who, framed_grpc, grpc, json, protobuf};

const HTTP: &str = "otlp: OTLP/HTTP Request";
const LIMIT: &str = "otlp: OTLP/HTTP Request, request size limits";
const COMPRESSION: &str = "grpc: compression.md";
const MIB: usize = 1 << 20;

fn packed(name: &'static str, pack: fn(&[u8]) -> Vec<u8>, point: &'static str, rule: &'static str) -> [Row; 3] {
    let (one, two, three) = (fresh(), fresh(), fresh());
    [
        protobuf("/v1/traces", pack(&body::protobuf(one)))
            .header("content-encoding", name)
            .stores(one, 2)
            .row(point, rule, HTTP),
        json("/v1/traces", pack(&body::json(two)))
            .header("content-encoding", name)
            .stores(two, 2)
            .row(point, rule, HTTP),
        framed_grpc(TRACES, framed(1, &pack(&body::protobuf(three))))
            .header("grpc-encoding", name)
            .stores(three, 2)
            .row(point, rule, COMPRESSION),
    ]
}

fn taken() -> Vec<Row> {
    let (one, two, three, four, five) = (fresh(), fresh(), fresh(), fresh(), fresh());
    let mut rows = vec![
        protobuf("/v1/traces", body::protobuf(one))
            .stores(one, 2)
            .row("1.none", "no compression", HTTP),
        protobuf("/v1/traces", body::protobuf(two))
            .header("content-encoding", "identity")
            .stores(two, 2)
            .row("1.none", "identity is no compression", HTTP),
        protobuf("/v1/traces", gzip(&body::protobuf(three)))
            .header("content-encoding", " GZip ")
            .stores(three, 2)
            .row("1.gzip", "names of codings have no case", "rfc 9110, 8.4.1"),
        framed_grpc(TRACES, framed(0, &body::protobuf(four)))
            .header("grpc-encoding", "gzip")
            .stores(four, 2)
            .row(
                "1.gzip",
                "a message may be plain although the call names a compression",
                COMPRESSION,
            ),
        protobuf("/v1/traces", raw_deflate(&body::protobuf(five)))
            .header("content-encoding", "deflate")
            .stores(five, 2)
            .row(
                "1.deflate",
                "bare deflate, which some clients mean by the name, is understood",
                "rfc 9110, 8.4.1.2",
            ),
    ];
    let zlib_by_name = fresh();
    rows.push(
        protobuf("/v1/traces", zlib(&body::protobuf(zlib_by_name)))
            .header("content-encoding", "zlib")
            .stores(zlib_by_name, 2)
            .row("1.deflate", "zlib by its own name, as the Collector offers it", HTTP),
    );
    rows.extend(packed("gzip", gzip, "1.gzip", "gzip is taken"));
    rows.extend(packed("zstd", zstd, "1.zstd", "zstd is taken, as the Collector sends it"));
    rows.extend(packed("deflate", zlib, "1.deflate", "deflate is taken"));
    rows
}

fn refused() -> Vec<Row> {
    let plain = body::protobuf(fresh());
    let mut trailing = zlib(&plain);
    trailing.extend_from_slice(b"more");
    let cut = |bytes: Vec<u8>| bytes.get(..bytes.len() / 2).unwrap_or_default().to_vec();
    // Two members, the second cut off.
    let mut two_members = gzip(&plain);
    two_members.extend(cut(gzip(&plain)));
    let broken = |name: &'static str, bytes: Vec<u8>, rule| {
        protobuf("/v1/traces", bytes)
            .header("content-encoding", name)
            .refused(400, 3, "cannot be decompressed")
            .row("10.packed", rule, "otlp: OTLP/HTTP Response, Bad Data")
    };
    vec![
        protobuf("/v1/traces", plain.clone())
            .header("content-encoding", "br")
            .refused(415, 12, "br is not supported; use gzip, zstd, deflate or none")
            .has("accept-encoding", "gzip, zstd, deflate")
            .row(
                "1.other",
                "an unknown compression is 415, and says which ones are known",
                "rfc 9110, 15.5.16",
            ),
        json("/v1/traces", plain.clone())
            .header("content-encoding", "gzip, gzip")
            .refused(415, 12, "gzip, gzip is not supported")
            .row(
                "1.other",
                "several compressions at once are not taken: each is a chance for a bomb",
                "rfc 9110, 15.5.16",
            ),
        protobuf("/v1/traces", gzip(&gzip(&plain)))
            .header("content-encoding", "gzip")
            .twice("content-encoding", "gzip")
            .refused(415, 12, "gzip, gzip is not supported")
            .row("1.other", "nor in two header lines", "rfc 9110, 5.3"),
        framed_grpc(TRACES, framed(1, &plain))
            .header("grpc-encoding", "snappy")
            .refused(200, 12, "snappy is not supported")
            .has("grpc-accept-encoding", "identity,gzip,zstd,deflate")
            .row(
                "1.other",
                "gRPC: unknown compression is UNIMPLEMENTED, with grpc-accept-encoding",
                COMPRESSION,
            ),
        framed_grpc(TRACES, framed(1, &gzip(&plain)))
            .refused(200, 13, "compressed flag is set")
            .row(
                "1.other",
                "gRPC: the compressed flag without a named compression is INTERNAL",
                COMPRESSION,
            ),
        broken("gzip", cut(gzip(&plain)), "gzip that is cut off"),
        broken("gzip", two_members, "gzip whose second member is cut off"),
        broken("gzip", plain.clone(), "gzip that is none"),
        broken("zstd", cut(zstd(&plain)), "zstd that is cut off"),
        broken("zstd", plain.clone(), "zstd that is none"),
        broken("deflate", cut(zlib(&plain)), "deflate that is cut off"),
        broken("deflate", cut(raw_deflate(&plain)), "bare deflate that is cut off"),
        broken("deflate", trailing, "bytes behind the end of deflate"),
        broken("deflate", Vec::new(), "deflate of nothing at all"),
        framed_grpc(TRACES, framed(1, &cut(gzip(&plain))))
            .header("grpc-encoding", "gzip")
            .refused(200, 3, "cannot be decompressed")
            .row("10.packed", "gRPC: gzip that is cut off", "otlp: OTLP/gRPC Response, Failures"),
    ]
}

fn limits() -> Vec<Row> {
    let (one, two, three) = (fresh(), fresh(), fresh());
    let bomb = vec![0; 100 * MIB];
    let spans = vec!["{}"; 5 * MIB].join(",");
    let hollow = gzip(format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#).as_bytes());
    let over = || body::sized(1, MIB + 1);
    let words = "more than 1048576 bytes after decompression";
    let bomb_of = |name: &'static str, bytes: Vec<u8>, rule| {
        protobuf("/v1/traces", bytes)
            .to(Who::Small)
            .header("content-encoding", name)
            .refused(413, 8, words)
            .row("2.bomb", rule, LIMIT)
    };
    vec![
        protobuf("/v1/traces", body::sized(one, MIB))
            .to(Who::Small)
            .stores(one, 2)
            .row("2.edge", "exactly the limit is taken", LIMIT),
        protobuf("/v1/traces", gzip(&body::sized(two, MIB)))
            .to(Who::Small)
            .header("content-encoding", "gzip")
            .stores(two, 2)
            .row("2.edge", "exactly the limit after decompression is taken", LIMIT),
        grpc(TRACES, &body::sized(three, MIB))
            .to(Who::Small)
            .stores(three, 2)
            .row("2.edge", "gRPC: exactly the limit is taken", LIMIT),
        protobuf("/v1/traces", gzip(&over()))
            .to(Who::Small)
            .header("content-encoding", "gzip")
            .refused(413, 8, words)
            .row("2.edge", "one byte more after decompression is not", LIMIT),
        bomb_of("gzip", gzip(&bomb), "a bomb of gzip"),
        bomb_of("zstd", zstd(&bomb), "a bomb of zstd"),
        bomb_of("deflate", zlib(&bomb), "a bomb of deflate"),
        json("/v1/traces", hollow)
            .header("content-encoding", "gzip")
            .bad_request("objects in")
            .row(
                "2.hollow",
                "JSON of nothing but empty spans, 300 bytes of memory for each three of text",
                LIMIT,
            ),
        protobuf("/v1/traces", gzip(&b"\x0a\x00".repeat(10 * MIB)))
            .header("content-encoding", "gzip")
            .row(
                "2.hollow",
                "protobuf of nothing but empty resources costs no more than its bytes",
                LIMIT,
            ),
        protobuf("/v1/traces", over())
            .to(Who::Small)
            .refused(413, 8, words)
            .row("3.http", "over the limit: 413, without a hint", LIMIT),
        json("/v1/traces", vec![b' '; MIB + 1])
            .to(Who::Small)
            .refused(413, 8, words)
            .row("3.http", "over the limit in JSON: 413", LIMIT),
        protobuf("/v1/traces", over()).to(Who::Small).over_h2().refused(413, 8, words).row(
            "3.http",
            "over the limit over HTTP/2: 413",
            LIMIT,
        ),
        grpc(TRACES, &over())
            .to(Who::Small)
            .refused(200, 8, words)
            .lacks("google.rpc.retryinfo-bin")
            .row(
                "3.grpc",
                "over the limit: RESOURCE_EXHAUSTED without RetryInfo",
                "otlp: OTLP/gRPC Response, Failures",
            ),
        framed_grpc(TRACES, framed(1, &gzip(&bomb)))
            .to(Who::Small)
            .header("grpc-encoding", "gzip")
            .refused(200, 8, words)
            .row(
                "3.grpc",
                "over the limit after decompression: RESOURCE_EXHAUSTED",
                "otlp: OTLP/gRPC Response, Failures",
            ),
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    [taken(), refused(), limits()].into_iter().flatten().collect()
}
