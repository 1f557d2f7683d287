//! `spanbridge serve` as a process of its own, and the other commands of the real program.
#![allow(dead_code, reason = "every test program uses a part of it")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

/// The program with these arguments, to its end.
pub(crate) fn spanbridge(arguments: &[&str]) -> Output {
    with_input(arguments, b"")
}

/// The same, with this on standard input.
pub(crate) fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_spanbridge"))
        .args(arguments)
        .env_remove("SPANBRIDGE_SERVER")
        .env_remove("SPANBRIDGE_DATA_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    // A program that does not read its input closes it.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("ends")
}

/// The program, serving on ports that the system chose.
pub(crate) struct Serving {
    pub(crate) child: Child,
    /// Where OTLP/gRPC listens: `http://host:port`.
    pub(crate) grpc: String,
    /// Where OTLP/HTTP listens: `http://host:port`.
    pub(crate) http: String,
    /// Where the API listens: `http://host:port`.
    pub(crate) api: String,
}

impl Serving {
    pub(crate) fn start(directory: &Path) -> Self {
        Self::start_by(Command::new("env"), directory)
    }

    /// Started by another program, which takes the command and its arguments and becomes it.
    pub(crate) fn start_by(mut starter: Command, directory: &Path) -> Self {
        let any = "127.0.0.1:0";
        let mut child = starter
            .arg(env!("CARGO_BIN_EXE_spanbridge"))
            .args(["serve", "--otlp-grpc", any, "--otlp-http", any, "--http", any, "--data-dir"])
            .arg(directory)
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let mut said = |what: &str| {
            let line = lines.find_map(|line| Some(line.trim().strip_prefix(what)?.trim().to_owned()));
            line.expect("says it").split(' ').next().expect("a word").to_owned()
        };
        let (grpc, http, api) = (said("OTLP/gRPC"), said("OTLP/HTTP"), said("API"));
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, grpc, http, api }
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("runs").success());
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().expect("ends")
    }

    /// Asks it to end, which has to go well.
    pub(crate) fn stop(self) {
        self.terminate();
        assert!(self.wait().success());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // After a failed assertion too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
