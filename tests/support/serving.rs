//! The real program: its commands, and `spanbridge serve` as a process of its own.
#![allow(dead_code, reason = "every test program uses a part of it")]

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Flags that let the system choose the ports.
pub(crate) const ANY_PORTS: [&str; 6] = ["--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0", "--http", "127.0.0.1:0"];

/// The servers of `spanbridge serve`, as it prints their addresses.
const SERVERS: [&str; 3] = ["OTLP/gRPC", "OTLP/HTTP", "API"];

/// The program, without settings from the environment of the tests.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spanbridge"));
    without_settings(&mut command);
    command
}

fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SPANBRIDGE_") {
            command.env_remove(name);
        }
    }
}

/// Runs the program with these arguments until it ends.
pub(crate) fn spanbridge(arguments: &[&str]) -> Output {
    with_input(arguments, b"")
}

/// The same, with this on standard input.
pub(crate) fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = program()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    // A program that does not read its input closes it.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("ends")
}

/// What a command took, and what it said on standard error.
pub(crate) struct Measured {
    /// Its largest memory in bytes, without its program.
    pub(crate) memory: u64,
    /// Time of the processor, but for its last millisecond.
    pub(crate) processor: Duration,
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
}

/// Runs the program until it ends. What it prints goes nowhere.
pub(crate) fn measured(arguments: &[&str]) -> Measured {
    let mut child = program()
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut errors = child.stderr.take().expect("piped");
    let said = std::thread::spawn(move || {
        let mut said = Vec::new();
        std::io::copy(&mut errors, &mut said).map(|_| String::from_utf8_lossy(&said).into_owned())
    });
    let (mut memory, mut processor, begin) = (0, Duration::ZERO, Instant::now());
    let code = loop {
        let of_process = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", child.id())).unwrap_or_default();
        let status = of_process("status");
        let of = |name: &str| {
            let mut values = status.lines().filter_map(|line| line.strip_prefix(name)?.split_whitespace().next());
            values.next()?.parse::<u64>().ok()
        };
        let peak = of("VmHWM:").zip(of("RssFile:")).map(|(whole, program)| whole - program);
        memory = memory.max(peak.unwrap_or_default() << 10);
        let stat = of_process("stat");
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: u64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        processor = processor.max(Duration::from_millis(ticks * 10));
        if let Some(status) = child.try_wait().expect("asks") {
            break status.code();
        }
        assert!(begin.elapsed() < Duration::from_secs(120), "{arguments:?} does not end");
        std::thread::sleep(Duration::from_millis(1));
    };
    Measured {
        memory,
        processor,
        code,
        said: said.join().expect("ends").expect("text"),
    }
}

/// The program, serving. It is killed when this is dropped.
pub(crate) struct Serving {
    pub(crate) child: Child,
    /// Where OTLP/gRPC listens: `http://host:port`, or `https://`.
    pub(crate) grpc: String,
    /// Where OTLP/HTTP listens.
    pub(crate) http: String,
    /// Where the API listens.
    pub(crate) api: String,
    log: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Serving {
    /// Serves this data directory on ports that the system chooses.
    pub(crate) fn start(directory: &Path) -> Self {
        Self::start_with(directory, &[])
    }

    /// The same with further flags.
    pub(crate) fn start_with(directory: &Path, flags: &[&str]) -> Self {
        Self::launch(serve(&mut program(), directory).args(flags))
    }

    /// Started by another program, which takes the command and its arguments and becomes it.
    pub(crate) fn start_by(mut starter: Command, directory: &Path) -> Self {
        without_settings(&mut starter);
        Self::launch(serve(starter.arg(env!("CARGO_BIN_EXE_spanbridge")), directory))
    }

    /// Starts a complete command, and waits until its servers listen.
    pub(crate) fn launch(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("starts");
        let log = Arc::<Mutex<Vec<String>>>::default();
        let (tell, told) = channel();
        let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let to = Arc::clone(&log);
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                addresses(&line, &tell);
                to.lock().expect("unbroken").push(line);
            }
        });
        let mut urls = SERVERS.map(|server| {
            let told = told.recv_timeout(Duration::from_secs(60));
            let (name, url): (&str, String) = told.unwrap_or_else(|_| panic!("it did not start: {:?}", log.lock().expect("unbroken")));
            assert_eq!(name, server);
            url
        });
        let [grpc, http, api] = urls.each_mut().map(std::mem::take);
        Self {
            child,
            grpc,
            http,
            api,
            log,
            reader: Some(reader),
        }
    }

    /// Everything that it has printed on standard error.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("unbroken").join("\n")
    }

    /// The first line with these words; waits for it.
    pub(crate) fn wait_for(&self, words: &str) -> String {
        let begin = Instant::now();
        loop {
            if let Some(line) = self.log.lock().expect("unbroken").iter().find(|line| line.contains(words)) {
                return line.clone();
            }
            assert!(
                begin.elapsed() < Duration::from_secs(30),
                "{words:?} was not printed: {}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a signal, such as `-HUP`.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("runs").success());
    }

    /// Asks it to end, as a service manager does.
    pub(crate) fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("ends")
    }

    /// Whether it has not ended.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("asks").is_none()
    }

    /// Asks it to end, which has to go well; everything that it printed.
    pub(crate) fn stop(mut self) -> String {
        self.terminate();
        assert!(self.wait().success(), "{}", self.log());
        self.reader.take().expect("once").join().expect("reads");
        self.log()
    }

    /// The most memory that it had, in bytes, since the start or since [`Serving::forget_peak_memory`]; `None` where the
    /// system does not tell.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        self.memory("VmHWM:")
    }

    /// Of that the memory that holds the program's own file and not what it works on, in bytes.
    pub(crate) fn program_memory(&self) -> Option<u64> {
        self.memory("RssFile:")
    }

    fn memory(&self, name: &str) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
    }

    /// Measures the peak of memory from now on.
    pub(crate) fn forget_peak_memory(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").expect("resets");
    }
}

fn serve<'c>(command: &'c mut Command, directory: &Path) -> &'c mut Command {
    command
        .args([OsStr::new("serve"), OsStr::new("--data-dir"), directory.as_os_str()])
        .args(ANY_PORTS)
}

/// Tells of the addresses in a line of the log, which is text or JSON.
fn addresses(line: &str, tell: &Sender<(&'static str, String)>) {
    let words: Vec<&str> = line.split_whitespace().collect();
    if let [name, url, ..] = words.as_slice()
        && let Some(server) = SERVERS.into_iter().find(|server| server == name)
    {
        let _ = tell.send((server, (*url).to_owned()));
    }
    let json: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
    if json.get("message").is_some_and(|message| message == "serving") {
        for (server, field) in SERVERS.into_iter().zip(["grpc", "http", "api"]) {
            let address = json.get(field).and_then(serde_json::Value::as_str).expect("an address");
            let _ = tell.send((server, format!("http://{address}")));
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // After a failed assertion too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
