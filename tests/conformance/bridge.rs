//! The real program, serving on ports that the system chose.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use spanbridge::span::json as otlp_json;

use crate::wire::{self, Answer};

/// A running `spanbridge serve`.
pub(crate) struct Bridge {
    child: Child,
    pub(crate) grpc: String,
    pub(crate) http: String,
    pub(crate) api: String,
    pub(crate) directory: tempfile::TempDir,
}

impl Bridge {
    pub(crate) fn start(flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let any = "127.0.0.1:0";
        let mut child = Command::new(env!("CARGO_BIN_EXE_spanbridge"))
            .args(["serve", "--otlp-grpc", any, "--otlp-http", any, "--http", any, "--data-dir"])
            .arg(directory.path())
            .args(flags)
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let mut address = |label: &str| {
            let mut words = lines.by_ref().map_while(Result::ok);
            let line = words.find(|line| line.trim().starts_with(label)).expect("says where it listens");
            let url = line.split_whitespace().nth(1).expect("a URL");
            url.strip_prefix("http://").expect("a URL").to_owned()
        };
        let (grpc, http, api) = (address("OTLP/gRPC"), address("OTLP/HTTP"), address("API"));
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self {
            child,
            grpc,
            http,
            api,
            directory,
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        wire::http1(&self.api, "GET", path, &[], &[])
    }

    /// How many spans of a trace are stored.
    pub(crate) fn stored(&self, trace: u16) -> usize {
        let answer = self.get(&format!("/api/v1/traces/{}", crate::body::trace_id(trace)));
        match answer.status {
            200 => otlp_json::traces(&answer.body).expect("OTLP/JSON").items.len(),
            _ => 0,
        }
    }

    /// The sum of a metric over its labels, or the one sample that is named with them.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let text = String::from_utf8(self.get("/metrics").body).expect("text");
        let of_it = |line: &&str| line.split(' ').next() == Some(name) || line.split('{').next() == Some(name);
        let samples = text.lines().filter(of_it);
        samples.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    }

    /// The trace as OTLP/JSON.
    pub(crate) fn trace(&self, trace: u16) -> Value {
        serde_json::from_slice(&self.get(&format!("/api/v1/traces/{}", crate::body::trace_id(trace))).body).expect("JSON")
    }

    /// Asks it to end, as a service manager does.
    pub(crate) fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("runs").success());
    }

    /// The most memory it ever had, in MiB; where the system does not tell, nothing.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? >> 10)
    }

    pub(crate) fn wait(&mut self) -> bool {
        self.child.wait().expect("ends").success()
    }

    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().expect("asks").is_none()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = &self.directory;
    }
}
