//! OTLP as the specification says it, point by point: one row a rule, against the real program over real sockets.
//!
//! Each row names its point, the rule and the section where it stands (`otlp`: the OTLP specification; `grpc`: gRPC's own
//! documents; `proto`: opentelemetry-proto; `rfc`, `fetch`: what they are). `cargo test --test conformance -- --nocapture`
//! prints the table.
#![expect(clippy::expect_used, clippy::print_stdout, clippy::panic, reason = "a test")]
#![cfg(feature = "server")]

mod body;
mod bridge;
mod encodings;
mod hostile;
mod messages;
mod row;
mod scenarios;
mod states;
mod transports;
mod wire;

use bridge::Bridge;
use row::{Bridges, What};

#[test]
fn every_point_of_the_table_holds() {
    let bridges = Bridges {
        plain: Bridge::start(&[]),
        small: Bridge::start(&["--max-request-bytes", "1048576"]),
        cors: Bridge::start(&["--cors-origin", "https://app.example", "--cors-origin", "https://other.example"]),
    };
    let rows = [
        encodings::rows(),
        messages::rows(),
        transports::rows(),
        scenarios::rows(),
        states::rows(),
    ];
    let rows: Vec<row::Row> = rows.into_iter().flatten().collect();
    let (mut report, mut broken) = (String::new(), 0);
    for row in &rows {
        let verdict = match &row.what {
            What::Exchange(exchange) => exchange.check(&bridges),
            What::Scenario(scenario) => scenario(&bridges),
        };
        println!(
            "{:4}  {:<8} {:<100} [{}]",
            if verdict.is_ok() { "ok" } else { "FAIL" },
            row.point,
            row.rule,
            row.spec
        );
        if let Err(wrong) = verdict {
            broken += 1;
            report.push_str(&format!("\npoint {}: {} [{}]\n  {wrong}\n", row.point, row.rule, row.spec));
        }
    }
    for point in 1..=18 {
        let named = |row: &row::Row| row.point.split('.').next() == Some(&point.to_string());
        assert!(rows.iter().any(named), "no row for point {point}");
    }
    assert!(broken == 0, "{broken} of {} rows do not hold\n{report}", rows.len());
}
