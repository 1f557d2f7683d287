//! The log, read record by record, and the index next to it. Nothing is changed.

use std::path::Path;

use super::finding::{Findings, size};
use crate::cli::held::quoted;
use crate::cli::out::many;
use crate::documents::Vocabulary;
use crate::store::log::{self, Form, Inspected, Position};
use crate::store::{self, Compared, Error, Losses, index};

/// Reads every segment. `running`: a bridge is writing to the last one.
pub(super) fn log(directory: &Path, running: bool, losses: &Losses, found: &mut Findings) {
    let numbers = match log::segments(directory) {
        Ok(numbers) => numbers,
        Err(error) => return unreadable(&error, found),
    };
    let place = directory.display();
    if numbers.is_empty() {
        return found.ok(format!("{place}: no segments yet"));
    }
    for (before, after) in numbers.iter().zip(numbers.iter().skip(1)) {
        if *after != before + 1 && !(before + 1..*after).all(|segment| losses.is_segment_acknowledged(segment)) {
            found.wrong(
                format!(
                    "{place}: segments {} to {} are missing, but older ones exist",
                    before + 1,
                    after - 1
                ),
                "retention removes the oldest segments first, so something else removed these; their spans are lost",
                "restore them from a backup (docs: operating), then: spanbridge reindex",
            );
        }
    }
    let last = numbers.last().copied();
    let mut total = Total::default();
    for number in numbers {
        match log::inspect(directory, number) {
            Ok(Some(inspected)) => {
                total.add(&inspected);
                let is_last = last == Some(number);
                if is_damaged(&inspected, is_last) && losses.is_segment_acknowledged(number) {
                    found.ok(format!("{place}: segment {number} is damaged, and the loss was acknowledged"));
                    continue;
                }
                damage(directory, &inspected, (is_last, running), found);
            }
            // Retention removed it first.
            Ok(None) => {}
            Err(error) => unreadable(&error, found),
        }
    }
    found.ok(format!("{place}: {}", total.words()));
}

#[derive(Default)]
struct Total {
    segments: u64,
    compressed: u64,
    bytes: u64,
    records: u64,
    message_bytes: u64,
}

impl Total {
    fn add(&mut self, inspected: &Inspected) {
        self.segments += 1;
        self.compressed += u64::from(inspected.form == Form::Compressed);
        self.bytes += inspected.bytes;
        self.records += inspected.records;
        self.message_bytes += inspected.message_bytes;
    }

    fn words(&self) -> String {
        format!(
            "{} read, {} of them compressed; {} of {}, {} on the disk",
            many(self.segments, "segment"),
            self.compressed,
            many(self.records, "record"),
            size(self.message_bytes),
            size(self.bytes)
        )
    }
}

/// Reports a head that does not match its records; returns whether they are not read because of it.
fn head(directory: &Path, inspected: &Inspected, found: &mut Findings) -> bool {
    let Some(form) = inspected.head_should_say else { return false };
    let (version, records, why) = match form {
        Form::Raw => (1, "raw", "they can still be read"),
        Form::Compressed => (2, "compressed", "they cannot be read until it is fixed"),
    };
    let (place, segment) = (directory.display(), inspected.segment);
    let file = quoted(&directory.join(log::file_name(segment)));
    found.wrong(
        format!("{place}: segment {segment}: its records are {records}, but its header does not match: the 8th byte is damaged"),
        format!("{why}. The disk may be failing"),
        format!(
            "with the server stopped: printf '\\00{version}' | dd of={file} bs=1 seek=7 conv=notrunc; {}",
            reindex(directory)
        ),
    );
    form == Form::Compressed
}

/// Whether records of a segment are lost. `last`: it may end with an interrupted write.
pub(super) fn is_damaged(inspected: &Inspected, last: bool) -> bool {
    let is_cut = match inspected.form {
        Form::Compressed => !inspected.has_table,
        Form::Raw => inspected.rest > 0 && !last,
    };
    inspected.head_should_say.is_none() && (is_cut || !inspected.damaged.is_empty())
}

fn damage(directory: &Path, inspected: &Inspected, (last, running): (bool, bool), found: &mut Findings) {
    if head(directory, inspected, found) {
        return;
    }
    let Inspected {
        segment, bytes, rest, end, ..
    } = inspected;
    let place = directory.display();
    let restore = format!("restore {} from a backup, then: {}", log::file_name(*segment), reindex(directory));
    for damage in &inspected.damaged {
        found.wrong(
            format!("{place}: {}", damage.to_string().trim_end_matches(" and were skipped")),
            "the spans in them are lost; all others can be read. The disk may be failing",
            format!("check the disk (dmesg, smartctl); {restore}"),
        );
    }
    if inspected.form == Form::Compressed && !inspected.has_table {
        return found.wrong(
            format!("{place}: segment {segment}: the file was cut off at byte {bytes}: the table at its end is missing"),
            "records after that position are lost; those before it can be read",
            restore,
        );
    }
    if inspected.form == Form::Compressed || inspected.rest == 0 || (last && running) {
        return;
    }
    let rest = many(*rest, "byte");
    let what = format!("{place}: segment {segment}: {rest} at byte {end} are an incomplete record");
    if last {
        let why =
            "a write was interrupted; the next start removes the rest of it. If it had been acknowledged, the index check reports that";
        found.warning(what, why, "nothing; or start the server: spanbridge serve");
    } else {
        let why = "the end of a complete segment is damaged; the data there is lost";
        found.wrong(what, why, "restore it from a backup, then: spanbridge reindex");
    }
}

fn unreadable(error: &Error, found: &mut Findings) {
    let mend = match error {
        Error::Version { .. } => "use the newer version of spanbridge that wrote it",
        _ => "check the disk and the permissions; run spanbridge doctor as the user of the server",
    };
    found.wrong(super::super::out::with_causes(error), "its spans cannot be read", mend);
}

/// Whether the index is usable, and whether it has what the log contains.
pub(super) fn index(directory: &Path, running: bool, losses: &Losses, vocabulary: &Vocabulary, found: &mut Findings) {
    let (place, reindex) = (directory.display(), reindex(directory));
    let mend = format!("{}{reindex}", if running { "stop the server, then: " } else { "" });
    if !directory.join(index::FILE).exists() {
        match log::segments(directory) {
            Ok(numbers) if !numbers.is_empty() && !running => found.warning(
                format!("{place}: there is no index"),
                "no data is lost, but the next start reads the whole log to rebuild the index, which takes longer than usual",
                reindex,
            ),
            _ => found.ok(format!("{place}: none yet")),
        }
        return;
    }
    let inspected = match index::inspect(directory) {
        Ok(inspected) => inspected,
        Err(error) => {
            let what = super::super::out::with_causes(&error);
            let why = "lists and documents are not available; the next start rebuilds it if it is damaged";
            return found.wrong(what, why, mend);
        }
    };
    if let Some(fault) = inspected.faults.first() {
        let why = "lists and documents may lack spans that are in the log";
        return found.wrong(format!("{place}: SQLite reports damage: {fault}"), why, mend);
    }
    if inspected.version != inspected.known {
        let what = format!(
            "its tables have version {}, this program uses version {}",
            inspected.version, inspected.known
        );
        let why = "another version of spanbridge wrote it; serve rebuilds it from the log";
        return found.warning(what, why, "nothing; the next start does it");
    }
    covers(directory, inspected.covered, running, found);
    let before = found.list.len();
    if let Err(error) = lost(directory, losses, found) {
        unreadable(&error, found);
    }
    match store::compare(directory, vocabulary.session_keys()) {
        Ok(compared) => differences(directory, &compared, &mend, found),
        Err(error) => unreadable(&error, found),
    }
    if found.list.len() == before {
        found.ok(format!("{place}: intact, {}", many(inspected.traces, "trace")));
    }
}

/// The command that rebuilds the index.
fn reindex(directory: &Path) -> String {
    format!("spanbridge reindex --data-dir {}", quoted(directory))
}

/// Traces whose index entries differ from the log.
fn differences(directory: &Path, compared: &Compared, mend: &str, found: &mut Findings) {
    const NAMED: usize = 10;
    let place = directory.display();
    if !compared.traces.is_empty() {
        let named: Vec<String> = compared.traces.iter().take(NAMED).map(ToString::to_string).collect();
        let more = match compared.traces.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let traces = many(compared.traces.len(), "trace");
        found.wrong(
            format!("{place}: {traces} differ from the log: {}{more}", named.join(", ")),
            "lists and documents lack these traces, or have wrong values for them. The log has them",
            mend,
        );
    }
    if compared.loose {
        found.wrong(
            format!("{place}: log records without a trace differ from the log"),
            "documents may lack log records of their session. The log has them",
            mend,
        );
    }
    if compared.sessions > 0 {
        found.warning(
            format!("{place}: {} have another session than in the log", many(compared.sessions, "trace")),
            "the index is damaged, or the attribute keys that name a session have changed since (--semconv)",
            mend,
        );
    }
}

/// Lost records: the index has them, so they were acknowledged, but the log no longer does.
fn lost(directory: &Path, losses: &Losses, found: &mut Findings) -> Result<(), Error> {
    for (number, last) in index::last_records(directory)? {
        // In a whole segment, everything before the last record is there, too.
        let is_there = log::inspect(directory, number)?.is_some_and(|inspected| match inspected.form {
            // It was reported that its records are not read, and none of them is lost.
            _ if inspected.head_should_say.is_some() => true,
            _ if !inspected.damaged.is_empty() => false,
            Form::Raw => last < inspected.end,
            Form::Compressed => inspected.has_table,
        });
        if is_there {
            continue;
        }
        if let Some(lost) = store::lost_in(directory, number)?
            && !losses.is_acknowledged(&lost)
        {
            found.wrong(
                format!("{}: {lost}", directory.display()),
                "these records are in the index, so they were acknowledged, but they are no longer in the log",
                format!(
                    "check the disk (dmesg, smartctl); restore {} from a backup, then: spanbridge reindex --data-dir {1}; without a \
                     backup: spanbridge doctor --acknowledge --data-dir {1}",
                    log::file_name(number),
                    quoted(directory)
                ),
            );
        }
    }
    Ok(())
}

/// Whether the index covers the log. A running bridge is ahead of what was read a moment ago.
fn covers(directory: &Path, covered: Position, running: bool, found: &mut Findings) {
    if running {
        return;
    }
    let last = log::segments(directory).ok().and_then(|numbers| numbers.last().copied());
    let Some(Ok(Some(last))) = last.map(|last| log::inspect(directory, last)) else {
        return;
    };
    if last.form == Form::Compressed || (last.segment, last.end) == (covered.segment, covered.offset) {
        return;
    }
    let Position { segment, offset } = covered;
    let what = format!(
        "{}: it covers the log up to segment {segment}, byte {offset}; the log ends at segment {}, byte {}",
        directory.display(),
        last.segment,
        last.end
    );
    if (last.segment, last.end) > (covered.segment, covered.offset) {
        found.ok(format!("{what}: the next start reads the rest"));
    } else {
        let why = "the log was truncated, or replaced by an older one; the next start rebuilds the index";
        let mend = "nothing if a backup was restored; otherwise look for the missing segments";
        found.warning(what, why, mend);
    }
}
