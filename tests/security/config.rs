//! Settings by file, variable and flag; and what is refused at the start.

use std::fs;

use super::serving::{run, text, token};

fn file(words: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("spanbridge.toml");
    fs::write(&path, words).expect("written");
    let path = path.to_str().expect("text").to_owned();
    (directory, path)
}

/// What is said when a bridge with this file is refused.
fn refused(words: &str, arguments: &[&str]) -> String {
    let (directory, path) = file(words);
    let data = directory.path().join("data");
    let data = data.to_str().expect("text");
    let output = run(&[&["serve", "--config", &path, "--data-dir", data], arguments].concat(), &[]);
    assert_ne!(output.status.code(), Some(0), "{words}");
    assert!(!directory.path().join("data/lock").exists(), "{words}: a store was opened");
    text(&output.stderr).trim().replace(&path, "FILE")
}

fn printed(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let output = run(&[&["serve", "--print-config"], arguments].concat(), variables);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_flag_wins_over_a_variable_over_the_file_over_what_is_built_in() {
    let (directory, path) = file("max_headers = 11\nmax_streams = 12\nmax_connections = 13\ndata_dir = \"here\"\n");
    let config = ["--config", path.as_str()];
    let variables = [("SPANBRIDGE_MAX_STREAMS", "22"), ("SPANBRIDGE_MAX_CONNECTIONS", "23")];
    let arguments = [&config[..], &["--max-connections", "33", "--allow-anonymous"]].concat();
    let out = printed(&arguments, &variables);
    let here = format!("data_dir = {:?}", directory.path().join("here"));
    for line in [
        "max_headers = 11",
        "max_streams = 22",
        "max_connections = 33",
        "max_request_bytes = 67108864",
        "allow_anonymous = true",
        &here,
    ] {
        assert!(out.lines().any(|have| have == line), "{line} in {out}");
    }
    let slip = run(&["serve", "--print-config"], &[("SPANBRIDGE_MAX_CONECTIONS", "23")]);
    assert_eq!(slip.status.code(), Some(2));
    assert_eq!(
        text(&slip.stderr).trim(),
        "spanbridge: there is no variable SPANBRIDGE_MAX_CONECTIONS; did you mean SPANBRIDGE_MAX_CONNECTIONS?"
    );
    let out = printed(&config, &[("SPANBRIDGE_ALLOW_ANONYMOUS", "true"), ("SPANBRIDGE_LOG", "debug")]);
    assert!(
        out.contains("allow_anonymous = true\n") && out.contains("log_level = \"debug\"\n"),
        "{out}"
    );
}

#[test]
fn what_is_printed_is_a_file_that_says_the_same() {
    let redact = "[{ name = \"mail\", value = \"[a-z]+@[a-z.]+\", action = \"mask\", scope = [\"body\"] }]";
    let out = printed(&["--redact", redact, "--max-headers", "50"], &[]);
    let (_directory, path) = file(&out);
    assert_eq!(printed(&["--config", &path], &[]), out);
}

#[test]
fn secrets_are_hidden_where_settings_are_shown() {
    let given = token("ci", &["ingest"], "acme/web");
    let (_directory, path) = file(&format!("redact_hash_key = \"pepper-5481\"\n{}", given.config));
    let out = printed(&["--config", &path], &[]);
    assert!(
        out.contains("redact_hash_key = \"(hidden)\"") && out.contains("hash = \"(hidden)\""),
        "{out}"
    );
    assert!(out.contains("project = \"acme/web\""), "{out}");
    assert!(!out.contains("pepper-5481") && !out.contains("sha256:"), "{out}");
    let help = run(
        &["serve", "--help"],
        &[("SPANBRIDGE_REDACT_HASH_KEY", "pepper-5481"), ("SPANBRIDGE_TOKENS", "pepper-5482")],
    );
    assert!(!text(&help.stdout).contains("pepper"), "{}", text(&help.stdout));
}

#[test]
fn a_fault_in_the_file_is_told_with_its_place() {
    for (words, said) in [
        (
            "max_conections = 3\n",
            "FILE, line 1: there is no key `max_conections`; did you mean `max_connections`? \
             (`spanbridge serve --print-config` lists them)",
        ),
        (
            "\n[limits]\n",
            "FILE, line 2: there is no key `limits` (`spanbridge serve --print-config` lists them)",
        ),
        ("\n\nmax_headers = 0\n", "FILE, line 3, key `max_headers`: expected a nonzero u32"),
        ("redact_hash_key = 5481\n", "FILE, line 1, key `redact_hash_key`: expected a string"),
        (
            "log_level = \"loud-5481\"",
            "FILE, line 1, key `log_level`: expected one of `off`, `error`, `warn`, `info`, `debug`, `trace`",
        ),
        (
            "[[tokens]]\nname = \"a\"\nhash = \"x\"\nrights = [\"wirte\"]\n",
            "FILE, line 4, key `rights`: expected one of `ingest`, `read`, `annotate`, `delete`, `admin`",
        ),
        (
            "[[tokens]]\nname = \"a\"\nrights = [\"read\"]\n",
            "FILE, line 1: missing field `hash`",
        ),
        (
            "[[tokens]]\nname = \"a\"\nhash = \"spanbridge_5481\"\nrights = [\"read\"]\n",
            "token a: a hash is `sha256:` followed by 64 hexadecimal digits; `spanbridge token new` makes a token and its hash",
        ),
        (
            "[[redact]]\nvalue = \"(5481\"\naction = \"mask\"\n",
            "redaction rule 1 has a value that is not a regular expression: unclosed group",
        ),
        (
            "[[redact]]\nname = \"n\"\naction = \"mask\"\n",
            "redaction rule n has neither key nor value; it needs at least one of them",
        ),
        (
            "[[redact]]\nvalue = \"x*\"\naction = \"mask\"\n",
            "redaction rule 1 has a value that matches the empty text",
        ),
        (
            "[[redact]]\nkey = \"x\"\naction = \"hash\"\n",
            "redaction rule 1 has the action hash, which needs redact_hash_key: a long random secret",
        ),
        (
            "[[redact]]\nname = \"n\"\nkey = \"x\"\naction = \"mask\"\n[[redact]]\nname = \"n\"\nkey = \"y\"\naction = \"mask\"\n",
            "redaction rule n has the name of another rule",
        ),
        (
            "tls_certificate = \"c.pem\"\n",
            "TLS takes a certificate and its key: --tls-certificate FILE --tls-key FILE (tls_certificate and tls_key in a file)",
        ),
    ] {
        assert_eq!(refused(words, &[]), format!("spanbridge: {said}"));
    }
    let given = token("ci", &["read"], "acme/../web");
    assert_eq!(
        refused(&given.config, &[]),
        "spanbridge: token ci: a project is ORG/PROJECT, each of 1 to 64 lowercase letters, digits, `-`, `_` and `.`, \
         the first a letter or digit; \"acme/../web\" is not"
    );
    let given = token("ci", &[], "acme/web");
    assert_eq!(
        refused(&given.config, &[]),
        "spanbridge: token ci: it has no rights; the rights are ingest, read, annotate, delete and admin"
    );
    let twice = token("ci", &["read"], "acme/web").config + &token("ci", &["read"], "acme/web").config;
    assert_eq!(refused(&twice, &[]), "spanbridge: two tokens have the name ci");
}

#[test]
fn an_address_of_others_takes_tokens_or_certificates() {
    for flag in ["--otlp-grpc", "--otlp-http", "--http"] {
        for address in ["0.0.0.0:0", "[::]:0"] {
            let said = refused("", &[flag, address]);
            let expected = format!(
                "spanbridge: {address} ({flag}) can be reached from other machines, and anyone who can reach it could read and \
                 write: add tokens to the configuration (`spanbridge token new` makes one), or require client certificates \
                 (--tls-client-ca); if the network keeps others out, pass --allow-anonymous"
            );
            assert_eq!(said, expected);
        }
    }
}

#[test]
fn a_new_token_is_shown_once_with_its_configuration() {
    let output = run(
        &[
            "token",
            "new",
            "--name",
            "ci \"x\"",
            "--right",
            "read",
            "--right",
            "admin",
            "--project",
            "acme/web",
        ],
        &[],
    );
    let secret = text(&output.stdout).trim().to_owned();
    assert!(secret.starts_with("spanbridge_") && secret.len() == 54, "{secret}");
    let said = text(&output.stderr);
    assert!(!said.contains(&secret), "{said}");
    // The notes around the entry are comments, so that all of it can go into the file.
    let config = said.as_str();
    let table: toml::Table = toml::from_str(config).expect("TOML");
    let entry = &table["tokens"][0];
    assert_eq!(entry["name"].as_str(), Some("ci \"x\""));
    assert_eq!(
        entry["hash"].as_str(),
        Some(spanbridge::access::TokenHash::of(secret.as_bytes()).to_string().as_str())
    );
    assert_eq!(entry["project"].as_str(), Some("acme/web"));
    let (_directory, path) = file(config);
    printed(&["--config", &path], &[]);
    let wrong = run(&["token", "new", "--name", "x", "--right", "write"], &[]);
    assert!(
        text(&wrong.stderr).contains("the rights are ingest, read, annotate, delete and admin"),
        "{}",
        text(&wrong.stderr)
    );
}
