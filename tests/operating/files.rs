//! Manual pages, completions, the files for services, and help.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::stdout;
use crate::serving::spanbridge;

fn commands() -> Vec<String> {
    let help = stdout(&spanbridge(&["help"]));
    let list = help
        .split("Commands:\n")
        .nth(1)
        .expect("commands")
        .split("\n\n")
        .next()
        .expect("a list");
    list.lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .map(ToOwned::to_owned)
        .collect()
}

#[test]
fn manual_pages_and_help_cover_every_command() {
    let commands = commands();
    assert!(commands.len() >= 11 && commands.iter().any(|name| name == "doctor"), "{commands:?}");
    let whole = spanbridge(&["man"]);
    assert!(stdout(&whole).contains(".TH spanbridge 1"), "{}", stdout(&whole));
    for name in &commands {
        let page = spanbridge(&["man", name]);
        assert!(page.status.success(), "{name}");
        assert!(stdout(&page).contains(&format!(".TH spanbridge-{name} 1")), "{}", stdout(&page));
        assert!(stdout(&whole).contains(&format!("spanbridge\\-{name}(1)")), "{name}");
        // The first line says what it does, briefly; an example says how.
        let help = stdout(&spanbridge(&[name, "--help"]));
        let group = help.contains("Commands:");
        assert!(help.lines().next().is_some_and(|line| (10..=90).contains(&line.len())), "{name}");
        assert!(group || help.contains("Example"), "{name}:\n{help}");
    }
    assert_eq!(spanbridge(&["man", "nothing"]).status.code(), Some(2));
}

#[test]
fn the_short_help_of_serve_is_short_and_the_long_one_has_headings() {
    let short = stdout(&spanbridge(&["serve", "-h"]));
    assert!(short.lines().count() < 60 && short.contains("--otlp-http"), "{short}");
    assert!(!short.contains("--max-streams"), "{short}");
    let long = stdout(&spanbridge(&["serve", "--help"]));
    let headings = long.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).count();
    assert!(
        headings >= 8 && long.contains("\nLimits:\n") && long.contains("--max-streams"),
        "{long}"
    );
    assert!(!stdout(&spanbridge(&["doctor", "-h"])).contains("--max-streams"));
}

/// What the program offers for a line in a shell, without the shell.
fn offered(words: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_spanbridge"))
        .env("_SPANBRIDGE_COMPLETE", "fish")
        .args(["--", "spanbridge"])
        .args(words)
        .output()
        .expect("runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let lines = stdout(&output);
    lines
        .lines()
        .map(|line| line.split('\t').next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn completions_offer_commands_flags_and_values() {
    assert!(commands().iter().all(|name| offered(&[""]).contains(name)));
    for (words, value) in [
        (&["serve", "--retain-h"][..], "--retain-hours"),
        (&["convert", "--to", "op"], "openreward"),
        (&["export", "--option", "openreward.sub"], "openreward.subagents=nested"),
        (&["ls", "--status", "er"], "error"),
    ] {
        assert!(offered(words).iter().any(|word| word == value), "{words:?}: {:?}", offered(words));
    }
}

#[test]
fn completions_offer_the_traces_and_sessions_of_the_store() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let data = data.to_str().expect("a path");
    // No store, no server, no message.
    assert!(offered(&["show", "--data-dir", data, ""]).iter().all(|word| word.starts_with('-')));
    assert!(offered(&["ls", "--server", "http://127.0.0.1:1", "--session", ""]).is_empty());

    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/made-session/001.traces.json");
    let imported = spanbridge(&["import", "--data-dir", data, &case.to_string_lossy()]);
    assert!(imported.status.success(), "{imported:?}");
    let listed = stdout(&spanbridge(&["ls", "--data-dir", data, "--json"]));
    let listed: serde_json::Value = serde_json::from_str(listed.lines().next().expect("a trace")).expect("JSON");
    let trace = listed["trace_id"].as_str().expect("an id");
    assert!(offered(&["show", "--data-dir", data, &trace[..4]]).contains(&trace.to_owned()));
    assert!(offered(&["export", &format!("--data-dir={data}"), "--trace", ""]).contains(&trace.to_owned()));
    assert_eq!(offered(&["ls", "--data-dir", data, "--session", ""]), ["talk-1"]);
}

#[test]
fn the_scripts_for_shells_ask_the_program() {
    let path = Path::new(env!("CARGO_BIN_EXE_spanbridge")).parent().expect("a folder");
    let path = format!("{}:{}", path.display(), std::env::var("PATH").unwrap_or_default());
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = stdout(&spanbridge(&["completions", shell]));
        assert!(script.contains("_SPANBRIDGE_COMPLETE"), "{shell}: {script}");
    }
    let bash = tempfile::NamedTempFile::new().expect("a file");
    fs::write(bash.path(), stdout(&spanbridge(&["completions", "bash"]))).expect("writes");
    let ask = format!(
        "source '{}'; COMP_WORDS=(spanbridge do); COMP_CWORD=1; COMP_TYPE=9; _clap_complete_spanbridge spanbridge do spanbridge; \
         echo \"${{COMPREPLY[*]}}\"",
        bash.path().display()
    );
    match Command::new("bash").args(["-c", &ask]).env("PATH", path).output() {
        Ok(output) => assert_eq!(stdout(&output).trim(), "doctor", "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => eprintln!("the script was not run in bash: {error}"),
    }
}

#[test]
fn the_files_for_services_are_printed_and_fit_the_program() {
    let unit = stdout(&spanbridge(&["packaging", "systemd"]));
    for line in [
        "User=spanbridge",
        "StateDirectory=spanbridge",
        "ProtectSystem=strict",
        "NoNewPrivileges=yes",
        "ExecReload=/bin/kill -HUP $MAINPID",
    ] {
        assert!(unit.lines().any(|found| found == line), "{line}");
    }
    // A folder that systemd would make for the configuration belongs to root alone: the service could not read it.
    assert!(!unit.contains("ConfigurationDirectory="));
    assert!(
        stdout(&spanbridge(&["packaging", "sysusers"]))
            .lines()
            .any(|line| line.starts_with("u spanbridge "))
    );
    let container = stdout(&spanbridge(&["packaging", "containerfile"]));
    let variables = container
        .lines()
        .filter_map(|line| line.trim().trim_start_matches("ENV ").split_once('='));
    let ours: Vec<&str> = variables
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("SPANBRIDGE_"))
        .collect();
    assert!(ours.len() >= 5, "{ours:?}");
    let help = stdout(&spanbridge(&["serve", "--help"]));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for name in ours {
        assert!(help.contains(&format!("[env: {name}=")), "{name} is no variable of serve");
    }
    // What it copies is there.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copied = container
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "))
        .filter(|line| !line.starts_with("--"));
    for line in copied {
        let words: Vec<&str> = line.split(' ').collect();
        for from in &words[..words.len() - 1] {
            assert!(root.join(from).exists(), "{from}");
        }
    }
    let Ok(version) = Command::new("systemd-analyze").arg("--version").output() else {
        eprintln!("the unit was not verified: there is no systemd-analyze");
        return;
    };
    assert!(version.status.success());
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("spanbridge.service");
    let here = unit.replace("/usr/local/bin/spanbridge", env!("CARGO_BIN_EXE_spanbridge"));
    fs::write(&path, here.replace("Documentation=man:spanbridge(1)\n", "")).expect("writes");
    let verified = Command::new("systemd-analyze").arg("verify").arg(&path).output().expect("runs");
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(!said.contains("spanbridge.service"), "{said}");
}
