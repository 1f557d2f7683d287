//! Few open files, and many connections that do nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::requests::{get, send, span};
use crate::serving::Serving;

#[test]
fn with_few_open_files_and_many_idle_connections_health_answers() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut starter = Command::new("sh");
    starter.args(["-c", "ulimit -n 64; exec \"$@\"", "sh"]);
    let serving = Serving::start_by(starter, directory.path());
    serving.wait_for("the system allows 64 open files");
    let address = |url: &str| url.strip_prefix("http://").expect("a URL").to_owned();
    let connect = |url: &str| TcpStream::connect(address(url)).expect("connects");
    let mut idle: Vec<TcpStream> = (0..300)
        .map(|number| connect([&serving.api, &serving.http, &serving.grpc][number % 3]))
        .collect();
    // Some have asked already, and rest.
    for stream in idle.iter_mut().take(30) {
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    }
    for _ in 0..5 {
        let begin = Instant::now();
        let mut stream = connect(&serving.api);
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket");
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
    assert_eq!(send(&serving, &[span(1, 1)]), 200, "what comes is stored");
    assert_eq!(get(&serving, "/readyz").0, 200);
    drop(idle);
    serving.stop();
}

/// What names this server to others is damaged: it is set aside, said, and made anew.
#[test]
fn a_damaged_instance_file_is_set_aside() {
    for damage in [&b"\xff\xfe"[..], b"", b"not a name, at all"] {
        let directory = tempfile::tempdir().expect("a directory");
        Serving::start(directory.path()).stop();
        let file = directory.path().join("instance");
        let before = std::fs::read(&file).expect("reads");
        std::fs::write(&file, damage).expect("writes");
        let serving = Serving::start(directory.path());
        serving.wait_for("is damaged");
        serving.stop();
        let now = std::fs::read(&file).expect("reads");
        assert!(now != before && now.len() == before.len());
        assert_eq!(std::fs::read(directory.path().join("instance.damaged")).expect("reads"), damage);
    }
}
