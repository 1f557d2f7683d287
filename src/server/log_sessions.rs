//! Stores spans of log records as they come, where a coding agent exports no spans.
//!
//! A thread follows what arrives. A session with new records is read as a whole, at most for a part of the time, and its spans are
//! stored; what is there already is not stored again. A session of which spans came is left to them.

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
use settle::LARGEST;
pub(crate) use settle::Settling;

/// Between looks for what came.
const EVERY: Duration = Duration::from_millis(500);

/// After an error of the disk.
const PAUSE: Duration = Duration::from_secs(5);

/// A session is looked at so long after its last record: a client may send its spans after its log records.
const AFTER: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(300),
];

/// Reading one session takes at most a part of the time, however long it is.
const SHARE: u32 = 4;

/// After so long, others may have come.
const TURN: Duration = Duration::from_secs(2);

/// Bytes of messages that are read at once.
const BATCH: usize = 8 << 20;

/// What came in so long before the start of the server is looked at again, if it is not more than so many bytes.
const AGAIN: Duration = Duration::from_secs(600);
const AGAIN_BYTES: u64 = 256 << 20;

/// The end of so many looks ago is passed over.
const LOOKS_BACK: usize = 6;

/// So many sessions are followed at once, and so many are known to have spans.
const FOLLOWED: usize = 10_000;

/// The thread of one project.
#[derive(Debug, Default)]
pub(super) struct LogSessions {
    stop: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl LogSessions {
    /// Starts it; without it log records are stored all the same.
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

    /// Ends it.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = thread.map(JoinHandle::join);
    }
}

/// What log records are read together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Subject {
    /// A session of a coding agent.
    Session(String),
    /// A trace with events that tell whole calls, and perhaps no spans.
    Trace(TraceId),
}

/// A session or a trace that has new records.
struct Followed {
    /// When it is looked at next.
    due: Instant,
    /// How often it was looked at since its last record.
    looks: usize,
    /// How long it waits at least, since reading it takes its time.
    pause: Duration,
}

struct Follower {
    store: Arc<dyn Store>,
    chunks: SpanChunks,
    settling: Settling,
    /// The memory of all reading.
    readers: Arc<Readers>,
    rules: Box<dyn Fn() -> Option<Arc<Rules>> + Send>,
    /// How many requests with log records were stored.
    log_requests: Box<dyn Fn() -> u64 + Send>,
    subjects: HashMap<Subject, Followed>,
    /// Sessions whose records name a trace: their client exports spans.
    traced: HashSet<String>,
    /// Sessions that are too large to be read.
    too_large: HashSet<Subject>,
}

impl Follower {
    fn run(&mut self, stop: &AtomicBool, project: &Project) {
        let begin = store::now().saturating_sub(u64::try_from(AGAIN.as_nanos()).unwrap_or_default());
        let end = |store: &dyn Store| store.watch_end().map(|end| *end.borrow()).unwrap_or_default();
        let mut position = self.store.position_at(begin).unwrap_or_default();
        if self.store.bytes_behind(position) > AGAIN_BYTES {
            position = end(&*self.store);
        }
        // Spans that come are passed over without being read. A request is counted a moment after it is durable: what was before the
        // end some looks ago is counted by now.
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
            if matches!(arrived, Ok(false)) && self.subjects.len() < FOLLOWED {
                counted = Some(count);
            }
            let step = arrived.and_then(|more| self.look(stop).map(|()| more));
            match step {
                Ok(true) => {}
                Ok(false) => wait(EVERY),
                Err(store::Error::Closed) => return,
                Err(error) => {
                    let text = error.to_string();
                    if reported.as_ref() != Some(&text) {
                        tracing::error!(%error, %project, "log records are not made into spans; it is tried again");
                        reported = Some(text);
                    }
                    wait(PAUSE);
                }
            }
        }
    }

    /// Notes which sessions have new records. Whether there may be more.
    fn arrived(&mut self, position: &mut store::Position) -> Result<bool, store::Error> {
        let limits = ArrivalLimits {
            bytes: BATCH,
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
                // The rest is read once these were looked at.
                *position = chunk.at;
                return Ok(false);
            }
            let is_of_logs = matches!(chunk.kind, ChunkKind::Logs | ChunkKind::LooseLogs);
            if !is_of_logs {
                continue;
            }
            let has_events = call_events::may_be_in(&chunk.message);
            if let Some(trace) = chunk.trace_id.filter(|_| has_events) {
                // Its spans may come a moment later.
                self.follow(Subject::Trace(trace), now, AFTER.get(1));
            }
            if !has_events && !logs::may_have_sessions(&chunk.message) {
                continue;
            }
            for session in sessions_of(&chunk.message, self.settling.session_keys()) {
                let session = session.to_string();
                if chunk.trace_id.is_some() {
                    if self.traced.len() >= FOLLOWED {
                        self.traced.clear();
                    }
                    self.traced.insert(session);
                    continue;
                }
                self.follow(Subject::Session(session), now, AFTER.first());
            }
        }
        *position = arrivals.next;
        Ok(is_more)
    }

    /// Looks at a subject after this time. One that is looked at often is not looked at more often because more comes.
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

    /// Stores the spans of the sessions and traces that are due, the oldest first, until others may have come.
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
            if stop.load(Ordering::Relaxed) || begun.elapsed() > TURN {
                break;
            }
            let reading = Instant::now();
            let is_read = self.store_spans(&subject)?;
            let took = reading.elapsed();
            let Some(followed) = self.subjects.get_mut(&subject) else {
                continue;
            };
            if !is_read {
                followed.due = Instant::now() + PAUSE;
                continue;
            }
            followed.looks += 1;
            followed.pause = took * SHARE;
            match AFTER.get(followed.looks) {
                Some(after) => followed.due = Instant::now() + (*after).max(followed.pause),
                None => {
                    self.subjects.remove(&subject);
                }
            }
        }
        Ok(())
    }

    /// Makes room for a session: what was looked at once may be looked at no more. Whether there is room.
    fn make_room(&mut self) -> bool {
        if self.subjects.len() >= FOLLOWED {
            self.subjects.retain(|_, followed| followed.looks == 0);
        }
        self.subjects.len() < FOLLOWED
    }

    /// Stores the spans of a session or a trace; `false`: others take the memory that reading it needs.
    fn store_spans(&mut self, subject: &Subject) -> Result<bool, store::Error> {
        if self.too_large.contains(subject) {
            return Ok(true);
        }
        let mut reserved = Reservation::new(&self.readers);
        let mut refused = None;
        let mut may = |kind: ChunkKind, message: &[u8]| {
            let cost = cost::of_chunk(kind, message, Purpose::Document);
            refused = match reserved.bytes().saturating_add(cost) {
                bytes if bytes > LARGEST => Some(Refusal::TooLarge { bytes, limit: LARGEST }),
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
                if self.too_large.len() >= FOLLOWED {
                    self.too_large.clear();
                }
                self.too_large.insert(subject.clone());
                return Ok(true);
            }
            (Err(store::Error::Cancelled), Some(_)) => return Ok(false),
            (spans, _) => spans?,
        };
        if let Some(rules) = (self.rules)() {
            // They have the words of records under the keys of spans.
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

/// The sessions that a message names, without decoding it: it may be all that a client sent.
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
