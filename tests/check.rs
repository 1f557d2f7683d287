//! `spanbridge check` on documents that keep every rule, and on some that break many.
#![expect(clippy::expect_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

use spanbridge::formats::{FORMATS, Options, by_id, check};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// The files of a folder that end so.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.to_string_lossy().ends_with(end));
    files.sort();
    files
}

/// The violations of a file, one a line.
fn violations(format: &str, file: &Path) -> String {
    let text = fs::read_to_string(file).expect("read");
    let format = by_id(format).expect("a format");
    let checked = check(Some(format), &text, &Options::default()).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    checked.violations.iter().map(|violation| format!("{violation}\n")).collect()
}

/// `tests/documents/<format>/*.json`, and the hand-made goldens that the formats' own packages accept.
#[test]
fn documents_that_readers_accept_break_no_rule() {
    let mut checked = 0;
    for format in FORMATS {
        let mut all = files(&root().join("documents").join(format.id), ".json");
        for case in files(&root().join("corpus"), "") {
            let is_made = case.file_name().is_some_and(|name| name.to_string_lossy().starts_with("made-"));
            let refused = fs::read_to_string(case.join("refused.json")).unwrap_or_default();
            let goldens = files(&case, &format!(".{}.json", format.id));
            let is_accepted = |file: &&PathBuf| !refused.contains(&*file.file_name().expect("a name").to_string_lossy());
            all.extend(goldens.iter().filter(is_accepted).filter(|_| is_made).cloned());
        }
        for file in all {
            assert_eq!(violations(format.id, &file), "", "{}", file.display());
            checked += 1;
        }
    }
    assert!(checked > 400, "{checked} documents");
}

/// `tests/check/NAME.<format>.json` with the violations in `NAME.<format>.txt`, and `tests/documents/<format>/invalid/`.
#[test]
fn every_violation_is_told_with_its_place() {
    let folder = root().join("check");
    let mut checked = 0;
    for format in FORMATS {
        for file in files(&folder, &format!(".{}.json", format.id)) {
            let found = violations(format.id, &file);
            assert_ne!(found, "", "{}", file.display());
            golden(&file.with_extension("txt"), &found);
            checked += 1;
        }
        for file in files(&root().join("documents").join(format.id).join("invalid"), ".json") {
            let found = violations(format.id, &file);
            assert_ne!(found, "", "{}", file.display());
            let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
            golden(&folder.join("documents").join(format!("{name}.{}.txt", format.id)), &found);
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked} documents");
}

fn golden(path: &Path, found: &str) {
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, found).expect("written");
    }
    let expected = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}; run with UPDATE=1", path.display()));
    assert_eq!(found, expected, "{}; run with UPDATE=1 and read what changed", path.display());
}

#[test]
fn texts_of_several_documents_name_the_one_at_fault() {
    let good = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}"#;
    let bad = r#"{"messages":[{"role":"user","content":"a"}]}"#;
    let format = by_id("messages");
    let lines = check(format, &format!("{good}\n{bad}\n"), &Options::default()).expect("JSON");
    assert_eq!(lines.documents, 2);
    let paths: Vec<&str> = lines.violations.iter().map(|violation| violation.path.as_str()).collect();
    assert_eq!(paths, ["document 2: $.messages[0]"]);
    let list = check(format, &format!("[{good},{bad}]"), &Options::default()).expect("JSON");
    let paths: Vec<&str> = list.violations.iter().map(|violation| violation.path.as_str()).collect();
    assert_eq!(paths, ["$[1].messages[0]"]);
    for text in ["", "{", "[1,"] {
        assert!(check(format, text, &Options::default()).is_err(), "{text}");
    }
}

#[test]
fn a_large_document_takes_time_in_proportion() {
    // Parents one below the other, and each step named by the next.
    let steps: Vec<String> = (0..64_000)
        .map(|at| {
            format!(
                r#"{{"name":"n","id":"i{at}","parent_id":{}}}"#,
                if at == 0 { "null".to_owned() } else { format!("\"i{}\"", at - 1) }
            )
        })
        .collect();
    let text = format!(r#"{{"nodes":[{}]}}"#, steps.join(","));
    let begin = std::time::Instant::now();
    let checked = check(by_id("reflex"), &text, &Options::default()).expect("JSON");
    assert_eq!(checked.violations, []);
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}
