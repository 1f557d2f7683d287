//! Session files of coding agents, recorded: whatever the order of the files, wherever a file is cut off, and however often it is
//! read. What the documents must contain, `tests/judge/sessions.py` counts.
#![expect(clippy::expect_used, reason = "a test")]

use crate::serving;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serving::spanbridge;

/// The recorded sessions.
fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session_files/cases");
    let mut cases: Vec<PathBuf> = fs::read_dir(folder)
        .expect("cases")
        .map(|entry| entry.expect("a case").path().join("session"))
        .collect();
    cases.sort();
    assert!(cases.len() >= 60, "only {} cases", cases.len());
    cases
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Files whose lines are a session, by the ends of their names.
fn is_session(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let beside = ["usage_record.jsonl", "journal.jsonl"].contains(&name);
    path.extension().is_some_and(|end| end == "jsonl") && !beside
}

/// The documents of these inputs, and what is said beside them.
fn documents(inputs: &[&Path]) -> (BTreeSet<String>, String) {
    let mut arguments = vec!["convert", "--to", "messages"];
    arguments.extend(inputs.iter().map(|input| text(input)));
    let output = spanbridge(&arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{inputs:?}: {said}");
    let documents = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    (documents, said)
}

#[test]
fn the_order_of_the_files_changes_nothing() {
    let mut compared = 0;
    for case in cases() {
        let mut list: Vec<PathBuf> = files(&case).into_iter().filter(|file| is_session(file)).collect();
        if list.len() < 2 {
            continue;
        }
        compared += 1;
        let (wanted, _) = documents(&[&case]);
        list.reverse();
        let list: Vec<&Path> = list.iter().map(PathBuf::as_path).collect();
        assert_eq!(documents(&list).0, wanted, "{}", case.display());
    }
    assert!(compared >= 8, "{compared} cases have several files");
}

#[test]
fn a_file_that_is_cut_off_is_read_up_to_there() {
    let directory = tempfile::tempdir().expect("a directory");
    for case in cases() {
        let Some(file) = files(&case).into_iter().find(|file| is_session(file)) else {
            continue;
        };
        let bytes = fs::read(&file).expect("reads");
        // In the middle of its last line, and of the line in its middle.
        for cut in [bytes.len() - 9, bytes.len() / 2] {
            let begun = directory.path().join("begun.jsonl");
            fs::write(&begun, bytes.get(..cut).expect("inside")).expect("writes");
            let output = spanbridge(&["convert", "--to", "messages", text(&begun)]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{} to {cut}: {said}", file.display());
            let half = bytes.get(cut - 1) != Some(&b'\n') && bytes.get(cut) != Some(&b'\n');
            assert_eq!(
                said.contains("the last line is not complete"),
                half,
                "{} to {cut}: {said}",
                file.display()
            );
        }
    }
}

#[test]
fn a_second_import_stores_nothing_and_a_grown_file_what_is_new() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let import = |input: &Path| {
        let output = spanbridge(&["import", "--data-dir", text(&data), text(input)]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let counts = said.lines().find(|line| line.contains("already stored before")).expect("counts");
        let numbers: Vec<usize> = counts.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        match numbers.as_slice() {
            [stored, before] => (*stored, *before),
            _ => panic!("{said}"),
        }
    };
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session_files/cases");
    // Some sessions are there twice: in the client's database, and as it exports them.
    let (stored, twice) = import(&all);
    assert!(stored > 300 && twice > 0, "{stored} spans, {twice} twice");
    let (again, before) = import(&all);
    assert_eq!((again, before), (0, stored + twice));
    // A file of a session of its own, which grows.
    let grown = directory.path().join("grown.jsonl");
    let resumed = all.join("claudecode-resume/session");
    let text_of = fs::read_to_string(files(&resumed).into_iter().find(|file| is_session(file)).expect("a file")).expect("reads");
    let other = text_of.replace("\"uuid\":\"", "\"uuid\":\"9");
    let lines: Vec<&str> = other.lines().collect();
    let half = lines.len() / 2;
    fs::write(&grown, lines.get(..half).expect("half").join("\n") + "\n").expect("writes");
    let (first, _) = import(&grown);
    fs::write(&grown, &other).expect("writes");
    let (second, before) = import(&grown);
    assert!(first > 0 && second > 0, "{first}, {second}");
    // What was whole before is not stored again.
    assert!(before > 0 && before + second > first, "{first}, {second}, {before}");
}
