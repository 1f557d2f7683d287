//! Test programs that are the programs under test too: some things a process can do only once, or dies of.
//!
//! `<this executable> program NAME` runs one of the programs; any other arguments are those of Rust's test harness.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "not every test uses all of it"
)]

use std::process::{Command, ExitCode, Output, Stdio};

use libtest_mimic::{Arguments, Trial};

/// A program or a test, with its name.
pub type Named = (&'static str, fn());

/// `named![a, b]`: functions with their names.
#[macro_export]
macro_rules! named {
    ($($(#[$attribute:meta])* $function:ident),* $(,)?) => { &[$($(#[$attribute])* (stringify!($function), $function as fn())),*] };
}

/// The `main` of a test program.
pub fn main(programs: &[Named], tests: &[Named]) -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if let [_, mode, name] = words.as_slice()
        && mode == "program"
    {
        let (_, run) = programs.iter().find(|(have, _)| have == name).expect("a program of this test");
        run();
        return ExitCode::SUCCESS;
    }
    let trials = tests.iter().map(|(name, run)| {
        let run = *run;
        Trial::test(*name, move || {
            run();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// One of this test's programs, with these variables and no others that the Layer reads.
pub fn program(name: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["program", name]);
    let read = ["OTEL_", "OPENINFERENCE_", "SPANBRIDGE_", "PHOENIX_", "TRACE", "RUST_LOG"];
    for (key, _) in std::env::vars().filter(|(key, _)| read.iter().any(|head| key.starts_with(head))) {
        command.env_remove(key);
    }
    command
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs it to its end.
pub fn run(name: &str, variables: &[(&str, &str)]) -> Output {
    let output = program(name, variables).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}
