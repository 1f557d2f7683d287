//! SIGHUP: what changes while the bridge runs, and what does not.

use std::fs;
use std::time::{Duration, Instant};

use super::serving::{Serving, agent, token};
use super::tls::{Authority, TLS, directory_with, put, send};

#[test]
fn tokens_rules_and_levels_change_and_a_bad_file_changes_nothing() {
    let (first, second) = (
        token("first", &["ingest", "read", "admin"], "acme/web"),
        token("second", &["ingest", "read"], "acme/shop"),
    );
    let bridge = Serving::start(&first.config);
    let status = |given: &str| bridge.send(1, "a", Some(given)).status;
    assert_eq!((status(&first.token), status(&second.token)), (200, 401));

    bridge.reload("max_headers = \"x\"\n");
    let line = bridge.wait_for("the previous one stays in force");
    assert!(
        line.contains("ERROR") && line.contains("line 5, key `max_headers`: expected a nonzero u32"),
        "{line}"
    );
    assert_eq!((status(&first.token), status(&second.token)), (200, 401));

    // A new project is opened while others are in use, and a token that is gone is refused.
    let rule = "[[redact]]\nname = \"names\"\nvalue = \"secret \\\\d+\"\naction = \"mask\"\n";
    bridge.reload(&format!("max_headers = 50\nlog_level = \"warn\"\n{}{rule}", second.config));
    let line = bridge.wait_for("wait for a restart");
    assert!(
        line.contains("WARN") && line.trim_end().ends_with("wait for a restart: max_headers"),
        "{line}"
    );
    assert_eq!((status(&first.token), status(&second.token)), (401, 200));
    assert!(bridge.data().join("projects/acme/shop").is_dir());
    assert_eq!(bridge.send(2, "a secret 5481 name", Some(&second.token)).status, 200);
    let seen = bridge.get("/api/v1/traces", Some(&second.token)).text();
    assert!(seen.contains("a [redacted] name") && !seen.contains("5481"), "{seen}");

    // The level is warn now: that all is well is not said.
    bridge.reload(&format!("log_level = \"warn\"\n{}{}", first.config, second.config));
    let begin = Instant::now();
    while status(&first.token) != 200 {
        assert!(begin.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!bridge.said().contains("is in force"), "{}", bridge.said());
}

#[test]
fn the_vocabulary_is_read_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let semconv = directory.path().join("own.yaml");
    let rules = "file_format: definition/2\nattributes:\n  - key: acme.model\n    annotations:\n      spanbridge:\n        field: model.requested\n";
    fs::write(&semconv, rules).expect("written");
    let config = format!("semconv = {:?}\n", semconv.to_str().expect("text"));
    let bridge = Serving::start_in(directory, &config);
    // Whoever reads it again says that it is gone.
    fs::remove_file(&semconv).expect("removed");
    bridge.reload(&config);
    bridge.wait_for("is in force");
    assert!(!bridge.said().contains("cannot be used"), "{}", bridge.said());
}

#[test]
fn the_last_token_does_not_go_where_others_can_reach_the_bridge() {
    let given = token("only", &["ingest"], "default/default");
    let address = "otlp_http = \"0.0.0.0:0\"\n";
    let bridge = Serving::start(&format!("{address}{}", given.config));
    bridge.wait_for("cross the network unencrypted");
    for config in [address.to_owned(), format!("{address}{TLS}tls_client_ca = \"x.pem\"\n")] {
        let said = bridge.said().matches("the previous one stays in force").count();
        let config = format!("data_dir = \"data\"\notlp_grpc = \"127.0.0.1:0\"\nhttp = \"127.0.0.1:0\"\n{config}");
        fs::write(bridge.path("spanbridge.toml"), config).expect("written");
        bridge.hang_up();
        let begin = Instant::now();
        while bridge.said().matches("the previous one stays in force").count() == said {
            assert!(begin.elapsed() < Duration::from_secs(20), "{}", bridge.said());
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(bridge.said().contains("can be reached from other machines"), "{}", bridge.said());
        assert_eq!(bridge.send(1, "a", None).status, 401);
    }
}

#[test]
fn a_new_certificate_is_served_and_a_bad_one_is_not() {
    let (first, second) = (Authority::new("first"), Authority::new("second"));
    let bridge = Serving::start_in(directory_with(&first), TLS);
    let reaches = |authority: &Authority| send(&bridge, &agent(Some(&authority.pem()), None)).is_ok();
    assert_eq!((reaches(&first), reaches(&second)), (true, false));

    fs::write(bridge.path("cert.pem"), "no certificate").expect("written");
    bridge.hang_up();
    let line = bridge.wait_for("the previous one stays in force");
    assert!(line.contains("ERROR") && line.contains("there is no certificate in"), "{line}");
    assert_eq!((reaches(&first), reaches(&second)), (true, false));

    put(&bridge.directory, &second);
    bridge.hang_up();
    bridge.wait_for("is in force");
    assert_eq!((reaches(&first), reaches(&second)), (false, true));

    // Without a signal too, a little later.
    put(&bridge.directory, &first);
    bridge.wait_for("the certificate files changed; new connections use the new certificate");
    assert_eq!((reaches(&first), reaches(&second)), (true, false));
}
