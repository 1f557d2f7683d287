//! Stores spans built from log records as these arrive, for coding agents that do not export spans.
//!
//! A thread follows the arrivals. When a session has new records, it is read as a whole, within a share of the time, and its
//! spans are stored; those stored before are skipped. A session with exported spans is left alone.

mod settle;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::access::Project;
use crate::dialect::call_events;
use crate::documents::Vocabulary;
use crate::otlp::scan::{self, Key};
use crate::redact::Rules;
use crate::sessions::logs;
use crate::span::{Signal, TraceId};
use crate::store::{self, ArrivalLimits, ChunkKind, SpanChunks, Store, digests};
use crate::web::cost::{self, Purpose};
use crate::web::readers::{Readers, Refusal, Reservation};
use settle::MAX_SESSION_BYTES;
pub(crate) use settle::Settling;

/// How often to look for new records.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Delay after a disk error.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Delays between a session's last record and each look at it: a client may send its spans after its log records.
const LOOK_DELAYS: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(300),
];

/// Reading a session again waits at least this many times as long as the last reading took.
const PAUSE_FACTOR: u32 = 4;

/// After this long, look for new arrivals again.
const MAX_TURN: Duration = Duration::from_secs(2);

/// Bytes of messages read at a time.
const BATCH_BYTES: usize = 8 << 20;

/// Records that arrived this long before the server started are processed again, unless there are more than this many bytes.
const REPLAY_AGE: Duration = Duration::from_secs(600);
const MAX_REPLAY_BYTES: u64 = 256 << 20;

/// Without new log requests, the thread skips to the end as it was this many looks ago.
const LOOKS_BACK: usize = 6;

/// Maximum number of sessions followed, and of sessions known to have spans.
const MAX_FOLLOWED: usize = 10_000;

/// The thread of one project.
#[derive(Debug, Default)]
pub(super) struct LogSessions {
    stop: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl LogSessions {
    /// Starts the thread; if it cannot start, log records are stored all the same.
    pub(super) fn start(
        project: &Project,
        store: &Arc<dyn Store>,
        vocabulary: &Vocabulary,
        readers: &Arc<Readers>,
        rules: impl Fn() -> Option<Arc<Rules>> + Send + 'static,
        log_requests: impl Fn() -> u64 + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        if store.watch_end().is_none() {
            return Self::default();
        }
        let mut follower = Follower {
            store: Arc::clone(store),
            chunks: SpanChunks::that_remembers(vocabulary.session_keys()),
            settling: Settling::new(vocabulary),
            readers: Arc::clone(readers),
            rules: Box::new(rules),
            log_requests: Box::new(log_requests),
            subjects: HashMap::new(),
            traced: HashSet::new(),
            too_large: HashSet::new(),
        };
        let (stops, name) = (Arc::clone(&stop), project.clone());
        let thread = std::thread::Builder::new().name("log sessions".to_owned()).spawn(move || {
            store::lower_priority();
            follower.run(&stops, &name);
        });
        if let Err(error) = &thread {
            tracing::error!(%error, %project, "no thread can be started that makes spans of log records");
        }
        Self {
            stop,
            thread: Mutex::new(thread.ok()),
        }
    }

    /// Stops the thread.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = thread.map(JoinHandle::join);
    }
}

/// Log records that are read together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Subject {
    /// A session of a coding agent.
    Session(String),
    /// A trace with events that record whole calls, perhaps without spans.
    Trace(TraceId),
}

/// A session or trace with new records.
struct Followed {
    /// When to look at it next.
    due: Instant,
    /// How often it was looked at since its last record.
    looks: usize,
    /// Minimum delay before the next look, because reading it takes long.
    pause: Duration,
}

struct Follower {
    store: Arc<dyn Store>,
    chunks: SpanChunks,
    settling: Settling,
    /// The memory limit shared by all readers.
    readers: Arc<Readers>,
    rules: Box<dyn Fn() -> Option<Arc<Rules>> + Send>,
    /// The number of requests with log records stored so far.
    log_requests: Box<dyn Fn() -> u64 + Send>,
    subjects: HashMap<Subject, Followed>,
    /// Sessions whose records name a trace: their client exports spans.
    traced: HashSet<String>,
    /// Sessions that are too large to read.
    too_large: HashSet<Subject>,
}

impl Follower {
    fn run(&mut self, stop: &AtomicBool, project: &Project) {
        let begin = store::now().saturating_sub(u64::try_from(REPLAY_AGE.as_nanos()).unwrap_or_default());
        let end = |store: &dyn Store| store.watch_end().map(|end| *end.borrow()).unwrap_or_default();
        let mut position = self.store.position_at(begin).unwrap_or_default();
        if self.store.bytes_behind(position) > MAX_REPLAY_BYTES {
            position = end(&*self.store);
        }
        // Arriving spans are skipped without being read. A request is counted a moment after it is durable: whatever
        // precedes the end of some looks ago has been counted by now.
        let (mut counted, mut ends) = (None, VecDeque::new());
        let mut reported = None;
        let wait = |time: Duration| {
            let end = Instant::now() + time;
            while !stop.load(Ordering::Relaxed) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(50).min(time));
            }
        };
        while !stop.load(Ordering::Relaxed) {
            let count = (self.log_requests)();
            ends.push_back(end(&*self.store));
            if ends.len() > LOOKS_BACK
                && let Some(passed) = ends.pop_front()
                && counted == Some(count)
            {
                position = position.max(passed);
            }
            let arrived = if counted == Some(count) {
                Ok(false)
            } else {
                self.arrived(&mut position)
            };
            if matches!(arrived, Ok(false)) && self.subjects.len() < MAX_FOLLOWED {
                counted = Some(count);
            }
            let step = arrived.and_then(|more| self.look(stop).map(|()| more));
            match step {
                Ok(true) => {}
                Ok(false) => wait(POLL_INTERVAL),
                Err(store::Error::Closed) => return,
                Err(error) => {
                    let text = error.to_string();
                    if reported.as_ref() != Some(&text) {
                        tracing::error!(%error, %project, "log records are not made into spans; it is tried again");
                        reported = Some(text);
                    }
                    wait(RETRY_DELAY);
                }
            }
        }
    }

    /// Notes which sessions have new records. Returns whether there may be more.
    fn arrived(&mut self, position: &mut store::Position) -> Result<bool, store::Error> {
        let limits = ArrivalLimits {
            bytes: BATCH_BYTES,
            latest: u64::MAX,
        };
        if !self.make_room() {
            return Ok(false);
        }
        let arrivals = self.store.read_arrivals(*position, limits)?;
        let is_more = !arrivals.chunks.is_empty();
        let now = Instant::now();
        for chunk in arrivals.chunks {
            if !self.make_room() {
                // Read the rest once these sessions were looked at.
                *position = chunk.at;
                return Ok(false);
            }
            let is_of_logs = matches!(chunk.kind, ChunkKind::Logs | ChunkKind::LooseLogs);
            if !is_of_logs {
                continue;
            }
            let has_events = call_events::may_be_in(&chunk.message);
            if let Some(trace) = chunk.trace_id.filter(|_| has_events) {
                // Its spans may arrive a moment later.
                self.follow(Subject::Trace(trace), now, LOOK_DELAYS.get(1));
            }
            if !has_events && !logs::may_have_sessions(&chunk.message) {
                continue;
            }
            for session in sessions_of(&chunk.message, self.settling.session_keys()) {
                let session = session.to_string();
                if chunk.trace_id.is_some() {
                    if self.traced.len() >= MAX_FOLLOWED {
                        self.traced.clear();
                    }
                    self.traced.insert(session);
                    continue;
                }
                self.follow(Subject::Session(session), now, LOOK_DELAYS.first());
            }
        }
        *position = arrivals.next;
        Ok(is_more)
    }

    /// Schedules a look at a subject. One that was just looked at is not looked at more often because more arrives.
    fn follow(&mut self, subject: Subject, now: Instant, after: Option<&Duration>) {
        let first = after.copied().unwrap_or_default();
        let followed = self.subjects.entry(subject).or_insert(Followed {
            due: now + first,
            looks: 0,
            pause: Duration::ZERO,
        });
        if followed.looks > 0 {
            (followed.due, followed.looks) = (now + first.max(followed.pause), 0);
        }
    }

    /// Stores the spans of the sessions and traces that are due, oldest first, until it is time to look for new arrivals.
    fn look(&mut self, stop: &AtomicBool) -> Result<(), store::Error> {
        let begun = Instant::now();
        let mut due: Vec<(Instant, Subject)> = self
            .subjects
            .iter()
            .filter(|(_, followed)| followed.due <= begun)
            .map(|(subject, followed)| (followed.due, subject.clone()))
            .collect();
        due.sort();
        for (_, subject) in due {
            if stop.load(Ordering::Relaxed) || begun.elapsed() > MAX_TURN {
                break;
            }
            let reading = Instant::now();
            let is_read = self.store_spans(&subject)?;
            let took = reading.elapsed();
            let Some(followed) = self.subjects.get_mut(&subject) else {
                continue;
            };
            if !is_read {
                followed.due = Instant::now() + RETRY_DELAY;
                continue;
            }
            followed.looks += 1;
            followed.pause = took * PAUSE_FACTOR;
            match LOOK_DELAYS.get(followed.looks) {
                Some(after) => followed.due = Instant::now() + (*after).max(followed.pause),
                None => {
                    self.subjects.remove(&subject);
                }
            }
        }
        Ok(())
    }

    /// Makes room for a session by dropping those that were looked at. Returns whether there is room.
    fn make_room(&mut self) -> bool {
        if self.subjects.len() >= MAX_FOLLOWED {
            self.subjects.retain(|_, followed| followed.looks == 0);
        }
        self.subjects.len() < MAX_FOLLOWED
    }

    /// Stores the spans of a session or trace; `false`: the memory needed to read it is in use.
    fn store_spans(&mut self, subject: &Subject) -> Result<bool, store::Error> {
        if self.too_large.contains(subject) {
            return Ok(true);
        }
        let mut reserved = Reservation::new(&self.readers);
        let mut refused = None;
        let mut may = |kind: ChunkKind, message: &[u8]| {
            let cost = cost::of_chunk(kind, message, Purpose::Document);
            refused = match reserved.bytes().saturating_add(cost) {
                bytes if bytes > MAX_SESSION_BYTES => Some(Refusal::TooLarge {
                    bytes,
                    limit: MAX_SESSION_BYTES,
                }),
                _ => reserved.grow(cost).err(),
            };
            if refused.is_some() { Err(store::Error::Cancelled) } else { Ok(()) }
        };
        let read = match subject {
            Subject::Session(session) => self.settling.spans(&*self.store, session, self.traced.contains(session), &mut may),
            Subject::Trace(trace) => settle::calls_of_trace(&*self.store, *trace, &mut may),
        };
        let mut spans = match (read, refused) {
            (Err(store::Error::Cancelled), Some(Refusal::TooLarge { limit, .. })) => {
                tracing::warn!(
                    "reading the log records of a session or a trace would take more than {} MiB of memory; they are stored, but no spans are \
                     made of them any more",
                    limit >> 20
                );
                if self.too_large.len() >= MAX_FOLLOWED {
                    self.too_large.clear();
                }
                self.too_large.insert(subject.clone());
                return Ok(true);
            }
            (Err(store::Error::Cancelled), Some(_)) => return Ok(false),
            (spans, _) => spans?,
        };
        if let Some(rules) = (self.rules)() {
            // They have the content of records under the keys of spans.
            spans = match rules.redacted(spans, Vec::new()) {
                Ok((spans, _)) => spans,
                Err(error) => {
                    tracing::error!(%error, "spans of log records cannot be redacted, and are not stored");
                    return Ok(true);
                }
            };
        }
        let mut stored = |trace| Ok(digests(&self.store.read_trace(trace)?.unwrap_or_default().spans));
        let (chunks, _) = self.chunks.of(spans, &mut stored)?;
        if !chunks.is_empty() {
            self.store.append(chunks).inspect_err(|_| self.chunks.forget())?;
        }
        Ok(true)
    }
}

/// The sessions that a message names, found without decoding it: it may be all that a client sent.
fn sessions_of(message: &[u8], session_keys: &[String]) -> HashSet<Arc<str>> {
    let keys: Vec<&str> = session_keys.iter().map(String::as_str).collect();
    let parts = scan::scan(message, Signal::Logs, &keys)
        .map(|scanned| scanned.parts)
        .unwrap_or_default();
    let named = parts.into_iter().filter_map(|part| match part.key {
        Key::Session(session) => Some(session),
        Key::Trace(_) => part.session,
    });
    named.filter(|session| !session.is_empty()).collect()
}
