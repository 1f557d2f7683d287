//! Many writers at once, with duplicates and wrong parents, and a server that is killed in between.
//!
//! 1,500 blocks and two kills; 10,000 and ten with `SPANBRIDGE_FULL=1`.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use spanbridge::blocks::limits::Limits;
use spanbridge::blocks::rules;

use super::client::{Client, blocks};
use crate::serving::Serving;

const WRITERS: usize = 32;
const TRACES: u64 = 6;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// What the writers know of a trace.
#[derive(Default)]
struct Known {
    messages: Vec<String>,
    calls: Vec<(String, String)>,
    thinks: Vec<String>,
    /// Accepted blocks by id, as they were answered.
    accepted: HashMap<String, String>,
    /// Ids of blocks whose answer never came.
    unknown: HashSet<String>,
}

struct Post {
    trace: u64,
    id: String,
    body: Value,
    /// What may be answered.
    expected: &'static [(u16, &'static str)],
}

const TAKEN: (u16, &str) = (201, "");
const INVALID: (u16, &str) = (422, "VALIDATION");
const MISMATCH: (u16, &str) = (409, "PARENT_SUBTYPE_MISMATCH");
const SAME_CALL: (u16, &str) = (409, "DUPLICATE_CALL_ID");
const SAME_SEQ: (u16, &str) = (409, "DUPLICATE_RESULT_SEQ");

fn one_of<'a, T>(dice: &mut Dice, list: &'a [T]) -> Option<&'a T> {
    let length = u64::try_from(list.len()).ok().filter(|length| *length > 0)?;
    list.get(usize::try_from(dice.throw(length)).ok()?)
}

/// The next thing to write. Ids of calls and results are few, so that writers race for them.
fn next(dice: &mut Dice, known: &[Mutex<Known>], number: usize) -> Post {
    let trace = dice.throw(TRACES);
    let place = usize::try_from(trace).expect("small");
    let of_trace = known[place].lock().expect("no panic");
    let id = format!("tb_{number}");
    let block = |block_type: &str, sub_type: &str, payload: Value, parent: Option<&str>| {
        let mut block = json!({"id": id, "block_type": block_type, "sub_type": sub_type, "payload": payload});
        if let Some(parent) = parent {
            block["parent_block_id"] = parent.into();
        }
        block
    };
    let post = |body: Value, expected: &'static [(u16, &'static str)]| Post {
        trace,
        id: id.clone(),
        body,
        expected,
    };
    let message = one_of(dice, &of_trace.messages).cloned();
    let call = one_of(dice, &of_trace.calls).cloned();
    let think = one_of(dice, &of_trace.thinks).cloned();
    drop(of_trace);
    let words = "words ".repeat(usize::try_from(dice.throw(60)).expect("small") + 1);
    let tool = |call_id: String| json!({"call_id": call_id, "name": "tool", "arguments": {"words": words}});
    match (dice.throw(12), message, call, think) {
        (0, Some(message), _, _) => post(block("ACT", "THINK", json!({"text": words}), Some(&message)), &[TAKEN]),
        (1 | 2, Some(message), _, _) => {
            let call_id = format!("call_{}", dice.throw(1 + number as u64 / 20));
            post(block("ACT", "TOOL_CALL", tool(call_id), Some(&message)), &[TAKEN, SAME_CALL])
        }
        (3..=5, _, Some((call, call_id)), _) => {
            let payload = json!({"call_id": call_id, "delta": words, "seq": dice.throw(4)});
            post(block("OBSERVE", "TOOL_RESULT", payload, Some(&call)), &[TAKEN, SAME_SEQ])
        }
        (6, Some(message), _, _) => post(
            block("OBSERVE", "TOOL_RESULT", json!({"call_id": "c", "output": 1}), Some(&message)),
            &[MISMATCH],
        ),
        (7, _, _, Some(think)) => post(block("ACT", "TOOL_CALL", tool(format!("none {number}")), Some(&think)), &[MISMATCH]),
        (8, _, _, _) => {
            // A message of another trace.
            let foreign = (place + 1) % known.len();
            let foreign = known[foreign].lock().expect("no panic").messages.first().cloned();
            let parent = foreign.unwrap_or_else(|| "tb_nowhere".to_owned());
            post(block("ACT", "THINK", json!({"text": words}), Some(&parent)), &[INVALID])
        }
        (9, _, Some((call, _)), _) => post(
            block(
                "OBSERVE",
                "TOOL_RESULT",
                json!({"call_id": "of another call", "output": 1}),
                Some(&call),
            ),
            &[INVALID],
        ),
        _ => post(
            block("MESSAGE", "MESSAGE", json!({"role": "user", "content": words}), None),
            &[TAKEN],
        ),
    }
}

/// The server that is there now, and its number.
struct Current {
    api: String,
    generation: usize,
}

fn write(current: &RwLock<Current>, known: &[Mutex<Known>], next_number: &AtomicUsize, count: usize, seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut client: Option<(usize, Client)> = None;
    loop {
        let number = next_number.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return;
        }
        let post = next(&mut dice, known, number);
        let answer = {
            let current = current.read().expect("no panic");
            if client.as_ref().is_none_or(|(generation, _)| *generation != current.generation) {
                client = Some((current.generation, Client::new(&current.api)));
            }
            drop(current);
            let (_, client) = client.as_ref().expect("set");
            client.try_post(&blocks(&format!("tr_{}", post.trace)), &[], post.body.to_string().as_bytes())
        };
        let mut of_trace = known[usize::try_from(post.trace).expect("small")].lock().expect("no panic");
        let Some(answer) = answer.filter(|answer| answer.status != 503) else {
            // It was killed meanwhile: stored or not.
            of_trace.unknown.insert(post.id);
            drop(of_trace);
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        let code = if answer.status == 201 { String::new() } else { answer.code() };
        let is_expected = post
            .expected
            .iter()
            .any(|(status, word)| (*status, *word) == (answer.status, code.as_str()));
        // A parent in another trace has the id of none of this one's blocks; whose answer never came is unknown.
        assert!(is_expected, "{} answered {} {}", post.body, answer.status, answer.text);
        if answer.status == 201 {
            match post.body["sub_type"].as_str() {
                Some("MESSAGE") => of_trace.messages.push(post.id.clone()),
                Some("TOOL_CALL") => {
                    let call_id = post.body["payload"]["call_id"].as_str().expect("text").to_owned();
                    of_trace.calls.push((post.id.clone(), call_id));
                }
                Some("THINK") => of_trace.thinks.push(post.id.clone()),
                _ => {}
            }
            of_trace.accepted.insert(post.id, answer.text);
        }
    }
}

/// That the stored blocks hold every rule, and are those that were accepted.
fn check(api: &str, known: &[Mutex<Known>]) {
    let client = Client::new(api);
    for (trace, known) in known.iter().enumerate() {
        let known = known.lock().expect("no panic");
        let path = blocks(&format!("tr_{trace}"));
        let stored = client.get(&path);
        if known.accepted.is_empty() && stored.status == 404 {
            continue;
        }
        let list: Vec<Value> = serde_json::from_str(&stored.text).expect("a list");
        assert_eq!(rules::check_all(&list, &Limits::default()), [], "trace {trace}");
        let ids: HashSet<&str> = list.iter().filter_map(|block| block["id"].as_str()).collect();
        assert_eq!(ids.len(), list.len(), "no block twice");
        for (id, text) in &known.accepted {
            assert!(ids.contains(id.as_str()), "{id} was accepted and is gone");
            assert!(stored.text.contains(text), "{id} is stored as it was answered");
        }
        for id in ids {
            assert!(
                known.accepted.contains_key(id) || known.unknown.contains(id),
                "{id} was refused and is stored"
            );
        }
        let tree = client.get(&format!("{path}.stitched"));
        assert_eq!(tree.json()["orphans"], json!({"tool_calls": [], "tool_results": []}));
        assert_eq!(tree.text, client.get(&format!("{path}.stitched")).text, "one order");
    }
}

#[test]
fn the_rules_hold_under_many_writers_and_kills() {
    let is_full = crate::long_form::is_long_form();
    let (count, kills) = if is_full { (10_000, 10) } else { (1_500, 2) };
    let directory = tempfile::tempdir().expect("a directory");
    let mut serving = Serving::start(directory.path());
    let current = RwLock::new(Current {
        api: serving.api.clone(),
        generation: 0,
    });
    let known: Vec<Mutex<Known>> = (0..TRACES).map(|_| Mutex::default()).collect();
    let number = AtomicUsize::new(0);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for seed in 1..=WRITERS as u64 {
            let (current, known, number) = (&current, &known, &number);
            scope.spawn(move || write(current, known, number, count, seed));
        }
        for kill in 1..=kills {
            while number.load(Ordering::Relaxed) < count * kill / (kills + 1) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let mut current = current.write().expect("no panic");
            serving.child.kill().expect("kills");
            serving.child.wait().expect("ends");
            serving = Serving::start(directory.path());
            *current = Current {
                api: serving.api.clone(),
                generation: kill,
            };
        }
    });
    let seconds = begin.elapsed().as_secs_f64();
    check(&serving.api, &known);
    let accepted: usize = known.iter().map(|known| known.lock().expect("no panic").accepted.len()).sum();
    let unknown: usize = known.iter().map(|known| known.lock().expect("no panic").unknown.len()).sum();
    assert!(
        accepted > count / 3,
        "{accepted} accepted of {count} in {seconds} s, {unknown} unknown"
    );
    // And once more by what the log alone says.
    serving.stop();
    let serving = Serving::start(directory.path());
    check(&serving.api, &known);
    serving.stop();
}

#[test]
fn of_racing_duplicates_exactly_one_is_accepted() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    let path = blocks("tr_race");
    let client = Client::new(&serving.api);
    let message = json!({"id": "tb_m", "block_type": "MESSAGE", "sub_type": "MESSAGE", "payload": {"role": "user", "content": "a"}});
    assert_eq!(client.post(&path, &message.to_string()).status, 201);
    let race = |body: Value, refused: (u16, &str)| {
        let barrier = std::sync::Barrier::new(WRITERS);
        let accepted = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..WRITERS {
                scope.spawn(|| {
                    let client = Client::new(&serving.api);
                    barrier.wait();
                    let answer = client.post(&path, &body.to_string());
                    if answer.status == 201 {
                        accepted.fetch_add(1, Ordering::Relaxed);
                    } else {
                        assert_eq!((answer.status, answer.code().as_str()), refused);
                    }
                });
            }
        });
        assert_eq!(accepted.load(Ordering::Relaxed), 1, "{body}");
    };
    for round in 0..5 {
        let call_id = format!("call_{round}");
        let call = json!({"block_type": "ACT", "sub_type": "TOOL_CALL", "parent_block_id": "tb_m", "payload": {"call_id": call_id, "name": "f", "arguments": {}}});
        race(call, SAME_CALL);
        let stored = client.get(&path).json();
        let call = stored
            .as_array()
            .expect("a list")
            .iter()
            .find(|block| block["payload"]["call_id"] == *call_id)
            .expect("stored");
        let result = json!({"block_type": "OBSERVE", "sub_type": "TOOL_RESULT", "parent_block_id": call["id"], "payload": {"call_id": call_id, "delta": "x", "seq": round}});
        race(result, SAME_SEQ);
        let own = json!({"id": format!("tb_own{round}"), "block_type": "MESSAGE", "sub_type": "MESSAGE", "payload": {"role": "user", "content": "b"}});
        race(own, INVALID);
    }
    serving.stop();
}
