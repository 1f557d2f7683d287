//! A bridge that a person started in a terminal.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::serving::program;

#[test]
fn it_reads_its_configuration_at_sighup_and_ends_when_the_terminal_is_gone() {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&master).expect("granted");
    unlockpt(&master).expect("unlocked");
    let name = ptsname(&master, Vec::new()).expect("a name");
    let terminal = File::options()
        .write(true)
        .open(name.to_str().expect("text"))
        .expect("the terminal's other side");
    let directory = tempfile::tempdir().expect("a directory");
    let any = "127.0.0.1:0";
    let mut child = program()
        .args(["serve", "--otlp-grpc", any, "--otlp-http", any, "--http", any, "--data-dir"])
        .arg(directory.path().join("data"))
        .stdin(Stdio::null())
        .stderr(terminal)
        .spawn()
        .expect("starts");
    let hang_up = || {
        let status = Command::new("kill").args(["-HUP", &child.id().to_string()]).status();
        assert!(status.expect("runs").success());
    };
    let mut lines = BufReader::new(File::from(master)).lines();
    let mut said = |words: &str| {
        let mut all = Vec::new();
        while let Some(Ok(line)) = lines.next() {
            all.push(line);
            if all.last().is_some_and(|line| line.contains(words)) {
                return;
            }
        }
        panic!("{words} was not said: {all:?}");
    };
    said("Ctrl-C stops");
    hang_up();
    said("is in force");
    drop(lines);
    hang_up();
    let (tell, told) = channel();
    let begin = Instant::now();
    let waiter = std::thread::spawn(move || {
        let status = loop {
            match child.try_wait().expect("is ours") {
                None if begin.elapsed() < Duration::from_secs(30) => std::thread::sleep(Duration::from_millis(20)),
                status => break status,
            }
        };
        let _ = child.kill();
        let _ = child.wait();
        let _ = tell.send(status);
    });
    let ended = told.recv().expect("told");
    assert!(ended.expect("it goes on without its terminal").success());
    waiter.join().expect("ends");
}
