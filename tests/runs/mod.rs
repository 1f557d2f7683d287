//! The run of every case, as a text tree: a change in the core shows as a readable diff, and a recorded case that gets
//! worse fails by its own name.
//!
//! `UPDATE=1 cargo test --test runs` writes `run.txt` into each case folder. Read the diff before you commit it.
#![expect(clippy::unwrap_used, reason = "a test")]

mod rows;
mod single;
mod tree;
mod words;

use crate::support;

use std::fs;

use support::{cases, first_difference};

#[test]
fn each_case_gives_the_expected_run() {
    let update = std::env::var_os("UPDATE").is_some_and(|value| value == "1");
    let mut wrong = Vec::new();
    for case in cases(300, |_| true) {
        let mut runs = case.runs();
        runs.sort_by_key(|run| run.trace_id.to_string());
        let have = runs.iter().map(tree::of_run).collect::<Vec<_>>().join("\n");
        let path = case.folder.join("run.txt");
        match fs::read_to_string(&path) {
            Ok(want) if want == have => {}
            _ if update => fs::write(&path, have).unwrap(),
            Ok(want) => wrong.push(format!("{}: {}", case.name, first_difference(&want, &have))),
            Err(error) => wrong.push(format!("{}: {}: {error}", case.name, path.display())),
        }
    }
    assert!(
        wrong.is_empty(),
        "the runs of {} cases differ; UPDATE=1 rewrites them\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
