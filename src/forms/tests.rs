//! Each table with a made input of its form, `tests/message_forms/<name>.*`, and the row that it becomes, `tests/message_forms/rows/<name>.json`.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::built_in::TABLES;
use super::recognise::{Forms, Found};
use super::{Log, table::Form};

/// Reads a text as its files are read: the form, and what comes out.
fn rows(text: &str) -> (String, Vec<Value>) {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let first = values.next().unwrap().unwrap();
    let mut out = Vec::new();
    let mut form = String::new();
    let mut add = |read: super::Read| {
        form.clone_from(&read.form);
        out.push(serde_json::json!({"row": read.row, "notes": read.notes}));
    };
    match Forms::built_in().read(&first, true).expect("it is of a form") {
        Found::Log(form) => {
            let mut log = Log::new(form);
            log.add(&first);
            values.for_each(|value| log.add(&value.unwrap()));
            add(log.finish().unwrap());
        }
        Found::One(read) => add(read.unwrap()),
        Found::Several(list) => list.into_iter().for_each(|read| add(read.unwrap())),
    }
    (form, out)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/message_forms")
}

#[test]
fn each_table_is_right() {
    for (name, text) in TABLES {
        if let Err(error) = Form::of(name, text) {
            panic!("{error}");
        }
    }
    let files: Vec<PathBuf> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("semconv/forms"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| !path.to_str().unwrap().ends_with(".sqlite.yaml"))
        .collect();
    assert_eq!(files.len(), TABLES.len(), "each file of semconv/forms is in TABLES");
}

#[test]
fn each_form_reads_its_input() {
    let mut inputs: Vec<PathBuf> = fs::read_dir(folder())
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    inputs.sort();
    let mut read = Vec::new();
    for input in inputs {
        let stem = input.file_stem().unwrap().to_str().unwrap().to_owned();
        let (form, rows) = rows(&fs::read_to_string(&input).unwrap());
        let wanted = stem.split('-').next().unwrap();
        assert_eq!(form, wanted, "{}", input.display());
        read.push(form);
        let got = format!("{}\n", serde_json::to_string_pretty(&Value::from(rows)).unwrap());
        let golden = folder().join("rows").join(format!("{stem}.json"));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&golden, &got).unwrap();
        }
        assert_eq!(fs::read_to_string(&golden).unwrap_or_default(), got, "{}", golden.display());
    }
    for (name, _) in TABLES {
        assert!(read.iter().any(|form| form == name), "{name} has no input in tests/message_forms");
    }
}

#[test]
fn a_wrong_name_is_an_error_with_the_nearest() {
    let table = |rule: &str| format!("reads: x\nis: {{a: <any>}}\nrules:\n  item:\n    - {{{rule}}}\n");
    for (rule, words) in [
        ("role: a, txt: b", "did you mean `text`"),
        ("text: a as txt", "did you mean `text`"),
        ("each: {a: itm}", "did you mean `item`"),
        ("text: $tme, keep: {time: a}", "did you mean `time`"),
        ("when: {a: <txt>}, text: a", "did you mean `<text>`"),
        ("each: {..: item}", "below the value"),
        ("text: ../*/a", "no `*` after `..`"),
        ("when: {a: b}", "says nothing"),
        ("facts: {content: a}", "other members"),
    ] {
        let error = Form::of("own", &table(rule)).map(|_| ()).expect_err(rule).to_string();
        assert!(error.contains(words), "{rule}: {error}");
    }
}
