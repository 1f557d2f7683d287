//! Whose blocks are read and written: rights, organizations, redaction.

use std::fs;

use serde_json::{Value, json};
use spanbridge::access::Secret;

use super::client::Client;
use crate::serving::Serving;

fn path(organization: &str) -> String {
    format!("/v1/organizations/{organization}/traces/tr_1/blocks")
}

fn message(text: &str) -> String {
    json!({"id": "tb_1", "block_type": "MESSAGE", "sub_type": "MESSAGE", "payload": {"role": "user", "content": text}}).to_string()
}

/// A server with a configuration, which reads it from its variable.
fn serving(directory: &std::path::Path, config: &str) -> Serving {
    let file = directory.join("spanbridge.toml");
    fs::write(&file, config).expect("written");
    let mut starter = std::process::Command::new("env");
    starter.arg(format!("SPANBRIDGE_CONFIG={}", file.display()));
    Serving::start_by(starter, &directory.join("data"))
}

#[test]
fn organizations_do_not_see_each_others_blocks() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut config = String::new();
    let mut token = |name: &str, rights: &[&str], project: &str| {
        let secret = Secret::new().expect("a secret");
        config.push_str(&format!(
            "[[tokens]]\nname = \"{name}\"\nhash = \"{}\"\nrights = {}\nproject = \"{project}\"\n",
            secret.hash(),
            json!(rights)
        ));
        secret.text().to_owned()
    };
    let acme = token("acme", &["ingest", "read"], "acme/web");
    let other = token("other", &["ingest", "read"], "other/web");
    let writer = token("writer", &["ingest"], "acme/web");
    let reader = token("reader", &["read"], "acme/web");
    let serving = serving(directory.path(), &config);
    let as_of = |token: &str| Client::with_token(&serving.api, token);
    let (acme, other) = (as_of(&acme), as_of(&other));
    assert_eq!(Client::new(&serving.api).post(&path("acme"), &message("a")).status, 401);
    assert_eq!(as_of(&reader).post(&path("acme"), &message("a")).status, 403);
    assert_eq!(as_of(&writer).get(&path("acme")).status, 403);
    assert_eq!(as_of(&writer).post(&path("acme"), &message("ours")).status, 201);
    // The same ids in another organization are other blocks.
    assert_eq!(other.get(&path("other")).status, 404);
    assert_eq!(other.post(&path("other"), &message("theirs")).status, 201);
    for (client, own, foreign, words) in [(&acme, "acme", "other", "ours"), (&other, "other", "acme", "theirs")] {
        assert_eq!(client.get(&path(own)).json()[0]["payload"]["content"], words);
        for path in [path(foreign), path(foreign) + ".stitched", path("default")] {
            let refused = client.get(&path);
            assert_eq!((refused.status, refused.code().as_str()), (404, "NOT_FOUND"), "{path}");
        }
        assert_eq!(client.post(&path(foreign), &message("a")).status, 404);
    }
    serving.stop();
}

#[test]
fn redaction_comes_before_the_rules() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = "[[redact]]\nvalue = '[\\w.]+@[\\w.]+'\naction = \"mask\"\n";
    let serving = serving(directory.path(), config);
    let client = Client::new(&serving.api);
    let path = path("default");
    let written = client.post(&path, &message("write to ann@example.org"));
    assert_eq!(written.status, 201, "{}", written.text);
    assert_eq!(written.json()["payload"]["content"], "write to [redacted]");
    assert_eq!(client.get(&path).json(), json!([written.json()]));
    let call = |name: &str, id: &str| -> Value {
        json!({"block_type": "ACT", "sub_type": "TOOL_CALL", "parent_block_id": "tb_1", "payload": {"call_id": id, "name": name, "arguments": {}}})
    };
    assert_eq!(client.post(&path, &call("f", "ann@example.org").to_string()).status, 201);
    let again = client.post(&path, &call("f", "bob@example.org").to_string());
    assert_eq!(
        (again.status, again.code().as_str()),
        (409, "DUPLICATE_CALL_ID"),
        "as they are stored, the ids are the same"
    );
    let named = client.post("/v1/organizations/default/traces/tr_ann@example.org/blocks", &message("a"));
    assert_eq!((named.status, named.code().as_str()), (422, "VALIDATION"));
    serving.stop();
    let data = fs::read_dir(directory.path().join("data")).expect("a directory");
    for file in data.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()) {
        let bytes = fs::read(&file).expect("read");
        assert!(!bytes.windows(11).any(|part| part == b"example.org"), "{}", file.display());
    }
}
