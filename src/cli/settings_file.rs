//! Reads and prints settings as TOML. Error messages never repeat a value, which may be a secret.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args as _;
use toml::{Table, Value};

use super::failure::Failure;
use super::settings::{Settings, paths_from};

/// Replaces a secret where settings are shown.
const HIDDEN: &str = "(hidden)";

/// The settings that are lists of tables, with the text for an empty one.
const TABLES: &[(&str, &str)] = &[
    (
        "tokens",
        r#"Who may do what; `spanbridge token new` prints such a table. A token is for one project, default/default unless it names another.
[[tokens]]
name = "agents"
hash = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
rights = ["ingest", "read"]   # ingest, read, annotate, delete, admin
project = "acme/web""#,
    ),
    (
        "redact",
        r#"What is taken out of requests before they are stored.
[[redact]]
key = "*password*"
action = "remove"             # remove, mask, hash"#,
    ),
    (
        "forward",
        r#"Where stored spans are sent on to; one table sends the spans of one project. docs/forward.md lists all keys.
[[forward]]
url = "http://127.0.0.1:6006"
preset = "phoenix"            # phoenix, jaeger, langfuse, langsmith, datadog, mlflow, otlp; by default the one that has its name
name = "phoenix"
project = "default/default""#,
    ),
];

/// Reads the settings in a file.
pub(super) fn read(path: &Path) -> Result<Table, Failure> {
    let text = fs::read_to_string(path).map_err(Failure::read(path))?;
    let mut table = parse(&text).map_err(|fault| Failure::usage(format!("{}, {fault}", path.display())))?;
    paths_from(&mut table, path.parent().unwrap_or(Path::new("")));
    Ok(table)
}

/// The data directory that a file names.
pub(super) fn data_dir(path: &Path) -> Result<Option<PathBuf>, Failure> {
    let table = read(path)?;
    Ok(table.get("data_dir").and_then(Value::as_str).map(PathBuf::from))
}

/// Parses a list given by a flag or variable on one line.
pub(super) fn list(name: &str, text: &str) -> Result<Value, Failure> {
    let parsed = parse(&format!("{name} = {text}"));
    let mut table = parsed.map_err(|fault| Failure::usage(format!("--{name}, {fault}")))?;
    table
        .remove(name)
        .ok_or_else(|| Failure::usage(format!("--{name} is not a TOML list")))
}

fn parse(text: &str) -> Result<Table, String> {
    toml::from_str::<Settings>(text).map_err(|error| fault(text, &error))?;
    toml::from_str::<Table>(text).map_err(|error| fault(text, &error))
}

/// Place, key and fault, with a hint if the key is unknown.
fn fault(text: &str, error: &toml::de::Error) -> String {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let whole = text.lines().nth(line - 1).unwrap_or_default();
    let key = whole.split_once('=').map_or("", |(key, _)| key.trim());
    let words = error.message();
    if let Some(unknown) = words.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next()) {
        let known = words.split('`').skip(3).step_by(2);
        let near = known
            .map(|name| (strsim::damerau_levenshtein(name, unknown), name))
            .min()
            .filter(|(distance, _)| *distance <= 3);
        let hint = near.map_or_else(String::new, |(_, name)| format!("; did you mean `{name}`?"));
        return format!("line {line}: there is no key `{unknown}`{hint} (`spanbridge serve --print-config` lists them)");
    }
    // Serde repeats the unexpected value, so leave it out.
    let words = match words.split_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None if words.starts_with("missing field") || key.is_empty() => words.lines().next().unwrap_or_default().to_owned(),
        None => format!("not TOML: {}", words.lines().next().unwrap_or_default()),
    };
    match key {
        "" => format!("line {line}: {words}"),
        key => format!("line {line}, key `{key}`: {words}"),
    }
}

/// All settings as a file, with a comment each; secrets are hidden.
pub(super) fn print(table: &Table) -> String {
    let mut out = String::from("# The settings of `spanbridge serve`. Flags override variables, and variables override this file.\n");
    for argument in Settings::augment_args(clap::Command::new("serve")).get_arguments() {
        let name = argument.get_id().as_str();
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        out.push_str(&format!("\n# {help}\n"));
        match table.get(name) {
            None => out.push_str(&format!("# {name} =\n")),
            Some(_) if name == "redact_hash_key" => out.push_str(&format!("{name} = \"{HIDDEN}\"\n")),
            Some(value) => out.push_str(&format!("{name} = {value}\n")),
        }
    }
    for (name, example) in TABLES {
        let is_empty = table.get(*name).and_then(Value::as_array).is_none_or(Vec::is_empty);
        for line in is_empty.then_some(example.lines()).into_iter().flatten() {
            out.push_str(&format!("\n# {line}"));
        }
        out.push_str(if is_empty { "\n" } else { "" });
        for entry in table.get(*name).and_then(Value::as_array).into_iter().flatten() {
            out.push_str(&format!("\n[[{name}]]\n"));
            for (key, value) in entry.as_table().into_iter().flatten() {
                match key.as_str() {
                    "headers" => {
                        let names = value
                            .as_table()
                            .into_iter()
                            .flatten()
                            .map(|(name, _)| format!("{name} = \"{HIDDEN}\""));
                        out.push_str(&format!("{key} = {{ {} }}\n", names.collect::<Vec<_>>().join(", ")));
                    }
                    "hash" => out.push_str(&format!("{key} = \"{HIDDEN}\"\n")),
                    _ => out.push_str(&format!("{key} = {value}\n")),
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_are_empty_are_printed_as_examples() {
        let printed = print(&Table::new());
        let mut uncommented = String::new();
        for (name, _) in TABLES {
            let (_, example) = printed.split_once(&format!("# [[{name}]]\n")).expect("an example of each table");
            uncommented.push_str(&format!("[[{name}]]\n"));
            for line in example.lines().take_while(|line| line.starts_with("# ")) {
                uncommented.push_str(&format!("{}\n", line.trim_start_matches("# ")));
            }
        }
        let settings = toml::from_str::<Settings>(&uncommented).expect("the examples are settings");
        let config = settings.config().expect("that can be used");
        assert_eq!(config.forward.len(), 1);
        let given: Table = toml::from_str(&uncommented).expect("TOML");
        assert!(!print(&given).contains("# [["), "a table that is set has no example");
    }
}
