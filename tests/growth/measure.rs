//! How much work a batch is.

use std::process::Command;
use std::time::Duration;

use allocation_counter::measure as count_allocations;
use rustix::time::{ClockId, clock_gettime};
use spanbridge::documents::Vocabulary;
use spanbridge::formats::{self, Layout, Options};

use crate::shapes::Batch;

/// Linear work is 8 times the time, what grows with the square 64 times.
const TIMES: u64 = 8;
/// Caches and a busy machine make eight times the items more than eight times the time.
const MOST: u32 = 22;
/// Below this a time says nothing.
const LEAST: Duration = Duration::from_millis(2);
/// What a busy machine did once it does not do each time.
const ATTEMPTS: usize = 4;

/// Words and results are divided at no size, so that few and many items have the same form.
const WHOLE: [(&str, &str); 4] = [
    ("openreward.limit_msg_bytes", "1000000000"),
    ("openreward.limit_think_bytes", "1000000000"),
    ("openreward.limit_tool_args_bytes", "1000000000"),
    ("openreward.limit_tool_result_bytes", "1000000000"),
];

/// Options that write what is not written without them; words and results are divided at few and at many items.
const MORE: [(&str, &str); 18] = [
    ("openreward.limit_msg_bytes", "200"),
    ("openreward.limit_think_bytes", "200"),
    ("openreward.limit_tool_result_bytes", "200"),
    ("adk.intermediate", "lists"),
    ("adk.subagents", "cases"),
    ("atif.subagents", "files"),
    ("contextforge.embeddings", "retrieval"),
    ("deepeval.cases", "run"),
    ("invariant.container", "jsonl"),
    ("invariant.subagents", "own"),
    ("invariant.tools", "event"),
    ("messages.flavour", "openai"),
    ("messages.tools", "text"),
    ("openreward.subagents", "inline"),
    ("reflex.prompt_id", "system"),
    ("synth.decisions", "events"),
    ("synth.messages", "store"),
    ("synth.output_text", "raw"),
];

fn items() -> u64 {
    if crate::long_form::is_long_form() { 64_000 } else { 1_000 }
}

/// Time that this thread has worked.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// What was done in one place.
pub(crate) struct Work {
    place: String,
    written: usize,
    allocated: usize,
    time: Duration,
}

impl Work {
    /// Does some work, which tells how many bytes it wrote.
    pub(crate) fn of(place: String, work: &mut dyn FnMut() -> usize) -> Self {
        let mut written = 0;
        let begin = worked();
        let allocations = count_allocations(|| written = work());
        let time = worked() - begin;
        Self {
            place,
            written,
            allocated: usize::try_from(allocations.bytes_total).unwrap(),
            time,
        }
    }
}

impl Work {
    /// Runs a command, which ends with this status, in a process of its own. The shell tells the time that its processors worked; what it allocates nobody counts.
    pub(crate) fn of_command(place: String, arguments: &[&str], status: i32) -> Self {
        let output = Command::new("sh")
            .args([
                "-c",
                "\"$@\"; status=$?; times >&2; exit $status",
                "sh",
                env!("CARGO_BIN_EXE_spanbridge"),
            ])
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // The last line: user and system time of what the shell ran, each as `0m1.234s`.
        let last = said.lines().last().unwrap_or_default();
        let time = last.split_whitespace().map(|part| {
            let (minutes, seconds) = part.trim_end_matches('s').split_once('m').unwrap();
            Duration::from_secs(60 * minutes.parse::<u64>().unwrap()) + Duration::from_secs_f64(seconds.parse().unwrap())
        });
        assert_eq!(output.status.code(), Some(status), "{place}: {said}");
        Self {
            place,
            written: output.stdout.len(),
            allocated: 0,
            time: time.sum(),
        }
    }
}

/// The run that is made of a batch, and each format's documents.
fn works(batch: Batch) -> Vec<Work> {
    let mut list = Vec::new();
    let mut measure = |place: String, work: &mut dyn FnMut() -> usize| list.push(Work::of(place, work));
    let mut batch = Some(batch);
    let mut runs = Vec::new();
    measure("run".to_owned(), &mut || {
        let (spans, logs) = batch.take().unwrap_or_default();
        runs = Vocabulary::built_in().runs(spans, logs);
        0
    });
    #[cfg(feature = "server")]
    measure("list".to_owned(), &mut || {
        let summaries = runs.iter().map(spanbridge::web::listing::Summary::of);
        summaries.map(|summary| summary.models.len()).sum()
    });
    let of = |list: &[(&str, &str)]| Options::of(list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))).unwrap();
    for (with, options) in [("", of(&WHOLE)), (" with options", of(&MORE))] {
        for format in formats::all() {
            measure(format!("{}{with}", format.id), &mut || {
                let documents = format.assemble(&runs, &options, Layout::Compact);
                documents.iter().map(|assembled| assembled.document.len()).sum()
            });
        }
    }
    list
}

/// Everything that is made of a batch: bytes written, bytes allocated.
pub(crate) fn work(batch: Batch) -> (usize, usize) {
    let works = works(batch);
    (
        works.iter().map(|work| work.written).sum(),
        works.iter().map(|work| work.allocated).sum(),
    )
}

/// Eight times the items are about eight times the work. On a thread with the stack that the server's threads have.
pub(crate) fn grows_evenly(make: impl Fn(u64) -> Batch + Sync) {
    all_grow_evenly(|count| works(make(count)));
}

/// The same for any work on so many items.
pub(crate) fn all_grow_evenly(works: impl Fn(u64) -> Vec<Work> + Sync) {
    let run = || {
        let mut slow = Vec::new();
        for _ in 0..ATTEMPTS {
            let (few, many) = (works(items() / TIMES), works(items()));
            slow = few.iter().zip(&many).filter_map(|(few, many)| uneven(few, many)).collect();
            if slow.is_empty() {
                return;
            }
        }
        panic!("{}", slow.join("\n"));
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, run).unwrap();
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

fn uneven(few: &Work, many: &Work) -> Option<String> {
    let bytes = |few: usize, many: usize| many > 16 * few.max(10_000);
    let time = few.time.max(LEAST) * MOST;
    (bytes(few.written, many.written) || bytes(few.allocated, many.allocated) || many.time > time).then(|| {
        format!(
            "{}: {} then {} bytes written, {} then {} allocated, {:?} then {:?}",
            many.place, few.written, many.written, few.allocated, many.allocated, few.time, many.time
        )
    })
}
