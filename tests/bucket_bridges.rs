//! Three bridges on one bucket, under load at all of them: one is killed with SIGKILL at a time and started again, and the S3 server
//! stands still now and then. Every acknowledged span reads back byte for byte from every bridge, documents are those of `convert`, blocks
//! keep their rules under writers on two bridges, and what came is forwarded.
//!
//! 1 round; 20 with `SPANBRIDGE_FULL=1`. On a folder where there is no S3 server.
#![expect(clippy::print_stdout, reason = "a test, which prints what it ran on")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use spanbridge::blocks::limits::Limits;
use spanbridge::blocks::rules;
use spanbridge::otlp::encode;
use spanbridge::span::json::Message;

use crate::load::{Acknowledged, Traces, load};
use crate::s3_server::{S3, VERSITYGW};
use crate::serving::{ANY_PORTS, Serving, program};

/// Bridges that share a bucket.
struct Bridges {
    directory: tempfile::TempDir,
    url: String,
    server: Option<S3>,
    /// Where they forward to.
    destination: Serving,
}

impl Bridges {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let server = S3::start();
        let url = match &server {
            Some(_) => "s3://traces/of-bridges".to_owned(),
            None => {
                println!("on a folder: there is neither versitygw ({VERSITYGW}) nor moto_server");
                format!("file://{}/bucket", directory.path().display())
            }
        };
        let destination = Serving::start(&directory.path().join("destination"));
        Self {
            directory,
            url,
            server,
            destination,
        }
    }

    fn command(&self) -> Command {
        let mut command = program();
        command.envs(self.server.iter().flat_map(S3::variables));
        command
    }

    fn start(&self, number: usize) -> Serving {
        let directory = self.directory.path().join(format!("bridge {number}"));
        let mut command = self.command();
        command.arg("serve").arg("--data-dir").arg(directory).args(["--store", &self.url]);
        let forward = format!("there={}", self.destination.http);
        command
            .args(["--store-poll-milliseconds", "200", "--forward", &forward])
            .args(ANY_PORTS);
        // One of them answers from its own disk, which a kill leaves.
        if number == 2 {
            command.args(["--ack", "local"]);
        }
        Serving::launch(&mut command)
    }

    /// Stops the S3 server for a while; does nothing on a folder.
    fn stand_still(&self, time: Duration) {
        let signal = |name: &str, id: u32| Command::new("kill").args([name, &id.to_string()]).status().expect("runs");
        if let Some(server) = &self.server {
            signal("-STOP", server.id());
            std::thread::sleep(time);
            signal("-CONT", server.id());
        }
    }
}

fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false).proxy(None);
    config.timeout_global(Some(Duration::from_secs(30))).build().into()
}

/// The bytes of a trace as a bridge reads it now; `None`: it does not know it.
fn read(agent: &ureq::Agent, api: &str, trace_id: &str) -> Option<Vec<u8>> {
    let mut response = agent.get(format!("{api}/api/v1/traces/{trace_id}")).call().expect("answers");
    let body = response.body_mut().read_to_vec().expect("a body");
    match response.status().as_u16() {
        404 => None,
        200 => Some(encode::traces(&Message::parse(&body).expect("a message").into_parts().0.items)),
        other => panic!("{other}: {}", String::from_utf8_lossy(&body)),
    }
}

fn check(bridge: &Serving, acknowledged: &Traces, most: usize) {
    let agent = agent();
    let until = Instant::now() + Duration::from_secs(30);
    for (trace_id, bytes) in acknowledged.iter().take(most) {
        let id = trace_id.to_string();
        // What another bridge acknowledged is seen within the poll interval.
        let read = loop {
            match read(&agent, &bridge.api, &id) {
                None if Instant::now() < until => std::thread::sleep(Duration::from_millis(50)),
                read => break read,
            }
        };
        let read = read.unwrap_or_else(|| panic!("trace {id} was acknowledged and is gone: {}", bridge.log()));
        assert!(read == *bytes, "trace {id} has other bytes");
    }
}

#[test]
fn what_three_bridges_acknowledged_is_read_from_each_though_they_are_killed() {
    let rounds = if crate::long_form::is_long_form() { 20 } else { 1 };
    let shared = Bridges::new();
    let mut bridges: Vec<Serving> = (0..3).map(|number| shared.start(number)).collect();
    let next = Arc::new(AtomicU64::new(0));
    let mut all = Traces::new();
    for round in 0..rounds {
        let acknowledged = Acknowledged::default();
        let stop = Arc::<AtomicBool>::default();
        let mut clients = Vec::new();
        for bridge in &bridges {
            clients.extend(load(&bridge.http, &next, &acknowledged, &stop));
        }
        std::thread::sleep(Duration::from_millis(400 + round * 137 % 400));
        if round % 3 == 0 {
            shared.stand_still(Duration::from_secs(2));
        }
        let killed = usize::try_from(round * 7 % 3).expect("small");
        bridges[killed].child.kill().expect("kills");
        bridges[killed].wait();
        bridges[killed] = shared.start(killed);
        stop.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|client| client.join().expect("ends"));
        let of_round = std::mem::take(&mut *acknowledged.lock().expect("no panic"));
        assert!(!of_round.is_empty(), "something was acknowledged");
        for bridge in &bridges {
            check(bridge, &of_round, 60);
        }
        all.extend(of_round);
    }
    check(&bridges[0], &all, usize::MAX);
    for bridge in &bridges {
        check(bridge, &all, 100);
    }
    println!("{} traces acknowledged, {rounds} rounds", all.len());
    check(&shared.destination, &all, usize::MAX);
    documents_are_those_of_convert(&shared, &bridges, &all);
    blocks_of_two_bridges(&bridges);
    read_without_a_bridge(&shared, &all);
    for bridge in bridges {
        bridge.stop();
    }
    shared.destination.stop();
}

fn documents_are_those_of_convert(shared: &Bridges, bridges: &[Serving], all: &Traces) {
    let (agent, file) = (agent(), shared.directory.path().join("spans"));
    for (trace_id, bytes) in all.iter().take(10) {
        std::fs::write(&file, bytes).expect("writes");
        for format in ["reflex", "openreward"] {
            let converted = program().args(["convert", "--to", format]).arg(&file).output().expect("runs");
            let converted: Value = serde_json::from_slice(&converted.stdout).expect("a document");
            for bridge in bridges {
                let url = format!("{}/api/v1/traces/{trace_id}/{format}", bridge.api);
                let answer = agent.get(url).call().expect("answers").body_mut().read_to_vec().expect("a body");
                let document: Value = serde_json::from_slice(&answer).expect("a document");
                assert_eq!(document.to_string(), converted.to_string());
            }
        }
    }
}

/// Writers on two bridges race for the ids of calls of one trace.
fn blocks_of_two_bridges(bridges: &[Serving]) {
    const POSTS: usize = 12;
    let path = "/v1/organizations/default/traces/tr_race/blocks";
    let post = |bridge: &Serving, block: &Value| {
        let request = agent()
            .post(format!("{}{path}", bridge.api))
            .header("content-type", "application/json");
        let mut response = request.send(block.to_string()).expect("answers");
        (response.status().as_u16(), response.body_mut().read_to_string().expect("text"))
    };
    let message = json!({"id": "tb_m", "block_type": "MESSAGE", "sub_type": "MESSAGE", "payload": {"role": "user", "content": "a"}});
    assert_eq!(post(&bridges[0], &message).0, 201);
    let read = |bridge: &Serving| {
        let mut response = agent().get(format!("{}{path}", bridge.api)).call().expect("answers");
        response.body_mut().read_to_string().expect("text")
    };
    let until = Instant::now() + Duration::from_secs(30);
    while bridges.iter().any(|bridge| !read(bridge).contains("tb_m")) {
        assert!(Instant::now() < until, "each sees it within the poll interval");
        std::thread::sleep(Duration::from_millis(50));
    }
    // By the id of the call: the block that was accepted. By its id: its text.
    let (calls, accepted) = (Mutex::new(BTreeMap::new()), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (bridge, calls, accepted, post) = (&bridges[writer % 2], &calls, &accepted, &post);
            scope.spawn(move || {
                for number in 0..POSTS {
                    let (id, call_id) = (format!("tb_{writer}_{number}"), format!("call_{number}"));
                    let payload = json!({"call_id": call_id, "name": "f", "arguments": {}});
                    let block =
                        json!({"id": id, "block_type": "ACT", "sub_type": "TOOL_CALL", "parent_block_id": "tb_m", "payload": payload});
                    // Where too many race, a client is told to come again.
                    let (status, text) = loop {
                        match post(bridge, &block) {
                            (503, _) => std::thread::sleep(Duration::from_millis(20)),
                            answer => break answer,
                        }
                    };
                    match status {
                        201 => {
                            let before = calls.lock().expect("no panic").insert(call_id, id.clone());
                            assert_eq!(before, None, "{id} is a second block of its call");
                            accepted.lock().expect("no panic").insert(id, text);
                        }
                        _ => assert!(status == 409 && text.contains("DUPLICATE_CALL_ID"), "{status} {text}"),
                    }
                }
            });
        }
    });
    let (calls, accepted) = (calls.into_inner().expect("no panic"), accepted.into_inner().expect("no panic"));
    assert_eq!(calls.len(), POSTS, "each call has one winner");
    for bridge in bridges {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let text = read(bridge);
            let list: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
            let ids: BTreeSet<&str> = list.iter().filter_map(|block| block["id"].as_str()).collect();
            if ids.len() <= POSTS && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(50));
                continue;
            }
            assert_eq!(rules::check_all(&list, &Limits::default()), []);
            assert_eq!((list.len(), ids.len()), (POSTS + 1, POSTS + 1));
            assert!(
                accepted.values().all(|block| text.contains(block.as_str())),
                "as they were answered"
            );
            break;
        }
    }
}

/// The commands read the bucket without a server.
fn read_without_a_bridge(shared: &Bridges, all: &Traces) {
    let output = shared
        .command()
        .args(["ls", "--store", &shared.url, "--limit", "5"])
        .output()
        .expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).lines().count() >= 5);
    let trace_id = all.keys().next().expect("a trace").to_string();
    let doctor = shared
        .command()
        .args(["doctor", "--only", "bucket", "--store", &shared.url])
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(
        doctor.status.success() && said.contains("If-None-Match is refused") && said.contains("3 databases"),
        "{said}"
    );
    let shown = shared
        .command()
        .args(["show", &trace_id, "--store", &shared.url])
        .output()
        .expect("runs");
    assert!(shown.status.success() && !shown.stdout.is_empty());
}

#[test]
fn what_a_bucket_cannot_do_is_refused_before_anything_is_stored() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let (data, url) = (
        data.to_str().expect("UTF-8"),
        format!("file://{}/bucket", directory.path().display()),
    );
    let serve = ["serve", "--data-dir", data];
    let cases: [(&[&str], &str); 6] = [
        (&["--store", &url, "--search"], "pass one of --search and --store"),
        (&["--store", &url, "--retain-bytes", "1GB"], "--retain-hours works"),
        (&["--store", "ftp://bucket/a"], "s3://BUCKET/PREFIX"),
        (&["--store", &url, "--writer", "a/b"], "1 to 64 letters"),
        (&["--writer", "a"], "pass --store URL too"),
        (&["--ack", "local"], "pass --store URL too"),
    ];
    for (flags, words) in cases {
        let output = program().args(serve).args(ANY_PORTS).args(flags).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{flags:?}: {said}");
    }
    let nothing = program().args(["ls", "--store", &url]).output().expect("runs");
    let said = String::from_utf8_lossy(&nothing.stderr);
    assert!(!nothing.status.success() && said.contains("no server has written there"), "{said}");
}

#[test]
fn a_directory_is_copied_into_a_bucket_and_back_and_its_writers_are_listed() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = |name: &str| directory.path().join(name).to_str().expect("text").to_owned();
    let (first, back, url) = (place("first"), place("back"), format!("file://{}", place("bucket")));
    let mut command = program();
    let serving = Serving::launch(command.args(["serve", "--data-dir", &first]).args(ANY_PORTS));
    let spans: Vec<_> = (1..=9).map(|trace| crate::requests::span(trace, 1)).collect();
    assert_eq!(crate::requests::send(&serving, &spans), 200);
    serving.stop();
    let run = |arguments: &[&str]| {
        let output = program().args(["store"]).args(arguments).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{arguments:?}: {said}");
        said
    };
    let digest = |said: &str| said.split_once("digest ").expect("is the same").1[..64].to_owned();
    let there = run(&["copy", "--from", &first, "--to", &url]);
    let again = run(&["copy", "--from", &first, "--to", &url]);
    assert!(again.contains("0 items copied of 9 traces"), "{again}");
    let and_back = run(&["copy", "--from", &url, "--to", &back]);
    assert!(and_back.contains("9 items copied of 9 traces"), "{and_back}");
    assert!(digest(&there) == digest(&again) && digest(&there) == digest(&and_back));
    let listed = run(&["list", "--json", "--store", &url]);
    let line: serde_json::Value = serde_json::from_str(listed.trim()).expect("one writer");
    assert_eq!((line["writer"].as_str(), line["chunks"].as_u64()), (Some("copy"), Some(9)));
    assert!(
        line["first_unix_nano"].as_u64() > Some(0) && line["bytes"].as_u64() > Some(0),
        "{line}"
    );
    assert!(run(&["list", "--store", &url]).contains("LAST WRITE"));
}
