//! The real program, serving a directory of its own.

use serde_json::Value;
use spanbridge::span::json as otlp_json;

use super::wire::{self, Answer};
use crate::serving::Serving;

/// A running `spanbridge serve`; addresses are `host:port`.
pub(crate) struct Bridge {
    serving: Serving,
    pub(crate) grpc: String,
    pub(crate) http: String,
    pub(crate) api: String,
    /// Removed with the bridge.
    _directory: tempfile::TempDir,
}

impl Bridge {
    pub(crate) fn start(flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let serving = Serving::start_with(directory.path(), flags);
        let [grpc, http, api] =
            [&serving.grpc, &serving.http, &serving.api].map(|url| url.strip_prefix("http://").expect("a URL").to_owned());
        Self {
            serving,
            grpc,
            http,
            api,
            _directory: directory,
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        wire::http1(&self.api, "GET", path, &[], &[])
    }

    /// How many spans of a trace are stored.
    pub(crate) fn stored(&self, trace: u16) -> usize {
        let answer = self.get(&format!("/api/v1/traces/{}", super::body::trace_id(trace)));
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
        serde_json::from_slice(&self.get(&format!("/api/v1/traces/{}", super::body::trace_id(trace))).body).expect("JSON")
    }

    /// Asks it to end, as a service manager does.
    pub(crate) fn terminate(&self) {
        self.serving.terminate();
    }

    /// The most memory it ever had, in MiB; where the system does not tell, nothing.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        self.serving.peak_memory().map(|bytes| bytes >> 20)
    }

    pub(crate) fn wait(&mut self) -> bool {
        self.serving.wait().success()
    }

    pub(crate) fn runs(&mut self) -> bool {
        self.serving.is_running()
    }
}
