//! Stores spans of log records as they come, where a coding agent exports no spans.
//!
//! A thread follows what arrives. A session with new records is read as a whole, at most for a part of the time, and its spans are
//! stored; what is there already is not stored again. A session of which spans came is left to them.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::access::Project;
use crate::otlp;
use crate::sessions::{is_mark, is_of_session, logs, replaced};
use crate::span::{LogRecord, Span, TraceId};
use crate::store::{self, ArrivalLimits, ChunkKind, Filter, SpanChunks, Store};

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

/// Reading sessions takes at most this part of the time, however long they are.
const SHARE: u32 = 4;

/// Bytes of messages that are read at once.
const BATCH: usize = 8 << 20;

/// What came in so long before the start of the server is looked at again.
const AGAIN: Duration = Duration::from_secs(600);

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
    pub(super) fn start(project: &Project, store: &Arc<dyn Store>, session_keys: Vec<String>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        if store.watch_end().is_none() {
            return Self::default();
        }
        let mut follower = Follower {
            store: Arc::clone(store),
            chunks: SpanChunks::new(session_keys),
            sessions: HashMap::new(),
            traced: HashSet::new(),
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

struct Follower {
    store: Arc<dyn Store>,
    chunks: SpanChunks,
    /// When the last record of a session came, and how often it was looked at since.
    sessions: HashMap<String, (Instant, usize)>,
    /// Sessions whose records name a trace: their client exports spans.
    traced: HashSet<String>,
}

impl Follower {
    fn run(&mut self, stop: &AtomicBool, project: &Project) {
        let begin = store::now().saturating_sub(u64::try_from(AGAIN.as_nanos()).unwrap_or_default());
        let mut position = self.store.position_at(begin).unwrap_or_default();
        let mut reported = None;
        let wait = |time: Duration| {
            let end = Instant::now() + time;
            while !stop.load(Ordering::Relaxed) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(50).min(time));
            }
        };
        while !stop.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let step = self.arrived(&mut position).and_then(|more| self.look().map(|()| more));
            match step {
                Ok(true) => {}
                Ok(false) => wait(EVERY.max(begun.elapsed() * SHARE)),
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
        let arrivals = self.store.read_arrivals(*position, limits)?;
        let is_more = !arrivals.chunks.is_empty();
        *position = arrivals.next;
        let now = Instant::now();
        for chunk in arrivals.chunks {
            let is_of_logs = matches!(chunk.kind, ChunkKind::Logs | ChunkKind::LooseLogs);
            if !is_of_logs || !logs::may_have_sessions(&chunk.message) {
                continue;
            }
            for session in sessions_of(&chunk.message) {
                match chunk.trace_id {
                    Some(_) if self.traced.len() < FOLLOWED => {
                        self.traced.insert(session);
                    }
                    None if self.sessions.len() < FOLLOWED => {
                        self.sessions.insert(session, (now, 0));
                    }
                    _ => {}
                }
            }
        }
        Ok(is_more)
    }

    /// Stores the spans of the sessions that are due.
    fn look(&mut self) -> Result<(), store::Error> {
        let is_due = |(last, looks): &(Instant, usize)| AFTER.get(*looks).is_none_or(|after| last.elapsed() >= *after);
        let due: Vec<String> = self
            .sessions
            .iter()
            .filter(|(_, state)| is_due(state))
            .map(|(session, _)| session.clone())
            .collect();
        for session in due {
            self.store_session(&session)?;
            if let Some((_, looks)) = self.sessions.get_mut(&session) {
                *looks += 1;
                if *looks >= AFTER.len() {
                    self.sessions.remove(&session);
                }
            }
        }
        Ok(())
    }

    fn store_session(&mut self, session: &str) -> Result<(), store::Error> {
        let filter = Filter {
            session: Some(session.to_owned()),
            ..Filter::default()
        };
        let stored: HashSet<TraceId> = self.store.list(&filter)?.into_iter().map(|row| row.trace_id).collect();
        let mut records: Vec<LogRecord> = self.store.read_session_logs(session)?;
        let mut spans = logs::of_records(&records, &HashSet::new()).alone;
        let own: HashSet<TraceId> = spans.iter().map(|span| span.trace_id).collect();
        let others: Vec<TraceId> = stored.iter().copied().filter(|trace| !own.contains(trace)).collect();
        if let Some(of_pieces) = self.logs_of_pieces(&others)? {
            // They take the place of what the exporter has in pieces.
            records.extend(of_pieces);
            spans = logs::of_records(&records, &HashSet::from([session.to_owned()])).whole;
            let at = spans.iter().map(|span| span.start).min().unwrap_or_default();
            if !spans.is_empty() {
                spans.extend(others.iter().map(|trace| replaced(*trace, session, at)));
            }
        } else if !others.is_empty() || self.traced.contains(session) {
            // What was made of records before spans came is evidence.
            spans.retain(|span| span.parent.is_none() && stored.contains(&span.trace_id));
            spans = spans.iter().map(|root| replaced(root.trace_id, session, root.start)).collect();
        }
        // A span that was read can be written.
        let (chunks, _) = self.chunks.of(&spans).unwrap_or_default();
        if !chunks.is_empty() {
            self.store.append(chunks).inspect_err(|_| self.chunks.forget())?;
        }
        Ok(())
    }
}

impl Follower {
    /// The log records of traces that a client exports in pieces; `None` if there are others, or none.
    fn logs_of_pieces(&self, traces: &[TraceId]) -> Result<Option<Vec<LogRecord>>, store::Error> {
        let mut records = Vec::new();
        for trace in traces {
            let stored = self.store.read_trace(*trace)?.unwrap_or_default();
            let is_piece = |span: &Span| logs::IN_PIECES.contains(&span.scope.name.as_str());
            let is_of_file = |span: &Span| is_of_session(span) && !is_mark(span);
            if stored.spans.iter().any(is_of_file) || !stored.spans.iter().any(is_piece) {
                return Ok(None);
            }
            records.extend(stored.logs);
        }
        Ok((!traces.is_empty()).then_some(records))
    }
}

fn sessions_of(message: &[u8]) -> HashSet<String> {
    let records = otlp::decode::logs(message).map(|decoded| decoded.items).unwrap_or_default();
    records.iter().filter_map(logs::session_of).collect()
}
