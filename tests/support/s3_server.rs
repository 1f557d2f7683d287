//! An S3 server on loopback: versitygw, if there is one, else moto.
#![allow(clippy::expect_used, reason = "a test")]

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The variable with the path of the program `versitygw`.
pub(crate) const VERSITYGW: &str = "SPANBRIDGE_VERSITYGW";

/// The keys of the only user.
const USER: (&str, &str) = ("tester", "not-a-secret");

/// A server that ends with this value.
#[derive(Debug)]
pub(crate) struct S3 {
    process: Child,
    address: SocketAddr,
    _files: tempfile::TempDir,
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

fn versitygw() -> Option<PathBuf> {
    std::env::var_os(VERSITYGW).map(PathBuf::from).or_else(|| in_path("versitygw"))
}

/// A port that was free just now.
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}

impl S3 {
    /// A server with the bucket `traces`; `None`: there is none on this machine.
    pub(crate) fn start() -> Option<Self> {
        let (address, files) = (free(), tempfile::tempdir().expect("a directory"));
        let versitygw = versitygw();
        let process = match (&versitygw, in_path("moto_server")) {
            (Some(program), _) => {
                std::fs::create_dir(files.path().join("traces")).expect("makes");
                of_versitygw(program, address, files.path())
            }
            (None, Some(program)) => of_moto(&program, address),
            (None, None) => return None,
        };
        let server = Self {
            process,
            address,
            _files: files,
        };
        let until = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < until, "the S3 server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        if versitygw.is_none() {
            // moto asks nobody who he is.
            let agent: ureq::Agent = ureq::Agent::config_builder().proxy(None).build().into();
            agent.put(format!("http://{address}/traces")).send_empty().expect("a bucket");
        }
        Some(server)
    }

    /// What a client of it must have in its environment.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ACCESS_KEY_ID", USER.0.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", USER.1.to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ENDPOINT", format!("http://{}", self.address)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
        ]
    }

    /// Its process.
    #[allow(dead_code, reason = "not every test stops it")]
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

fn of_versitygw(program: &Path, address: SocketAddr, files: &Path) -> Child {
    Command::new(program)
        .args(["--access", USER.0, "--secret", USER.1, "--region", "us-east-1", "--quiet"])
        .args(["--port", &address.to_string(), "posix"])
        .arg(files)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("versitygw starts")
}

fn of_moto(program: &Path, address: SocketAddr) -> Child {
    Command::new(program)
        .args(["-H", "127.0.0.1", "-p", &address.port().to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("moto starts")
}

impl Drop for S3 {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
