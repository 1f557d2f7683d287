//! Random operations on the store of a disk and on one in a bucket: both give the same answers.
//!
//! 3 sequences; 20 longer ones with `SPANBRIDGE_FULL=1`. A failure names its seed. Retention is left out: a disk removes whole segments,
//! a bucket single chunks.
#![expect(clippy::expect_used, reason = "a test")]

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;

use spanbridge::span::{Span, Status, UnixNanos};
use spanbridge::store::{Ack, Chunk, Filter, OpenOptions, Order, Store, TraceRow, Unwanted};

use crate::spans::{KEYS, chunks, loose, of_service, span, trace};
use crate::store_bucket::options;

/// The same random numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn byte(&mut self, end: u8) -> u8 {
        u8::try_from(self.below(end.into())).expect("small")
    }
}

/// What came in one request.
#[derive(Clone)]
enum Request {
    Spans(Vec<Span>),
    Loose(String, u64),
}

impl Request {
    fn random(random: &mut Random, number: u64) -> Self {
        if random.below(5) == 0 {
            return Self::Loose(format!("session {}", random.below(3)), random.below(12_000));
        }
        let spans = (0..=random.below(4)).map(|_| {
            let service = format!("service {}", random.below(4));
            let mut span = of_service(1 + random.byte(12), 1 + random.byte(5), &service);
            span.start = UnixNanos(span.start.0 + random.below(3) * 700);
            span.end = UnixNanos(span.start.0 + random.below(3_000));
            if random.below(4) == 0 {
                span.status = Status {
                    code: 2,
                    message: "failed".to_owned(),
                };
            }
            if random.below(3) == 0 {
                span.attributes.push("number", i64::try_from(number).expect("small"));
            }
            span
        });
        Self::Spans(spans.collect())
    }

    fn chunks(&self) -> Vec<Chunk> {
        match self {
            Self::Spans(spans) => chunks(spans),
            Self::Loose(session, number) => loose(session, *number),
        }
    }
}

struct Pair<'a> {
    directory: &'a Path,
    /// On a disk, and in a bucket.
    stores: [Arc<dyn Store>; 2],
    url: String,
    seed: u64,
    step: u64,
}

impl<'a> Pair<'a> {
    fn open(directory: &'a Path, url: &str, seed: u64) -> Self {
        let disk = OpenOptions {
            session_keys: KEYS.map(ToOwned::to_owned).to_vec(),
            ..OpenOptions::new(&directory.join("disk"))
        };
        let mut bucket = options(&directory.join("beside"), url, "one");
        // Every third answers from a log on the disk.
        if let Some(bucket) = bucket.bucket.as_mut().filter(|_| seed.is_multiple_of(3)) {
            bucket.ack = Ack::Local;
        }
        let stores = [disk, bucket].map(|options| spanbridge::store::open(&options).expect("opens").store);
        Self {
            directory,
            stores,
            url: url.to_owned(),
            seed,
            step: 0,
        }
    }

    fn open_again(self) -> Self {
        let Self {
            directory,
            stores,
            url,
            seed,
            step,
        } = self;
        stores.iter().for_each(|store| store.close());
        drop(stores);
        Self {
            step,
            ..Self::open(directory, &url, seed)
        }
    }

    /// What both answer.
    fn both<T: PartialEq + Debug>(&self, what: &str, ask: impl Fn(&dyn Store) -> T) -> T {
        let [disk, bucket] = self.stores.each_ref().map(|store| ask(&**store));
        assert_eq!(disk, bucket, "{what}: seed {}, step {}", self.seed, self.step);
        disk
    }

    fn append(&self, request: &Request) {
        self.both("append", |store| store.append(request.chunks()).expect("appends"));
    }

    /// An append at the revision that a trace has, or at an earlier one.
    fn append_at(&self, random: &mut Random, number: u64) {
        let of = 1 + random.byte(12);
        let (is_stale, mut new) = (random.below(3) == 0, span(of, 1 + random.byte(5)));
        new.attributes.push("at", i64::try_from(number).expect("small"));
        self.both("append at a revision", |store| {
            let revision = store.revision(trace(of)).expect("reads");
            let revision = if is_stale { revision.saturating_sub(1) } else { revision };
            let (sender, receiver) = channel();
            let chunk = chunks(std::slice::from_ref(&new)).pop().expect("a chunk");
            store.submit_at(revision, chunk, Box::new(move |result| sender.send(result).expect("listens")));
            receiver.recv().expect("an answer").err().map(|error| error.to_string())
        });
    }

    fn delete(&self, random: &mut Random) {
        let what = match random.below(3) {
            0 => Unwanted::Session(format!("session {}", random.below(3))),
            _ => Unwanted::Trace(trace(1 + random.byte(12))),
        };
        let to_delete = self.both("what is to be deleted", |store| told(store.to_delete(&what).expect("reads")));
        let deleted = self.both("deletion", |store| told(store.delete(&what, &mut |_| Ok(())).expect("deletes")));
        assert_eq!(deleted, to_delete);
        self.both("what was deleted", |store| {
            store.deleted(&what).expect("reads").map(|before| before.traces)
        });
    }

    fn list(&self, random: &mut Random) {
        let mut filter = Filter {
            service: (random.below(4) == 0).then(|| format!("service {}", random.below(4))),
            session: (random.below(4) == 0).then(|| format!("session {}", random.below(3))),
            since: (random.below(4) == 0).then(|| random.below(13_000)),
            until: (random.below(4) == 0).then(|| random.below(13_000)),
            limit: (random.below(2) == 0).then(|| 1 + usize::try_from(random.below(6)).expect("small")),
            order: match random.below(3) {
                0 => Order::NewestFirst,
                1 => Order::OldestFirst,
                _ => Order::LatestArrivalFirst,
            },
            ..Filter::default()
        };
        let page = self.both("list", |store| rows(store, &filter));
        if let Some(last) = page.last().filter(|_| filter.order != Order::LatestArrivalFirst) {
            filter.after = Some(last.cursor());
            self.both("next page", |store| rows(store, &filter));
        }
    }

    /// Everything of all traces.
    fn read(&self) {
        for of in 1..=12 {
            self.both("trace", |store| {
                let stored = store.read_trace(trace(of)).expect("reads");
                stored.map(|stored| (stored.spans, stored.logs, stored.damaged))
            });
            self.both("log records", |store| store.read_logs(trace(of)).expect("reads"));
            self.both("whether it is there", |store| store.revision(trace(of)).expect("reads") > 0);
        }
        let sessions = self.both("sessions", |store| store.sessions(10, None).expect("reads"));
        if let Some(first) = sessions.first() {
            self.both("more sessions", |store| store.sessions(1, Some(&first.cursor())).expect("reads"));
        }
        self.both("all", |store| rows(store, &Filter::default()));
    }
}

/// Rows but for their revisions, which each engine counts in its own way.
fn rows(store: &dyn Store, filter: &Filter) -> Vec<TraceRow> {
    let mut rows = store.list(filter).expect("lists");
    rows.iter_mut().for_each(|row| row.revision = 0);
    rows
}

fn told(mut deleted: spanbridge::store::Deleted) -> spanbridge::store::Deleted {
    deleted.traces.sort_unstable();
    deleted
}

fn run(seed: u64, steps: u64) {
    let directory = tempfile::tempdir().expect("a directory");
    let is_folder = seed % 2 == 1;
    let url = match is_folder {
        true => format!("file://{}/bucket", directory.path().display()),
        false => format!("memory:///{seed}"),
    };
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut pair = Pair::open(directory.path(), &url, seed);
    let mut requests: Vec<Request> = Vec::new();
    for step in 0..steps {
        pair.step = step;
        match random.below(100) {
            0..40 => {
                let request = Request::random(&mut random, step);
                pair.append(&request);
                requests.push(request);
            }
            40..55 if !requests.is_empty() => {
                let which = usize::try_from(random.below(requests.len() as u64)).expect("small");
                pair.append(requests.get(which).expect("one of them"));
            }
            40..65 => pair.append_at(&mut random, step),
            65..90 => pair.list(&mut random),
            90..92 => pair.delete(&mut random),
            92 if is_folder => pair = pair.open_again(),
            _ => pair.read(),
        }
    }
    pair.read();
}

#[test]
fn a_store_on_a_disk_and_one_in_a_bucket_give_the_same_answers() {
    let (seeds, steps) = if crate::long_form::is_long_form() { (20, 600) } else { (3, 200) };
    for seed in 1..=seeds {
        run(seed, steps);
    }
}
