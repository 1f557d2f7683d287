//! Servers under load, each with a directory of its own.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server with a directory of its own; ended when dropped.
pub(crate) struct Server {
    process: Child,
    directory: Option<tempfile::TempDir>,
    pub(crate) grpc: u16,
    pub(crate) http: u16,
}

impl Server {
    pub(crate) fn start(program: &Path, arguments: impl FnOnce(&Path, u16, u16) -> Vec<String>) -> Self {
        let [grpc, http] = [free_port(), free_port()];
        let directory = tempfile::tempdir().unwrap();
        let process = Command::new(program)
            .args(arguments(directory.path(), grpc, http))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", http)).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(20), "{} does not listen", program.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        Self {
            process,
            directory: Some(directory),
            grpc,
            http,
        }
    }

    /// `spanbridge serve`, with these arguments besides.
    pub(crate) fn bridge(further: &[String]) -> Self {
        Self::bridge_of(Path::new(env!("CARGO_BIN_EXE_spanbridge")), further)
    }

    /// The same with another build of the program.
    pub(crate) fn bridge_of(program: &Path, further: &[String]) -> Self {
        Self::start(program, |directory, grpc, http| {
            let words = [
                "serve".into(),
                "--data-dir".into(),
                directory.join("data").display().to_string(),
                format!("--otlp-grpc=127.0.0.1:{grpc}"),
                format!("--otlp-http=127.0.0.1:{http}"),
                "--http=127.0.0.1:0".into(),
            ];
            [&words, further].concat()
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits until it has used no CPU for a while: sealed segments are compressed then.
    pub(crate) fn wait_until_quiet(&self) {
        let mut before = f64::NAN;
        loop {
            let (now, _) = self.usage();
            if now == before {
                return;
            }
            before = now;
            std::thread::sleep(Duration::from_secs(8));
        }
    }

    /// Ends it in order, and gives its directory.
    pub(crate) fn stop(mut self) -> tempfile::TempDir {
        let asked = Command::new("kill").arg(self.process.id().to_string()).status().unwrap();
        assert!(asked.success());
        self.process.wait().unwrap();
        self.directory.take().unwrap()
    }

    /// Seconds of CPU since the start, and resident memory in MiB.
    pub(crate) fn usage(&self) -> (f64, f64) {
        let place = format!("/proc/{}", self.process.id());
        let stat = std::fs::read_to_string(format!("{place}/stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks: f64 = [11, 12].iter().map(|at| fields.get(*at).unwrap().parse::<f64>().unwrap()).sum();
        (ticks / 100.0, self.memory("VmRSS:"))
    }

    /// The most memory in MiB that was resident at a time.
    pub(crate) fn peak(&self) -> f64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, which: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(which)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
